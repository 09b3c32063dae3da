"""Recognises files of pairs that are not TSV: CSV, quoted fields, JSON lines, TMX and other XML.

Names the command that converts them to TSV, which needs nothing but Python's standard library.
"""

import csv
import re
from collections.abc import Sequence

from nmt_cli.data.languages.labels import in_given_order
from nmt_cli.data.text.formats.html_tables import html_hint, is_html
from nmt_cli.data.text.formats.json_lines import json_array_hint, json_lines_hint
from nmt_cli.data.text.formats.labelled_pairs import FEWEST_PAIRS, labels_in_line, labels_in_turn
from nmt_cli.data.text.formats.standard_format import standard_format_hint
from nmt_cli.data.text.formats.tmx import tmx_hint
from nmt_cli.data.text.labels.line_labels import common_label, table_labels_pattern
from nmt_cli.data.text.language_hints import HintFor, OtherFormatError, other_format_error
from nmt_cli.data.text.shell_commands import (
    AS_LINE,
    KEEP_BYTES,
    cues_command,
    one_line,
    removal_command,
    tsv_command,
)
from nmt_cli.data.text.tables.category_columns import row_per_text_hint
from nmt_cli.data.text.tables.column_choice import chosen_columns
from nmt_cli.data.text.tables.header_rows import shown_column
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
# Nothing is written of a table with a quotation mark that is not closed: its cell would swallow the
# rows up to the next mark. Cells with fewer line breaks are named.
_TABLE_TO_TSV = """\
import csv, sys
AS_LINE
KEEP_BYTES
sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
SKIP
csv.field_size_limit(1 << 30)
table = csv.reader(sys.stdin, delimiter="SEPARATOR")
rows, broken, end = [], [], 0
for row in table:
 begin, end = end + 1, table.line_num
 if 9 < end - begin: sys.exit(f"error: nothing was written: the row of line {begin} goes on to \
line {end}. Does a cell begin with a quotation mark that is not closed? Remove the mark, or write \
it three times at the beginning and once at the end of the cell.")
 if begin < end: broken.append(begin)
 rows.append(row)
for row in rows: print(*map(as_line, CELLS), sep="\\t")
if broken: print("rows with line breaks in cells, which became spaces:", len(broken), \
"in all, the first in lines", *broken[:9], file=sys.stderr)"""
_CSV = (".csv", ".csv.gz", ".csv.xz", ".csv.zst", ".csv.bz2")
# A field as spreadsheets quote it: quotation marks within it are doubled.
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
# What Excel reads, and some programs write, before a table.
_SEPARATOR_LINE = re.compile(r'"?sep=[,;]"?', re.IGNORECASE)
_SUBTITLE_TIME = re.compile(r"\s*(?:\d+:)?\d\d:\d\d[.,]\d{3} +--> +(?:\d+:)?\d\d:\d\d[.,]\d{3}")


def _not_tsv(name: str, kind: str, hint_for: HintFor) -> OtherFormatError:
    """The error for a file of another `kind`; hint_for: says how to convert it."""
    return other_format_error(
        f"`{name}` looks like {kind}; nmt reads tab-separated values: one pair per line, as "
        "source, tab, target",
        hint_for,
    )


def not_tsv_error(rows: Sequence[str], name: str) -> OtherFormatError | None:
    """Return the error for a file whose `rows` contain no tab.

    None if it is neither JSON lines nor a table with another separator, nor alternating lines.
    """
    recognised = _other_format(rows, name)
    if recognised is None:
        return None
    kind, _ = recognised

    def hint_for(languages: Sequence[str]) -> str:
        recognised = _other_format(rows, name, languages)
        return recognised[1] if recognised else ""

    return _not_tsv(name, kind, hint_for)


def labelled_lines_error(rows: Sequence[str], name: str) -> OtherFormatError | None:
    """Return the error for alternating lines whose labels a tab divides from the text, or None."""
    if (layout := labels_in_turn(rows, name)) is None:
        return None

    def hint_for(languages: Sequence[str]) -> str:
        layout = labels_in_turn(rows, name, languages)
        return layout[1] if layout else ""

    return _not_tsv(name, layout[0], hint_for)


def _other_format(
    rows: Sequence[str], name: str, languages: Sequence[str] = ()
) -> tuple[str, str] | None:
    """What a file looks like, and a hint that converts it; None if it is of no known format.

    languages: the codes of source and target, if they are known.
    """
    if hint := json_lines_hint(rows, name, languages):
        return "JSON lines", hint
    if hint := json_array_hint(rows, name, languages):
        return "a JSON array", hint
    if hint := standard_format_hint(rows, name, languages):
        return "records of Toolbox (standard format, SFM)", hint
    if layout := _layout_of_pairs(rows, name, languages):
        return layout
    separator = separator_of(rows, name)
    if separator:
        kind = f"values separated by {SEPARATORS[separator]}"
        return kind, _conversion_hint(rows, name, separator, languages)
    return None


def _layout_of_pairs(
    rows: Sequence[str], name: str, languages: Sequence[str]
) -> tuple[str, str] | None:
    """A layout of pairs without columns, and a hint that converts it; None if it is none."""
    if len(rows) < MIN_ROWS:
        return None
    if layout := labels_in_line(rows, name, languages):
        return layout
    for mark, pattern in MARKS.items():
        if sum(row.count(f" {mark} ") == 1 for row in rows) >= LEAST_SHARE * len(rows):
            command = tsv_command(["awk", "-F", pattern, '{print $1 "\\t" $2}'], name)
            return f"pairs with `{mark}` between source and target", f"convert it: {command}"
    is_empty = [not row.strip() for row in rows]
    groups = len(rows) // 3
    if is_empty[: 3 * groups] == groups * [False, False, True]:
        kind = "source and target in alternating lines, with empty lines between the pairs"
        sides = rows[: 3 * groups : 3], rows[1 : 3 * groups : 3]
        return kind, _conversion_of_lines(sides, name, languages)
    return labels_in_turn(rows, name, languages)


