"""Recognises files of pairs that are not TSV: CSV, quoted fields, JSON lines, TMX and other XML."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from nmt_cli.data.languages.english_names import shown_language
from nmt_cli.data.languages.labels import in_given_order
from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile
from nmt_cli.data.text.formats.html_tables import html_advice, is_html
from nmt_cli.data.text.formats.json_lines import json_advice
from nmt_cli.data.text.formats.labelled_pairs import FEWEST_PAIRS, labels_in_line, labels_in_turn
from nmt_cli.data.text.formats.separated_values import SEPARATORS, marked_pairs, quoted_table
from nmt_cli.data.text.formats.standard_format import standard_format_advice
from nmt_cli.data.text.formats.tmx import tmx_advice
from nmt_cli.data.text.labels.line_labels import common_label, label_pattern
from nmt_cli.data.text.language_hints import (
    FormatAdvice,
    FormatAdviceFor,
    OtherFormatError,
    other_format_error,
)
from nmt_cli.data.text.tables.category_columns import row_per_text_advice
from nmt_cli.data.text.tables.column_choice import chosen_columns
from nmt_cli.data.text.tables.header_rows import shown_column

# What people write between source and target, with spaces around it.
MARKS = ("|||", "|")
# At least this share of the rows must contain the separator.
LEAST_SHARE = 0.9
# A single line of a file that is not called .csv proves nothing: a sentence may have a comma.
MIN_ROWS = 3
# If both columns of a larger share of the rows are in quotation marks, these are not of the text.
MOST_QUOTED = 0.9
_CSV = (".csv", ".csv.gz", ".csv.xz", ".csv.zst", ".csv.bz2")
# A field as spreadsheets quote it: quotation marks within it are doubled.
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
# What Excel reads, and some programs write, before a table.
_SEPARATOR_LINE = re.compile(r'"?sep=[,;]"?', re.IGNORECASE)


def _not_tsv(name: str, kind: str, advice_for: FormatAdviceFor) -> OtherFormatError:
    """The error for a file of another `kind`; advice_for: says how to convert it."""
    return other_format_error(
        f"`{name}` looks like {kind}; nmt reads tab-separated values: one pair per line, as "
        "source, tab, target",
        advice_for,
    )


def not_tsv_error(rows: Sequence[str], name: str) -> OtherFormatError | None:
    """Return the error for a file whose `rows` contain no tab.

    None if it is neither JSON lines nor a table with another separator, nor alternating lines.
    """
    return _error(partial(_other_format, rows, name), name)


def labelled_lines_error(rows: Sequence[str], name: str) -> OtherFormatError | None:
    """Return the error for alternating lines whose labels a tab divides from the text, or None."""
    return _error(partial(labels_in_turn, rows, name), name)


def _error(
    recognise: Callable[[Sequence[str]], FormatAdvice | None], name: str
) -> OtherFormatError | None:
    """The error with the advice that `recognise` gives for some languages; None if it has none."""
    first = recognise(())
    if first is None:
        return None
    kind = first.kind
    return _not_tsv(name, kind, lambda languages: recognise(languages) or FormatAdvice(kind, ""))


def _other_format(rows: Sequence[str], name: str, languages: Sequence[str]) -> FormatAdvice | None:
    """What a file looks like, and how to convert it; None if it is of no known format.

    languages: the codes of source and target, if they are known.
    """
    for recognise in (json_advice, standard_format_advice, _layout_of_pairs):
        if advice := recognise(rows, name, languages):
            return advice
    separator = separator_of(rows, name)
    return _table_advice(rows, name, separator, languages) if separator else None


def _layout_of_pairs(
    rows: Sequence[str], name: str, languages: Sequence[str]
) -> FormatAdvice | None:
    """How to convert a layout of pairs without columns; None if it is none."""
    if len(rows) < MIN_ROWS:
        return None
    if layout := labels_in_line(rows, name, languages):
        return layout
    for mark in MARKS:
        if sum(row.count(f" {mark} ") == 1 for row in rows) >= LEAST_SHARE * len(rows):
            return FormatAdvice.of(marked_pairs(mark), name)
    is_empty = [not row.strip() for row in rows]
    groups = len(rows) // 3
    if is_empty[: 3 * groups] == groups * [False, False, True]:
        sides = rows[: 3 * groups : 3], rows[1 : 3 * groups : 3]
        return _alternating_lines(sides, name, languages)
    return labels_in_turn(rows, name, languages)


def _alternating_lines(
    sides: Sequence[Sequence[str]], name: str, languages: Sequence[str]
) -> FormatAdvice:
    """How to convert alternating lines, without labels; sides: the first lines of both sides."""
    found = [common_label(side, FEWEST_PAIRS) for side in sides]
    labels = [label.text if label else None for label in found]
    named = [label for label in labels if label]
    what, columns = "convert it", ("1", "2")
    if len(named) == 2:
        order = in_given_order(named, (0, 1), languages)
        columns = named[order[0]], named[order[1]]
        what += (
            f", with `{columns[0]}` as source and `{columns[1]}` as target, without these labels"
        )
    elif named:
        what += f", without the label `{named[0]}`"
    names = tuple(named) if len(named) == 2 else ("1", "2")
    kind = "source and target in alternating lines, with empty lines between the pairs"
    read = partial(_alternating_rows, names=names, labels=labels)
    return FormatAdvice.of(Conversion(kind, read, columns, names), name, what)


def _alternating_rows(
    source: SourceFile, columns: Columns, names: Sequence[str], labels: Sequence[str | None]
) -> Iterator[Row]:
    """Yield the first and the second of each three lines, without their labels."""
    patterns = [re.compile(label_pattern(label)) if label else None for label in labels]
    group: list[str] = []
    with source.text() as text:
        for line in text:
            group.append(line)
            if len(group) == len(labels):
                sides = dict(zip(names, map(_without, patterns, group), strict=True))
                yield [sides[name] for name in columns]
            if len(group) == len(labels) + 1:
                group = []


def _without(pattern: re.Pattern[str] | None, line: str) -> str:
    return pattern.sub("", line, count=1) if pattern else line


def _table_advice(
    rows: Sequence[str], name: str, separator: str, languages: Sequence[str]
) -> FormatAdvice:
    """How to convert a table with another separator; of more than two columns, which ones."""
    kind = f"values separated by {SEPARATORS[separator]}"
    skipped = int(_SEPARATOR_LINE.fullmatch(rows[0]) is not None)
    try:
        table = list(csv.reader(rows[skipped:], delimiter=separator))
    except csv.Error:
        table = []
    is_wide = max(map(len, table), default=0) > 2
    chosen = chosen_columns(table, languages)
    if not is_wide and (chosen is None or chosen.columns == (1, 2)):
        return FormatAdvice.of(quoted_table(separator, skipped=skipped), name)
    if chosen is None:
        # The conversion of such tables reads tabs.
        if advice := row_per_text_advice(table, name, languages, quoted=True):
            return advice._replace(kind=kind)
        return FormatAdvice(
            kind,
            "fewer than two of its columns have text: write a file with the source sentences, "
            "a tab and their translations",
        )
    (first, second), recognised, notes = chosen
    what = "convert it, with column {} as source and column {} as target, {}"
    if recognised:
        looks = " and ".join(map(shown_language, recognised))
        what = what.format(first, second, f"which look like {looks}")
    else:
        src, tgt = (
            shown_column(table, column, note, languages=languages)
            for column, note in zip(chosen.columns, notes, strict=True)
        )
        what = what.format(src, tgt, "or others in their place")
    conversion = quoted_table(separator, (str(first), str(second)), skipped=skipped)
    return FormatAdvice.of(conversion, name, what)


def separator_of(rows: Sequence[str], name: str) -> str:
    """Return the separator of `rows`, which contain no tab, or "" if it is not known."""
    if len(rows) < MIN_ROWS and not name.lower().endswith(_CSV):
        return ""
    # The values may contain either character, but rarely right after a quotation mark.
    likeliest = max(
        (";", ","),
        key=lambda mark: (sum(f'"{mark}' in row for row in rows), sum(mark in row for row in rows)),
    )
    share = sum(likeliest in row for row in rows) / max(1, len(rows))
    return likeliest if share >= LEAST_SHARE else ""


def is_xml(line: str) -> bool:
    """Return whether a file that begins with `line` is XML or HTML.

    >>> is_xml('<?xml version="1.0"?>'), is_xml("<tmx>"), is_xml("<b>Yes</b>\\t<b>Ja</b>")
    (True, True, False)
    """
    start = line.lstrip("\ufeff \t").lower()
    return start.startswith(("<?xml", "<!doctype", "<tmx")) or is_html(line)


def xml_error(start: str, name: str) -> OtherFormatError:
    """Return the error for XML or HTML in place of a table, which begins with `start`."""
    if "<tmx" in start.lower():
        return _not_tsv(name, "TMX", lambda languages: tmx_advice(start, name, languages))
    if is_html(start.partition("\n")[0]):
        return _not_tsv(name, "HTML", lambda _: html_advice(name))
    return _not_tsv(name, "XML", lambda _: FormatAdvice("XML", "convert it to lines of this form"))


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


def quoted_error(name: str) -> OtherFormatError:
    """Return the error for a table nearly all of whose fields are in quotation marks."""
    return other_format_error(
        f"`{name}`: nearly all columns are in quotation marks, which nmt would take for text",
        lambda _: FormatAdvice.of(quoted_table("\t"), name, "remove them"),
    )
