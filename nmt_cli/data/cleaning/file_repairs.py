"""Repairs of a whole file, line by line, for `nmt convert --repair` and the hints that name it.

`nmt prepare` makes some of them in training text by itself, but changes no text that is scored.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from nmt_cli.data.cleaning.letters.combining_marks import mark_change
from nmt_cli.data.cleaning.repairs import undo_wrong_encodings, unescape
from nmt_cli.data.text.apostrophes import apostrophe_change, torn_word_change
from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile
from nmt_cli.data.text.hyphenated_words import divided_word_change
from nmt_cli.data.text.labels.line_labels import label_change, without_label_cells
from nmt_cli.data.text.labels.numbered_lines import number_change
from nmt_cli.data.text.repair_commands import APOSTROPHE_REPAIRS
from nmt_cli.data.text.sanitize import remove_joiners, remove_unseen

# Labels, numbers, marks and apostrophes are looked for in so many lines.
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


def _cell_by_cell(line: str, change: Change) -> str:
    """The line with this change of each cell, and with its carriage return."""
    text = line.removesuffix("\r")
    return "\t".join(map(change, text.split("\t"))) + line[len(text) :]


def _without_entities(line: str) -> str:
    r"""The line with the characters of its HTML entities; line breaks and tabs become spaces.

    >>> _without_entities("Tom &amp;amp; Ann&#10;&#233;t&eacute;\tAT&T\r")
    'Tom & Ann été\tAT&T\r'
    """
    if "&" not in line:
        return line
    return _cell_by_cell(line, lambda cell: _BREAKS.sub(" ", unescape(cell)))


def _without_wrong_encodings(line: str) -> str:
    r"""The line with the characters of UTF-8 that was read in another encoding.

    >>> _without_wrong_encodings("â€œfÃ¼râ€\x9d la\tcrÃ¨me\r")
    '“für” la\tcrème\r'
    """
    return line if line.isascii() else _cell_by_cell(line, undo_wrong_encodings)


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
    **{
        name: Repair(
            "apostrophes between letters, and before words that nearly always have one, "
            f"become U+{ord(mark):04X}",
            _by_first_lines(partial(apostrophe_change, mark=mark)),
        )
        for mark, name in APOSTROPHE_REPAIRS.items()
    },
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
    "marks": Repair(
        "combining marks become those that most of these letters have, each once",
        _by_first_lines(mark_change),
    ),
    "nfc": Repair("letters are composed (Unicode NFC)", _same_for_all(_composed)),
    "torn-words": Repair(
        "words with spaces around their apostrophe are joined", _by_first_lines(torn_word_change)
    ),
    "wrong-encoding": Repair(
        "text that was read in another encoding gets its characters",
        _same_for_all(_without_wrong_encodings),
    ),
}


def _whole_lines(source: SourceFile, _: Columns) -> Iterator[Row]:
    """Yield the lines without their line feeds."""
    with source.text(newline="\n") as text:
        for line in text:
            yield [line.removesuffix("\n")]


TEXT = Conversion("text", _whole_lines, as_it_is=True)


def effects_of(names: Sequence[str]) -> str:
    """What these repairs do, in words."""
    return "; ".join(REPAIRS[name].effect for name in names)


def repaired(conversion: Conversion, names: Sequence[str]) -> Conversion:
    """The conversion of the same file, whose rows get these repairs in this order.

    conversion: TEXT for a text or a table as it is, whose lines keep their carriage returns, and in
    which bytes that are not UTF-8 stay but for the repair of these; names: those of REPAIRS.
    """
    repairs = [REPAIRS[name] for name in names]

    def lines(source: SourceFile, columns: Columns) -> Iterator[str]:
        chosen = replace(conversion, columns=columns) if conversion.columns else conversion
        return ("\t".join(row) for row in chosen.rows(source))

    def read(source: SourceFile, columns: Columns) -> Iterator[Row]:
        changes: list[Change] = []
        for repair in repairs:
            # The notes of a source are those of reading it once.
            unnoted = SourceFile(source.path, source.name)
            so_far = (_with_changes(line, changes) for line in lines(unnoted, columns))
            changes.append(repair.change_for(so_far))
        source.changed = 0
        for line in lines(source, columns):
            new = _with_changes(line, changes)
            source.changed += new != line
            yield [new]

    return replace(conversion, read=read, as_it_is=True)


def _with_changes(line: str, changes: Iterable[Change]) -> str:
    for change in changes:
        line = change(line)
    return line
