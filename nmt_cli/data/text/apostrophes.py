"""Apostrophes between letters that a text writes in several ways, or with spaces around them."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.text.shell_commands import copy_command, removal_command

# The modifier letters U+02BB and U+02BC are left out: a language may have both of them.
_BETWEEN_LETTERS = r"(?<=[^\W\d_])[{}](?=[^\W\d_])"
APOSTROPHES = "'\u2019\u2018`\u00b4"
_APOSTROPHE = re.compile(_BETWEEN_LETTERS.format(APOSTROPHES))
# The words around the apostrophe are shown. Where many are torn, a space before it alone is, too.
_TORN = re.compile(rf"[^\W\d_]+ (?P<mark>[{APOSTROPHES}]) [^\W\d_]+")
_BEHIND_SPACE = r"(?<=[^\W\d_]) [{}] ?(?=[^\W\d_])"
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


class TornWords(NamedTuple):
    """Words that spaces around an apostrophe have torn apart.

    apostrophes: how many stand between two spaces; line: the number of the first line, from 1;
    example: the first such place; mark: the most frequent apostrophe within words, torn or not.
    """

    apostrophes: int
    line: int
    example: str
    mark: str


def torn_words(lines: Sequence[str]) -> TornWords | None:
    """Return the words with spaces around apostrophes; None for none or few of them.

    A space on one side alone may be right, as before a quotation.

    >>> torn_words(["so it is", "ch \u2019 usa jach 'a"] * 50)
    TornWords(apostrophes=50, line=2, example='ch \u2019 usa', mark='\u2019')
    >>> torn_words(["the 'word' is"] * 50) is None
    True
    """
    found = [(n, match) for n, line in enumerate(lines, 1) for match in _TORN.finditer(line)]
    if len(found) < FEWEST:
        return None
    marks = Counter(match["mark"] for _, match in found)
    marks.update(mark for line in lines for mark in _APOSTROPHE.findall(line))
    line, first = found[0]
    return TornWords(len(found), line, first[0], marks.most_common(1)[0][0])


def joined_words_command(path: str, apostrophe: str) -> str:
    """The command that writes a copy of a file with such words in one piece."""
    command = removal_command(_BEHIND_SPACE.format(APOSTROPHES), apostrophe)
    return copy_command(command, path, "joined", takes_name=False)
