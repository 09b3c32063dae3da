"""The kinds of noise that `nmt prepare` detects, and what it does with each (see docs/data.md).

A kind is represented by its index in KINDS; 0 means that nothing was found.
"""

from collections.abc import Collection
from typing import Literal, NamedTuple

import numpy as np

from nmt_cli.config.schema import DataConfig
from nmt_cli.errors import UsageError, nearest

Level = Literal["off", "safe", "strict"]
Action = Literal["repaired", "dropped", "kept"]


class NoiseKind(NamedTuple):
    """One kind of noise: its name, and the action at the level `safe`.

    The level `strict` drops everything that `safe` keeps.
    """

    name: str
    safe: Action


KINDS: tuple[NoiseKind, ...] = (
    NoiseKind("clean", "kept"),
    # Repairs, which do not change the words.
    NoiseKind("byte order marks in the text", "repaired"),
    NoiseKind("HTML entities", "repaired"),
    NoiseKind("escaped characters (=C3=BC)", "repaired"),
    NoiseKind("invisible characters", "repaired"),
    NoiseKind("direction marks in left-to-right text", "repaired"),
    NoiseKind("control characters", "repaired"),
    NoiseKind("another Unicode form than NFC", "repaired"),
    NoiseKind("repeated or mixed combining marks", "repaired"),
    NoiseKind("look-alike letters of another script", "repaired"),
    NoiseKind("UTF-8 read in another encoding (Ã¼)", "repaired"),
    NoiseKind("Windows-1252 read as Latin-1", "repaired"),
    NoiseKind("tags on one side only", "repaired"),
    NoiseKind("marks of subwords (@@, ▁)", "repaired"),
    NoiseKind("line numbers on one side only", "repaired"),
    NoiseKind("cells quoted as in a spreadsheet", "repaired"),
    # Pairs from which nothing can be learnt.
    NoiseKind("wrong number of columns", "dropped"),
    NoiseKind("header of a table", "dropped"),
    NoiseKind("empty side", "dropped"),
    NoiseKind("same pair before", "dropped"),
    NoiseKind("nothing but an address, tags or marks", "dropped"),
    NoiseKind("too short", "dropped"),
    NoiseKind("too long", "dropped"),
    NoiseKind("lengths too different", "dropped"),
    # Pairs that look wrong, of which some may be right.
    NoiseKind("not UTF-8", "kept"),
    NoiseKind("replacement characters (U+FFFD)", "kept"),
    NoiseKind("private-use characters", "kept"),
    NoiseKind("letters lost (M?nchen)", "kept"),
    NoiseKind("another script than the rest", "kept"),
    NoiseKind("repeated letters or words", "kept"),
    NoiseKind("an address on one side only", "kept"),
    NoiseKind("placeholders on one side only ({name})", "kept"),
    NoiseKind("a comment on one side only ([sic])", "kept"),
    NoiseKind("numbers that differ", "kept"),
    NoiseKind("the same text on both sides", "kept"),
    NoiseKind("the same passage on both sides", "kept"),
    NoiseKind("sides swapped", "kept"),
    NoiseKind("source not in its language", "kept"),
    NoiseKind("target not in its language", "kept"),
    NoiseKind("a side in a third language", "kept"),
    NoiseKind("lines shifted", "kept"),
    NoiseKind("not a translation", "kept"),
    NoiseKind("same text beside unrelated lines (TODO)", "kept"),
    NoiseKind("a side cut short, or the other too long", "kept"),
    NoiseKind("one source, too many targets", "kept"),
    NoiseKind("one target, too many sources", "kept"),
    NoiseKind("also in validation or test text", "kept"),
)
(
    CLEAN, BYTE_ORDER_MARK, ENTITY, ESCAPE, INVISIBLE, DIRECTION, CONTROL, UNICODE_FORM, MARK,
    LOOK_ALIKE, MOJIBAKE, WINDOWS, TAG, SUBWORD_MARK, LINE_NUMBER, QUOTED, COLUMNS, HEADER, EMPTY,
    DUPLICATE, ADDRESS, TOO_SHORT, TOO_LONG, RATIO, NOT_UTF8, REPLACEMENT, PRIVATE_USE,
    LOST_LETTERS, OTHER_SCRIPT, REPEATED, ONE_ADDRESS, ONE_PLACEHOLDER, ONE_COMMENT, NUMBERS,
    COPIED, PASSAGE, SWAPPED, SOURCE_WRONG, TARGET_WRONG, THIRD_LANGUAGE, SHIFTED, NOT_TRANSLATION,
    PLACEHOLDER, CUT_SHORT, MANY_TARGETS, MANY_SOURCES, HELD_OUT,
) = range(len(KINDS))  # fmt: skip
WRONG_SIDES = (SWAPPED, SOURCE_WRONG, TARGET_WRONG)


def also_dropped(data: DataConfig) -> tuple[int, ...]:
    """The kinds that settings of their own drop, whatever the level is.

    Raises UsageError where `data.drop` names no kind that may be dropped.
    """
    wrong = (*WRONG_SIDES, THIRD_LANGUAGE) if data.drop_wrong_language else ()
    named = tuple(_named(name) for name in data.drop)
    return (*wrong, *((HELD_OUT,) if data.drop_held_out else ()), *named)


def check_dropped(data: DataConfig) -> None:
    """Raise UsageError unless the kinds of `data.drop` are known, and looked for."""
    also_dropped(data)
    if data.drop and data.clean == "off":
        raise UsageError(
            f"data.drop has `{data.drop[0]}`, which --no-clean does not look for",
            "leave out one of them",
        )


def _named(name: str) -> int:
    """The kind that a name means, of those that the level `safe` keeps.

    >>> KINDS[_named("Numbers that differ")].name, KINDS[_named("letters lost")].name
    ('numbers that differ', 'letters lost (M?nchen)')
    """
    begins = [
        kind
        for kind, (known, safe) in enumerate(KINDS)
        if kind != CLEAN and safe == "kept" and name and known.startswith(name.lower())
    ]
    if len(begins) == 1:
        return begins[0]
    known_names = [known for known, safe in KINDS[1:] if safe == "kept"]
    names = [f"`{KINDS[kind].name}`" for kind in begins] or [f"`{known}`" for known in known_names]
    near = nearest(name, known_names)
    hint = f"did you mean `{near}`?" if near else f"one of {', '.join(names)}"
    raise UsageError(f"data.drop has `{name}`, which is not one kind of noise that is kept", hint)


def action(kind: int, level: Level, also: Collection[int] = ()) -> Action:
    """Return what is done with a pair of this kind; also: kinds that are dropped at every level.

    >>> action(NUMBERS, "safe"), action(NUMBERS, "strict"), action(TAG, "strict")
    ('kept', 'dropped', 'repaired')
    >>> action(NUMBERS, "safe", (NUMBERS,))
    'dropped'
    """
    safe = KINDS[kind].safe
    if safe != "kept" or kind == CLEAN:
        return safe
    return "dropped" if level == "strict" or kind in also else "kept"


def drops(data: DataConfig, kind: int) -> bool:
    """Return whether pairs of this kind are dropped."""
    return action(kind, data.clean, also_dropped(data)) == "dropped"


def dropped_kinds(data: DataConfig) -> np.ndarray:
    """Return for each kind whether such pairs are dropped: (kinds,) bool."""
    return np.array([drops(data, kind) for kind in range(len(KINDS))])
