"""Files of JSON, such as the texts of an app: strings are translated, all else stays."""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from nmt_cli.data.markup.html_tags import unescaped
from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    raw_text,
)
from nmt_cli.data.text.letters import has_letters
from nmt_cli.documents.document import ReadOptions, message_notes
from nmt_cli.documents.encoding import BYTE_ORDER_MARK, decode, encode
from nmt_cli.documents.json_strings import JsonStrings, as_json
from nmt_cli.documents.template import Template, source_text
from nmt_cli.documents.text import add_lines
from nmt_cli.errors import DataError

# What only texts of apps have: $t(key) and __name__ of i18next, @:key and @.upper:key of Vue,
# $NAME$ of Chrome, :name of Laravel.
_REFERENCE = re.compile(
    r"\$t\([^()]*\)"
    r"|(?<![\w@])@(?:\.\w+)?:(?:\([\w.-]+\)|\{'[\w.-]+'\}|[A-Za-z_](?:[\w-]|\.(?=[\w-]))*)"
    r"|(?<![\w$])\$[A-Za-z_@][\w@]*\$(?![\w$])"
    r"|(?<!\w)__[A-Za-z]\w*?__(?!\w)"
    r"|(?<![^\s\"'“”‘’«»„(\[>/]):[A-Za-z_]\w*+(?!:)"
)


class _StringSlot(NamedTuple):
    """A string to translate: as it is written, its value, and the index of its first segment."""

    raw: str
    value: str
    template: Template
    first: int


class JsonDocument:
    """Nested objects and lists; their strings are replaced by their translations.

    notes: what is left as it is, for the user.
    """

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError if it is not JSON, or has no string in the field of the options."""
        self._name = options.name
        text, self._encoding = decode(data, options.name)
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        content = text.removeprefix(self._mark)
        strings = JsonStrings(content, options)
        self.segments: list[MarkedText] = []
        self.places: list[str] = []
        self._parts: list[str | _StringSlot] = []
        end, is_found = 0, False
        messages: list[str] = []
        for string in strings:
            is_found = True
            if not has_letters(string.value) and "&" not in string.value:
                # As most values of some files; an entity may stand for a letter.
                continue
            template = Template()
            add_lines(template, string.value, string.path, _parsed)
            messages += [f"`{place}`" for place in template.messages]
            if not template.segments:
                continue
            raw = content[string.begin : string.end]
            slot = _StringSlot(raw, string.value, template, len(self.segments))
            self._parts += (content[end : string.begin], slot)
            self.segments += template.segments
            self.places += template.places
            end = string.end
        self._parts.append(content[end:])
        self.notes = message_notes(options.name, messages)
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

    def _written(self, slot: _StringSlot, translated: Sequence[MarkedText]) -> str:
        end = slot.first + len(slot.template.segments)
        text = slot.template.fill(translated[slot.first : end])
        # As it was written, since one string can be written in many ways.
        return slot.raw if text == slot.value else as_json(text, ensure_ascii=self._has_escapes)


def _parsed(line: str) -> MarkedText:
    """The pieces of a line with references to other texts of an app as placeholders.

    >>> _parsed("See $t(home).")
    (Text(text='See ', raw=None), Placeholder(raw='$t(home)'), Text(text='.', raw=None))
    """
    pieces = parse_line(line)
    if not _REFERENCE.search(line):
        return pieces
    ends = list(accumulate(len(raw_text((piece,))) for piece in pieces))
    result: list[MarkedPiece] = []
    # The piece that is next, and where what is left of it begins.
    index = begin = 0
    for match in _REFERENCE.finditer(line):
        while ends[index] <= match.start():
            result.append(_part(line, begin, ends[index], pieces[index]))
            begin = ends[index]
            index += 1
        last = index
        while ends[last] < match.end():
            last += 1
        covered = pieces[index : last + 1]
        at_ends = isinstance(covered[0], Text) and isinstance(covered[-1], Text)
        if not at_ends or any(isinstance(piece, Tag) for piece in covered):
            continue
        if begin < match.start():
            result.append(_part(line, begin, match.start(), covered[0]))
        result.append(Placeholder(match[0]))
        begin = match.end()
        index = last + (begin == ends[last])
    for piece, end in zip(pieces[index:], ends[index:], strict=True):
        result.append(_part(line, begin, end, piece))
        begin = end
    return tuple(result)


def _part(line: str, begin: int, end: int, piece: MarkedPiece) -> MarkedPiece:
    """What is left of a piece: all of it, or a part if it is text."""
    if not isinstance(piece, Text):
        return piece
    raw = line[begin:end]
    return source_text(unescaped(raw), raw)
