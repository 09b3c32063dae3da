"""The kinds of dirt that `nmt prepare` detects, and what it does with each (see docs/data.md).

A kind is represented by its index in KINDS; 0 means that nothing was found.
"""

from typing import Literal, NamedTuple

import numpy as np

Level = Literal["off", "safe", "strict"]
Action = Literal["repaired", "dropped", "kept"]


class DirtKind(NamedTuple):
    """One kind of dirt: its name, and the action at the level `safe`.

    The level `strict` drops everything that `safe` keeps.
    """

    name: str
    safe: Action


KINDS: tuple[DirtKind, ...] = (
    DirtKind("clean", "kept"),
    # Repairs, which do not change the words.
    DirtKind("byte order marks in the text", "repaired"),
    DirtKind("HTML entities", "repaired"),
    DirtKind("invisible characters", "repaired"),
    DirtKind("control characters", "repaired"),
    DirtKind("UTF-8 read as Latin-1 (Ã¼)", "repaired"),
    DirtKind("tags on one side only", "repaired"),
    DirtKind("marks of subwords (@@)", "repaired"),
    # Pairs from which nothing can be learnt.
    DirtKind("wrong number of columns", "dropped"),
    DirtKind("header of a table", "dropped"),
    DirtKind("empty side", "dropped"),
    DirtKind("same pair before", "dropped"),
    DirtKind("nothing but a web address", "dropped"),
    DirtKind("too short", "dropped"),
    DirtKind("too long", "dropped"),
    DirtKind("lengths too different", "dropped"),
    # Pairs that look wrong, of which some may be right.
    DirtKind("not UTF-8", "kept"),
    DirtKind("letters lost (M?nchen)", "kept"),
    DirtKind("another script than the rest", "kept"),
    DirtKind("repeated letters or words", "kept"),
    DirtKind("numbers that differ", "kept"),
    DirtKind("the same text on both sides", "kept"),
    DirtKind("sides swapped", "kept"),
    DirtKind("source in the target's language", "kept"),
    DirtKind("target in the source's language", "kept"),
    DirtKind("lines shifted", "kept"),
    DirtKind("not a translation", "kept"),
    DirtKind("one source, too many targets", "kept"),
    DirtKind("also in validation or test text", "kept"),
)
(
    CLEAN, BYTE_ORDER_MARK, ENTITY, INVISIBLE, CONTROL, MOJIBAKE, TAG, SUBWORD_MARK,
    COLUMNS, HEADER, EMPTY, DUPLICATE, ADDRESS, TOO_SHORT, TOO_LONG, RATIO,
    NOT_UTF8, LOST_LETTERS, OTHER_SCRIPT, REPEATED, NUMBERS, COPIED, SWAPPED, SOURCE_WRONG,
    TARGET_WRONG, SHIFTED, NOT_TRANSLATION, MANY_TARGETS, HELD_OUT,
) = range(len(KINDS))  # fmt: skip
WRONG_SIDES = (SWAPPED, SOURCE_WRONG, TARGET_WRONG)


def action(kind: int, level: Level, *, drop_wrong_language: bool = False) -> Action:
    """Return what is done with a pair of this kind.

    >>> action(NUMBERS, "safe"), action(NUMBERS, "strict"), action(TAG, "strict")
    ('kept', 'dropped', 'repaired')
    """
    safe = KINDS[kind].safe
    if safe != "kept" or kind == CLEAN:
        return safe
    wrong = drop_wrong_language and kind in WRONG_SIDES
    return "dropped" if level == "strict" or wrong else "kept"


def dropped_kinds(level: Level, *, drop_wrong_language: bool) -> np.ndarray:
    """Return for each kind whether such pairs are dropped: (kinds,) bool."""
    return np.array(
        [
            action(kind, level, drop_wrong_language=drop_wrong_language) == "dropped"
            for kind in range(len(KINDS))
        ]
    )
