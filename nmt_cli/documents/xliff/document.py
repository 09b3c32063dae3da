"""XLIFF 1.2 and 2.x: units without a translation get one, which a person is to review."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.documents.document import ReadOptions, message_notes
from nmt_cli.documents.encoding import Declaration, decode
from nmt_cli.documents.languages import Declared, language_warnings
from nmt_cli.documents.template import Template
from nmt_cli.documents.xliff.content import ContentReader
from nmt_cli.documents.xliff.elements import Scope, Unit, UnitReader, XmlElement, prefix_of
from nmt_cli.documents.xliff.tags import (
    declaration_in,
    declared_encoding,
    inherited,
    with_attributes,
)

# What a translation of the first version says of itself.
REVIEW = {"state": "needs-review-translation", "state-qualifier": "leveraged-mt"}
# States of targets that are not translated, whatever they contain: tools put the source there.
UNTRANSLATED = frozenset(("new", "needs-translation"))
# The states of targets that `fuzzy` translates again, by the version of XLIFF.
FUZZY = {1: frozenset((REVIEW["state"],)), 2: frozenset(("initial", "translated"))}
TRANSLATED = "translated"
# The attributes that say the languages of source and target, by the version of XLIFF.
LANGUAGES = {1: ("source-language", "target-language"), 2: ("srcLang", "trgLang")}
# White space before a source that is looked at.
MAX_INDENT = 1_000
_INDENT = re.compile(rb"(\r\n|\r|\n)([ \t]*)\Z")


@dataclass(frozen=True)
class _TargetSlot:
    """A target to write. source: what it stands behind; target: what is there, or None.

    segment: the element that has the state, in the second version; root: the element that says
    the target language; template: of the content; first: the index of its first segment.
    """

    source: XmlElement
    target: XmlElement | None
    segment: XmlElement | None
    root: XmlElement
    template: Template
    first: int


@dataclass(frozen=True)
class _Edit:
    """Bytes to write in place of those from `begin` to `end`."""

    begin: int
    end: int
    written: bytes


class XliffDocument:
    """A file of XLIFF. Units whose translation equals the source stay without one."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError if it is no XLIFF, damaged, or declares a document type."""
        self._options = options
        declared = options.encoding or declared_encoding(data)
        declaration = Declaration.found(declaration_in(data))
        text, self._encoding = decode(data, options.name, declared, declaration)
        # Some encodings have halves of characters, which the parser refuses.
        self._data = text.encode("utf-8", "surrogatepass")
        self.segments: list[MarkedText] = []
        self.places: list[str] = []
        self._messages: list[str] = []
        # The places of units that stay without a translation, once the file is rendered.
        self.left: list[str] = []
        self._slots: list[_TargetSlot] = []
        self._reader = UnitReader(self._data, options.name)
        self._reader.read(self._take)
        self.notes = message_notes(options.name, self._messages)
        self.warnings = language_warnings(options, self._languages())

    def _languages(self) -> Iterator[Declared]:
        """The languages that the roots of the texts to translate declare."""
        source, target = LANGUAGES[self._reader.version]
        for root in {slot.root.begin: slot.root for slot in self._slots}.values():
            yield Declared("source", root.attributes.get(source, ""), source, root.line)
            yield Declared("target", root.attributes.get(target, ""), target, root.line)

    def _take(self, unit: Unit) -> None:
        """Add the segments of a unit."""
        if not unit.scope.is_translated:
            return
        if self._reader.version == 1:
            self._take_first_version(unit)
            return
        for segment in unit.element.children:
            source, target = segment.child("source"), segment.child("target")
            if segment.name != "segment" or source is None:
                continue
            state = segment.attributes.get("state", "")
            if self._is_empty(target) or self._is_fuzzy(state):
                template = Template()
                scope = unit.scope.within(segment).within(source)
                self._content(template, scope, source).add(source)
                self._add(template, source, target, segment, unit.parents[0])

    def _take_first_version(self, unit: Unit) -> None:
        element = unit.element
        source, target = element.child("source"), element.child("target")
        if source is None:
            return
        state = target.attributes.get("state", "") if target else ""
        is_done = element.attributes.get("approved") == "yes" or not (
            state in UNTRANSLATED or self._is_fuzzy(state)
        )
        if is_done and not self._is_empty(target):
            return
        # Some parent is the file, except in files that are not valid.
        names = {parent.name: parent for parent in unit.parents}
        root = names.get("file", unit.parents[0])
        template = Template()
        segmented = element.child("seg-source")
        if segmented is not None:
            content = self._content(template, unit.scope.within(segmented), segmented)
            if content.add_marked(segmented):
                self._add(template, segmented, target, None, root)
                return
            template = Template()
        self._content(template, unit.scope.within(source), source).add(source)
        self._add(template, segmented or source, target, None, root)

    def _content(self, template: Template, scope: Scope, source: XmlElement) -> ContentReader:
        return ContentReader(self._data, template, scope.keeps_space, f"line {source.line}")

    def _is_fuzzy(self, state: str) -> bool:
        return self._options.fuzzy and state in FUZZY[self._reader.version]

    def _is_empty(self, target: XmlElement | None) -> bool:
        """Whether a target has no text and no inline element but marks of segments."""
        if target is None:
            return True
        position = target.content
        for child in target.children:
            if child.name != "mrk" or not self._is_empty(child):
                return False
            if self._data[position : child.begin].strip():
                return False
            position = child.end
        return not self._data[position : target.content_end].strip()

    def _add(
        self, template: Template, source: XmlElement, target: XmlElement | None,
        segment: XmlElement | None, root: XmlElement,
    ) -> None:  # fmt: skip
        self._messages += template.messages
        if template.segments:
            first = len(self.segments)
            self._slots.append(_TargetSlot(source, target, segment, root, template, first))
            self.segments += template.segments
            self.places += template.places

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The file with its translations.

        Letters that its encoding lacks are written as character references.
        """
        if len(translated) != len(self.segments):
            raise ValueError(f"{len(translated)} translations of {len(self.segments)} segments")
        self.left = []
        edits = sorted(self._edits(translated), key=lambda edit: edit.begin)
        parts, position = [], 0
        for edit in edits:
            parts += [self._data[position : edit.begin], edit.written]
            position = edit.end
        text = b"".join([*parts, self._data[position:]]).decode()
        errors = "replace" if self._encoding.startswith("utf") else "xmlcharrefreplace"
        return text.encode(self._encoding, errors)

    def _edits(self, translated: Sequence[MarkedText]) -> Iterator[_Edit]:
        roots: dict[int, XmlElement] = {}
        for slot in self._slots:
            span = slice(slot.first, slot.first + len(slot.template.segments))
            if list(translated[span]) == self.segments[span]:
                self.left.append(self.places[slot.first])
                continue
            roots[slot.root.begin] = slot.root
            yield self._target(slot, slot.template.fill(translated[span]))
            if slot.segment is not None:
                yield self._tag(slot.segment, {"state": TRANSLATED})
        _, language = LANGUAGES[self._reader.version]
        for root in roots.values():
            if self._options.language and language not in root.attributes:
                yield self._tag(root, {language: self._options.language})

    def _tag(self, element: XmlElement, attributes: Mapping[str, str]) -> _Edit:
        """The first tag of an element with these attributes."""
        tag = self._data[element.begin : element.content]
        written = with_attributes(tag.decode(), attributes)
        return _Edit(element.begin, element.content, written.encode())

    def _target(self, slot: _TargetSlot, text: str) -> _Edit:
        """A target with this content, in place of the one that is there."""
        source, target = slot.source, slot.target
        attributes = inherited(self._data[source.begin : source.content].decode())
        attributes |= REVIEW if self._reader.version == 1 else {}
        if target is None:
            name = f"{prefix_of(self._data, source)}target"
            start, begin, end = f"<{name}>", source.end, source.end
            at = source.begin
            before = _INDENT.search(self._data[max(0, at - MAX_INDENT) : at])
            space = before[0].decode() if before else ""
        else:
            name = f"{prefix_of(self._data, target)}target"
            start = self._data[target.begin : target.content].decode()
            begin, end, space = target.begin, target.end, ""
            if target.is_empty_tag:
                start = start.removesuffix("/>").rstrip() + ">"
        written = f"{space}{with_attributes(start, attributes)}{text}</{name}>"
        return _Edit(begin, end, written.encode("utf-8", "replace"))
