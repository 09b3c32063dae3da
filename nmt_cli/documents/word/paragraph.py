"""A paragraph of a Word document as marked text, and written again from one."""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence

from nmt_cli.data.markup.inline import split_words
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Tag, Text
from nmt_cli.data.markup.pairs import with_pairs_only
from nmt_cli.data.markup.reference_marks import may_be_mark
from nmt_cli.data.text.letters import has_letters
from nmt_cli.documents.line_blocks import line_ends
from nmt_cli.documents.list_marks import is_break_before_item
from nmt_cli.documents.word.package import Element
from nmt_cli.documents.word.ranges import (
    WORD,
    end_of_range,
    is_comment_mark,
    nested,
    with_ranges,
    without_ranges,
)
from nmt_cli.documents.word.titles import has_heading_style, most_lines_of_title

LINK = "w:hyperlink"
# The name of tags around raised and lowered marks, such as that of a footnote; HTML has the same.
RAISED = "sup"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
# Elements of a paragraph that hold runs, as a link does.
_CONTAINERS = frozenset(
    f"{WORD}{name}"
    for name in ("bdo", "customXml", "dir", "hyperlink", "ins", "moveTo", "sdt", "smartTag")
)
# Left by the spelling checker and the page layout; a translation needs them made anew.
_DROPPED = frozenset(f"{WORD}{name}" for name in ("proofErr", "lastRenderedPageBreak"))
_HYPHENS = {f"{WORD}noBreakHyphen": "\u2011", f"{WORD}softHyphen": "\u00ad"}
_CONTAINER_PROPERTIES = frozenset(
    f"{WORD}{name}" for name in ("customXmlPr", "sdtPr", "sdtEndPr", "smartTagPr")
)
_KEPT_APART = _DROPPED | _CONTAINER_PROPERTIES | {f"{WORD}pPr"}
# Objects that separate the words on both sides: breaks of lines and tabs.
_TABS = frozenset(f"{WORD}{name}" for name in ("tab", "ptab"))
_SEPARATORS = _TABS | frozenset(f"{WORD}{name}" for name in ("br", "cr"))
_NOTES = frozenset(f"{WORD}{name}" for name in ("footnoteReference", "endnoteReference"))
# A format with a smaller share of the characters of the most frequent one is never the usual one.
SHARE_OF_USUAL = 0.25
# Properties of runs that say nothing about how the words look.
_INVISIBLE = frozenset(f"{WORD}{name}" for name in ("lang", "noProof"))


def paragraphs_of(part: Element) -> list[Element]:
    """The paragraphs of a part, in order, also those in tables and text boxes."""
    return list(part.iter(f"{WORD}p"))


def field_depth(paragraph: Element, depth: int) -> int:
    """How many fields are open at the end of a paragraph; depth: at its beginning."""
    return max(0, depth + sum(map(_depth_change, _own(paragraph, f"{WORD}fldChar"))))


def _depth_change(mark: Element) -> int:
    """1 for the mark that begins a field, -1 for the one that ends it, 0 for the one between."""
    return {"begin": 1, "end": -1}.get(str(mark.get(f"{WORD}fldCharType")), 0)


def _own(paragraph: Element, tag: str) -> Iterator[Element]:
    """The elements of a paragraph, without those of paragraphs in it (text boxes)."""
    for child in paragraph:
        if child.tag == tag:
            yield child
        elif child.tag != f"{WORD}p":
            yield from _own(child, tag)


def _is_raised(properties: Element) -> bool:
    """Whether a run is superscript or subscript."""
    align = properties.find(f"{WORD}vertAlign")
    return align is not None and align.get(f"{WORD}val") in ("superscript", "subscript")


