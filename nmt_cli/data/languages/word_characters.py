r"""What words consist of: letters, digits, and the marks and joiners that are written with them.

Python's `\w` and `str.isalnum` lack the vowel signs and viramas of Indic scripts, the tone marks of
N'Ko, and accents that are characters of their own. Scripts without spaces between words are left
as these two take them: there the end of a word is not seen in its characters.
"""

import re
from itertools import groupby

from nmt_cli.data.languages.unspaced import UNSPACED
from nmt_cli.data.text.letters import is_combining

# ZWNJ and ZWJ, which decide how the letters around them are drawn and end no word between them.
JOINERS = "\u200c\u200d"
# They choose the look of emoji, and stand behind these.
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)
# The planes of letters; the marks behind them are variation selectors of Han only.
_LETTERS = range(0x300, 0x1F000)


def _is_mark(code: int) -> bool:
    return (
        is_combining(chr(code))
        and code not in _VARIATION_SELECTORS
        and UNSPACED.match(chr(code)) is None
    )


_MARKS = [code for code in _LETTERS if _is_mark(code)]
_MARK_SET = frozenset(map(chr, _MARKS))


def _ranges() -> str:
    """The marks as the content of a class in a pattern."""
    runs = groupby(enumerate(_MARKS), lambda item: item[1] - item[0])
    codes = [[code for _, code in run] for _, run in runs]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in codes)


# A combining mark, as the source of a pattern.
MARK = f"[{_ranges()}]"
# What words consist of, as the content of a class in a pattern.
CHARACTERS = rf"\w{_ranges()}"
_PART = f"[{CHARACTERS}]"
# A word; a joiner at its end is none of its characters.
WORD = rf"{_PART}+(?:[{JOINERS}]+{_PART}+)*"
_IS_WORD = re.compile(WORD)


def borders(letter: str = r"\w") -> tuple[str, str]:
    r"""The sources of patterns that no word goes on before, and behind, what is between them.

    letter: the pattern of one character of a word that is no mark.

    >>> begin, end = borders()
    >>> [bool(re.search(rf"{begin}क{end}", text)) for text in ("क", "क, ख", "कि", "क\u200dख")]
    [True, True, False, False]
    >>> [bool(re.search(rf"{begin}ख{end}", text)) for text in ("क ख", "क\u200dख", "कि\u200dख")]
    [True, False, False]
    """
    behind = f"(?<!{letter})(?<!{MARK})(?<!{letter}[{JOINERS}])(?<!{MARK}[{JOINERS}])"
    return behind, f"(?![{JOINERS}]?(?:{letter}|{MARK}))"


def is_word(text: str) -> bool:
    """Whether a text is one word.

    >>> is_word("होम्‌मे"), is_word("dog"), is_word("hot dog")
    (True, True, False)
    """
    return _IS_WORD.fullmatch(text) is not None


def is_word_character(character: str) -> bool:
    r"""Whether this is a letter, a digit, or a mark or joiner; False for "" and for `_`.

    >>> [is_word_character(each) for each in ("a", "7", "\u093f", "\u200d", "-", "")]
    [True, True, True, True, False, False]
    """
    return character.isalnum() or character in _MARK_SET or character in {*JOINERS}


def goes_on(text: str, index: int) -> bool:
    r"""Whether the same word is before and behind a place in a text.

    >>> goes_on("dogs", 3), goes_on("dog, cat", 3), goes_on("क\u200d", 1), goes_on("कि", 1)
    (True, False, False, True)
    """
    before = text[max(0, index - 2) : index].rstrip(JOINERS)[-1:]
    behind = text[index : index + 2].lstrip(JOINERS)[:1]
    return is_word_character(before) and is_word_character(behind)
