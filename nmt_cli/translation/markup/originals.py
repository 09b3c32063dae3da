"""What a marked text has in the places where its plain text differs from it, without its tags."""

from collections.abc import Sequence
from typing import NamedTuple


class Original(NamedTuple):
    """What the marked text has in the place of the characters `begin` to `end` of the plain text.

    A placeholder in the place of its stand-in, or, where these are the same, a placeholder or a
    space that is not in the plain text.
    """

    begin: int
    end: int
    raw: str


def original_text(
    text: str, originals: Sequence[Original], begin: int, end: int, after: int
) -> str:
    """The marked text of the characters `begin` to `end` of the plain text, without tags.

    What is not in the plain text belongs to the segment that it ends or begins: after: where the
    segment before it ends, -1 for the first one.

    >>> original_text("To Rome .", [Original(3, 7, "{x}"), Original(8, 8, "%s")], 0, 9, -1)
    'To {x} %s.'
    """
    parts, at = [], begin
    for original in originals:
        if original.begin == original.end:
            is_inside = after < original.begin <= end
        else:
            is_inside = begin <= original.begin < end
        if is_inside:
            parts += [text[at : original.begin], original.raw]
            at = max(at, original.end)
    return "".join([*parts, text[at:end]])


def clipped(text: str, originals: Sequence[Original]) -> list[Original]:
    """The originals for the text without the white space at its end, which becomes one of them."""
    last = len(text.rstrip())
    tail = original_text(text, originals, last, len(text), last - 1).rstrip()
    return [
        *(original for original in originals if original.begin < last),
        *([Original(last, last, tail)] if tail else []),
    ]
