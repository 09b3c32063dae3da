"""Puts the dash of a range back where its numbers stand side by side: 10 12 for 10-12."""

from collections.abc import Iterator, Sequence

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Text

_DASHES = ("-", "–")


def with_dashes(pieces: MarkedText, source: Sequence[MarkedPiece]) -> MarkedText:
    """The translation with the dash of the source between two numbers that only a space parts.

    A word or sign that the model wrote between them stays.

    >>> source = Placeholder("10"), Text("-"), Placeholder("12"), Text(" years")
    >>> target = Placeholder("10"), Text(" "), Placeholder("12"), Text(" Jahre")
    >>> with_dashes(target, source)[1].text
    '-'
    >>> with_dashes((target[0], Text(" bis "), target[2]), source)[1].text
    ' bis '
    """
    dashes = {
        (left, right): between
        for left, between, right in _between_numbers(source)
        if between.text in _DASHES
    }
    spaces = {
        id(between): dashes[left, right]
        for left, between, right in _between_numbers(pieces)
        if between.text.isspace() and (left, right) in dashes
    }
    return tuple(spaces.get(id(piece), piece) for piece in pieces)


def _between_numbers(pieces: Sequence[MarkedPiece]) -> Iterator[tuple[str, Text, str]]:
    """Each text between two placeholders that begin or end with its number beside it."""
    for left, between, right in zip(pieces, pieces[1:], pieces[2:], strict=False):
        if (
            isinstance(left, Placeholder)
            and isinstance(between, Text)
            and isinstance(right, Placeholder)
            and left.raw[-1].isdigit()
            and right.raw[0].isdigit()
        ):
            yield left.raw, between, right.raw