def _conversion_of_lines(
    sides: Sequence[Sequence[str]], name: str, languages: Sequence[str]
) -> str:
    """How to convert alternating lines, without labels; sides: the first lines of both sides."""
    found = [common_label(side, FEWEST_PAIRS) for side in sides]
    labels = [label.text if label else None for label in found]
    named = [label for label in labels if label]
    cells, what = 's "\\t" $0', "convert it"
    if len(named) == 2:
        order = in_given_order(named, (0, 1), languages)
        labels = [labels[index] for index in order]
        cells = cells if order == (0, 1) else '$0 "\\t" s'
        what += f", with `{labels[0]}` as source and `{labels[1]}` as target, without these labels"
    elif named:
        what += f", without the label `{named[0]}`"
    # A carriage return at the end of the source would stand within the row.
    program = f'{{sub(/\\r$/, "")}} NR % 3 == 1 {{s = $0}} NR % 3 == 2 {{print {cells}}}'
    then = removal_command(table_labels_pattern(labels)) if named else ""
    return f"{what}: {tsv_command(['awk', program], name, then=then)}"


def _conversion_hint(
    rows: Sequence[str], name: str, separator: str, languages: Sequence[str]
) -> str:
    """How to convert a table with another separator; of more than two columns, which ones."""
    skipped = int(_SEPARATOR_LINE.fullmatch(rows[0]) is not None)
    try:
        table = list(csv.reader(rows[skipped:], delimiter=separator))
    except csv.Error:
        table = []
    is_wide = max(map(len, table), default=0) > 2
    chosen = chosen_columns(table, languages)
    if not is_wide and (chosen is None or chosen.columns == (1, 2)):
        return f"convert it: {conversion_to_tsv(name, separator, skipped=skipped)}"
    if chosen is None:
        # The command for such tables reads tabs.
        return row_per_text_hint(table, name, languages, quoted=True) or (
            "fewer than two of its columns have text: write a file with the source sentences, a "
            "tab and their translations"
        )
    columns, recognised, notes = chosen
    command = conversion_to_tsv(name, separator, columns, skipped=skipped)
    if recognised:
        return (
            f"convert it, with column {columns[0]} as source and column {columns[1]} as target, "
            f"which look like {' and '.join(recognised)}: {command}"
        )
    # The command names a column by such a slice.
    slices = [f"row[{column - 1}:{column}]" for column in columns]
    src, tgt = (
        shown_column(table, column, ", ".join(filter(None, [note, part])), languages=languages)
        for column, note, part in zip(columns, notes, slices, strict=True)
    )
    return (
        f"convert it, with column {src} as source and column {tgt} as target, or others in their "
        f"place: {command}"
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


def conversion_to_tsv(
    name: str, separator: str, columns: tuple[int, int] = (1, 2), *, skipped: int = 0
) -> str:
    """Return the command that converts two columns of a file, which count from 1, to TSV.

    skipped: how many lines before the table are left out.

    >>> conversion_to_tsv("a.csv.gz", ";").partition("| python3")[0]
    'gzip -dc a.csv.gz '
    >>> conversion_to_tsv("a.csv.gz", ";").partition(" > ")[2]
    'a.tsv'
    """
    # A row that ends too early has no such column.
    cells = " + ".join(f"row[{column - 1}:{column}]" for column in columns)
    program = (
        _TABLE_TO_TSV.replace("AS_LINE", AS_LINE)
        .replace("KEEP_BYTES", KEEP_BYTES)
        .replace("SKIP", "; ".join(["next(sys.stdin)"] * skipped) or "pass")
        .replace("SEPARATOR", {"\t": r"\t"}.get(separator, separator))
        .replace("CELLS", cells)
    )
    return tsv_command(["python3", "-c", one_line(program)], name)


def is_xml(line: str) -> bool:
    """Return whether a file that begins with `line` is XML or HTML.

    >>> is_xml('<?xml version="1.0"?>'), is_xml("<tmx>"), is_xml("<b>Yes</b>\\t<b>Ja</b>")
    (True, True, False)
    """
    start = line.lstrip("\ufeff \t").lower()
    return start.startswith(("<?xml", "<!doctype", "<tmx")) or is_html(line)


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


def xml_error(start: str, name: str) -> OtherFormatError:
    """Return the error for XML or HTML in place of a table, which begins with `start`."""
    if "<tmx" in start.lower():
        return _not_tsv(name, "TMX", lambda languages: tmx_hint(start, name, languages))
    if is_html(start.partition("\n")[0]):
        return _not_tsv(name, "HTML", lambda _: html_hint(name))
    return _not_tsv(name, "XML", lambda _: "convert it to lines of this form")


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


def unquoted(field: str) -> str:
    """Return a field without the quotation marks of a spreadsheet, if they can be nothing else.

    >>> unquoted('"He said ""no""."'), unquoted('"No."')
    ('He said "no".', '"No."')
    """
    return field[1:-1].replace('""', '"') if has_doubled_marks(field) else field


def quoted_error(name: str) -> DataError:
    """Return the error for a table nearly all of whose fields are in quotation marks."""
    return DataError(
        f"`{name}`: nearly all columns are in quotation marks, which nmt would take for text",
        f"remove them: {conversion_to_tsv(name, chr(9))}",
    )
