"""Removes characters from a line that must not reach a model or a terminal."""

import re

# Terminal sequences are removed as a whole, since `[31m` alone would be noise. The other control
# characters are removed one by one.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_UNWANTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u2581\ud800-\udfff]")
# What marks the space before a word in the subwords of sentencepiece.
SPACE_MARK = "\u2581"
_SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_REPLACEMENTS = {**dict.fromkeys(_SPACES, " "), SPACE_MARK: "_"}
# A zero-width space separates words in scripts that write no other spaces.
_INVISIBLE = re.compile("[\u00ad\u2060]|(?<![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b")
# Soft hyphens, zero-width spaces, marks of the direction of writing, byte order marks.
UNSEEN = "\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_UNSEEN = re.compile(f"[{UNSEEN}]")
# Zero-width joiners and non-joiners, which change how the letters beside them are written.
JOINERS = frozenset("\u200c\u200d")
_DIRECTION_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_ALL_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Letters and digits of scripts that are written from right to left.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
    "\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_CLOSED_BY = {**dict.fromkeys("\u202a\u202b\u202d\u202e", "\u202c"),
              **dict.fromkeys("\u2066\u2067\u2068", "\u2069")}  # fmt: skip


def clean_line(text: str) -> str:
    """Return `text` as one line without control characters, for models and terminals.

    Tabs and characters that some programs treat as the end of a line become spaces. Other control
    characters and terminal escape sequences are removed. A lone surrogate becomes U+FFFD. U+2581,
    which marks a space in subwords, becomes the underscore that it looks like. Characters that set
    the direction of writing are kept if each of them is closed within the line; otherwise all of
    them are removed, because they would change the direction of the text that follows.

    >>> clean_line("one\\x85two\\x1b[31m\\x00 three")
    'one two three'
    """
    if text.isprintable() and SPACE_MARK not in text:
        return text
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    if not _are_directions_closed(text):
        text = _DIRECTION_MARKS.sub("", text)
    return _UNWANTED.sub(_replace_character, text)


def clean_words(text: str) -> str:
    r"""Return `clean_line(text)` without any marks of the direction of writing, for subword models.

    Models learn and see none of them: sentencepiece would read U+200E and U+200F as spaces, which
    tear punctuation from its word, and the others as characters, which few texts have.

    >>> clean_words("\u200f\u05d0\u05d1\u200f, c") == "\u05d0\u05d1, c"
    True
    """
    text = clean_line(text)
    return text if text.isprintable() else _ALL_DIRECTION_MARKS.sub("", text)


def clean_source(text: str) -> str:
    r"""Return `clean_line(text)` without the characters that cleaning removes from training text.

    These are invisible characters and, in text of left-to-right scripts, marks of the direction of
    writing.

    >>> clean_source("\ufeffBahn\u00adhof")
    'Bahnhof'
    """
    text = clean_marked(text)
    return text if text.isprintable() else remove_direction_marks(text)


def clean_marked(text: str) -> str:
    r"""Return text with tags and placeholders as `clean_source` does, but with direction marks.

    A tag or a placeholder may contain such a mark, or one may stand between it and the text, as
    before the `%` of `5\u200f%d`.
    """
    text = clean_line(text)
    return text if text.isprintable() else remove_invisible(text.replace("\ufeff", ""))


def remove_invisible(text: str) -> str:
    """Remove soft hyphens, word joiners, and zero-width spaces where they separate no words."""
    return _INVISIBLE.sub("", text)


def remove_unseen(text: str) -> str:
    """Remove all characters that nobody sees but joiners."""
    return text if text.isprintable() else _UNSEEN.sub("", text)


def remove_joiners(text: str) -> str:
    """Remove zero-width joiners and non-joiners."""
    return text if text.isprintable() else "".join(c for c in text if c not in JOINERS)


def remove_direction_marks(text: str) -> str:
    r"""Remove marks of the direction of writing from a line of left-to-right scripts alone.

    Beside letters of Arabic, Hebrew and other scripts written from right to left, and without any
    letter, the marks decide where punctuation and digits are shown, and stay.

    >>> remove_direction_marks("in force\u200e, 2\u202c"), remove_direction_marks("+1\u200e")
    ('in force, 2', '+1\u200e')
    """
    if _RIGHT_TO_LEFT.search(text) or not any(map(str.isalpha, text)):
        return text
    return _ALL_DIRECTION_MARKS.sub("", text)


def _are_directions_closed(text: str) -> bool:
    expected: list[str] = []
    for character in _DIRECTION_MARKS.findall(text):
        if character in _CLOSED_BY:
            expected.append(_CLOSED_BY[character])
        elif not expected or expected.pop() != character:
            return False
    return not expected


def _replace_character(match: re.Match[str]) -> str:
    character = match.group()
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return _REPLACEMENTS.get(character, "")