class Paragraph:
    """A paragraph. Its pieces: text, tags for other formats, containers and objects."""

    def __init__(self, element: Element) -> None:
        self._element = element
        # What each tag stands for, by how it is written.
        self._objects: dict[str, list[Element]] = {}
        self._tabs: set[str] = set()
        self._containers: dict[str, Element] = {}
        self._formats: dict[str, Element | None] = {"": None}
        self._raised: set[str] = set()
        self._atoms = list(self._read(element, ""))
        self._usual = self._usual_format()
        self.pieces = self._as_pieces()

    def _usual_format(self) -> str:
        """The format that is written without tags, so that few parts of the text need any.

        In `A man is <b>riding a bike</b>.`, that of the words around the longer bold part: tags
        around a whole part are placed better than around all that is left of a sentence.
        """
        characters: Counter[str] = Counter()
        parts: Counter[str] = Counter()
        before = ""
        for kind, value, key in self._atoms:
            if kind == "text" and value:
                characters[key] += len(value)
                parts[key] += before != f"text {key}"
                before = f"text {key}"
            elif kind != "text":
                before = kind
        if not characters:
            return ""
        least = max(characters.values()) * SHARE_OF_USUAL
        frequent = [key for key, count in characters.items() if count >= least]
        frequent = [key for key in frequent if key not in self._raised] or frequent
        return max(frequent, key=lambda key: (parts[key], characters[key]))

    def _read(self, parent: Element, scope: str) -> Iterator[tuple[str, str, str]]:
        """The content as (kind, text or tag, format): kind is text, object, open or close.

        scope: the tag of the container that it is in, "" for none.
        """
        field: list[Element] = []
        depth = 0
        last = ""
        for child in parent:
            before = depth
            if child.tag == f"{WORD}r":
                depth += sum(map(_depth_change, child.iter(f"{WORD}fldChar")))
            if before or depth or field:
                # A field is one object, with what it shows.
                field.append(child)
                if depth == 0:
                    yield self._object(field)
                    field = []
            elif last and child.tag == f"{WORD}r" and is_comment_mark(child):
                self._objects[last].append(child)
            elif child.tag == f"{WORD}r":
                yield from self._read_run(child)
            elif child.tag in _CONTAINERS:
                yield from self._read_container(child)
            elif end := end_of_range(child, scope):
                last = self._object([child])[1]
                yield end[0], last, end[1]
                continue
            elif child.tag not in _KEPT_APART:
                yield self._object([child])
            last = ""
        if field:
            yield self._object(field)

    def _read_container(self, element: Element) -> Iterator[tuple[str, str, str]]:
        name = f"c{len(self._containers)}"
        self._containers[f"<{name}>"] = element
        inner = element.find(f"{WORD}sdtContent")
        # No link may get into another one.
        kind = LINK if element.tag == f"{WORD}hyperlink" else name
        yield "open", f"<{name}>", kind
        yield from self._read(element if inner is None else inner, f"<{name}>")
        yield "close", f"</{name}>", kind

    def _object(self, elements: Sequence[Element]) -> tuple[str, str, str]:
        raw = f"<x{len(self._objects)}/>"
        self._objects[raw] = list(elements)
        return "object", raw, "x"

    def _read_run(self, run: Element) -> Iterator[tuple[str, str, str]]:
        from lxml import etree

        properties = run.find(f"{WORD}rPr")
        key = ""
        if properties is not None:
            key = "".join(
                etree.tostring(setting, method="c14n").decode()
                for setting in properties
                if setting.tag not in _INVISIBLE
            )
            if self._formats.get(key) is None:
                self._formats[key] = properties
            if _is_raised(properties):
                self._raised.add(key)
        for child in run:
            if child.tag == f"{WORD}t":
                yield "text", child.text or "", key
            elif child.tag in _HYPHENS:
                yield "text", _HYPHENS[child.tag], key
            elif child.tag != f"{WORD}rPr" and child.tag not in _DROPPED:
                holder = etree.Element(run.tag, dict(run.attrib), nsmap=run.nsmap)
                if properties is not None:
                    holder.append(copy.deepcopy(properties))
                kind, raw, _ = self._object([holder])
                # The child is moved there when the paragraph is written.
                self._objects[raw].append(child)
                if child.tag in _TABS:
                    self._tabs.add(raw)
                name = RAISED if child.tag in _NOTES else "x"
                yield kind, raw, "w:br" if child.tag in _SEPARATORS else name

    def _as_pieces(self) -> MarkedText:
        pieces: list[MarkedPiece] = []
        names = {key: f"f{index}" for index, key in enumerate(self._formats)}
        current, text = "", ""

        def flush() -> None:
            nonlocal text
            if text:
                words = split_words(text, Text)
                if current != self._usual:
                    raw = names[current]
                    is_mark = current in self._raised and (
                        not has_letters(text) or may_be_mark(text)
                    )
                    name = RAISED if is_mark else raw
                    words = [Tag(f"<{raw}>", "open", name), *words,
                             Tag(f"</{raw}>", "close", name)]  # fmt: skip
                pieces.extend(words)
                text = ""

        for kind, value, key in self._atoms:
            if kind == "text":
                if key != current:
                    flush()
                    current = key
                text += value
                continue
            flush()
            if kind == "object":
                pieces.append(Tag(value, "empty", key))
            else:
                pieces.append(Tag(value, "open" if kind == "open" else "close", key))
        flush()
        return with_pairs_only(nested(pieces))

    @property
    def is_heading(self) -> bool:
        """Whether the style of the paragraph is one of headings, by its usual name."""
        return has_heading_style(self._element)

    def columns(self) -> Iterator[MarkedText]:
        """The pieces, cut at tabs, and at breaks of lines before items of a list or between lines
        that are no parts of one sentence.

        Each tab and each such break is a column, too. Links and the like are not cut; ranges, such
        as bookmarks, may begin in one column and end in another one.
        """
        lines = most_lines_of_title(self._element)
        for column in self._columns():
            ends = line_ends(
                without_ranges(column), is_heading=self.is_heading, lines_of_title=lines
            )
            begin = 0
            for end in sorted(ends):
                yield from (with_ranges(column[begin:end]), column[end : end + 1])
                begin = end + 1
            yield with_ranges(column[begin:])

    def _columns(self) -> Iterator[MarkedText]:
        """The pieces, cut at tabs and at breaks of lines before items of a list."""
        depth = 0
        column: list[MarkedPiece] = []
        for index, piece in enumerate(self.pieces):
            if isinstance(piece, Tag):
                if piece.raw not in self._objects:
                    depth += piece.depth_change
                is_end = piece.raw in self._tabs or is_break_before_item(self.pieces, index)
                if depth == 0 and is_end:
                    yield from ((*column,), (piece,))
                    column = []
                    continue
            column.append(piece)
        yield (*column,)

    def write(self, pieces: Sequence[MarkedPiece]) -> None:
        """Replace the content of the paragraph by these pieces; objects they lack come last."""
        written = {piece.raw for piece in pieces if isinstance(piece, Tag)}
        lost = [Tag(raw, "empty") for raw in self._objects if raw not in written]
        names = {f"<f{index}>": key for index, key in enumerate(self._formats)}
        self._clear()
        parents = [self._element]
        formats = [self._usual]
        for piece in (*pieces, *lost):
            if not isinstance(piece, Tag):
                text = piece.text if isinstance(piece, Text) else piece.raw
                parents[-1].append(self._run(text, formats[-1]))
            elif piece.raw in self._objects:
                self._put(parents[-1], piece.raw)
            elif piece.raw in self._containers:
                parents.append(self._opened(parents[-1], self._containers[piece.raw]))
            elif piece.raw.replace("/", "") in self._containers and len(parents) > 1:
                parents.pop()
            elif piece.raw in names:
                formats.append(names[piece.raw])
            elif piece.raw.replace("/", "") in names and len(formats) > 1:
                formats.pop()

    def _clear(self) -> None:
        for child in list(self._element):
            if child.tag != f"{WORD}pPr":
                self._element.remove(child)

    def _put(self, parent: Element, raw: str) -> None:
        """Append an object: an element, or a run and the element that belongs into it."""
        first, *others = self._objects[raw]
        parent.append(first)
        is_holder = first.tag == f"{WORD}r" and len(others) == 1 and others[0].tag != f"{WORD}r"
        for element in others:
            (first if is_holder else parent).append(element)

    def _opened(self, parent: Element, container: Element) -> Element:
        """Append a container without its content; returns where its content belongs."""
        inner = container.find(f"{WORD}sdtContent")
        for child in list(container if inner is None else inner):
            if child.tag not in _CONTAINER_PROPERTIES:
                child.getparent().remove(child)
        parent.append(container)
        return container if inner is None else inner

    def _run(self, text: str, key: str) -> Element:
        from lxml import etree

        run = etree.Element(f"{WORD}r", nsmap=self._element.nsmap)
        properties = self._formats[key]
        if properties is not None:
            run.append(copy.deepcopy(properties))
        words = etree.SubElement(run, f"{WORD}t")
        words.text = text
        words.set(SPACE, "preserve")
        return run
