"""Apostrophes between letters that a text writes in several ways."""

import re
from collections import Counter
from collections.abc import Sequence

from nmt_cli.data.text.shell_commands import copy_command, removal_command

# The modifier letters U+02BB and U+02BC are left out: a language may have both of them.
_BETWEEN_LETTERS = r"(?<=[^\W\d_])[{}](?=[^\W\d_])"
APOSTROPHES = "'\u2019\u2018`\u00b4"
_APOSTROPHE = re.compile(_BETWEEN_LETTERS.format(APOSTROPHES))
# Fewer, or a smaller share than this of others than the most frequent one, may be right.
FEWEST, LEAST_SHARE = 50, 0.1


def mixed_apostrophes(lines: Sequence[str]) -> list[tuple[str, int]]:
    """The apostrophes between letters with their numbers, the most frequent first; [] for one kind.

    >>> mixed_apostrophes(["l'un, l\u2019autre"] * 30), mixed_apostrophes(["l'un"] * 60)
    ([("'", 30), ('\u2019', 30)], [])
    """
    counts = Counter(mark for line in lines for mark in _APOSTROPHE.findall(line))
    marks = counts.most_common()
    total = counts.total()
    if total < FEWEST or total - marks[0][1] < LEAST_SHARE * total:
        return []
    return marks


def one_apostrophe_command(path: str, apostrophe: str) -> str:
    """The command that writes a copy of a file in which all of them are this one."""
    others = APOSTROPHES.replace(apostrophe, "")
    command = removal_command(_BETWEEN_LETTERS.format(others), apostrophe)
    return copy_command(command, path, "one-apostrophe", takes_name=False)
