"""Finds lines whose letters are mostly in another script than the rest of their text."""

import unicodedata

import numpy as np

MIN_FOREIGN_LETTERS = 4
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

    text: lines, each with a newline.

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
        if foreign[line] > 2 * (scripts[start : ends[line]] == own).sum():
            wrong.append(line)
    return wrong


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
