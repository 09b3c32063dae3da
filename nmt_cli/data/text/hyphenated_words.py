"""Finds words that a PDF or a book has hyphenated at the end of a line: `hyphen- ated`."""

import re
import shlex
from collections.abc import Sequence

from nmt_cli.data.text.shell_commands import copy_command, one_line

PUNCTUATION = '.,;:!?()[]…«»“”„"'
# The first part has two letters or more, so that `e- mail` is left alone.
HYPHENATED = r"([^\s-]{2,})- ([^\s-]+)"
_HYPHENATED = re.compile(HYPHENATED)
# In Python: as `_is_one_word`, for the words of the whole file.
_JOIN = f"""
import re, sys
for stream in (sys.stdin, sys.stdout):
    stream.reconfigure(encoding="utf-8", errors="surrogateescape")
text = sys.stdin.read()
words = dict.fromkeys(word.strip({PUNCTUATION!r}).lower() for word in text.split())
def join(match):
    parts = match[1].lower().lstrip({PUNCTUATION!r}), match[2].lower().rstrip({PUNCTUATION!r})
    one = match[2][0].isalpha() and not match[2][0].isupper() and "".join(parts) in words
    return match[1] + match[2] if one and "-".join(parts) not in words else match[0]
sys.stdout.write(re.sub(r"{HYPHENATED}", join, text))
""".strip()


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


def joining_command(name: str) -> str:
    """The command that joins such words of a file, also of a table, by the words of all of it.

    >>> joining_command("my a.en").rpartition("' < ")[2]
    "'my a.en' > 'my a.joined.en'"
    """
    return copy_command(
        shlex.join(["python3", "-c", one_line(_JOIN)]), name, "joined", takes_name=False
    )
