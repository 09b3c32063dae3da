"""Catalogues of gettext (.po): entries without a translation get one, marked as fuzzy."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.documents.accelerators import Accelerator, find_accelerator, label_with
from nmt_cli.documents.conversions import (
    with_literal_signs,
    with_numbers,
    without_numbers,
)
from nmt_cli.documents.document import ReadOptions, message_notes
from nmt_cli.documents.encoding import Declaration, decode, encode, encoding_notes
from nmt_cli.documents.languages import Declared, language_warnings
from nmt_cli.documents.libraries import require_library
from nmt_cli.documents.template import Template
from nmt_cli.documents.text import add_lines
from nmt_cli.errors import DataError

if TYPE_CHECKING:
    from polib import POEntry

FUZZY = "fuzzy"
# Longer lines are wrapped, as the tools of gettext do.
WIDTH = 78
MAX_PLURALS = 10
FIRST_FIELDS = ("msgctxt", "msgid")
_CHARSET = re.compile(rb"charset=([\w.:-]+)")
_PLURALS = re.compile(r"nplurals\s*=\s*(\d+)")
_LANGUAGE = re.compile(r'"Language:[ \t]*([\w@.-]+)')
_FIELD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*\"")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r",
            "\v": "\\v", "\b": "\\b", "\f": "\\f", "\a": "\\a"}  # fmt: skip


@dataclass(frozen=True)
class _Entry:
    """An entry to translate, by its lines in the file.

    first: the first line after its comments; flags: the line of its flags, or None; targets: the
    first and last line of each of its translations; templates: of the translations; segments: the
    index of the first segment of each template; accelerators: of the source of each template;
    are_formats: whether each source has conversions that may get numbers.
    """

    first: int
    flags: int | None
    targets: Sequence[tuple[int, int]]
    templates: Sequence[Template]
    segments: Sequence[int]
    accelerators: Sequence[Accelerator | None]
    are_formats: Sequence[bool]


class CatalogueDocument:
    """A catalogue; entries whose translation equals the source stay without one."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError if it is no catalogue, UnavailableError without polib."""
        require_library("polib", "catalogues (.po)")
        self._name = options.name
        charset = _CHARSET.search(data)
        self._declaration = Declaration.found(charset)
        declared = options.encoding or _codec(charset)
        text, self._encoding = decode(data, options.name, declared, self._declaration)
        # As polib counts lines.
        self._lines = text.splitlines(keepends=True)
        self.segments: list[MarkedText] = []
        self.places: list[str] = []
        # The places of entries that stay without a translation, once the catalogue is rendered.
        self.left: list[str] = []
        self._messages: list[str] = []
        self._entries = [
            self._read_entry(entry, plurals)
            for entry, plurals in self._untranslated(text, fuzzy=options.fuzzy)
        ]
        self.notes = encoding_notes(options.name, self._encoding, self._declaration)
        if self._declaration.name == "CHARSET":
            self.notes.append(
                f"`{options.name}` is a template: its header names no encoding (charset=CHARSET), "
                f"and is kept; to make a catalogue of it that gettext compiles: "
                f"{_new_catalogue(options)}"
            )
        self.notes += message_notes(options.name, self._messages)
        self.warnings = language_warnings(options, self._language() if self.segments else ())

    def _language(self) -> Iterator[Declared]:
        """The target language that the header declares."""
        first = next((i for i, line in enumerate(self._lines) if line.startswith("msgid")), 0)
        for index, line in enumerate(self._lines[first:], first):
            if index > first and _FIELD.match(line) and not line.startswith("msgstr"):
                return
            if match := _LANGUAGE.match(line):
                yield Declared("target", match[1], "Language", index + 1)

    def _untranslated(self, text: str, *, fuzzy: bool) -> "Iterator[tuple[POEntry, int]]":
        """The entries to translate, each with its number of plural forms, 0 without plurals."""
        import polib

        try:
            # A text that ends in a newline is never taken for the name of a file.
            catalogue = polib.pofile(text.lstrip("\ufeff") + "\n")
        except (OSError, ValueError, IndexError, KeyError, AttributeError) as error:
            line = re.search(r"line (\d+)", str(error))
            where = f", line {line[1]}" if line else ""
            raise DataError(
                f"`{self._name}`{where}: this is not a gettext catalogue (.po)",
                "`msgfmt -c` shows what is wrong with it",
            ) from error
        plurals = _PLURALS.search(catalogue.metadata.get("Plural-Forms", ""))
        count = min(int(plurals[1]), MAX_PLURALS) if plurals else 2
        for entry in catalogue:
            is_done = any([entry.msgstr, *entry.msgstr_plural.values()])
            if entry.obsolete or not entry.msgid or (is_done and not (fuzzy and entry.fuzzy)):
                continue
            if entry.msgid_plural and len(entry.msgstr_plural) not in (0, count) and plurals:
                raise DataError(
                    f"`{self._name}`, line {entry.linenum}: "
                    f"{len(entry.msgstr_plural)} plural forms, the header says {count}",
                    "`msgmerge` makes the catalogue anew",
                )
            yield entry, len(entry.msgstr_plural)

    def _read_entry(self, entry: "POEntry", plurals: int) -> _Entry:
        """Find the lines of an entry, and add its segments."""
        # polib counts from the first comment of the entry.
        begin = max(0, entry.linenum - 1)
        first = next(
            (line for line in range(begin, len(self._lines)) if _FIELD.match(self._lines[line])),
            begin,
        )
        targets = list(self._targets(first))
        if len(targets) != max(1, plurals):
            raise DataError(
                f"`{self._name}`, line {entry.linenum}: "
                "the entry has no `msgstr` that can be found",
                "`msgfmt -c` shows what is wrong with it",
            )
        flags = next(
            (line for line in _comments(self._lines, first) if self._lines[line].startswith("#,")),
            None,
        )
        templates, segments, accelerators, are_formats = [], [], [], []
        for index in range(len(targets)):
            # The only form of a language without plurals stands for all numbers.
            is_singular = plurals == 0 or (index == 0 and plurals > 1)
            source = entry.msgid if is_singular else entry.msgid_plural
            template = Template()
            accelerator = find_accelerator(source, gtk=True)
            text = accelerator.text if accelerator else source
            numbered = with_numbers(text, entry.flags)
            add_lines(template, text if numbered is None else numbered, f"line {first + 1}")
            self._messages += template.messages
            segments.append(len(self.segments))
            self.segments += template.segments
            self.places += template.places
            templates.append(template)
            accelerators.append(accelerator)
            are_formats.append(numbered is not None)
        return _Entry(first, flags, targets, templates, segments, accelerators, are_formats)

    def _targets(self, first: int) -> Iterator[tuple[int, int]]:
        """The first and last line of each `msgstr` of the entry that begins at line `first`."""
        begin: int | None = None
        # Entries need no empty line between them: the next one begins with one of these fields.
        has_target = False
        for index in range(first, len(self._lines) + 1):
            line = self._lines[index].strip() if index < len(self._lines) else ""
            field = _FIELD.match(line)
            is_continued = line.startswith('"')
            if begin is not None and not is_continued:
                yield begin, index
                begin = None
            if not is_continued and (not field or (has_target and field[1] in FIRST_FIELDS)):
                return
            if field and field[1].startswith("msgstr"):
                begin, has_target = index, True

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The catalogue with its translations, all marked as fuzzy."""
        if len(translated) != len(self.segments):
            raise ValueError(f"{len(translated)} translations of {len(self.segments)} segments")
        lines = list(self._lines)
        left = [
            self.places[entry.segments[0]]
            for entry in reversed(self._entries)
            if not self._write(lines, entry, translated) and self._has_segments(entry)
        ]
        self.left = left[::-1]
        return encode("".join(lines), self._encoding, self._name, self._declaration)

    @staticmethod
    def _has_segments(entry: _Entry) -> bool:
        return any(template.segments for template in entry.templates)

    def _write(self, lines: list[str], entry: _Entry, translated: Sequence[MarkedText]) -> bool:
        """Write the translations of an entry; False if all are the source, and none is written."""
        indices = [
            range(first, first + len(template.segments))
            for first, template in zip(entry.segments, entry.templates, strict=True)
        ]
        if all(translated[i] == self.segments[i] for span in indices for i in span):
            return False
        parts = zip(
            entry.targets, entry.templates, indices, entry.accelerators, entry.are_formats,
            strict=True,
        )  # fmt: skip
        for (begin, end), template, span, accelerator, is_format in reversed(list(parts)):
            texts = [translated[index] for index in span]
            if is_format:
                text = without_numbers(template.fill(list(map(with_literal_signs, texts))))
            else:
                text = template.fill(texts)
            text = label_with(text, accelerator)
            ending = lines[begin][len(lines[begin].rstrip("\r\n")) :] or "\n"
            field = _FIELD.match(lines[begin].lstrip())
            assert field is not None
            lines[begin:end] = [line + ending for line in _quoted(field[1], text)]
        if entry.flags is None:
            ending = "\r\n" if lines[entry.first].endswith("\r\n") else "\n"
            comments = _comments(lines, entry.first)
            # Before the lines of the previous source, as gettext writes it.
            position = next(
                (line for line in comments if lines[line].startswith("#|")), entry.first
            )
            lines.insert(position, f"#, {FUZZY}{ending}")
        elif FUZZY not in re.findall(r"[\w-]+", lines[entry.flags]):
            lines[entry.flags] = f"#, {FUZZY}, " + lines[entry.flags][2:].lstrip()
        return True


def _new_catalogue(options: ReadOptions) -> str:
    """The command that makes a catalogue of a template."""
    language = options.language or "LANGUAGE"
    name, out = shlex.quote(options.name), shlex.quote(f"{language}.po")
    return f"msginit -i {name} -l {language} -o {out} --no-translator"


def _codec(match: "re.Match[bytes] | None") -> str:
    """The encoding that a catalogue declares; `CHARSET` stands in templates."""
    name = match[1].decode("ascii") if match else "utf-8"
    try:
        "a".encode(name)
    except (LookupError, UnicodeError):
        return "utf-8"
    return name.lower()


def _comments(lines: Sequence[str], first: int) -> range:
    """The lines of comments that stand before the line `first`."""
    begin = first
    while begin and lines[begin - 1].startswith("#") and not lines[begin - 1].startswith("#~"):
        begin -= 1
    return range(begin, first)


def _quoted(field: str, text: str) -> list[str]:
    """A field of an entry as gettext writes it, in several lines if it is long.

    >>> _quoted("msgstr", "Two\\nlines")
    ['msgstr ""', '"Two\\\\n"', '"lines"']
    """
    escaped = ["".join(_ESCAPES.get(letter, letter) for letter in part)
               for part in re.findall(r"[^\n]*\n|[^\n]+", text)]  # fmt: skip
    if len(escaped) < 2 and len(field) + len("".join(escaped)) + 3 <= WIDTH:
        return [f'{field} "{"".join(escaped)}"']
    lines = [""]
    for part in escaped:
        rows = [""]
        for word in re.findall(r"[^ ]+ *| +", part):
            if rows[-1] and len(rows[-1]) + len(word.rstrip()) + 2 > WIDTH:
                rows.append("")
            rows[-1] += word
        lines += rows
    return [f'{field} ""', *(f'"{line}"' for line in lines[1:])]
