"""Raised letters that are marks of references, such as those of the footnotes of a table."""

import re

# `a`, `a,b`, `(a)` and `[iv]`.
_BRACKETED = r"\(\w{1,3}\)|\[\w{1,3}\]"
_MARK = re.compile(rf"{_BRACKETED}|[A-Za-z](?:, ?[A-Za-z]){{0,4}}")
# What a letter without brackets is raised behind: a word of several letters, and no Roman number.
# `M<sup>e</sup>`, `19<sup>e</sup>`, `XX<sup>e</sup>` and `x<sup>n</sup>` are words.
_BASE = re.compile(r"[^\W\d_]{3}[.,;!?)\]\"'”’»]*\Z")
_ROMAN = re.compile(r"(?<!\w)[IVXLCDM]+\Z")
_LONGEST_ROMAN = 12


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
