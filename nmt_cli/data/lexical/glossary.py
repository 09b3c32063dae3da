"""The glossary: a TSV file of source terms and the allowed forms of their translations.

Each line consists of a source term, a tab, and target forms separated by `|`. A source term has no
`|`, unless it is this mark alone. A term without capital letters matches text in any case; a term
with a capital letter matches only text in the same case. Terms match whole words, in any Unicode
form of the same letters, and the longest term takes precedence.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_cli.data.languages.word_characters import WORD
from nmt_cli.data.text.composed import composed
from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.formats.pair_files import separator_of
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.data.text.shell_commands import converted_name
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

_WORDS = re.compile(rf"{WORD}|[^\w\s]")
_CHARACTERS = re.compile(r"\S")
SHOWN_PROBLEMS = 5
HINT = "each line must be: source term, tab, target forms separated by `|`"


class Entry(NamedTuple):
    """A source term and the forms of its translation.

    line: its line in the file, from 1; file: as it was named, "" if it was not read from one.
    """

    source: str
    forms: tuple[str, ...]
    line: int
    file: str = ""


class Match(NamedTuple):
    """An entry whose term stands in a text from the character `begin` to `end`."""

    entry: Entry
    begin: int
    end: int


class Glossary:
    """Glossary entries, which are matched by their words."""

    def __init__(
        self,
        entries: Iterable[Entry],
        *,
        spaced: bool = True,
        repair: Callable[[str], str] | None = None,
    ) -> None:
        """Index the entries; spaced: whether the source language puts spaces between words.

        repair: of the letters of the text that is searched; a term is found with and without it.
        """
        self.entries = list(entries)
        self._word_pattern = _WORDS if spaced else _CHARACTERS
        # Case-folded first word -> the words of each term that begins with it, the longest first.
        self._terms_by_first_word: dict[str, list[tuple[list[str], Entry]]] = defaultdict(list)
        for entry in self.entries:
            sources = [entry.source, *([repair(entry.source)] if repair else [])]
            for source in dict.fromkeys(sources):
                words = self._word_pattern.findall(composed(source).text)
                self._terms_by_first_word[words[0].casefold()].append((words, entry))
        for terms in self._terms_by_first_word.values():
            terms.sort(key=lambda term: -len(term[0]))

    def find(self, text: str) -> list[Entry]:
        """Return the entries whose terms occur in `text`, each once, in the order of the text.

        >>> entries = Entry("dog", ("Hund",), 1), Entry("hot dog", ("Hotdog",), 2)
        >>> [entry.line for entry in Glossary(entries).find("A Hot dog, hotdogs, a dog.")]
        [2, 1]
        """
        return list(dict.fromkeys(match.entry for match in self.matches(text)))

    def matches(self, text: str) -> Iterator[Match]:
        """Yield each occurrence of a term in `text`."""
        if not self.entries:
            return
        plain = composed(text)
        found = list(self._word_pattern.finditer(plain.text))
        words = [word[0] for word in found]
        index = 0
        while index < len(words):
            for term, entry in self._terms_by_first_word.get(words[index].casefold(), ()):
                if not _matches(term, words[index : index + len(term)]):
                    continue
                begin, end = found[index].start(), found[index + len(term) - 1].end()
                if plain.is_whole(begin, end):
                    yield Match(entry, plain.places[begin], plain.places[end])
                    index += len(term) - 1
                    break
            index += 1


def capitalised(form: str) -> str:
    """A form as it is written at the beginning of a sentence.

    Its first word has no capital letters.

    >>> capitalised("maillot de bain"), capitalised("die Bahn")
    ('Maillot de bain', 'Die Bahn')
    >>> capitalised("iPod"), capitalised("iPod case"), capitalised("ßa")
    ('iPod', 'iPod case', 'ßa')
    """
    first = form[:1].upper()
    is_small = form.partition(" ")[0].islower()
    return first + form[1:] if is_small and len(first) == 1 else form


def _matches(term: Sequence[str], words: Sequence[str]) -> bool:
    if list(term) == list(words):
        return True
    folded = [word.casefold() for word in words]
    return not any(word != word.lower() for word in term) and folded == [
        word.casefold() for word in term
    ]


def read_glossary(path: Path | str) -> tuple[Entry, ...]:
    """Read the entries of a file; lines that are repeated count once.

    Raises DataError, which names all wrong lines.
    """
    entry_of: dict[str, Entry] = {}
    problems: list[str] = []
    rows: list[str] = []
    with read_lines(path, strict=True) as lines:
        for line_number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            rows.append(line)
            try:
                entry = parse_entry(line, line_number)._replace(file=str(path))
                earlier = entry_of.get(entry.source)
                if earlier is not None and earlier.forms != entry.forms:
                    raise ValueError(
                        f"`{entry.source}` is in line {earlier.line} too, with other forms: put "
                        "all of them in one line, separated by `|`"
                    )
                entry_of.setdefault(entry.source, entry)
            except ValueError as error:
                problems.append(f"line {line_number}: {error}")
    if problems:
        more = len(problems) - SHOWN_PROBLEMS
        shown = "; ".join(problems[:SHOWN_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
        raise DataError(f"`{lines.name}`, {shown}", f"{HINT}{_conversion(rows, str(path))}")
    return tuple(entry_of.values())


def _conversion(rows: Sequence[str], name: str) -> str:
    """The command that converts a glossary with another separator than tabs, or ""."""
    if any("\t" in row for row in rows) or not separator_of(rows, name):
        return ""
    return f"; to convert it: {convert_command(name, converted_name(name, '.tsv'), columns='1,2')}"


def read_glossaries(paths: Iterable[Path | str]) -> tuple[Entry, ...]:
    """Read the entries of several files; raises DataError also for a term that two of them have."""
    entries: dict[str, Entry] = {}
    for path in paths:
        for entry in read_glossary(path):
            if other := entries.get(entry.source):
                raise DataError(
                    f"`{path}`, line {entry.line}: `{entry.source}` is in line {other.line} of "
                    f"`{other.file}` too",
                    "leave one of them out, or put all forms in one line",
                )
            entries[entry.source] = entry
    return tuple(entries.values())


def entries_of(terms: Mapping[str, str | Sequence[str]]) -> tuple[Entry, ...]:
    """The entries of source terms with the forms of their translation, one or several.

    Raises ValueError, which names the term, for what cannot be an entry.

    >>> entries_of({"dog": ["Hund", "Hunde"]})[0].forms
    ('Hund', 'Hunde')
    """
    return tuple(_entry_of(*item, number) for number, item in enumerate(terms.items(), 1))


def _entry_of(term: str, forms: str | Sequence[str], number: int) -> Entry:
    given = [forms] if isinstance(forms, str) else forms
    place = f"entry {number} (`{term}`)"
    if not isinstance(term, str):
        raise ValueError(f"{place}: the source term must be a text")
    if not isinstance(given, Sequence) or not all(isinstance(form, str) for form in given):
        raise ValueError(f"{place}: the forms must be texts")
    if any("|" in form for form in given):
        raise ValueError(f"{place}: a form has a `|`; give a list of forms")
    try:
        return _checked(term, given, number)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def parse_entry(line: str, line_number: int) -> Entry:
    """The entry of a line; raises ValueError, which says what is wrong with it."""
    columns = line.split("\t")
    if len(columns) != 2:
        raise ValueError(f"{counted(len(columns), 'column')}, 2 are needed")
    return _checked(columns[0], columns[1].split("|"), line_number)


def _checked(term: str, target: Sequence[str], number: int) -> Entry:
    """The entry of a source term and its forms, which may have characters that text never has."""
    source, *forms = (clean_line(part).strip() for part in (term, *target))
    if not source:
        raise ValueError("the source term is empty")
    # The term `|` alone is the mark itself.
    if "|" in source and source != "|":
        raise ValueError(
            f"`{source}` has a `|`, which separates target forms only: write an entry "
            "for each source term"
        )
    if not forms or not all(forms):
        raise ValueError("a target form is empty")
    return Entry(source, tuple(dict.fromkeys(forms)), number)
