"""Tables that are no TSV file: values separated by commas or semicolons, and how to convert them.

And the first row of a table, where it names the columns.
"""

import shlex
from collections.abc import Sequence

from nmt_cli.data.languages.names import ENGLISH_NAMES

SEPARATORS = {";": "semicolons", ",": "commas"}
# So many of the rows have to hold the separator.
LEAST_SHARE = 0.9
# Of a file that is not called .csv a single line is no proof: a sentence may have a comma.
ENOUGH_ROWS = 3
_CSV = (".csv", ".csv.gz", ".csv.xz", ".csv.zst", ".csv.bz2")
_HEADINGS = {"source", "target", "src", "tgt", "original", "translation", *ENGLISH_NAMES}


def separator_of(rows: Sequence[str], name: str) -> str:
    """What separates the values of `rows`, which have no tab; "": nothing that is known."""
    if len(rows) < ENOUGH_ROWS and not name.lower().endswith(_CSV):
        return ""
    # Either may stand inside the values too, but hardly behind a quotation mark.
    likeliest = max(
        SEPARATORS,
        key=lambda one: (sum(f'"{one}' in row for row in rows), sum(one in row for row in rows)),
    )
    share = sum(likeliest in row for row in rows) / max(1, len(rows))
    return likeliest if share >= LEAST_SHARE else ""


def conversion_to_tsv(name: str, separator: str) -> str:
    """The command that writes the first two columns of a file with another separator as TSV."""
    program = (
        'import csv, sys; [print(*(" ".join(cell.split()) for cell in row[:2]), sep="\\t") '
        f'for row in csv.reader(sys.stdin, delimiter="{separator}")]'
    )
    stem = name.removesuffix(".csv")
    return f"python3 -c {shlex.quote(program)} < {shlex.quote(name)} > {shlex.quote(stem + '.tsv')}"


def is_header(src: str, tgt: str, codes: Sequence[str]) -> bool:
    """Whether the first row of a table names its columns; codes: of the two languages.

    >>> is_header("English", "French", ("en", "fr")), is_header("Yes", "Oui", ("en", "fr"))
    (True, False)
    """
    cells = [cell.strip().lower() for cell in (src, tgt)]
    return cells[0] != cells[1] and all(cell in _HEADINGS or cell in codes for cell in cells)
