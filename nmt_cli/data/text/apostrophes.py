"""Apostrophes between letters that a text writes in several ways, or with spaces around them."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.shell_commands import name_beside

# The modifier letters U+02BB and U+02BC are left out: a language may have both of them.
APOSTROPHES = "'\u2019\u2018`\u00b4"
_APOSTROPHE = re.compile(rf"(?<=[^\W\d_])[{APOSTROPHES}](?=[^\W\d_])")
# The words around the apostrophe are shown. Where many are torn, a space before it alone is, too.
_TORN = re.compile(rf"[^\W\d_]+ (?P<mark>[{APOSTROPHES}]) [^\W\d_]+")
_BEHIND_SPACE = re.compile(rf"(?<=[^\W\d_]) [{APOSTROPHES}] ?(?=[^\W\d_])")
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


def apostrophe_change(lines: Sequence[str]) -> Callable[[str], str]:
    """The change of a line that makes all of them the one that is most frequent in these lines.

    >>> apostrophe_change(["l'un, d'or, l\u2019an"])("l'un, l`autre 'oui'")
    "l'un, l'autre 'oui'"
    """
    counts = Counter(mark for line in lines for mark in _APOSTROPHE.findall(line))
    return _replacement(_APOSTROPHE, counts)


def one_apostrophe_command(path: str) -> str:
    """The command that writes a copy of a file in which all of them are the most frequent one.

    >>> one_apostrophe_command("my/a.fr")
    'nmt convert my/a.fr --repair apostrophes -o my/a.one-apostrophe.fr'
    """
    return convert_command(path, name_beside(path, "one-apostrophe"), repairs=["apostrophes"])


class TornWords(NamedTuple):
    """Words that spaces around an apostrophe have torn apart.

    apostrophes: how many stand between two spaces; line: the number of the first line, from 1;
    example: the first such place.
    """

    apostrophes: int
    line: int
    example: str


def torn_words(lines: Sequence[str]) -> TornWords | None:
    """Return the words with spaces around apostrophes; None for none or few of them.

    A space on one side alone may be right, as before a quotation.

    >>> torn_words(["so it is", "ch \u2019 usa jach 'a"] * 50)
    TornWords(apostrophes=50, line=2, example='ch \u2019 usa')
    >>> torn_words(["the 'word' is"] * 50) is None
    True
    """
    found = [(n, match) for n, line in enumerate(lines, 1) for match in _TORN.finditer(line)]
    if len(found) < FEWEST:
        return None
    line, first = found[0]
    return TornWords(len(found), line, first[0])


def torn_word_change(lines: Sequence[str]) -> Callable[[str], str]:
    """The change of a line that joins such words with the most frequent apostrophe of these lines.

    >>> torn_word_change(["ch \u2019 usa"])("ch ' usa, jach 'a")
    'ch\u2019usa, jach\u2019a'
    """
    counts = Counter(match["mark"] for line in lines for match in _TORN.finditer(line))
    counts.update(mark for line in lines for mark in _APOSTROPHE.findall(line))
    return _replacement(_BEHIND_SPACE, counts)


def joined_words_command(path: str) -> str:
    """The command that writes a copy of a file with such words in one piece."""
    return convert_command(path, name_beside(path, "joined"), repairs=["torn-words"])


def _replacement(apostrophe: re.Pattern[str], counts: Counter[str]) -> Callable[[str], str]:
    """The change that replaces what the pattern finds by the most frequent one, if there is one."""
    if not counts:
        return str
    ((mark, _),) = counts.most_common(1)
    return lambda line: apostrophe.sub(mark, line)
