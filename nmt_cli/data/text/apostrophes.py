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


def apostrophe_counts(lines: Sequence[str]) -> Counter[str]:
    """How often the lines have each apostrophe between letters.

    >>> apostrophe_counts(["l'un, l\u2019autre, 'oui'", "d'or"])
    Counter({"'": 2, '\u2019': 1})
    """
    return Counter(mark for line in lines for mark in _APOSTROPHE.findall(line))


def are_mixed(counts: Counter[str]) -> bool:
    """Whether a text with these apostrophes writes them in several ways, and not by chance.

    >>> are_mixed(Counter({"'": 30, "\u2019": 30})), are_mixed(Counter({"'": 60}))
    (True, False)
    """
    return counts.total() >= FEWEST and (
        counts.total() - max(counts.values()) >= LEAST_SHARE * counts.total()
    )


def with_apostrophe(line: str, mark: str) -> str:
    """The line with this apostrophe in place of all others between letters.

    >>> with_apostrophe("l'un, l`autre 'oui'", "\u2019")
    "l\u2019un, l\u2019autre 'oui'"
    """
    return _APOSTROPHE.sub(mark, line)


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
    counts += apostrophe_counts(lines)
    if not counts:
        return str
    ((mark, _),) = counts.most_common(1)
    return lambda line: _BEHIND_SPACE.sub(mark, line)


def joined_words_command(path: str) -> str:
    """The command that writes a copy of a file with such words in one piece."""
    return convert_command(path, name_beside(path, "joined"), repairs=["torn-words"])
