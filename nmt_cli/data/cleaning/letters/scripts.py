"""Finds lines whose letters, or those of their last sentences, are mostly in another script."""

import unicodedata
from itertools import chain

import numpy as np

from nmt_cli.data.languages.later_sentences import later_sentences

MIN_FOREIGN_LETTERS = 4
# The last sentences of a line have so many letters; fewer may be a name or a term.
MIN_LETTERS_OF_SENTENCE = 20
# Lines are reported only if at least this share of all letters is in one script.
MIN_SHARE_OF_SCRIPT = 0.9
# Japanese is written in all of these.
_CJK = ("HIRAGANA", "KATAKANA", "IDEOGRAPHIC")
_NONE, _UNKNOWN = 0, 255
# The numbers of scripts, and that of each character that has occurred: (1114112,).
_NUMBERS: dict[str, int] = {}
_NUMBER_OF = np.full(0x110000, _UNKNOWN, np.uint8)


def lines_in_other_script(text: str) -> list[int]:
    """The indices of the lines of a text most of whose letters are in another script than the rest.

    text: lines, each with a newline. So are lines that end with sentences in another script.

    >>> lines_in_other_script(90 * "It is.\\n" + "So it is. И вот он пришёл домой к ней.\\n")
    [90]
    >>> lines_in_other_script(30 * "यह ठीक है।\\n" + "ⴰⵣⵓⵍ\\n" + "ठीक abc\\n")
    [30]
    """
    if text.isascii():
        return []
    scripts, ends = _scripts(text)
    counts = np.bincount(scripts, minlength=_UNKNOWN)
    counts[_NONE] = 0
    own = int(counts.argmax())
    if counts[own] < MIN_SHARE_OF_SCRIPT * counts.sum() or counts[own] == counts.sum():
        return []
    foreign = np.bincount(
        np.searchsorted(ends, np.flatnonzero((scripts != own) & (scripts != _NONE))),
        minlength=len(ends),
    )
    wrong = []
    for line in np.flatnonzero(foreign >= MIN_FOREIGN_LETTERS).tolist():
        start = ends[line - 1] + 1 if line else 0
        letters = scripts[start : ends[line]]
        places = chain([0], later_sentences(text[start : ends[line]]))
        if any(_is_foreign(letters[place:], own, is_whole=not place) for place in places):
            wrong.append(line)
    return wrong


def _is_foreign(scripts: np.ndarray, own: int, *, is_whole: bool) -> bool:
    """Whether most letters of a line, or of its last sentences, are of another script than `own`.

    scripts: (characters,); is_whole: whether these are all of the line.
    """
    own_letters = int((scripts == own).sum())
    foreign = int((scripts != _NONE).sum()) - own_letters
    enough = MIN_FOREIGN_LETTERS if is_whole else MIN_LETTERS_OF_SENTENCE
    return foreign >= enough and foreign > 2 * own_letters


def _scripts(text: str) -> tuple[np.ndarray, np.ndarray]:
    """The number of the script of each character, (characters,), and where lines end, (lines,)."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    scripts = _NUMBER_OF[codes]
    new = np.unique(codes[scripts == _UNKNOWN])
    if len(new):
        _NUMBER_OF[new] = [_number_of(chr(code)) for code in new]
        scripts = _NUMBER_OF[codes]
    return scripts, np.flatnonzero(codes == ord("\n"))


def _number_of(character: str) -> int:
    """The number of the script of a letter, after the first word of its name; _NONE for others.

    Letters that stand for others, as in formulas and full-width text, have none.
    """
    category = unicodedata.category(character)
    is_variant = unicodedata.decomposition(character).startswith("<")
    if category not in ("Lu", "Ll", "Lt", "Lo") or is_variant:
        return _NONE
    name = unicodedata.name(character, "").partition(" ")[0]
    # There are fewer scripts than numbers.
    return _NUMBERS.setdefault("CJK" if name in _CJK else name, min(len(_NUMBERS), 253) + 1)
