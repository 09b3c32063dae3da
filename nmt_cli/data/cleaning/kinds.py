"""The kinds of dirt that `nmt prepare` knows, and what it does with each (see docs/data.md).

A kind is a number, its place in KINDS; 0 means that nothing was found.
"""

from typing import Literal, NamedTuple

import numpy as np

Level = Literal["off", "safe", "strict"]
Action = Literal["repaired", "dropped", "kept"]


class Kind(NamedTuple):
    """One kind of dirt: how it is called, and what is done with it at the level `safe`.

    At the level `strict` everything that `safe` keeps is dropped.
    """

    name: str
    safe: Action


KINDS: tuple[Kind, ...] = (
    Kind("clean", "kept"),
    # Repairs: the words stay as they are.
    Kind("byte order marks in the text", "repaired"),
    Kind("HTML entities", "repaired"),
    Kind("invisible characters", "repaired"),
    Kind("control characters", "repaired"),
    Kind("UTF-8 read as Latin-1 (Ã¼)", "repaired"),
    Kind("tags on one side only", "repaired"),
    Kind("marks of subwords (@@)", "repaired"),
    # Pairs that nothing can be learnt from.
    Kind("wrong number of columns", "dropped"),
    Kind("header of a table", "dropped"),
    Kind("empty side", "dropped"),
    Kind("same pair before", "dropped"),
    Kind("nothing but a web address", "dropped"),
    Kind("too short", "dropped"),
    Kind("too long", "dropped"),
    Kind("lengths too different", "dropped"),
    # Pairs that look wrong, of which some may be right.
    Kind("not UTF-8", "kept"),
    Kind("letters lost (M?nchen)", "kept"),
    Kind("another script than the rest", "kept"),
    Kind("repeated letters or words", "kept"),
    Kind("numbers that differ", "kept"),
    Kind("the same text on both sides", "kept"),
    Kind("sides swapped", "kept"),
    Kind("source in the target's language", "kept"),
    Kind("target in the source's language", "kept"),
    Kind("lines shifted", "kept"),
    Kind("not a translation", "kept"),
    Kind("one source, too many targets", "kept"),
    Kind("also in validation or test text", "kept"),
)
(
    CLEAN, BYTE_ORDER_MARK, ENTITY, INVISIBLE, CONTROL, MOJIBAKE, TAG, SUBWORD_MARK,
    COLUMNS, HEADER, EMPTY, DUPLICATE, ADDRESS, TOO_SHORT, TOO_LONG, RATIO,
    NOT_UTF8, LOST_LETTERS, OTHER_SCRIPT, REPEATED, NUMBERS, COPIED, SWAPPED, SOURCE_WRONG,
    TARGET_WRONG, SHIFTED, NOT_TRANSLATION, MANY_TARGETS, HELD_OUT,
) = range(len(KINDS))  # fmt: skip
WRONG_SIDES = (SWAPPED, SOURCE_WRONG, TARGET_WRONG)


def action(kind: int, level: Level, *, drop_wrong_language: bool = False) -> Action:
    """What is done with a pair of this kind.

    >>> action(NUMBERS, "safe"), action(NUMBERS, "strict"), action(TAG, "strict")
    ('kept', 'dropped', 'repaired')
    """
    safe = KINDS[kind].safe
    if safe != "kept" or kind == CLEAN:
        return safe
    wrong = drop_wrong_language and kind in WRONG_SIDES
    return "dropped" if level == "strict" or wrong else "kept"


def dropped_kinds(level: Level, *, drop_wrong_language: bool) -> np.ndarray:
    """(kinds,) bool: whether a pair of the kind is dropped."""
    actions = [
        action(kind, level, drop_wrong_language=drop_wrong_language) for kind in range(len(KINDS))
    ]
    return np.array([one == "dropped" for one in actions])
