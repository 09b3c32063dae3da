"""Wraps messages between words to the width of a terminal."""

import re
import unicodedata

_ELLIPSIS = " ..."
_WORD = re.compile(r"(?:[^\s`]|`[^`\n]*`|`)+")
_INDENT = "  "


def wrapped(text: str, width: int, taken: int = 0) -> str:
    """`text` with line breaks between words, none of its lines longer than `width` if possible.

    Text between backticks is not broken, so that commands can be copied. taken: columns of the
    first line that a label takes. Later lines are indented, so that no quoted name can look like
    the beginning of a message.

    >>> wrapped("see `nmt train --help` for more", 14)
    'see\\n  `nmt train --help`\\n  for more'
    """
    shown = ""
    column, end = taken, 0
    for match in _WORD.finditer(text):
        word, space = match[0], text[end : match.start()]
        end = match.end()
        if shown and column + len(space) + len(word) > width:
            shown += f"\n{_INDENT}{word}"
            column = len(_INDENT) + len(word)
        else:
            shown += space + word
            column += len(space) + len(word)
    return shown + text[end:]


def cut(text: str, width: int) -> str:
    """`text` in one line of at most `width` columns, with an ellipsis where it was cut.

    Wide letters take two columns. A word is broken only where nothing else would be left.

    >>> cut("one two three", 11), cut("one two", 11), cut("oneandtwo", 8)
    ('one two ...', 'one two', 'onea ...')
    """
    text = " ".join(text.split())
    if _columns(text) <= width:
        return text
    room = max(1, width - len(_ELLIPSIS))
    kept = text[:room]
    while kept and _columns(kept) > room:
        kept = kept[:-1]
    if not text[len(kept) :].startswith(" ") and " " in kept:
        kept = kept.rpartition(" ")[0]
    return kept.rstrip() + _ELLIPSIS


def _columns(text: str) -> int:
    return sum(
        0
        if unicodedata.combining(character)
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
