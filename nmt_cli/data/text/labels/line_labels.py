"""Labels that begin nearly all lines of a side of a text, and how to remove them."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.shell_commands import copy_command, removal_command

_WORD = r'[^\s:\uff1a"`]{1,30}'
# Before a colon, some put a no-break space.
COLON = r"[ \xa0\u202f]*[:\uff1a]"
# The colons of addresses, of names in code, and of times end no label.
LABEL_COLON = rf"{COLON}(?![/:]|(?<=\d:)\d)"
_LABEL = re.compile(rf"[ \t]*({_WORD}(?: {_WORD})?){LABEL_COLON}")
# This share of at least so many lines begins with the same label.
LEAST_SHARE, FEWEST_LINES = 0.9, 50


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


def table_labels_pattern(labels: Sequence[str | None]) -> str:
    """The regular expression of the labels of source and target in a table of two columns."""
    starts = r"(?<![^\n])", r"(?<=\t)"
    return "|".join(
        rf"{start} *{re.escape(label)}{COLON} *"
        for start, label in zip(starts, labels, strict=True)
        if label
    )


def without_labels_commands(paths: Sequence[str], labels: Sequence[str | None]) -> list[str]:
    """The commands that write the files, or the table, without the labels of lines.

    labels: those of source and target; None for a side that has none, whose file is left as it is.

    >>> without_labels_commands(["a.en", "a.de"], [None, "Deutsch"])[0].partition("' ")[2]
    '< a.de > a.without-labels.de'
    """
    if len(paths) == 1:
        patterns = {paths[0]: table_labels_pattern(labels)}
    else:
        patterns = {
            path: label_pattern(label) for path, label in zip(paths, labels, strict=True) if label
        }
    return [
        copy_command(removal_command(pattern), path, "without-labels", takes_name=False)
        for path, pattern in patterns.items()
    ]


def without_label_cells_command(path: str, labels: Sequence[str]) -> str:
    """The command that writes a table without the cells that are one of these labels.

    labels: with their colons, before other cells of their rows.

    >>> without_label_cells_command("a.tsv", ["Tharo:"]).partition("' ")[2]
    '< a.tsv > a.without-labels.tsv'
    """
    pattern = rf"(?<![^\n\t]) *(?:{'|'.join(map(re.escape, labels))}) *\t"
    return copy_command(removal_command(pattern), path, "without-labels", takes_name=False)
