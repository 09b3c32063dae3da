"""HTML: the text between block tags is a segment; every other byte is kept."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from html import escape, unescape

from nmt_cli.data.markup.formulas import with_formulas
from nmt_cli.data.markup.html_tags import VOID
from nmt_cli.data.markup.inline import split_words
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text
from nmt_cli.data.markup.pairs import with_pairs_only
from nmt_cli.documents.deletions import with_deletions_apart
from nmt_cli.documents.document import ReadOptions, has_words, message_notes
from nmt_cli.documents.encoding import BYTE_ORDER_MARK, Declaration, decode
from nmt_cli.documents.html.events import Event, find_events, with_messages
from nmt_cli.documents.html.tags import (
    HEADINGS,
    INLINE,
    INLINE_KEPT,
    KEPT,
    Attribute,
    attributes_of,
    declaration_in,
    declared_encoding,
    is_excluded,
    is_in_language,
    is_translated,
    language_of,
)
from nmt_cli.documents.languages import Declared, language_warnings
from nmt_cli.documents.template import Slot, Template, source_text, trimmed, write_text

_SPACES = re.compile(r"[ \t\r\n\f]+")


class HtmlDocument:
    """A page of HTML, well-formed or not."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        declared = options.encoding or declared_encoding(data)
        declaration = Declaration.found(declaration_in(data))
        text, self._encoding = decode(data, options.name, declared, declaration)
        self._template = Template()
        if text.startswith(BYTE_ORDER_MARK):
            self._template.keep(BYTE_ORDER_MARK)
            text = text[1:]
        declared_languages = add_html(self._template, text, language=options.language)
        self.segments, self.places = self._template.segments, self._template.places
        self.notes = message_notes(options.name, self._template.messages)
        # `<body>`, which comes last, has the text.
        self.warnings = language_warnings(options, declared_languages[-1:] if self.segments else ())

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The page with a translation for each segment.

        Letters that its encoding lacks are written as character references.
        """
        text = self._template.fill(translated)
        errors = "replace" if self._encoding.startswith("utf") else "xmlcharrefreplace"
        return text.encode(self._encoding, errors)


def add_html(
    template: Template, text: str, first_line: int = 1, language: str = ""
) -> list[Declared]:
    """Add HTML to a template; first_line: the number of its first line, for places.

    Returns the languages that the tags `<html>` and `<body>` declare, in their order.
    """
    segmenter = _Segmenter(template, text, first_line, language)
    segmenter.run()
    return segmenter.declared


class _Segmenter:
    """Walks through the events of a text and builds its template."""

    def __init__(self, template: Template, text: str, first_line: int, language: str) -> None:
        self._template = template
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._first_line = first_line
        self._language = language
        self._pieces: list[MarkedPiece] = []
        self._begin = 0
        self._is_heading = False
        self.declared: list[Declared] = []

    def run(self) -> None:
        """Add the whole text to the template."""
        events = with_messages(find_events(self._text), self._text)
        index = 0
        while index < len(events):
            event = events[index]
            if event.kind in ("start", "empty") and self._is_kept(event):
                end = index + 1 if event.kind == "empty" else _end_of(events, index)
                self._keep(event, "".join(part.raw for part in events[index:end]))
                index = end
                continue
            self._take(event)
            index += 1
        self._flush()

    def _is_kept(self, event: Event) -> bool:
        """Whether an element is not translated."""
        if event.name in VOID:
            return False
        if event.name in KEPT | INLINE_KEPT:
            return True
        attributes = attributes_of(event.raw)
        return is_excluded(attributes) or (
            event.name not in ("html", "body") and is_in_language(attributes, self._language)
        )

    def _keep(self, event: Event, raw: str) -> None:
        """Keep a whole element: as a word, as a mark in the text, or between segments."""
        if event.name in INLINE_KEPT or (event.name in INLINE and event.name not in KEPT):
            self._append(Placeholder(raw), event)
        elif self._pieces and event.name in ("script", "style", "svg", "math"):
            self._append(Tag(raw, "empty", event.name), event)
        else:
            self._flush()
            self._template.keep(raw)

    def _take(self, event: Event) -> None:
        if event.kind == "text":
            for piece in split_words(event.raw, _text):
                self._append(piece, event)
        elif event.kind == "message":
            self._append(Placeholder(event.raw), event)
        elif event.kind == "other":
            self._append(Tag(event.raw, "empty"), event)
        elif event.name in INLINE:
            is_alone = event.kind == "empty" or event.name in VOID
            kind = "empty" if is_alone else "close" if event.kind == "end" else "open"
            if kind != "close":
                self._find_slots(event)
            self._append(Tag(event.raw, kind, event.name), event)  # type: ignore[arg-type]
        else:
            self._flush()
            # The content of a heading up to the first element that is not inline.
            self._is_heading = event.kind == "start" and event.name in HEADINGS
            self._find_language(event)
            self._find_slots(event)
            for part in self._template.tags.get(event.raw, (event.raw,)):
                self._template.parts.append(part)

    def _append(self, piece: MarkedPiece, event: Event) -> None:
        if not self._pieces:
            self._begin = event.begin
        self._pieces.append(piece)

    def _flush(self) -> None:
        """End the current segment."""
        if self._pieces:
            place = self._place(self._begin)
            pieces = with_pairs_only(with_formulas(self._pieces))
            pieces = with_deletions_apart(self._template, pieces, place, _write)
            self._template.add(pieces, place, _write, is_heading=self._is_heading)
            self._pieces = []

    def _place(self, position: int) -> str:
        return f"line {self._line(position)}"

    def _line(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1 + self._first_line

    def _find_language(self, event: Event) -> None:
        """Note the language that the tag of the page or of its body declares."""
        if event.kind == "start" and event.name in ("html", "body"):
            attribute = language_of(attributes_of(event.raw))
            if attribute is not None:
                code, line = attribute.value.strip(), self._line(event.begin)
                self.declared.append(Declared("source", code, attribute.name, line))

    def _find_slots(self, event: Event) -> None:
        """Note the attributes of a tag that are translated, or changed with the language."""
        if event.kind == "end" or event.raw in self._template.tags:
            return
        attributes = attributes_of(event.raw)
        parts: list[str | Slot] = []
        end = 0
        for attribute in attributes:
            part = self._attribute(event, attribute, attributes)
            if part:
                parts += [event.raw[end : attribute.begin], *part]
                end = attribute.end
        if parts:
            self._template.tags[event.raw] = [*parts, event.raw[end:]]

    def _attribute(
        self, event: Event, attribute: Attribute, attributes: Sequence[Attribute]
    ) -> list[str | Slot]:
        """What stands for the value of an attribute; empty: it is kept."""
        quote = attribute.quote
        if event.name == "html" and attribute.name in ("lang", "xml:lang") and self._language:
            return [f"{quote}{self._language}{quote}"]
        if not is_translated(event.name, attribute, attributes):
            return []
        pieces = tuple(split_words(attribute.raw_value, _text))
        before, inner, after = trimmed(pieces)
        if not has_words(inner):
            return []

        # A value without quotes gets them when it becomes several words.
        def write(translation: MarkedText) -> str:
            added = "" if quote else '"'
            return added + write_text(translation, escape) + added

        slot = self._template.slot(inner, self._place(event.begin), write)
        spaces = ["".join(piece.text for piece in side if isinstance(piece, Text))
                  for side in (before, after)]  # fmt: skip
        return [quote + spaces[0], slot, spaces[1] + quote]


def _end_of(events: Sequence[Event], begin: int) -> int:
    """The index behind the end of the element that begins at the event `begin`."""
    name, depth = events[begin].name, 0
    for index in range(begin, len(events)):
        event = events[index]
        if event.name != name:
            continue
        if event.kind == "end":
            depth -= 1
        elif event.kind == "start":
            if depth and name == "p":
                # A paragraph ends where the next one begins.
                return index
            depth += 1
        if depth == 0:
            return index + 1
    return len(events)


def _text(raw: str) -> Text:
    return source_text(_SPACES.sub(" ", unescape(raw)), raw)


def _write(pieces: MarkedText) -> str:
    return write_text(pieces, lambda text: escape(text, quote=False))
