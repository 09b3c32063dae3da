"""The content of a source as segments: inline elements are tags, the rest is text."""

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, count

from nmt_cli.data.markup.html_tags import ENTITY, unescaped
from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    raw_text,
)
from nmt_cli.data.markup.messages import find_messages
from nmt_cli.data.markup.pairs import with_pairs_only
from nmt_cli.documents.accelerators import Accelerator, find_accelerator, with_accelerator
from nmt_cli.documents.list_marks import parts_at_items
from nmt_cli.documents.template import Template, parts_between_blocks, source_text, write_text
from nmt_cli.documents.xliff.elements import XmlElement

# Elements whose content is text of the sentence.
_CONTAINERS = frozenset(("g", "mrk", "pc"))
# Elements that begin or end a pair, each with the attributes that name the pair, best first.
_PAIRED = {
    "bpt": ("bpt", "open", ("rid", "id")), "ept": ("bpt", "close", ("rid", "id")),
    "bx": ("bx", "open", ("rid", "id")), "ex": ("bx", "close", ("rid", "id")),
    "sc": ("sc", "open", ("id",)), "ec": ("sc", "close", ("startRef", "id")),
    "sm": ("sm", "open", ("id",)), "em": ("sm", "close", ("startRef", "id")),
}  # fmt: skip
# The name of an element that begins or ends a tag in messages of Angular.
_ANGULAR_TAG = re.compile(r"(START|CLOSE)_(\w+?)(?:_\d+)?")
# What an inline element is in the text that is parsed: no mark of HTML is put around it.
_STAND_IN = "\ufffc"
# Where a line ends in text that keeps its white space; the same name as a break in HTML.
_BREAK = "br"
_LINE_END = re.compile(r"(\r\n|[\r\n]|&#(?:0*1[03]|x0*[aAdD]);)")
_SECTION_LINE_END = re.compile(r"(\r\n|[\r\n])")
_TOKEN = re.compile(r"<!\[CDATA\[(.*?)\]\]>|<(?:!--.*?--|\?.*?\?)>|[^<]+", re.DOTALL)
_REFERENCE = re.compile(r"&(?:#(\d+)|#x([0-9a-fA-F]+)|(lt|gt|amp|quot|apos));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_SPACES = re.compile(r"[ \t\r\n]+")
# Characters that XML cannot hold, not even as references.
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class ContentReader:
    """Adds what an element contains to a template; data: the file in UTF-8."""

    data: bytes
    template: Template
    keeps_space: bool
    place: str

    def add(self, element: XmlElement) -> None:
        """Add the content of an element as segments."""
        line: list[str | MarkedPiece] = []
        depth = 0
        for item in _with_messages([*self._items(element, count())]):
            if isinstance(item, Tag):
                depth += item.depth_change * _is_container(item)
                if item.name == _BREAK and depth == 0 and not item.raw.startswith("<"):
                    self._add_line(line)
                    self.template.keep(item.raw)
                    line = []
                    continue
            line.append(item)
        self._add_line(line)

    def add_marked(self, element: XmlElement) -> bool:
        """Add the segments that are marked in a source, and keep what stands between them.

        Returns whether there are any; if not, nothing is added but text that is kept.
        """
        position, has_segments = element.content, False
        for child in element.children:
            is_segment = child.name == "mrk" and child.attributes.get("mtype") == "seg"
            if (not is_segment and child.name != "g") or child.is_empty_tag:
                continue
            self.template.keep(self._raw(position, child.content))
            if is_segment:
                self.add(child)
                has_segments = True
            else:
                has_segments |= self.add_marked(child)
            position = child.content_end
        self.template.keep(self._raw(position, element.content_end))
        return has_segments

    def _raw(self, begin: int, end: int) -> str:
        return self.data[begin:end].decode()

    def _items(self, element: XmlElement, numbers: Iterator[int]) -> Iterator[str | MarkedPiece]:
        """The texts, without references, and the inline elements; numbers: for containers."""
        position = element.content
        for child in element.children:
            yield from self._texts(self._raw(position, child.begin))
            yield from self._child(child, numbers)
            position = child.end
        yield from self._texts(self._raw(position, element.content_end))

    def _child(self, child: XmlElement, numbers: Iterator[int]) -> Iterator[str | MarkedPiece]:
        is_container = child.name in _CONTAINERS and not child.is_empty_tag
        if is_container and not _is_protected(child):
            name = f"{child.name} {next(numbers)}"
            yield Tag(self._raw(child.begin, child.content), "open", name)
            yield from self._items(child, numbers)
            yield Tag(self._raw(child.content_end, child.end), "close", name)
            return
        raw = self._raw(child.begin, child.end)
        if is_container:
            yield Placeholder(raw)
        elif child.name in _PAIRED:
            name, kind, attributes = _PAIRED[child.name]
            key = next(filter(None, map(child.attributes.get, attributes)), "")
            yield Tag(raw, kind, f"{name}#{key}")  # type: ignore[arg-type]
        elif _is_break(child):
            yield Tag(raw, "empty", _BREAK)
        elif match := _ANGULAR_TAG.fullmatch(_id_of(child)):
            kind = "open" if match[1] == "START" else "close"
            yield Tag(raw, kind, f"{child.name}#{match[2]}")  # type: ignore[arg-type]
        elif self._is_word(child):
            yield Placeholder(raw)
        else:
            yield Tag(raw, "empty", child.name)

    def _is_word(self, child: XmlElement) -> bool:
        """Whether an element stands for a word that a program fills in, such as `{name}`."""
        attributes = child.attributes
        code = self._raw(child.content, child.content_end)
        shown = attributes.get("equiv-text") or attributes.get("disp") or html.unescape(code)
        pieces = parse_line(shown.strip())
        # A `<sub>` is text for another place here, not that of a formula.
        is_code = len(pieces) == 1 and isinstance(pieces[0], Placeholder)
        is_filled_in = is_code and "<sub" not in shown
        return is_filled_in or _id_of(child).startswith("INTERPOLATION")

    def _texts(self, raw: str) -> Iterator[str | MarkedPiece]:
        """The text between elements, with comments and line breaks that are kept as pieces."""
        for token in _TOKEN.finditer(raw):
            is_section = token[1] is not None
            if not is_section and token[0].startswith("<"):
                yield Tag(token[0], "empty")
                continue
            text = token[1] if is_section else token[0]
            line_end = _SECTION_LINE_END if is_section else _LINE_END
            for index, part in enumerate(line_end.split(text) if self.keeps_space else [text]):
                if index % 2:
                    yield Tag(part, "empty", _BREAK)
                elif part:
                    yield part if is_section else _REFERENCE.sub(_character, part)

    def _add_line(self, items: Sequence[str | MarkedPiece]) -> None:
        accelerator = _accelerator_of(items)
        parsed = _parsed([accelerator.text] if accelerator else items)
        pieces = with_pairs_only(tuple(_with_scopes(parsed)))
        written = [
            piece if is_element else self._escaped(piece)
            for piece, (_, is_element) in zip(pieces, parsed, strict=True)
        ]
        begin = 0
        for part in parts_between_blocks(pieces):
            has_entities = any(
                isinstance(piece, Text) and piece.raw is not None and ENTITY.search(piece.raw)
                for piece in part
            )
            end = begin + len(part)
            write = partial(_written, has_entities=has_entities, accelerator=accelerator)
            self.template.add(written[begin:end], self.place, write)
            begin = end

    def _escaped(self, piece: MarkedPiece) -> MarkedPiece:
        """A piece of the text as XML writes it."""
        if not isinstance(piece, Text):
            return replace(piece, raw=escaped(piece.raw))
        text = piece.text if self.keeps_space else _SPACES.sub(" ", piece.text)
        return source_text(text, escaped(piece.text if piece.raw is None else piece.raw))


def escaped(text: str) -> str:
    """Text as XML writes it.

    >>> escaped("a < b & c\\x07")
    'a &lt; b &amp; c\ufffd'
    """
    return _NOT_IN_XML.sub("\ufffd", html.escape(text, quote=False))


def _character(match: re.Match[str]) -> str:
    """What a reference to a character stands for."""
    decimal, hexadecimal, name = match.groups()
    return _NAMED[name] if name else chr(int(decimal) if decimal else int(hexadecimal, 16))


def _accelerator_of(items: Sequence[str | MarkedPiece]) -> Accelerator | None:
    """The accelerator of a text that is one segment, and has no elements."""
    words = [item for item in items if isinstance(item, str)]
    line = "".join(words)
    accelerator = find_accelerator(line) if len(words) == len(items) else None
    if accelerator is None:
        return None
    pieces = parse_line(accelerator.text)
    is_one = len([*parts_between_blocks(pieces)]) == len(parts_at_items(pieces)) == 1
    return accelerator if is_one else None


def _written(
    pieces: MarkedText, *, has_entities: bool, accelerator: Accelerator | None = None
) -> str:
    """A translation; its text has entities of HTML if that of the source has them."""
    return write_text(
        with_accelerator(tuple(_nested(pieces)), accelerator),
        lambda text: escaped(html.escape(text, quote=False) if has_entities else text),
    )


def _nested(pieces: MarkedText) -> Iterator[MarkedPiece]:
    """The pieces, where elements are nested whatever the translation did: else it is no XML."""
    opened: list[Tag] = []
    for piece in pieces:
        if isinstance(piece, Tag) and _is_container(piece):
            if piece.kind == "open":
                opened.append(piece)
            elif opened:
                yield _closing(opened.pop())
                continue
            else:
                continue
        yield piece
    yield from map(_closing, reversed(opened))


def _closing(tag: Tag) -> Tag:
    """The tag that ends the element that this one begins."""
    name = re.split(r"[\s/>]", tag.raw[1:], maxsplit=1)[0]
    return Tag(f"</{name}>", "close", tag.name)


def _with_messages(items: Sequence[str | MarkedPiece]) -> Iterator[str | MarkedPiece]:
    """The items, where each message of ICU that has elements within it is one placeholder."""
    words = "".join(item if isinstance(item, str) else _STAND_IN for item in items)
    starts = [0, *accumulate(len(item) if isinstance(item, str) else 1 for item in items)]
    at = 0
    for begin, end in find_messages(words, choices_only=True):
        within = [*_cut(items, starts, begin, end)]
        if len(within) > 1 and _are_nested(within):
            yield from _cut(items, starts, at, begin)
            yield Placeholder(
                "".join(
                    escaped(item) if isinstance(item, str) else raw_text([item]) for item in within
                )
            )
            at = end
    yield from _cut(items, starts, at, len(words))


def _cut(
    items: Sequence[str | MarkedPiece], starts: Sequence[int], begin: int, end: int
) -> Iterator[str | MarkedPiece]:
    """The items of the characters `begin` to `end`, of which each element is one."""
    for index in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
        item, at = items[index], starts[index]
        yield item[max(begin - at, 0) : end - at] if isinstance(item, str) else item


def _are_nested(items: Sequence[str | MarkedPiece]) -> bool:
    """Whether every element that begins in these items ends in them, and the other way round."""
    depth = 0
    for item in items:
        if isinstance(item, Tag) and _is_container(item):
            depth += item.depth_change
            if depth < 0:
                return False
    return depth == 0


def _parsed(items: Sequence[str | MarkedPiece]) -> list[tuple[MarkedPiece, bool]]:
    """The pieces of a line, each with whether it is an element; marks in its text are pieces."""
    elements: list[MarkedPiece] = []
    for item in items:
        # The same character in the text is kept as it is.
        elements += (
            [Tag(_STAND_IN, "empty")] * item.count(_STAND_IN) if isinstance(item, str) else [item]
        )
    line = "".join(item if isinstance(item, str) else _STAND_IN for item in items)
    following = iter(elements)
    pieces: list[tuple[MarkedPiece, bool]] = []
    for piece in parse_line(line):
        if not isinstance(piece, Text):
            pieces.append((piece, False))
            continue
        for index, raw in enumerate(
            (piece.text if piece.raw is None else piece.raw).split(_STAND_IN)
        ):
            if index:
                pieces.append((next(following), True))
            if raw:
                text = raw if piece.raw is None else unescaped(raw)
                pieces.append((source_text(text, raw), False))
    return pieces


def _with_scopes(pieces: Sequence[tuple[MarkedPiece, bool]]) -> Iterator[MarkedPiece]:
    """The pieces with names for tags so that no pair begins in one element and ends in another."""
    scopes: list[str] = []
    for piece, _ in pieces:
        if not isinstance(piece, Tag) or piece.kind == "empty":
            yield piece
        elif _is_container(piece):
            if piece.kind == "open":
                scopes.append(piece.name)
            else:
                scopes.pop()
            yield piece
        else:
            yield replace(piece, name=f"{piece.name} {scopes[-1]}") if scopes else piece


def _is_container(tag: Tag) -> bool:
    """Whether a tag is that of an element with text; no other name has a space and a number."""
    return tag.name.partition(" ")[0] in _CONTAINERS and " " in tag.name


def _is_protected(element: XmlElement) -> bool:
    """Whether an element is not translated."""
    attributes = element.attributes
    return element.name == "mrk" and (
        attributes.get("translate") == "no" or attributes.get("mtype") == "protected"
    )


def _id_of(element: XmlElement) -> str:
    """The name of an element that stands alone, as Angular gives it: `INTERPOLATION_1`."""
    attributes = element.attributes
    return attributes.get("equiv") or attributes.get("id") or ""


def _is_break(element: XmlElement) -> bool:
    """Whether an element stands for a line break."""
    attributes = element.attributes
    return attributes.get("ctype") == "lb" or attributes.get("subType") == "xlf:lb"
