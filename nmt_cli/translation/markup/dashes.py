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
    >>> space = target[1]
    >>> with_dashes((*target[:3], space, Placeholder("3")), source)[3] is space
    True
    """
    dashes = {
        numbers: between
        for _, between, numbers in _between_numbers(source)
        if between.text in _DASHES
    }
    dash_at = {
        index: dashes[numbers]
        for index, between, numbers in _between_numbers(pieces)
        if between.text.isspace() and numbers in dashes
    }
    return tuple(dash_at.get(index, piece) for index, piece in enumerate(pieces))


def _between_numbers(pieces: Sequence[MarkedPiece]) -> Iterator[tuple[int, Text, tuple[str, str]]]:
    """The index of each text between two numbers, the text, and what is kept on both sides."""
    triples = zip(pieces, pieces[1:], pieces[2:], strict=False)
    for index, (left, between, right) in enumerate(triples, 1):
        if (
            isinstance(left, Placeholder)
            and isinstance(between, Text)
            and isinstance(right, Placeholder)
            and left.raw[-1].isdigit()
            and right.raw[0].isdigit()
        ):
            yield index, between, (left.raw, right.raw)
