"""Markdown: paragraphs, headings, list items and cells are segments; all else is kept.

markdown-it-py finds the blocks and their lines; the marks within them are found here, since only
so every byte is known.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    raw_text,
)
from nmt_cli.data.markup.pairs import tag_pairs
from nmt_cli.documents.deletions import with_deletions_apart
from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.encoding import BYTE_ORDER_MARK, decode, encode
from nmt_cli.documents.html.document import add_html
from nmt_cli.documents.libraries import require_library
from nmt_cli.documents.markdown.blocks import add_blocks
from nmt_cli.documents.markdown.inline import (
    FOOTNOTE,
    IMAGE,
    normalized,
    parse_marks,
    write_marks,
)
from nmt_cli.documents.template import Template, Write
from nmt_cli.documents.text import lines_of

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*(\r?\n)(?s:.*?)^(\1|\.\.\.)[ \t]*(\r?\n|\Z)", re.M)
# What is nested more deeply is kept as it is, with all that follows.
MAX_NESTING = 60
_SPACES = " \t"
# Stands for a bar in a cell until it is written; no text has it.
_BAR = "\ufdd0"
_CELL = re.compile(r"(?:[^|]|(?<=\\)\|)+")
_ITEM = re.compile(r"\A(?:[-+*]|\d{1,9}[.)])[ \t]+")


class _Block(NamedTuple):
    """A part of the file that is translated.

    pieces: of a paragraph, heading or cell; None: HTML, which is read as such. line: from 0.
    """

    begin: int
    end: int
    pieces: MarkedText | None
    line: int
    is_cell: bool = False
    is_heading: bool = False


class MarkdownDocument:
    """A file of Markdown (CommonMark, with tables and strikethrough)."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises UnavailableError without markdown-it-py."""
        require_library("markdown_it", "Markdown documents")
        self._name = options.name
        text, self._encoding = decode(data, options.name)
        head = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        matter = _FRONT_MATTER.match(text[len(head) :])
        head += matter[0] if matter else ""
        self._text = text[len(head) :]
        self._first_line = sum(1 for _ in lines_of(head)) + 1 if matter else 1
        # Each line: where it begins, its words and its ending.
        self._lines: list[tuple[int, str, str]] = []
        position = 0
        for line, ending in lines_of(self._text):
            self._lines.append((position, line, ending))
            position += len(line) + len(ending)
        self._template = Template()
        self._template.keep(head)
        self._build()
        self.segments, self.places = self._template.segments, self._template.places

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The document with a translation for each segment."""
        return encode(self._template.fill(translated), self._encoding, self._name)

    def _build(self) -> None:
        end = 0
        for block in self._blocks():
            if block.begin < end:
                continue
            self._template.keep(self._text[end : block.begin])
            end = block.end
            line = block.line + self._first_line
            if block.pieces is None:
                add_html(self._template, self._text[block.begin : block.end], line)
            else:
                write = _write_cell if block.is_cell else write_marks
                place = f"line {line}"
                pieces = self._with_parts_apart(block.pieces, place, write)
                pieces = with_deletions_apart(self._template, pieces, place, write)
                self._template.add_sentences(pieces, place, write, is_heading=block.is_heading)
        self._template.keep(self._text[end:])

    def _with_parts_apart(self, pieces: MarkedText, place: str, write: Write) -> MarkedText:
        """The pieces, where each image and each footnote within its sentence is one tag.

        The alternative text of an image and the text of a footnote are segments of their own.
        """
        result: list[MarkedPiece] = []
        end = 0
        for begin, last in tag_pairs(pieces).items():
            opening = raw_text(pieces[begin : begin + 1])
            if begin < end or opening not in (IMAGE, FOOTNOTE):
                continue
            result += pieces[end:begin]
            end = last + 1
            part = Tag(raw_text(pieces[begin:end]), "empty", "image")
            content = pieces[begin + 1 : last]
            if opening == FOOTNOTE:
                part = replace(part, name="note")
                content = self._with_parts_apart(content, place, write)
            if part.raw not in self._template.tags:
                closing = raw_text(pieces[last:end])
                self._template.add_tag(part.raw, opening, content, closing, place, write)
            result.append(part)
        return (*result, *pieces[end:])

    def _blocks(self) -> Iterator[_Block]:
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
        parser.enable(["table", "strikethrough"]).disable("inline")
        add_blocks(parser)
        environment: dict[str, dict[str, object]] = {}
        tokens = parser.parse("\n".join(line for _, line, _ in self._lines), environment)
        self._labels = {normalized(label) for label in environment.get("references", {})}
        row: Token | None = None
        cells: Iterator[re.Match[str]] = iter(())
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                row = token
                cells = _CELL.finditer(self._lines[row.map[0]][1]) if row.map else iter(())
            elif token.type == "tr_close":
                row = None
            elif token.type == "html_block" and token.map:
                yield from self._html(token, token.map[0])
            elif token.type == "inline" and row is not None:
                if row.map and token.content.strip():
                    yield from self._cell(row.map[0], cells, token.content.strip())
            elif token.type == "inline" and token.map and token.content:
                is_heading = tokens[index - 1].type == "heading_open"
                for block in self._paragraph(
                    token, is_heading=is_heading and token.map[1] == token.map[0] + 1
                ):
                    yield block._replace(is_heading=is_heading)

    def _html(self, token: "Token", first: int) -> Iterator[_Block]:
        """A block of HTML; none if something besides white space stands before its lines."""
        rows = token.content.removesuffix("\n").split("\n")
        starts: list[int] = []
        for number, row in enumerate(rows, first):
            begin, line, _ = self._lines[number]
            shown = row.lstrip()
            if not line.endswith(shown) or (starts and line[: len(line) - len(shown)].strip()):
                return
            starts.append(begin + len(line) - len(shown))
        begin, line, _ = self._lines[first + len(rows) - 1]
        yield _Block(starts[0], begin + len(line), None, first)

    def _paragraph(self, token: "Token", *, is_heading: bool) -> Iterator[_Block]:
        """The lines of a paragraph; none where they are not found as markdown-it has them."""
        assert token.map is not None
        rows = [row.strip(_SPACES) for row in token.content.split("\n")]
        # markdown-it leaves out white space of any kind at both ends, also whole lines of it.
        rows[-1] = rows[-1].rstrip()
        for first in range(*token.map):
            begins = list(self._begins(rows, first, is_heading=is_heading))
            if len(begins) == len(rows):
                break
        else:
            return
        end = begins[-1] + len(rows[-1])
        # The source between the words of one line and those of the next.
        gaps = []
        content = rows[0]
        for number, (row, begin) in enumerate(zip(rows[1:], begins[1:], strict=True), first):
            start, line, _ = self._lines[number]
            kept = line.rstrip(_SPACES)
            gaps.append(self._text[start + len(kept) : begin])
            # Two spaces or a backslash before the end break the line.
            content += ("  \n" if line.endswith("  ") else "\n") + row
        pieces = _with_gaps(parse_marks(content, self._labels, is_heading=is_heading), gaps)
        if "".join(_raws(pieces)) == self._text[begins[0] : end]:
            yield _Block(begins[0], end, pieces, first)

    def _begins(self, rows: Sequence[str], first: int, *, is_heading: bool) -> Iterator[int]:
        """Where each row stands in the text, from the line `first` on, as far as they are found."""
        last = first + len(rows) - 1
        if last >= len(self._lines):
            return
        for number, row in enumerate(rows, first):
            begin, line, _ = self._lines[number]
            shown = line.rstrip(None if number == last else _SPACES)
            at = shown.rfind(row) if is_heading else len(shown) - len(row)
            if at < 0 or not shown.startswith(row, at):
                return
            yield begin + at

    def _cell(self, number: int, cells: Iterator[re.Match[str]], content: str) -> Iterator[_Block]:
        """The next cell of a row with this content, as markdown-it has it."""
        begin = self._lines[number][0]
        for cell in cells:
            words = cell[0].replace("\\|", "|").strip()
            # Before the first cell there may be the mark of a list or a quote.
            if words == content or (cell.start() == 0 and words.endswith(content)):
                raw = cell[0].rstrip()[-len(content.replace("|", "\\|")) :]
                if cell.start() == 0:
                    # For GitHub a list begins here, for markdown-it a cell.
                    raw = _ITEM.sub("", raw)
                start = begin + cell.start() + len(cell[0].rstrip()) - len(raw)
                pieces = parse_marks(raw, self._labels)
                yield _Block(start, start + len(raw), pieces, number, is_cell=True)
                return


def _raws(pieces: MarkedText) -> Iterator[str]:
    for piece in pieces:
        yield piece.text if isinstance(piece, Text) and piece.raw is None else piece.raw or ""


def _with_gaps(pieces: MarkedText, gaps: Sequence[str]) -> MarkedText:
    """The pieces with what the file has between its lines instead of white space and newlines."""
    left = list(gaps)
    result: list[MarkedPiece] = []
    for piece, raw in zip(pieces, _raws(pieces), strict=True):
        if "\n" not in raw:
            result.append(piece)
            continue
        raw = re.sub(r"[ \t]*\n", lambda _: left.pop(0), raw)
        if isinstance(piece, Text):
            result.append(Text(piece.text, raw))
        elif isinstance(piece, Tag):
            result.append(Tag(raw, piece.kind, piece.name))
        else:
            result.append(Placeholder(raw))
    return tuple(result)


def _write_cell(pieces: MarkedText) -> str:
    """A translation in a cell, where a bar has a backslash."""
    marked = tuple(
        Text(piece.text.replace("|", _BAR), piece.raw) if isinstance(piece, Text) else piece
        for piece in pieces
    )
    return write_marks(marked).replace(_BAR, "\\|")
