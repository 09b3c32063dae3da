"""Removes marks and kept names that a model writes itself, beside those that are put back.

A model that has learnt from text with tags, placeholders and product names writes some of its own,
although its source has none: they are taken out before.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from nmt_cli.data.markup.inline import has_marks, mark_spans
from nmt_cli.data.markup.kept import MARKS_ONLY, Kept
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text

# In the place of a placeholder, so that no mark goes on beyond it.
_PLACEHOLDER = "\ufffc"
# What has no space before it.
_CLOSING = ",.;:!?)]"


class _Edits(NamedTuple):
    """What becomes of ranges of the text: `removed`, and `moved`, where a placeholder goes."""

    removed: list[tuple[int, int]]
    moved: dict[int, Placeholder]


def without_own_marks(
    pieces: MarkedText, source: Sequence[MarkedPiece], kept: Kept
) -> tuple[MarkedText, bool]:
    """The translation without the marks of the model's own, and whether any was removed.

    Where the model has written a placeholder of the source itself, this one stands there. What the
    text of the source has, such as `&lt;b&gt;` in a document about HTML, may stand as often in the
    translation.

    >>> source = (Text("Press "), Placeholder("{name}"), Text("."))
    >>> target = (Text("Drücke {button} "), Placeholder("{name}"), Text("."))
    >>> without_own_marks(target, source, MARKS_ONLY)[0][:2]
    (Text(text='Drücke ', raw=None), Placeholder(raw='{name}'))
    """
    text = _joined(pieces)
    names = replace(MARKS_ONLY, names=kept.names)
    if not has_marks(text, names):
        return pieces, False
    allowed = Counter(raw for _, _, raw in _marks(_joined(source), names))
    placed = {piece.raw for piece in pieces if isinstance(piece, Placeholder)}
    own = []
    for begin, end, raw in _marks(text, names):
        # A name that is not put back may be a word of the language: Or, Start.
        if raw in kept.names and raw not in placed:
            continue
        allowed[raw] -= 1
        if allowed[raw] < 0:
            own.append((begin, end, raw))
    if not own:
        return pieces, False
    edits = _edits(pieces, own)
    is_lost = len(edits.removed) > 2 * len(edits.moved)
    return _edited(pieces, text, edits), is_lost


def _joined(pieces: Sequence[MarkedPiece]) -> str:
    """The words with a character for each placeholder; a tag may stand within a mark of words."""
    return "".join(
        piece.text if isinstance(piece, Text) else _PLACEHOLDER
        for piece in pieces
        if not isinstance(piece, Tag)
    )


def _marks(text: str, kept: Kept) -> Iterator[tuple[int, int, str]]:
    for mark in mark_spans(text, kept):
        yield mark.begin, mark.end, text[mark.begin : mark.end]


def _edits(pieces: MarkedText, own: Sequence[tuple[int, int, str]]) -> _Edits:
    """What to do with the marks of the model's own: their ranges and texts."""
    edits = _Edits([(begin, end) for begin, end, _ in own], {})
    placed: dict[str, list[int]] = {}
    at = 0
    for piece, is_alone in zip(pieces, _stand_alone(pieces), strict=True):
        if isinstance(piece, Placeholder):
            # One that a tag pair surrounds stays within it.
            placed.setdefault(piece.raw, []).append(-1 if is_alone else at)
            at += 1
        elif isinstance(piece, Text):
            at += len(piece.text)
    for raw, places in placed.items():
        begins = [begin for begin, _, written in own if written == raw]
        if len(begins) < len(places) or -1 in places:
            continue
        for begin, place in zip(begins, places, strict=False):
            edits.moved[begin] = Placeholder(raw)
            edits.removed.append((place, place + 1))
    return edits


def _stand_alone(pieces: MarkedText) -> Iterator[bool]:
    """Whether each piece is all that stands between two tags."""
    around = (None, *pieces, None)
    for (before, _), (_, after) in pairwise(pairwise(around)):
        yield isinstance(before, Tag) and isinstance(after, Tag)


def _edited(pieces: MarkedText, text: str, edits: _Edits) -> MarkedText:
    gone = _removed_characters(text, edits)
    result: list[MarkedPiece] = []
    at = 0
    for piece in pieces:
        if isinstance(piece, Tag):
            result.append(piece)
            continue
        if isinstance(piece, Placeholder):
            if at not in gone:
                result.append(piece)
            at += 1
            continue
        words = ""
        for index, letter in enumerate(piece.text, at):
            if index in edits.moved:
                result += [Text(words)] if words else []
                result.append(edits.moved[index])
                words = ""
            words += "" if index in gone else letter
        result += [Text(words)] if words else []
        at += len(piece.text)
    return tuple(result)


def _removed_characters(text: str, edits: _Edits) -> set[int]:
    """The characters to remove, with one of the spaces around what leaves nothing behind."""
    gone = {index for span in edits.removed for index in range(*span)}
    for begin, end in _runs(text, edits):
        gone.update(range(begin, end))
        before, after = text[begin - 1 : begin] if begin else " ", text[end : end + 1]
        if not before.isspace():
            continue
        if after.isspace():
            gone.add(end)
        elif begin and (not after or after in _CLOSING):
            gone.add(begin - 1)
    return gone


def _runs(text: str, edits: _Edits) -> list[tuple[int, int]]:
    """The ranges that leave nothing behind, those with only spaces between them as one."""
    runs: list[tuple[int, int]] = []
    for begin, end in sorted(edits.removed):
        if begin in edits.moved:
            continue
        if runs and not text[runs[-1][1] : begin].strip():
            begin = runs.pop()[0]
        runs.append((begin, end))
    return runs
