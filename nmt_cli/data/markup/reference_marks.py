"""Marks of references, such as those of footnotes, and symbols that are no words."""

import re

from nmt_cli.data.languages.word_characters import CHARACTERS, MARK

# `a`, `a,b`, `(a)` and `[iv]`.
_BRACKETED = rf"\([{CHARACTERS}]{{1,3}}\)|\[[{CHARACTERS}]{{1,3}}\]"
_MARK = re.compile(rf"{_BRACKETED}|[A-Za-z](?:, ?[A-Za-z]){{0,4}}")
# What a letter without brackets is raised behind: a word of several letters, and no Roman number.
# `M<sup>e</sup>`, `19<sup>e</sup>`, `XX<sup>e</sup>` and `x<sup>n</sup>` are words.
_BASE = re.compile(rf"(?:[^\W\d_]|{MARK}){{3}}[.,;!?)\]\"'”’»]*\Z")
_ROMAN = re.compile(r"(?<!\w)[IVXLCDM]+\Z")
_LONGEST_ROMAN = 12
# `[12]`; in a link or raised also `[a]`, `[iv]`, `[*]` and `[note 2]`, and signs without brackets.
_NUMBER = re.compile(r"\s*\[\d{1,3}\]\s*")
_SIGNS = "[*†‡§¶]{1,4}"
_NOTE = re.compile(
    rf"\s*(?:{_SIGNS}|\[(?:{_SIGNS}|[a-z]|[ivx]{{2,5}}|(?:note|nota|nb|fn)\s?\d{{1,3}})\])\s*",
    re.IGNORECASE,
)
# Arrows, boxes to tick, bullets, stars and pictures; no signs that sentences are made of.
_SYMBOLS = re.compile(
    "\\s*[*†‡|•·\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u27f0-\u27ff\u2900-\u297f"
    "\u2b00-\u2bff\U0001f000-\U0001faff\ufe0e\ufe0f\u200d]+\\s*"
)


def may_be_mark(text: str) -> bool:
    """Whether a raised text with letters may be a mark.

    >>> [may_be_mark(text) for text in ("a", "(a)", "a, b", "er")]
    [True, True, True, False]
    """
    return bool(_MARK.fullmatch(text.strip()))


def is_reference_mark(text: str, before: str) -> bool:
    """Whether a raised text is a mark of what stands right before it.

    >>> [is_reference_mark(text, "Minister") for text in ("a", "(a)", "1", "er")]
    [True, True, False, False]
    >>> [is_reference_mark("e", before) for before in ("M", "19", "XIX", "a dog ")]
    [False, False, False, False]
    """
    if not may_be_mark(text) or not before or before[-1].isspace():
        return False
    if text.strip()[0] in "([":
        return True
    return bool(_BASE.search(before[-20:])) and not _ROMAN.search(before[-_LONGEST_ROMAN:])


def is_note(text: str, *, apart: bool) -> bool:
    """Whether a text is the mark of a note; apart: whether it is a link, or raised.

    >>> [is_note(text, apart=True) for text in ("[1]", "[a]", "[note 2]", "*", "5", "[see]")]
    [True, True, True, True, False, False]
    >>> [is_note(text, apart=False) for text in ("[1]", "[a]", "*")]
    [True, False, False]
    """
    return bool(_NUMBER.fullmatch(text) or (apart and _NOTE.fullmatch(text)))


def is_symbol(text: str) -> bool:
    """Whether a text is an arrow, a box, a bullet or another such symbol.

    >>> [is_symbol(text) for text in ("\u21a9", "|", "\u2610", "+", "-", "5")]
    [True, True, True, False, False, False]
    """
    return bool(_SYMBOLS.fullmatch(text))
