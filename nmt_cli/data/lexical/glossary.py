"""The glossary: a TSV file of source terms and the forms that their translations may take.

Each line: source term, a tab, target forms with `|` between them. A term without capital letters
is found whatever the case of the text; one with a capital is found as it is written. It is found
as whole words, the longest term first.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

_WORDS = re.compile(r"\w+|[^\w\s]")
_CHARACTERS = re.compile(r"\S")
SHOWN_PROBLEMS = 5
HINT = "each line is: source term, a tab, target forms with `|` between them"


class Entry(NamedTuple):
    """A term of the source and the forms of its translation; line: where it stands, from 1."""

    source: str
    forms: tuple[str, ...]
    line: int


class Glossary:
    """Entries, found by their words."""

    def __init__(self, entries: Iterable[Entry], *, spaced: bool = True) -> None:
        """`spaced`: False where the source language has no spaces between words."""
        self.entries = list(entries)
        self._parts = _WORDS if spaced else _CHARACTERS
        # First word, folded -> the words of each term that begins with it, the longest first.
        self._begins: dict[str, list[tuple[list[str], Entry]]] = defaultdict(list)
        for entry in self.entries:
            words = self._parts.findall(entry.source)
            self._begins[words[0].casefold()].append((words, entry))
        for found in self._begins.values():
            found.sort(key=lambda one: -len(one[0]))

    def triggered(self, text: str) -> list[Entry]:
        """The entries whose terms stand in `text`, each once, in the order of the text.

        >>> one, two = Entry("dog", ("Hund",), 1), Entry("hot dog", ("Hotdog",), 2)
        >>> [entry.line for entry in Glossary([one, two]).triggered("A Hot dog, hotdogs, a dog.")]
        [2, 1]
        """
        words = self._parts.findall(text)
        found: dict[Entry, None] = {}
        place = 0
        while place < len(words):
            for term, entry in self._begins.get(words[place].casefold(), ()):
                if _same(term, words[place : place + len(term)]):
                    found[entry] = None
                    place += len(term) - 1
                    break
            place += 1
        return list(found)


def _same(term: Sequence[str], words: Sequence[str]) -> bool:
    if list(term) == list(words):
        return True
    folded = [word.casefold() for word in words]
    return not any(word != word.lower() for word in term) and folded == [
        word.casefold() for word in term
    ]


def read_glossary(path: Path | str) -> tuple[Entry, ...]:
    """The entries of a file; raises DataError that names its wrong lines."""
    entries: list[Entry] = []
    problems: list[str] = []
    lines_of: dict[str, int] = {}
    with read_lines(path, strict=True) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                entry = _entry(line, number)
                if entry.source in lines_of:
                    raise ValueError(f"`{entry.source}` is in line {lines_of[entry.source]} too")
                lines_of[entry.source] = number
                entries.append(entry)
            except ValueError as error:
                problems.append(f"line {number}: {error}")
    if problems:
        more = len(problems) - SHOWN_PROBLEMS
        shown = "; ".join(problems[:SHOWN_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
        raise DataError(f"`{lines.name}`, {shown}", HINT)
    return tuple(entries)


def _entry(line: str, number: int) -> Entry:
    columns = [clean_line(column).strip() for column in line.split("\t")]
    if len(columns) != 2:
        raise ValueError(f"{counted(len(columns), 'column')}, 2 are needed")
    source, target = columns
    forms = tuple(form.strip() for form in target.split("|"))
    if not source:
        raise ValueError("the source term is empty")
    if not all(forms):
        raise ValueError("a target form is empty")
    return Entry(source, tuple(dict.fromkeys(forms)), number)
