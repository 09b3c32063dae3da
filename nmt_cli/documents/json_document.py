"""Files of JSON, such as the texts of an app: strings are translated, all else stays."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.markup.html_tags import unescaped
from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Text,
    raw_text,
)
from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.encoding import BYTE_ORDER_MARK, decode, encode
from nmt_cli.documents.json_strings import JsonString, JsonStrings, as_json
from nmt_cli.documents.template import Template, source_text
from nmt_cli.documents.text import lines_of, writer_like
from nmt_cli.errors import DataError

# What only texts of apps have: $t(key) of i18next, @:key and @.upper:key of Vue, $NAME$ of Chrome.
_REFERENCE = re.compile(
    r"\$t\([^()]*\)"
    r"|(?<![\w@])@(?:\.\w+)?:(?:\([\w.-]+\)|\{'[\w.-]+'\}|[A-Za-z_](?:[\w-]|\.(?=[\w-]))*)"
    r"|(?<![\w$])\$[A-Za-z_@][\w@]*\$(?![\w$])"
)


class _Slot(NamedTuple):
    """A string to translate: as it is written, its value, and the index of its first segment."""

    raw: str
    value: str
    template: Template
    first: int


class JsonDocument:
    """Nested objects and lists; their strings are replaced by their translations."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError if it is not JSON, or has no string in the field of the options."""
        self._name = options.name
        text, self._encoding = decode(data, options.name)
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        content = text.removeprefix(self._mark)
        strings = JsonStrings(content, options)
        self.segments: list[MarkedText] = []
        self.places: list[str] = []
        self._parts: list[str | _Slot] = []
        end, is_found = 0, False
        for string in strings:
            is_found = True
            template = _template(string)
            if not template.segments:
                continue
            raw = content[string.begin : string.end]
            slot = _Slot(raw, string.value, template, len(self.segments))
            self._parts += (content[end : string.begin], slot)
            self.segments += template.segments
            self.places += template.places
            end = string.end
        self._parts.append(content[end:])
        self._has_escapes = strings.has_escapes
        if options.field and not is_found:
            option = "`field`" if options.is_served else "--field"
            raise DataError(
                f"`{options.name}`: no text in a field `{options.field}`",
                f"{option} names a key as it is written; without it, all texts are translated",
            )

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The file with its translations; strings that are their own translation stay."""
        if len(translated) != len(self.segments):
            raise ValueError(f"{len(translated)} translations of {len(self.segments)} segments")
        parts = (
            part if isinstance(part, str) else self._written(part, translated)
            for part in self._parts
        )
        return encode(self._mark + "".join(parts), self._encoding, self._name)

    def _written(self, slot: _Slot, translated: Sequence[MarkedText]) -> str:
        end = slot.first + len(slot.template.segments)
        text = slot.template.fill(translated[slot.first : end])
        # As it was written, since one string can be written in many ways.
        return slot.raw if text == slot.value else as_json(text, ensure_ascii=self._has_escapes)


def _template(string: JsonString) -> Template:
    """A string as a template, each line of which is a segment."""
    template = Template()
    for line, ending in lines_of(string.value):
        pieces = _with_references(line, parse_line(line))
        template.add_sentences(pieces, string.path, writer_like(pieces))
        template.keep(ending)
    return template


def _with_references(line: str, pieces: MarkedText) -> MarkedText:
    """The pieces of a line with references to other texts of an app as placeholders.

    >>> _with_references("See $t(home).", (Text("See $t(home)."),))
    (Text(text='See ', raw=None), Placeholder(raw='$t(home)'), Text(text='.', raw=None))
    """
    result: list[MarkedPiece] = []
    rest = list(reversed(pieces))
    # Where the last piece of `rest`, which is the next one, begins.
    begin = 0
    for match in _REFERENCE.finditer(line):
        while rest and begin + len(raw_text(rest[-1:])) <= match.start():
            begin += len(raw_text(rest[-1:]))
            result.append(rest.pop())
        covered: list[MarkedPiece] = []
        end = begin
        while rest and end < match.end():
            covered.append(rest.pop())
            end += len(raw_text(covered[-1:]))
        if not all(isinstance(piece, Text) for piece in (covered[0], covered[-1])) or not all(
            isinstance(piece, Text | Placeholder) for piece in covered
        ):
            rest += reversed(covered)
            continue
        if begin < match.start():
            result.append(_text(line[begin : match.start()]))
        result.append(Placeholder(match[0]))
        if match.end() < end:
            rest.append(_text(line[match.end() : end]))
        begin = match.end()
    return (*result, *reversed(rest))


def _text(raw: str) -> Text:
    return source_text(unescaped(raw), raw)
