"""Stops of placeholders which end with one, such as the name `Nordwind Ltd.`.

Where such a name ends a sentence within a line, the word that stands for it has the stop, too, so
that the next sentence is seen. A stop that a translation has behind the name is taken out.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text
from nmt_cli.data.sentences.second_stops import STOPS, has_second_stop

_CLOSING = "\"'”’“»)]"


def sentence_final(
    source: MarkedText, sentence_ends: Callable[[str], Sequence[int]]
) -> frozenset[int]:
    """The indices of the placeholders in `source` whose last character ends a sentence.

    sentence_ends: gives the places in a text where sentences end which others follow. Placeholders
    whose stop would stay in a translation are left out.

    >>> pieces = Text("In "), Placeholder("Nord Ltd."), Text(" He came.")
    >>> sentence_final(pieces, lambda text: [text.index(" He")])
    frozenset({1})
    """
    if not _has_stop(source):
        return frozenset()
    text = _words(source)
    ends = sentence_ends(text)
    final = []
    at = 0
    for index, piece in enumerate(source):
        at += 0 if isinstance(piece, Tag) else len(_words((piece,)))
        if isinstance(piece, Placeholder) and has_second_stop(
            piece.raw, piece.raw[-1], piece.raw, text[at:]
        ):
            after = len(text) - len(text[at:].lstrip(_CLOSING))
            final += [index] if not {*range(at, after + 1)}.isdisjoint(ends) else []
    return frozenset(final)


def without_second_stops(source: MarkedText, target: MarkedText) -> MarkedText:
    """The pieces of `target` without a stop that the model has added behind a placeholder.

    Tags may stand between the two. A placeholder that occurs several times in `source` keeps the
    stop if it has one at any of these places.

    >>> without_second_stops((Placeholder("Nordwind Ltd."),),
    ...                      (Text("bei "), Placeholder("Nordwind Ltd."), Text(".")))[2:]
    ()
    """
    if not _has_stop(target):
        return target
    followed: dict[str, list[str]] = defaultdict(list)
    for index, piece in enumerate(source):
        if isinstance(piece, Placeholder):
            followed[piece.raw].append(_words(source[index + 1 :]))
    result: list[MarkedPiece] = []
    # The placeholder before, "" for words.
    name = ""
    for index, piece in enumerate(target):
        if isinstance(piece, Text):
            after, places = _words(target[index:]), followed[name]
            is_second = all(has_second_stop(name, after, name, place) for place in places)
            text = piece.text[1:] if places and is_second else piece.text
            result += [Text(text)] if text else []
            name = ""
            continue
        name = piece.raw if isinstance(piece, Placeholder) else name
        result.append(piece)
    return tuple(result)


def _has_stop(pieces: Sequence[MarkedPiece]) -> bool:
    """Whether any placeholder ends with a stop."""
    return any(isinstance(piece, Placeholder) and piece.raw.endswith(STOPS) for piece in pieces)


def _words(pieces: Sequence[MarkedPiece]) -> str:
    """The text of pieces without their tags."""
    return "".join(
        piece.text if isinstance(piece, Text) else piece.raw
        for piece in pieces
        if not isinstance(piece, Tag)
    )
