"""Labels that begin nearly all lines of a side of a text, and how to remove them."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, islice, repeat
from typing import NamedTuple

from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.shell_commands import name_beside

_WORD = r'[^\s:\uff1a"`]{1,30}'
# Before a colon, some put a no-break space.
COLON = r"[ \xa0\u202f]*[:\uff1a]"
# The colons of addresses, of names in code, and of times end no label.
LABEL_COLON = rf"{COLON}(?![/:]|(?<=\d:)\d)"
_LABEL = re.compile(rf"[ \t]*({_WORD}(?: {_WORD})?){LABEL_COLON}")
# This share of at least so many lines begins with the same label.
LEAST_SHARE, FEWEST_LINES = 0.9, 50
# A label that is to be removed may begin fewer.
FEWEST_TO_REMOVE = 2


class LineLabel(NamedTuple):
    """A label, without its colon, and the indices of the lines that begin with it."""

    text: str
    indices: list[int]


def label_of(line: str) -> str | None:
    """The word or two before a colon that a line begins with, or None.

    >>> [label_of(line) for line in ("Tharo: ka mi", "Old English : a", "At 10:30", "https://a.b")]
    ['Tharo', 'Old English', None, None]
    """
    match = _LABEL.match(line)
    return match[1] if match and has_letters(match[1]) else None


def is_label(cell: str) -> bool:
    """Whether a cell of a table is nothing but the label of the line.

    >>> is_label("Tharo:"), is_label(" Old English: "), is_label("Tharo"), is_label("He said: no:")
    (True, True, False, False)
    """
    return _LABEL.fullmatch(cell.rstrip()) is not None and has_letters(cell)


def common_label(lines: Sequence[str], fewest: int = FEWEST_LINES) -> LineLabel | None:
    """The label that nearly all of the lines begin with, of which empty ones do not count, or None.

    fewest: of fewer lines there is none.

    >>> common_label(["English: a", "", "English: b"], 2), common_label(["English: a"])
    (LineLabel(text='English', indices=[0, 2]), None)
    """
    filled = sum(1 for line in lines if line.strip())
    if filled < fewest:
        return None
    labels = list(map(label_of, lines))
    counts = Counter(filter(None, labels))
    label, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    if count < LEAST_SHARE * filled:
        return None
    return LineLabel(label, [index for index, other in enumerate(labels) if other == label])


def label_pattern(label: str) -> str:
    """The regular expression of a label at the beginning of a line."""
    return rf"(?<![^\n])[ \t]*{re.escape(label)}{COLON}[ \t]*"


def label_change(lines: Sequence[str]) -> Callable[[str], str]:
    r"""The change of a line, or a row of a table, that removes the labels of its cells.

    These are the labels that nearly all of these lines begin with, or nearly all cells of a column.

    >>> label_change(["Tharo: ka", "Tharo: mi"])("Tharo: so Tharo: it")
    'so Tharo: it'
    >>> label_change(["ka\tEnglish: a", "mi\tEnglish: b"])("so\tEnglish: it")
    'so\tit'
    """
    rows = [line.split("\t") for line in lines]
    width = max(map(len, rows), default=0)
    columns = [[row[index] for row in rows if index < len(row)] for index in range(width)]
    labels = [common_label(column, FEWEST_TO_REMOVE) for column in columns]
    patterns = [re.compile(label_pattern(label.text)) if label else None for label in labels]

    def change(line: str) -> str:
        cells = line.split("\t")
        starts = islice(chain(patterns, repeat(None)), len(cells))
        return "\t".join(
            start.sub("", cell, count=1) if start else cell
            for start, cell in zip(starts, cells, strict=True)
        )

    return change


def without_label_cells(row: str) -> str:
    r"""The row without cells that are nothing but a label, if two others are left.

    >>> without_label_cells("Tharo:\tka\tEnglish:\tit"), without_label_cells("Tharo:\tka")
    ('ka\tit', 'Tharo:\tka')
    """
    *cells, last = row.split("\t")
    others = [cell for cell in cells if not is_label(cell)]
    return f"{others[0]}\t{last}" if len(others) == 1 else row


def without_labels_commands(paths: Sequence[str], labels: Sequence[str | None]) -> list[str]:
    """The commands that write the files, or the table, without the labels of lines.

    labels: those of source and target; None for a side that has none, whose file is left as it is.

    >>> without_labels_commands(["a.en", "a.de"], [None, "Deutsch"])
    ['nmt convert a.de --repair labels -o a.without-labels.de']
    """
    if len(paths) > 1:
        paths = [path for path, label in zip(paths, labels, strict=True) if label]
    return [
        convert_command(path, name_beside(path, "without-labels"), repairs=["labels"])
        for path in paths
    ]


def without_label_cells_command(path: str) -> str:
    """The command that writes a table without the cells that are labels of the others."""
    return convert_command(path, name_beside(path, "without-labels"), repairs=["label-cells"])
