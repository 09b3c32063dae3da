"""Counts in messages: `1 line`, `2 lines`, `1,200 entries`, and the verb that agrees."""

from collections.abc import Iterable, Sequence

# So many names of a long list are written in a message.
MOST_NAMED = 3


def counted(count: int, noun: str, plural: str = "") -> str:
    """`count` and its noun; plural: where it is not formed by the rules below.

    >>> counted(1, "line"), counted(1_200, "entry"), counted(0, "epoch")
    ('1 line', '1,200 entries', '0 epochs')
    >>> counted(2, "training pair"), counted(2, "hypothesis", "hypotheses")
    ('2 training pairs', '2 hypotheses')
    """
    return f"{count:,} {noun if count == 1 else plural or _plural(noun)}"


def written(number: str, noun: str) -> str:
    """A number that is written already, such as a rounded one, and its noun.

    >>> written("1", "day"), written("1.5", "hour"), written("0", "second")
    ('1 day', '1.5 hours', '0 seconds')
    """
    return f"{number} {noun if number == '1' else _plural(noun)}"


def agreeing(count: int, singular: str, plural: str) -> str:
    """The form of a verb or pronoun that goes with `count` things.

    >>> f"{counted(1, 'line')} {agreeing(1, 'is', 'are')} empty"
    '1 line is empty'
    """
    return singular if count == 1 else plural


def enumerated(items: Iterable[str]) -> str:
    """The items with commas and `and`.

    >>> enumerated(["a"]), enumerated(["a", "b"]), enumerated(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def first_few(items: Sequence[str]) -> str:
    """The first items, and how many more there are.

    >>> first_few(["a", "b", "c"]), first_few(list("abcdef")), first_few([])
    ('a, b and c', 'a, b, c and 3 more', '')
    """
    more = len(items) - MOST_NAMED
    shown = [*items[:MOST_NAMED], *([f"{more:,} more"] if more > 0 else [])]
    return enumerated(shown) if shown else ""


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"
