"""Recognises files of pairs that are not TSV: CSV, quoted fields, JSON lines, TMX and other XML.

Names the command that converts them to TSV, which needs nothing but Python's standard library.
"""

import csv
import json
import re
from collections.abc import Sequence

from nmt_cli.data.text.shell_commands import KEEP_BYTES, cues_command, tsv_command
from nmt_cli.data.text.tables import sentence_columns, shown_column, text_columns
from nmt_cli.errors import DataError

SEPARATORS = {";": "semicolons", ",": "commas"}
# What people write between source and target, with spaces around it, as awk's field separator.
MARKS = {"|||": " [|][|][|] ", "|": " [|] "}
# At least this share of the rows must contain the separator.
LEAST_SHARE = 0.9
# A single line of a file that is not called .csv proves nothing: a sentence may have a comma.
MIN_ROWS = 3
# If both columns of a larger share of the rows are in quotation marks, these are not of the text.
MOST_QUOTED = 0.9
_CSV = (".csv", ".csv.gz", ".csv.xz", ".csv.zst", ".csv.bz2")
# A field as spreadsheets quote it: quotation marks within it are doubled.
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SUBTITLE_TIME = re.compile(r"\s*(?:\d+:)?\d\d:\d\d[.,]\d{3} +--> +(?:\d+:)?\d\d:\d\d[.,]\d{3}")
_LANGUAGE = re.compile(r'<tuv\b[^>]*\blang\s*=\s*["\']([\w-]+)["\']')
_TMX_TO_TSV = (
    "import sys, xml.etree.ElementTree as E; "
    # The codes of a format, such as <bpt>, are left out; only <hi> has text of the sentence.
    't = lambda s: " ".join("".join([s.text or "", *("".join(e.itertext()) * (e.tag == "hi") + '
    '(e.tail or "") for e in s)]).split()); '
    'f = lambda u, c: next((t(s) for v in u.iter("tuv") for k, l in v.items() '
    'if k.endswith("lang") and l.lower().startswith(c) for s in v.iter("seg")), ""); '
    '[(print(*(f(u, c) for c in sys.argv[1:]), sep="\\t"), u.clear()) '
    'for _, u in E.iterparse(sys.stdin.buffer) if u.tag == "tu"]'
)


def not_tsv(name: str, kind: str, hint: str) -> DataError:
    """The error for a file of another `kind`; the hint says how to convert it."""
    return DataError(
        f"`{name}` looks like {kind}; nmt reads tab-separated values: one pair per line, as "
        "source, tab, target",
        hint,
    )


def other_format(rows: Sequence[str], name: str) -> tuple[str, str] | None:
    """Return what a file looks like whose `rows` contain no tab, and a hint that converts it.

    None if it is neither JSON lines nor a table with another separator, nor alternating lines.
    """
    fields = json_fields(rows)
    if fields:
        src, tgt = fields
        command = json_to_tsv(name, fields)
        return "JSON lines", f"convert it, with `{src}` as source and `{tgt}` as target: {command}"
    if layout := _layout_of_pairs(rows, name):
        return layout
    separator = separator_of(rows, name)
    if separator:
        kind = f"values separated by {SEPARATORS[separator]}"
        return kind, _conversion_hint(rows, name, separator)
    return None


def _layout_of_pairs(rows: Sequence[str], name: str) -> tuple[str, str] | None:
    """A layout of pairs without columns, and a hint as of `other_format`; None if it is none."""
    if len(rows) < MIN_ROWS:
        return None
    for mark, pattern in MARKS.items():
        if sum(row.count(f" {mark} ") == 1 for row in rows) >= LEAST_SHARE * len(rows):
            command = tsv_command(["awk", "-F", pattern, '{print $1 "\\t" $2}'], name)
            return f"pairs with `{mark}` between source and target", f"convert it: {command}"
    is_empty = [not row.strip() for row in rows]
    groups = len(rows) // 3
    if is_empty[: 3 * groups] == groups * [False, False, True]:
        program = 'NR % 3 == 1 {s = $0} NR % 3 == 2 {print s "\\t" $0}'
        kind = "source and target in alternating lines, with empty lines between the pairs"
        return kind, f"convert it: {tsv_command(['awk', program], name)}"
    return None


def _conversion_hint(rows: Sequence[str], name: str, separator: str) -> str:
    """How to convert a table with another separator; of more than two columns, which ones."""
    try:
        table = list(csv.reader(rows, delimiter=separator))
    except csv.Error:
        table = []
    if max(map(len, table), default=0) <= 2:
        return f"convert it: {conversion_to_tsv(name, separator)}"
    if found := sentence_columns(table):
        (first, second), languages = found
        which = f"its columns {first} and {second}, which look like {' and '.join(languages)}"
        return f"convert {which}: {conversion_to_tsv(name, separator, found[0])}"
    columns = text_columns(table)
    if columns is None:
        return (
            "fewer than two of its columns have text: write a file with the source sentences, a "
            "tab and their translations"
        )
    src, tgt = (shown_column(table, column, f"row[{column - 1}:{column}]") for column in columns)
    return (
        f"convert it, with column {src} as source and column {tgt} as target, or others in their "
        f"place: {conversion_to_tsv(name, separator, columns)}"
    )


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


