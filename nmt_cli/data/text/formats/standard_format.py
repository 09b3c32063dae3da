r"""Recognises Toolbox and FLEx files in standard format (SFM), and converts their texts to TSV.

Each line begins with a marker, such as `\tx`, or goes on with the field of the line before.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from nmt_cli.data.text.shell_commands import AS_LINE, one_line, tsv_command
from nmt_cli.data.text.tables.column_choice import chosen_columns

# Text and translation of interlinear text, and examples and entries of dictionaries.
# The markers of MDF, the usual ones of dictionaries, name English: `ge`, `xe`.
_PAIRS = (
    ("tx", "ft"), ("tx", "fe"), ("tx", "f"), ("t", "f"), ("t", "ft"), ("xv", "xe"), ("lx", "ge"),
)  # fmt: skip
_TEXTS = tuple(dict.fromkeys(text for text, _ in _PAIRS))
_IN_ENGLISH = ("fe", "ge", "xe")
_MARKER = re.compile(r"\\([A-Za-z_]\w*)(?:\s+|$)")
# At least this share of the lines that are not empty begin with a marker.
LEAST_MARKED = 0.5
# A sentence may be in several blocks, each with its lines of text, morphemes and glosses; an entry
# of a dictionary may have several translations.
_TO_TSV = """\
import sys
AS_LINE
sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
first, second = sys.argv[1:]
text, other = (second, first) if second in TEXTS else (first, second)
fields, last = {}, ""
def write():
 cells = [as_line(fields.get(name, "")) for name in (first, second)]
 if all(cells): print(*cells, sep="\\t")
for line in sys.stdin:
 if line.startswith("\\\\"):
  last, value = [*re.split("[ \\t\\r\\n]+", line[1:], maxsplit=1), ""][:2]
  if last in ("ref", "lx") or last == text and other in fields:
   write()
   fields = {}
  elif last == other and text == "lx" and other in fields:
   write()
   del fields[other]
  line = value
 fields[last] = fields.get(last, "") + " " + line
write()"""


def standard_format_hint(rows: Sequence[str], name: str, languages: Sequence[str]) -> str | None:
    r"""Return how to convert a file in standard format, or None if it is none.

    rows: some of its lines; languages: the codes of source and target, if they are known.

    >>> rows = ["\\ref 1", "\\tx Ka mi", "to.", "\\ft So it is."]
    >>> standard_format_hint(rows, "a.sfm", ()).rpartition("' ")[2]
    'tx ft < a.sfm > a.tsv'
    >>> standard_format_hint(["\\item a", "\\item b"], "a.tex", ()) is None
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
    program = one_line(_TO_TSV.replace("AS_LINE", AS_LINE).replace("TEXTS", repr(_TEXTS)))
    command = tsv_command(["python3", "-c", program, *pair], name)
    return (
        rf"convert it, with `\{pair[0]}` as source and `\{pair[1]}` as target, or other markers in "
        f"their place: {command}"
    )


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
