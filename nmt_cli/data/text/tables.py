"""Recognises tables that are not TSV, and header rows.

Names the command that converts values separated by commas or semicolons, or JSON lines, to TSV.
"""

import json
import shlex
from collections.abc import Sequence
from itertools import combinations

from nmt_cli.data.languages.names import ENGLISH_NAMES, OWN_NAMES
from nmt_cli.data.languages.words import differing_languages
from nmt_cli.data.text.shell_commands import copy_command, decompressor

SEPARATORS = {";": "semicolons", ",": "commas"}
# At least this share of the rows must contain the separator.
LEAST_SHARE = 0.9
# A single line of a file that is not called .csv proves nothing: a sentence may have a comma.
MIN_ROWS = 3
# Of a table with more columns only those with most letters are examined.
MOST_COLUMNS = 6
_CSV = (".csv", ".csv.gz", ".csv.xz", ".csv.zst", ".csv.bz2")
_HEADINGS = {
    "source", "target", "src", "tgt", "original", "translation", *ENGLISH_NAMES, *OWN_NAMES,
}  # fmt: skip


def other_format(rows: Sequence[str], name: str) -> tuple[str, str] | None:
    """Return what a file looks like whose `rows` contain no tab, and a hint that converts it.

    None if it is neither JSON lines nor a table with another separator.
    """
    fields = json_fields(rows)
    if fields:
        src, tgt = fields
        command = json_to_tsv(name, fields)
        return "JSON lines", f"convert it, with `{src}` as source and `{tgt}` as target: {command}"
    separator = separator_of(rows, name)
    if separator:
        kind = f"values separated by {SEPARATORS[separator]}"
        return kind, f"convert it: {conversion_to_tsv(name, separator)}"
    return None


def separator_of(rows: Sequence[str], name: str) -> str:
    """Return the separator of `rows`, which contain no tab, or "" if it is not known."""
    if len(rows) < MIN_ROWS and not name.lower().endswith(_CSV):
        return ""
    # The values may contain either character, but rarely right after a quotation mark.
    likeliest = max(
        SEPARATORS,
        key=lambda mark: (sum(f'"{mark}' in row for row in rows), sum(mark in row for row in rows)),
    )
    share = sum(likeliest in row for row in rows) / max(1, len(rows))
    return likeliest if share >= LEAST_SHARE else ""


def conversion_to_tsv(name: str, separator: str) -> str:
    """Return the command that converts the first two columns of a file to TSV.

    >>> conversion_to_tsv("a.csv.gz", ";").partition("| python3")[0]
    'gzip -dc a.csv.gz '
    >>> conversion_to_tsv("a.csv.gz", ";").partition(" > ")[2]
    'a.tsv'
    """
    program = (
        'import csv, sys; [print(*(" ".join(cell.split()) for cell in row[:2]), sep="\\t") '
        f'for row in csv.reader(sys.stdin, delimiter="{separator}")]'
    )
    command, out = f"python3 -c {shlex.quote(program)}", f"{_without_suffixes(name)}.tsv"
    decompress = decompressor(name)
    read = (
        f"{decompress} -dc {shlex.quote(name)} | {command}"
        if decompress
        else (f"{command} < {shlex.quote(name)}")
    )
    return f"{read} > {shlex.quote(out)}"


def json_fields(rows: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two fields with texts if `rows` are JSON lines, else None.

    >>> json_fields(['{"id": 1, "en": "A dog.", "de": "Ein Hund."}'])
    ('en', 'de')
    >>> json_fields(['{"en": "A dog."}']), json_fields(["A dog."]), json_fields([])
    (None, None, None)
    """
    objects = []
    for row in rows:
        try:
            objects.append(json.loads(row))
        except (ValueError, RecursionError):
            return None
    if not objects or not all(isinstance(fields, dict) for fields in objects):
        return None
    names = [name for name, value in objects[0].items() if isinstance(value, str)]
    return (names[0], names[1]) if len(names) >= 2 else None


def json_to_tsv(name: str, fields: tuple[str, str]) -> str:
    """Return the command that converts two fields of a file of JSON lines to TSV."""
    program = (
        'import json, sys; [print(*(" ".join(row[key].split()) for key in sys.argv[1:]), '
        'sep="\\t") for row in map(json.loads, sys.stdin)]'
    )
    stem = name.removesuffix(".jsonl")
    command = ["python3", "-c", program, *fields]
    return f"{shlex.join(command)} < {shlex.quote(name)} > {shlex.quote(stem + '.tsv')}"


def _without_suffixes(name: str) -> str:
    suffix = next((suffix for suffix in reversed(_CSV) if name.endswith(suffix)), "")
    return name.removesuffix(suffix)


def columns_hint(rows: Sequence[str], name: str) -> str:
    """Return how to take the two columns with the sentences from a table of more columns.

    rows: some of its lines. They are named if their languages are recognised.

    >>> columns_hint(["1\\ta\\tb"], "my/pairs.en-de.tsv").partition(" > ")[0]
    'to take two of the columns, with their numbers for A and B: cut -fA,B my/pairs.en-de.tsv'
    """
    found = _sentence_columns([row.split("\t") for row in rows])
    if found is None:
        which, numbers = "two of the columns, with their numbers for A and B", "A,B"
    else:
        (first, second), languages = found
        which = f"the columns {first} and {second}, which look like {' and '.join(languages)}"
        numbers = f"{first},{second}"
    return f"to take {which}: {copy_command(f'cut -f{numbers}', name, 'two-columns')}"


def _sentence_columns(
    rows: Sequence[Sequence[str]],
) -> tuple[tuple[int, int], tuple[str, str]] | None:
    """The numbers of the two columns with most letters in two languages, and these languages."""
    width = max(map(len, rows), default=0)
    columns = [[row[index] for row in rows if index < len(row)] for index in range(width)]
    letters = [sum(map(str.isalpha, "".join(column))) for column in columns]
    best = sorted(range(width), key=lambda index: -letters[index])[:MOST_COLUMNS]
    for pair in sorted(
        combinations(sorted(best), 2), key=lambda pair: -sum(letters[i] for i in pair)
    ):
        languages = differing_languages(columns[pair[0]], columns[pair[1]])
        if languages is not None:
            return (pair[0] + 1, pair[1] + 1), languages
    return None


def is_header(src: str, tgt: str, codes: Sequence[str]) -> bool:
    """Return whether the first row of a table names its columns; codes: the language codes.

    >>> is_header("English", "French", ("en", "fr")), is_header("Yes", "Oui", ("en", "fr"))
    (True, False)
    >>> is_header("Deutsch", "Français", ("de", "fr"))
    True
    """
    cells = [cell.strip().lower() for cell in (src, tgt)]
    return cells[0] != cells[1] and all(cell in _HEADINGS or cell in codes for cell in cells)


def header_note(name: str, text: str) -> str:
    """Return the warning that the table `name` of the `text` begins with a header.

    >>> header_note("v.tsv", "validation")
    'line 1 of `v.tsv` seems to name the columns, and counts as a validation pair: remove that line'
    """
    return (
        f"line 1 of `{name}` seems to name the columns, and counts as a {text} pair: remove that "
        "line"
    )
