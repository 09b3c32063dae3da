"""Recognises the line of a glossary that names its columns, and is no term."""

from collections.abc import Sequence
from enum import Enum

from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.labels import is_named
from nmt_cli.data.languages.names import code_of_name
from nmt_cli.data.lexical.glossary import Entry
from nmt_cli.data.text.tables.header_rows import is_header

# What the columns are called in English, German, French and Spanish. A word of one list does not
# translate any of the other.
_SOURCES = {
    "source", "src", "original", "term", "word", "headword", "lemma", "quelle", "begriff", "wort",
    "terme", "mot", "término", "palabra",
}  # fmt: skip
_TARGETS = {
    "target", "tgt", "translation", "translations", "übersetzung", "ziel", "cible", "traduction",
    "traducción",
}  # fmt: skip


class Likeness(Enum):
    """How much an entry looks like a header."""

    NONE = 0
    PERHAPS = 1
    SURE = 2


def header_likeness(entry: Entry, codes: Sequence[str]) -> Likeness:
    """Whether an entry, the first of its file, is a header; codes: of source and target.

    >>> [header_likeness(Entry(*cells, 1), ("en", "gsw")).name for cells in (
    ...     ("en", ("gsw",)), ("Term", ("Übersetzung",)), ("English", ("Züritüütsch",)),
    ...     ("English", ("Englisch",)), ("source", ("Quelle",)), ("word", ("Wort",)))]
    ['SURE', 'SURE', 'PERHAPS', 'NONE', 'NONE', 'NONE']
    """
    if len(entry.forms) != 1:
        return Likeness.NONE
    cells = [cell.strip('"').strip() for cell in (entry.source, entry.forms[0])]
    lowered = [cell.lower() for cell in cells]
    for first, second in (lowered, lowered[::-1]):
        if first in _SOURCES and second in _TARGETS:
            return Likeness.SURE
    languages: list[set[str | None]] = [
        {*(code for code in map(base_code, codes) if is_named(cell, code))} or {code_of_name(cell)}
        for cell in cells
    ]
    # The name of a language and its translation are a term.
    if languages[0] == languages[1]:
        return Likeness.NONE
    if all(None not in named for named in languages):
        return Likeness.SURE
    return Likeness.PERHAPS if is_header(cells[0], cells[1], codes) else Likeness.NONE


def first_entries(entries: Sequence[Entry]) -> list[Entry]:
    """The first entry of each file."""
    firsts: dict[str, Entry] = {}
    for entry in entries:
        if entry.file:
            firsts.setdefault(entry.file, entry)
    return list(firsts.values())
