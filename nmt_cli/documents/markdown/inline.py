"""Marks within a paragraph of Markdown: emphasis, links, code, HTML; and how words are escaped."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import unescape

from nmt_cli.data.languages.word_characters import CHARACTERS
from nmt_cli.data.markup.formulas import with_formulas
from nmt_cli.data.markup.html_tags import VOID, keeps_its_text
from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    raw_text,
)
from nmt_cli.data.markup.pairs import tag_pairs, with_pairs_only
from nmt_cli.data.markup.placeholders import NAMED
from nmt_cli.documents.html.tags import INLINE_KEPT
from nmt_cli.documents.markdown.emphasis_runs import order_openings, tags_of_run
from nmt_cli.documents.template import source_text, write_text

_ADDRESS = r"(?:https?|ftp)://[^\s<>\"']*[^\s<>\"'.,;:!?)\]]"
_TARGET = r"\((?:[^()\\\n]|\\.|\((?:[^()\\\n]|\\.)*\))*\)"
_KEPT_ELEMENTS = "|".join(sorted(INLINE_KEPT | {"script", "style"}))
# `width=50%`, `title="The licence"`, `#id` and `.class`.
_SETTING = r"(?:[#.][\w-][\w.:-]*|[A-Za-z][\w:.-]*=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"'=]+))"
# What is found first at a place counts.
_MARK = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?s:.)+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<math>\$\$[^$]+\$\$|\$(?![\s\d])[^$\n]*[^\s$]\$(?!\d))"
    r"|(?P<address><[A-Za-z][\w+.-]*:[^\s<>]*>|<[\w.+-]+@[\w.-]+>)"
    r"|(?P<comment><!--(?s:.)*?-->|<![A-Za-z][^>]*>)"
    r"|(?P<code_to_run><\?(?s:.){0,1000}?\?>)"
    rf"|(?P<kept><(?P<name>{_KEPT_ELEMENTS})(?:\s[^<>]*)?>(?s:.)*?</(?P=name)\s*>)"
    r"|(?P<html></?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>)"
    r"|(?P<note>\[\^[^\]\s]+\])"
    # The attributes of a heading or an image, in Pandoc and kramdown.
    r"|(?P<attributes>\{:?[ \t]*[#.][\w-][^{}\n]*\})"
    # Such ones without a name are text, unless they stand behind what they belong to.
    rf"|(?P<settings>\{{(?:=[\w-]+|:?[ \t]*{_SETTING}(?:[ \t]+{_SETTING})*[ \t]*)\}})"
    r"|(?P<image>!\[)|(?P<link>\^?\[)"
    rf"|(?P<close>\](?:{_TARGET}|\[[^\[\]\n]*\])?)"
    rf"|(?P<placeholder>{NAMED.pattern}|\{{%[^%\n]*%\}}|{_ADDRESS})"
    r"|(?P<hard>(?: {2,}|\\)\n)"
    r"|(?P<emphasis>\*+|_+|~~)"
)
# The names of tags that are attributes.
_ATTRIBUTES = ("attributes", "settings")
_BREAK = re.compile(r"[ \t]*\n[ \t]*")
# Stands for a piece that has become a part of another one.
_NOTHING = Text("")
_NAME = re.compile(r"</?([A-Za-z][\w-]*)")
_BOX = re.compile(r"\[[ xX]\]\s+|\[![A-Za-z]+\][ \t]*(?:\n|$)")
# Characters that would be marks: always, or at the start of a line.
_SPECIAL = re.compile(rf"[\\`*\[\]<]|(?<![{CHARACTERS}])_|_(?![{CHARACTERS}])|~~|&(?=#?\w+;)")
_START = re.compile(r"\A(#{1,6}(?=\s|\Z)|[+-](?=\s|\Z)|>|=+(?=\s*\Z)|-+(?=\s*\Z)|~~~|:(?=\s|::))")
_LABEL = re.compile(r"\[[^\[\]]+\](?:\[\])?")
_ITEM = re.compile(r"\A(\d{1,9})([.)])(?=\s|\Z)")
_ESCAPE = re.compile(r"(\\[!-/:-@\[-`{-~])")
# Begins a footnote that stands in its sentence: ^[a note].
FOOTNOTE = "^["
IMAGE = "!["
HARD_BREAK = "hard"
# Longer paragraphs are no prose, and are not searched for marks.
LONGEST = 50_000


def parse_marks(
    content: str, labels: Collection[str] = (), *, is_heading: bool = False
) -> MarkedText:
    """The pieces of a paragraph whose lines have no prefixes; breaks of lines are spaces.

    labels: those of the document's link definitions. is_heading: the paragraph may end with
    attributes.

    >>> parse_marks("a *b*")[1:]
    (Tag(raw='*', kind='open', name='*'), Text(text='b', raw=None), \
Tag(raw='*', kind='close', name='*'))
    """
    if len(content) > LONGEST:
        return (source_text(_plain(content), content),)
    box = _BOX.match(content)
    pieces: list[MarkedPiece] = [Tag(box[0], "empty", "box")] if box else []
    words = ""
    end = box.end() if box else 0
    for match in _MARK.finditer(content, end):
        words += content[end : match.start()]
        end = match.end()
        if match.lastgroup == "escape":
            words += match[0]
            continue
        if match["settings"]:
            is_at_end = is_heading and end == len(content)
            if not is_at_end and (words or not (pieces and _may_have_attributes(pieces[-1]))):
                words += match[0]
                continue
        mark = list(_marks(match, content, pieces))
        if not mark:
            words += match[0]
            continue
        order_openings(pieces, mark)
        if words:
            pieces.append(source_text(_plain(words), words))
            words = ""
        pieces += mark
    if words + content[end:]:
        words += content[end:]
        pieces.append(source_text(_plain(words), words))
    return with_formulas(_without_single_marks(pieces, labels))


def _marks(
    match: re.Match[str], content: str, before: Sequence[MarkedPiece]
) -> Iterator[MarkedPiece]:
    """The pieces of a mark; none if it is text. before: the pieces up to it."""
    kind, raw = _kind(match), match[0]
    if kind in ("code", "math", "address", "code_to_run", "kept", "placeholder"):
        yield Placeholder(raw)
    elif kind in ("comment", "hard", "note", *_ATTRIBUTES):
        yield Tag(raw, "empty", kind)
    elif kind in ("image", "link"):
        yield Tag(raw, "open", "[")
    elif kind == "close":
        yield Tag(raw, "close", "[")
    elif kind == "html":
        named = _NAME.match(raw)
        name = named[1].lower() if named else ""
        if raw.endswith("/>") or name in VOID:
            yield Tag(raw, "empty", name)
        else:
            yield Tag(raw, "close" if raw.startswith("</") else "open", name)
    elif kind == "emphasis":
        around = content[: match.start()][-1:], content[match.end() :][:1]
        yield from tags_of_run(raw, *around, before)


def _may_have_attributes(piece: MarkedPiece) -> bool:
    """Whether a piece is the end of an image or a link, or code."""
    if isinstance(piece, Placeholder):
        return piece.raw.startswith("`")
    return isinstance(piece, Tag) and (piece.name, piece.kind) == ("[", "close")


def _kind(match: re.Match[str]) -> str:
    kinds = ("code", "math", "address", "comment", "code_to_run", "kept", "html", "note",
             *_ATTRIBUTES, "image", "link", "close", "placeholder", "hard",
             "emphasis")  # fmt: skip
    return next(kind for kind in kinds if match[kind] is not None)


def _plain(raw: str) -> str:
    """The words of a text: without escapes and entities, on one line."""
    return "".join(
        part[1] if index % 2 else unescape(_BREAK.sub(" ", part))
        for index, part in enumerate(_ESCAPE.split(raw))
    )


def _without_single_marks(pieces: Sequence[MarkedPiece], labels: Collection[str]) -> MarkedText:
    """The pieces with the marks of Markdown that mean nothing made text.

    A link whose text is its label is a placeholder: a translated label would name nothing.
    """
    pairs = tag_pairs(pieces)
    result: list[MarkedPiece] = list(with_pairs_only(pieces))
    for index, piece in enumerate(result):
        if isinstance(piece, Tag) and piece.kind == "empty" and pieces[index] != piece:
            is_target = piece.name == "[" and len(piece.raw) > 2
            if not is_target and not piece.raw.startswith("<"):
                result[index] = source_text(piece.raw, piece.raw)
    for begin, end in reversed(pairs.items()):
        opening, closing = raw_text((pieces[begin],)), raw_text((pieces[end],))
        if keeps_its_text(opening):
            kept = Placeholder(raw_text(pieces[begin : end + 1]))
            result[begin : end + 1] = [kept, *[_NOTHING] * (end - begin)]
            continue
        if closing not in ("]", "][]") or opening == FOOTNOTE:
            continue
        label = raw_text(pieces[begin + 1 : end])
        if normalized(label) in labels:
            written = raw_text(pieces[begin : end + 1])
            result[begin : end + 1] = [Placeholder(written), *[_NOTHING] * (end - begin)]
        elif not _are_attributes(pieces[end + 1 : end + 2]):
            for index in (begin, end):
                raw = raw_text((pieces[index],))
                result[index] = source_text(raw, raw)
    joined = _joined([piece for piece in result if piece is not _NOTHING])
    return tuple(_with_own_attributes(joined))


def _are_attributes(pieces: Sequence[MarkedPiece]) -> bool:
    return any(isinstance(piece, Tag) and piece.name in _ATTRIBUTES for piece in pieces)


def _with_own_attributes(pieces: Iterable[MarkedPiece]) -> Iterator[MarkedPiece]:
    """The pieces, where attributes are a part of the image, link or code that they follow."""
    last: MarkedPiece | None = None
    for piece in pieces:
        if last is not None and _are_attributes([piece]) and _may_have_attributes(last):
            last = replace(last, raw=raw_text((last, piece)))
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last


def normalized(label: str) -> str:
    """A label of a link in the form in which labels are compared."""
    return " ".join(label.split()).casefold()


def _joined(pieces: Sequence[MarkedPiece]) -> Iterator[MarkedPiece]:
    """The pieces with neighbouring texts made one."""
    text = raw = ""
    for piece in [*pieces, None]:
        if isinstance(piece, Text):
            text += piece.text
            raw += piece.text if piece.raw is None else piece.raw
            continue
        if raw:
            yield source_text(text, raw)
            text = raw = ""
        if piece is not None:
            yield piece


def write_marks(pieces: MarkedText) -> str:
    """A translation as Markdown: one line, except for hard breaks.

    Characters that would be marks are escaped. A hard break behind all words is left out: its
    backslash would be shown.
    """
    last = max((index for index, piece in enumerate(pieces) if _is_shown(piece)), default=-1)
    line: list[MarkedPiece] = []
    written = ""
    for index, piece in enumerate(pieces):
        is_break = isinstance(piece, Tag) and piece.name == HARD_BREAK
        if is_break and index > last:
            continue
        line.append(piece)
        if is_break:
            written += _written_line(line)
            line = []
    return written + _written_line(line)


def _is_shown(piece: MarkedPiece) -> bool:
    """Whether a piece shows something: words, code, an image or a mark of a footnote."""
    if isinstance(piece, Tag):
        return piece.name in ("image", "img", "note")
    return bool(raw_text((piece,)).strip())


def _written_line(pieces: Sequence[MarkedPiece]) -> str:
    written = write_text(list(_kept_apart(pieces)), _escaped)
    if _html_block().match(written):
        # CommonMark reads it as a space that is a part of the text.
        return "&#32;" + written.lstrip()
    if pieces and isinstance(pieces[0], Text) and pieces[0].raw is None:
        words = written.lstrip()
        marked = _ITEM.sub(r"\1\\\2", _START.sub(r"\\\1", words))
        return written[: len(written) - len(words)] + marked
    return written


@cache
def _html_block() -> re.Pattern[str]:
    """Finds a line that begins a block of HTML, in which no Markdown is read."""
    from markdown_it.common.html_blocks import block_names

    return re.compile(
        r"\s*(?:<[?!]|<(?:script|pre|style|textarea)(?=[\s>]|\Z)"
        rf"|</?(?:{'|'.join(block_names)})(?=[\s/>]|\Z)|</?[A-Za-z][^<>]*>\s*\Z)",
        re.IGNORECASE,
    )


def _kept_apart(pieces: Sequence[MarkedPiece]) -> Iterator[MarkedPiece]:
    """The pieces, where nothing goes on with a label or with code: `[ref](1)` is another link."""
    last = ""
    for piece in pieces:
        raw = raw_text((piece,))
        is_label = bool(_LABEL.fullmatch(last))
        if isinstance(piece, Text):
            if is_label and raw[:1] in ("(", ":"):
                yield Tag("\\", "empty")
        elif (is_label and raw.startswith("[")) or (last[-1:] == raw[:1] == "`"):
            yield Text(" ")
        last = "" if isinstance(piece, Text) else raw
        yield piece


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], " ".join(text.split("\n")))
