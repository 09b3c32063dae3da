"""Finds words that a PDF or a book has hyphenated at the end of a line: `hyphen- ated`."""

import re
from collections.abc import Callable, Iterable, Sequence

from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.shell_commands import name_beside

PUNCTUATION = '.,;:!?()[]…«»“”„"'
# The first part has two letters or more, so that `e- mail` is left alone.
_HYPHENATED = re.compile(r"([^\s-]{2,})- ([^\s-]+)")


def hyphenated_words(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The words that a hyphen and a space divide, each with the index of its line.

    A word counts only if the lines have it in one piece, too, and nowhere with the hyphen but
    without the space, so that neither `Ein- und Ausgang` nor `self- employed` does.

    >>> hyphenated_words(["Gram- mar", "a grammar", "Ein- und Aus-", "self- employed"])
    [(0, 'Gram- mar')]
    """
    candidates = [
        (index, match) for index, line in enumerate(lines) for match in _HYPHENATED.finditer(line)
    ]
    if not candidates:
        return []
    words = {word.strip(PUNCTUATION).lower() for line in lines for word in line.split()}
    return [
        (index, match[0].strip(PUNCTUATION))
        for index, match in candidates
        if _is_one_word(match[1], match[2], words)
    ]


def _is_one_word(first: str, second: str, words: set[str]) -> bool:
    parts = first.lower().lstrip(PUNCTUATION), second.lower().rstrip(PUNCTUATION)
    is_small = second[0].isalpha() and not second[0].isupper()
    return is_small and "".join(parts) in words and "-".join(parts) not in words


def divided_word_change(lines: Iterable[str]) -> Callable[[str], str]:
    """The change of a line that joins such words, if these lines have them in one piece.

    >>> divided_word_change(["a grammar"])("Gram- mar is\\tnow self- employed")
    'Grammar is\\tnow self- employed'
    """
    words = {word.strip(PUNCTUATION).lower() for line in lines for word in line.split()}

    def joined(match: re.Match[str]) -> str:
        return match[1] + match[2] if _is_one_word(match[1], match[2], words) else match[0]

    return lambda line: _HYPHENATED.sub(joined, line)


def joining_command(name: str) -> str:
    """The command that joins such words of a file, also of a table, by the words of all of it.

    >>> joining_command("my a.en")
    "nmt convert 'my a.en' --repair divided-words -o 'my a.joined.en'"
    """
    return convert_command(name, name_beside(name, "joined"), repairs=["divided-words"])
