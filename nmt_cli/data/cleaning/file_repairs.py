"""Repairs of a whole file, line by line, for `nmt convert --repair` and the hints that name it.

`nmt prepare` makes some of them in training text by itself, but changes no text that is scored.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from nmt_cli.data.cleaning.repairs import unescape
from nmt_cli.data.text.apostrophes import apostrophe_change, torn_word_change
from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile
from nmt_cli.data.text.hyphenated_words import divided_word_change
from nmt_cli.data.text.labels.line_labels import label_change, without_label_cells
from nmt_cli.data.text.labels.numbered_lines import number_change
from nmt_cli.data.text.sanitize import remove_joiners, remove_unseen

# Labels, numbers and apostrophes are looked for in so many lines.
LINES_LOOKED_AT = 2_000
_BREAKS = re.compile(r"[\t\r\n]+")
_INVALID = re.compile("[\udc80-\udcff]+")

# Changes a line without its end.
Change = Callable[[str], str]


class Repair(NamedTuple):
    """A repair of a text.

    effect: what it does, as a sentence; change_for: returns the change of a line for a text, of
    which it may read all lines.
    """

    effect: str
    change_for: Callable[[Iterator[str]], Change]


def _same_for_all(change: Change) -> Callable[[Iterator[str]], Change]:
    """For a change that does not depend on the text."""
    return lambda _: change


def _by_first_lines(
    change_for: Callable[[Sequence[str]], Change],
) -> Callable[[Iterator[str]], Change]:
    """For a change that depends on what the first lines have."""
    return lambda lines: change_for(list(islice(lines, LINES_LOOKED_AT)))


def _without_entities(line: str) -> str:
    r"""The line with the characters of its HTML entities; line breaks and tabs become spaces.

    >>> _without_entities("Tom &amp;amp; Ann&#10;&#233;t&eacute;\tAT&T\r")
    'Tom & Ann été\tAT&T\r'
    """
    if "&" not in line:
        return line
    text = line.removesuffix("\r")
    cells = (_BREAKS.sub(" ", unescape(cell)) for cell in text.split("\t"))
    return "\t".join(cells) + line[len(text) :]


def _with_decoded_bytes(line: str) -> str:
    r"""The line with bytes that are not UTF-8, as surrogates, read as Windows-1252.

    >>> _with_decoded_bytes("\udce9t\u00e9 \udc81")
    'été \ufffd'
    """
    return _INVALID.sub(
        lambda match: match[0].encode("ascii", "surrogateescape").decode("cp1252", "replace"), line
    )


def _composed(line: str) -> str:
    return unicodedata.normalize("NFC", line)


REPAIRS = {
    "apostrophes": Repair(
        "apostrophes between letters become the most frequent one",
        _by_first_lines(apostrophe_change),
    ),
    "divided-words": Repair(
        "words that a hyphen and a space divide are joined, if the text has them in one piece",
        divided_word_change,
    ),
    "entities": Repair("HTML entities become characters", _same_for_all(_without_entities)),
    "invalid-bytes": Repair(
        "bytes that are not UTF-8 are read as Windows-1252", _same_for_all(_with_decoded_bytes)
    ),
    "invisible": Repair(
        "invisible characters except joiners are removed", _same_for_all(remove_unseen)
    ),
    "joiners": Repair(
        "zero-width joiners and non-joiners are removed", _same_for_all(remove_joiners)
    ),
    "label-cells": Repair(
        "cells of a table that are labels of the others are removed",
        _same_for_all(without_label_cells),
    ),
    "labels": Repair(
        "labels that begin the lines or cells are removed", _by_first_lines(label_change)
    ),
    "line-numbers": Repair(
        "numbers that begin the lines or cells are removed", _by_first_lines(number_change)
    ),
    "nfc": Repair("letters are composed (Unicode NFC)", _same_for_all(_composed)),
    "torn-words": Repair(
        "words with spaces around their apostrophe are joined", _by_first_lines(torn_word_change)
    ),
}


def repaired_text(names: Sequence[str]) -> Conversion:
    """The conversion of a text, or a table, to the same one with these repairs in this order.

    names: those of REPAIRS. Lines keep their carriage returns, and bytes that are not UTF-8 stay
    but for the repair of these.
    """
    repairs = [REPAIRS[name] for name in names]

    def read(source: SourceFile, _: Columns) -> Iterator[Row]:
        changes: list[Change] = []
        for repair in repairs:
            changes.append(repair.change_for(_repaired(source, changes)))
        source.changed = 0
        for line in _lines(source):
            new = _with_changes(line, changes)
            source.changed += new != line
            yield [new]

    effects = "; ".join(repair.effect for repair in repairs)
    return Conversion(f"text: {effects}", read, as_it_is=True)


def _lines(source: SourceFile) -> Iterator[str]:
    """Yield the lines without their line feeds."""
    with source.text(newline="\n") as text:
        for line in text:
            yield line.removesuffix("\n")


def _repaired(source: SourceFile, changes: Iterable[Change]) -> Iterator[str]:
    """Yield the lines with the changes so far."""
    for line in _lines(source):
        yield _with_changes(line, changes)


def _with_changes(line: str, changes: Iterable[Change]) -> str:
    for change in changes:
        line = change(line)
    return line
