r"""Recognises Toolbox and FLEx files in standard format (SFM), and reads their texts.

Each line begins with a marker, such as `\tx`, or goes on with the field of the line before.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile, as_line
from nmt_cli.data.text.language_hints import FormatAdvice
from nmt_cli.data.text.tables.column_choice import chosen_columns

# Text and translation of interlinear text, and examples and entries of dictionaries.
# The markers of MDF, the usual ones of dictionaries, name English: `ge`, `xe`.
_PAIRS = (
    ("tx", "ft"), ("tx", "fe"), ("tx", "f"), ("t", "f"), ("t", "ft"), ("xv", "xe"), ("lx", "ge"),
)  # fmt: skip
_TEXTS = tuple(dict.fromkeys(text for text, _ in _PAIRS))
_IN_ENGLISH = ("fe", "ge", "xe")
_MARKER = re.compile(r"\\([A-Za-z_]\w*)(?:\s+|$)")
_SPACES = re.compile(r"[ \t\r\n]+")
# At least this share of the lines that are not empty begin with a marker.
LEAST_MARKED = 0.5


def standard_format_advice(
    rows: Sequence[str], name: str, languages: Sequence[str] = ()
) -> FormatAdvice | None:
    r"""What a file in standard format is, and how to convert it; None for others.

    rows: some of its lines; languages: the codes of source and target, if they are known.

    >>> rows = ["\\ref 1", "\\tx Ka mi", "to.", "\\ft So it is."]
    >>> standard_format_advice(rows, "a.sfm").hint.rpartition(": ")[2]
    'nmt convert a.sfm --columns tx,ft -o a.tsv'
    >>> standard_format_advice(["\\item a", "\\item b"], "a.tex") is None
    True
    """
    filled = [row for row in rows if row.strip()]
    if sum(map(bool, map(_MARKER.match, filled))) < LEAST_MARKED * max(1, len(filled)):
        return None
    fields = list(_fields(rows))
    counts = Counter(marker for marker, _ in fields)
    pair = max(_PAIRS, key=lambda pair: min(counts[marker] for marker in pair))
    if not all(counts[marker] for marker in pair):
        return None
    if _is_reversed(fields, pair, languages):
        pair = pair[::-1]
    conversion = Conversion("records of Toolbox (standard format, SFM)", _record_rows, pair)
    what = (
        rf"convert it, with `\{pair[0]}` as source and `\{pair[1]}` as target, or other markers in "
        "their place"
    )
    return FormatAdvice.of(conversion, name, what)


def _record_rows(source: SourceFile, columns: Columns) -> Iterator[Row]:
    """The two fields of each record that has both.

    A sentence may be in several blocks, each with its lines of text, morphemes and glosses; an
    entry of a dictionary may have several translations.
    """
    # A single field is that of texts, or needs none.
    src, tgt = columns[0], columns[-1]
    text_marker, other = (tgt, src) if tgt in _TEXTS else (src, tgt)
    fields: dict[str, str] = {}

    def complete() -> Iterator[Row]:
        cells = [as_line(fields.get(name, "")) for name in columns]
        if all(cells):
            yield cells

    last = ""
    with source.text() as lines:
        for line in lines:
            if line.startswith("\\"):
                last, line = [*_SPACES.split(line[1:], maxsplit=1), ""][:2]
                if last in ("ref", "lx") or (last == text_marker and other in fields):
                    yield from complete()
                    fields.clear()
                elif last == other and text_marker == "lx" and other in fields:
                    yield from complete()
                    del fields[other]
            fields[last] = f"{fields.get(last, '')} {line}"
    yield from complete()


def _fields(rows: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the marker of each field, and its text on the line of the marker."""
    for row in rows:
        if (match := _MARKER.match(row)) is not None:
            yield match[1], row[match.end() :]


def _is_reversed(
    fields: Sequence[tuple[str, str]], pair: tuple[str, str], languages: Sequence[str]
) -> bool:
    """Whether the second field of a pair, the translation, is in the source language."""
    names = [marker if marker not in _IN_ENGLISH else "English" for marker in pair]
    texts = [[text for marker, text in fields if marker == wanted] for wanted in pair]
    table = [names, *map(list, zip(*texts, strict=False))]
    chosen = chosen_columns(table, languages)
    return chosen is not None and chosen.columns == (2, 1)
