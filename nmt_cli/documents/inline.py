"""Tags and placeholders within a line of text."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text

PLACEHOLDER = re.compile(
    r"%(?:\(\w+\)|\d+\$)?[-#0+]*\d*(?:\.\d+)?(?:hh|h|ll|l|j|z|t|L)?[sdifuxXeEgGcrao]"
    r"|\$\{\w+\}|\{\{[^{}\n]*\}\}|\{[\w.\[\]!:]*\}"
    r"|https?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]]"
)
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*)((?:\s[^<>]*)?)(/?)>")
_MARK = re.compile(f"(?P<tag>{_TAG.pattern})|(?P<placeholder>{PLACEHOLDER.pattern})")


def parse_line(line: str) -> MarkedText:
    """The pieces of a line; `raw_text` of them is the line.

    >>> parse_line("Delete %s?")
    (Text(text='Delete ', raw=None), Placeholder(raw='%s'), Text(text='?', raw=None))
    """
    pieces: list[MarkedPiece] = []
    end = 0
    for match in _MARK.finditer(line):
        if match.start() > end:
            pieces.append(Text(line[end : match.start()]))
        end = match.end()
        pieces.append(_tag(match[0]) if match["tag"] else Placeholder(match[0]))
    if end < len(line):
        pieces.append(Text(line[end:]))
    return paired(pieces)


def with_placeholders(raw: str, make_text: Callable[[str], Text]) -> list[MarkedPiece]:
    """The text and placeholders of a text without tags; make_text: makes a piece of text."""
    pieces: list[MarkedPiece] = []
    end = 0
    for match in PLACEHOLDER.finditer(raw):
        if match.start() > end:
            pieces.append(make_text(raw[end : match.start()]))
        pieces.append(Placeholder(match[0]))
        end = match.end()
    return [*pieces, make_text(raw[end:])] if end < len(raw) else pieces


def _tag(raw: str) -> Tag:
    match = _TAG.fullmatch(raw)
    assert match is not None
    slash, name, _, end = match.groups()
    if slash:
        return Tag(raw, "close", name)
    return Tag(raw, "empty" if end or raw.endswith("/>") else "open", name)


def paired(pieces: Sequence[MarkedPiece]) -> MarkedText:
    """The pieces with every tag that has no partner, or is not nested, made an `empty` one.

    >>> [tag.kind for tag in paired((Tag("<b>", "open", "b"), Tag("</i>", "close", "i")))]
    ['empty', 'empty']
    """
    pairs = partners(pieces)
    partnered = {*pairs, *pairs.values()}
    return tuple(
        replace(piece, kind="empty")
        if isinstance(piece, Tag) and piece.kind != "empty" and index not in partnered
        else piece
        for index, piece in enumerate(pieces)
    )


def partners(pieces: Sequence[MarkedPiece]) -> dict[int, int]:
    """The indices of the closing tags, by those of the opening tags that they close."""
    opened: list[tuple[str, int]] = []
    pairs: dict[int, int] = {}
    for index, piece in enumerate(pieces):
        if isinstance(piece, Tag) and piece.kind == "open":
            opened.append((piece.name, index))
        elif isinstance(piece, Tag) and piece.kind == "close":
            for depth in range(len(opened) - 1, -1, -1):
                if opened[depth][0] == piece.name:
                    pairs[opened[depth][1]] = index
                    del opened[depth:]
                    break
    return pairs