def conversion_to_tsv(name: str, separator: str, columns: tuple[int, int] = (1, 2)) -> str:
    """Return the command that converts two columns of a file, which count from 1, to TSV.

    >>> conversion_to_tsv("a.csv.gz", ";").partition("| python3")[0]
    'gzip -dc a.csv.gz '
    >>> conversion_to_tsv("a.csv.gz", ";").partition(" > ")[2]
    'a.tsv'
    """
    # A row that ends too early has no such column.
    cells = " + ".join(f"row[{column - 1}:{column}]" for column in columns)
    delimiter = {"\t": r"\t"}.get(separator, separator)
    program = (
        f"import csv, sys; {KEEP_BYTES}; "
        'sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape"); '
        f'[print(*(" ".join(cell.split()) for cell in {cells}), sep="\\t") '
        f'for row in csv.reader(sys.stdin, delimiter="{delimiter}")]'
    )
    return tsv_command(["python3", "-c", program], name)


def json_fields(rows: Sequence[str]) -> tuple[str, str] | None:
    """Return the two fields with most letters if `rows` are JSON lines, else None.

    Where others are in two languages, as sentences are, these are returned.

    >>> json_fields(['{"id": "a1", "by": "Ann", "en": "A small dog.", "de": "Ein Hund."}'])
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
    if len(names) < 2:
        return None
    texts = [[str(fields.get(name, "")) for name in names] for fields in objects]
    if found := sentence_columns(texts):
        first, second = (column - 1 for column in found[0])
    else:
        letters = [sum(map(str.isalpha, "".join(column))) for column in zip(*texts, strict=True)]
        most = sorted(range(len(names)), key=lambda index: -letters[index])[:2]
        first, second = sorted(most)
    return names[first], names[second]


def json_to_tsv(name: str, fields: tuple[str, str]) -> str:
    """Return the command that converts two fields of a file of JSON lines to TSV."""
    program = (
        'import json, sys; sys.stdin.reconfigure(encoding="utf-8-sig"); '
        '[print(*(" ".join(row[key].split()) for key in sys.argv[1:]), '
        'sep="\\t") for row in map(json.loads, sys.stdin)]'
    )
    return tsv_command(["python3", "-c", program, *fields], name)


def is_xml(line: str) -> bool:
    """Return whether a file that begins with `line` is XML.

    >>> is_xml('<?xml version="1.0"?>'), is_xml("<tmx>"), is_xml("<b>Yes</b>\\t<b>Ja</b>")
    (True, True, False)
    """
    return line.lstrip("\ufeff \t").lower().startswith(("<?xml", "<!doctype", "<tmx"))


def is_subtitle_time(line: str) -> bool:
    """Whether a line is the time of a subtitle, in SubRip or WebVTT.

    >>> is_subtitle_time("00:00:01,000 --> 00:00:03,500"), is_subtitle_time("a --> b")
    (True, False)
    """
    return _SUBTITLE_TIME.match(line) is not None


def subtitles_error(names: Sequence[str]) -> DataError:
    """The error for subtitles in place of sentences; names: of the files of both sides."""
    return DataError(
        f"`{names[0]}` looks like subtitles; nmt learns from lines, of which line n of one file is "
        "the translation of line n of the other",
        "write the text of each cue to a line; only if both files have the same cues, and so as "
        f"many lines, do they belong together: {'; '.join(map(cues_command, names))}",
    )


def xml_error(start: str, name: str) -> DataError:
    """Return the error for XML in place of a table, which begins with `start`."""
    if "<tmx" not in start.lower():
        return not_tsv(name, "XML", "convert it to lines of this form")
    codes = dict.fromkeys(code.lower() for code in _LANGUAGE.findall(start))
    primary = dict.fromkeys(code.partition("-")[0] for code in codes)
    named = list(primary if len(primary) > 1 else codes)[:2]
    if len(named) < 2:
        convert = "convert it, with the codes of your languages for en and de"
        named = ["en", "de"]
    else:
        convert = f"convert it, with `{named[0]}` as source and `{named[1]}` as target"
    return not_tsv(name, "TMX", f"{convert}: {tmx_to_tsv(name, named)}")


def tmx_to_tsv(name: str, codes: Sequence[str]) -> str:
    """Return the command that converts the segments in two languages of a TMX file to TSV."""
    return tsv_command(["python3", "-c", _TMX_TO_TSV, *codes], name)


def is_quoted(field: str) -> bool:
    """Return whether a field is in quotation marks, with those within it doubled.

    >>> is_quoted('"a ""b"" c"'), is_quoted('""'), is_quoted('"Yes," he said.'), is_quoted('"')
    (True, True, False, False)
    """
    return field[:1] == '"' == field[-1:] and _QUOTED.fullmatch(field) is not None


def has_doubled_marks(field: str) -> bool:
    """Return whether a field can only be that of a spreadsheet: quoted, with doubled marks.

    >>> has_doubled_marks('"He said ""no""."'), has_doubled_marks('"No."')
    (True, False)
    """
    return '""' in field[1:-1] and is_quoted(field)


def quoted_error(name: str) -> DataError:
    """Return the error for a table nearly all of whose fields are in quotation marks."""
    return DataError(
        f"`{name}`: nearly all columns are in quotation marks, which nmt would take for text",
        f"remove them: {conversion_to_tsv(name, chr(9))}",
    )
