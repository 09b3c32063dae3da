"""Takes out stops that a translation has behind a placeholder which ends with one itself."""

from collections import defaultdict
from collections.abc import Sequence

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text
from nmt_cli.data.sentences.second_stops import STOPS, has_second_stop


def without_second_stops(source: MarkedText, target: MarkedText) -> MarkedText:
    """The pieces of `target` without a stop that the model has added behind a placeholder.

    Tags may stand between the two. A placeholder that occurs several times in `source` keeps the
    stop if it has one at any of these places.

    >>> without_second_stops((Placeholder("Nordwind Ltd."),),
    ...                      (Text("bei "), Placeholder("Nordwind Ltd."), Text(".")))[2:]
    ()
    """
    if not any(isinstance(each, Placeholder) and each.raw.endswith(STOPS) for each in target):
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


def _words(pieces: Sequence[MarkedPiece]) -> str:
    """The text of pieces without their tags."""
    return "".join(
        piece.text if isinstance(piece, Text) else piece.raw
        for piece in pieces
        if not isinstance(piece, Tag)
    )
