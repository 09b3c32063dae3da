"""Apostrophes of words that a text writes in several ways, or with spaces around them."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.shell_commands import name_beside

# The modifier letters U+02BB and U+02BC are left out: a language may have both of them.
APOSTROPHES = "'\u2019\u2018`\u00b4"
_APOSTROPHE = re.compile(rf"(?<=[^\W\d_])[{APOSTROPHES}](?=[^\W\d_])")
_ANY = re.compile(f"[{APOSTROPHES}]")
_LETTER = "(?:[^\\W\\d_]|[\u0300-\u036f])"
# A word, the apostrophe that it may begin with, and those within it. It begins a line, or stands
# behind a space, a hyphen or dash, or an opening mark.
_WORD = re.compile(
    rf"(?<![^\s(\[{{\"\u201c\u201d\u201e\u00ab\u2013\u2014/-])(?P<initial>[{APOSTROPHES}]?)"
    rf"(?P<word>[^\W\d_]{_LETTER}*+(?:[{APOSTROPHES}]{_LETTER}++)*+)"
)
_INITIAL_SIGN = re.compile(rf"(?<!\w)[{APOSTROPHES}](?=[^\W\d_])")
# What follows the first word of a quotation, up to the mark that closes it.
_QUOTED = re.compile(
    rf"(?:[^{APOSTROPHES}]|(?<=\w)[{APOSTROPHES}](?=\w))*+(?<=\S)[{APOSTROPHES}](?!\w)"
)
# A word that begins with an apostrophe does so this often, and in this share of its places.
FEWEST_OF_WORD, LEAST_SHARE_OF_WORD = 5, 0.8
# The words around the apostrophe are shown.
_TORN = re.compile(rf"[^\W\d_]+ (?P<mark>[{APOSTROPHES}]) [^\W\d_]+")
_BETWEEN_SPACES = re.compile(rf"(?<=[^\W\d_]) [{APOSTROPHES}] (?=[^\W\d_])")
_BEHIND_SPACE = re.compile(rf"(?<=[^\W\d_]) [{APOSTROPHES}] ?(?=[^\W\d_])")
# Where apostrophes behind a space have one before the next letter, too, in less than this share of
# their places, those without it are taken for quotation marks.
LEAST_SHARE_OF_TORN = 0.5
# Fewer, or a smaller share than this of others than the most frequent one, may be right.
FEWEST, LEAST_SHARE = 50, 0.1


class Apostrophes(NamedTuple):
    """How often a text has each of the apostrophes that are no quotation marks.

    within: those between letters; initial: those before words that nearly always have one; words:
    these words, as `initial_words` returns them.
    """

    within: Counter[str]
    initial: Counter[str]
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Apostrophes":
        """Those of these lines.

        >>> Apostrophes.of(["l'un, l\u2019autre, 'oui'", "d'or"]).within
        Counter({"'": 2, '\u2019': 1})
        """
        words = initial_words(lines)
        return cls(
            Counter(mark for line in lines for mark in _APOSTROPHE.findall(line)),
            Counter(
                match["initial"]
                for line in (lines if words else ())
                for match in _WORD.finditer(line)
                if match["initial"] and _spelling(match) in words
            ),
            words,
        )

    @property
    def all(self) -> Counter[str]:
        """Both kinds together."""
        return self.within + self.initial


def are_mixed(counts: Counter[str]) -> bool:
    """Whether a text with these apostrophes writes them in several ways, and not by chance.

    >>> are_mixed(Counter({"'": 30, "\u2019": 30})), are_mixed(Counter({"'": 60}))
    (True, False)
    """
    return counts.total() >= FEWEST and (
        counts.total() - max(counts.values()) >= LEAST_SHARE * counts.total()
    )


def are_different(counts: Counter[str], others: Counter[str]) -> bool:
    """Whether most of these apostrophes are others than most of those, of which there are many.

    >>> are_different(Counter({"'": 60}), Counter({"\u2018": 60, "'": 40}))
    True
    """
    are_many = min(counts.total(), others.total()) >= FEWEST
    return are_many and counts.most_common(1)[0][0] != others.most_common(1)[0][0]


def initial_words(lines: Sequence[str]) -> tuple[str, ...]:
    """The words of these lines that nearly always begin with an apostrophe, the commonest first.

    In lower case, without it, and with `'` for those within them. Quoted words do not count, as
    they are found without quotation marks, too; nor do those that begin with a capital letter, as
    speech does, and those behind which a mark closes the quotation.

    >>> initial_words(["manyan 'yan sanda", "\u2018yan\u2019uwa", "'so' said, 'it is' so"] * 5)
    ('yan', "yan'uwa")
    """
    found, initial = Counter[str](), Counter[str]()
    if any(_INITIAL_SIGN.search(line) for line in lines):
        for line in lines:
            for match in _WORD.finditer(line):
                if not match["word"][0].isupper():
                    word = _spelling(match)
                    found[word] += 1
                    initial[word] += bool(match["initial"]) and not _QUOTED.match(line, match.end())
    return tuple(
        word
        for word, count in initial.most_common()
        if count >= FEWEST_OF_WORD and count >= LEAST_SHARE_OF_WORD * found[word]
    )


def _spelling(word: re.Match[str]) -> str:
    """How a word is compared, whatever apostrophes it has."""
    return _ANY.sub("'", word["word"].lower())


def apostrophe_change(lines: Sequence[str], mark: str) -> Callable[[str], str]:
    """The change of a line that writes this apostrophe in place of all that are letters.

    They are between letters, or before words that always have one in these lines.

    >>> apostrophe_change(["so 'yan"] * 5, "\u2019")("l'un, l`autre 'oui' \u2018yan")
    "l\u2019un, l\u2019autre 'oui' \u2019yan"
    """
    words = frozenset(initial_words(lines))

    def with_mark(match: re.Match[str]) -> str:
        is_other = match["initial"] and _spelling(match) in words
        return f"{mark}{match['word']}" if is_other else match[0]

    def change(line: str) -> str:
        line = _APOSTROPHE.sub(mark, line)
        return _WORD.sub(with_mark, line) if words else line

    return change


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

    An apostrophe with a space before it alone is one of these, unless the lines have many of those.

    >>> torn_word_change(["ch \u2019 usa"])("ch ' usa, jach 'a")
    'ch\u2019usa, jach\u2019a'
    >>> torn_word_change(["n ' t", "the 'word'", "a 'b'"])("is n ' t 'so'")
    "is n't 'so'"
    """
    counts = Counter(match["mark"] for line in lines for match in _TORN.finditer(line))
    behind = sum(len(_BEHIND_SPACE.findall(line)) for line in lines)
    place = _BEHIND_SPACE if counts.total() >= LEAST_SHARE_OF_TORN * behind else _BETWEEN_SPACES
    counts += Apostrophes.of(lines).within
    if not counts:
        return str
    ((mark, _),) = counts.most_common(1)
    return lambda line: place.sub(mark, line)


def joined_words_command(path: str) -> str:
    """The command that writes a copy of a file with such words in one piece."""
    return convert_command(path, name_beside(path, "joined"), repairs=["torn-words"])
