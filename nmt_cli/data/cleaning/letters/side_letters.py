"""Repairs look-alike letters of a side by what most of its letters and its frequent words are."""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from nmt_cli.data.cleaning.letters.look_alikes import (
    MIXED_SIGN,
    SCRIPT_RUNS,
    WORD,
    replace_look_alikes,
    whole_word_in,
)
from nmt_cli.data.cleaning.signs import joined_lines, lines_with

# A text of fewer letters may be of two scripts by chance.
MIN_LETTERS = 500
# At least this share of the letters of a side is in its script.
MIN_SHARE = 0.9
# A word is frequent that occurs so often, and so many times as often as the same in look-alikes.
MIN_COUNT, MIN_RATIO = 5, 10


class LetterRepair(NamedTuple):
    """The repair of the look-alike letters of a line, and the sign of a line that may need it."""

    sign: re.Pattern[str]
    repair: Callable[[str], str]


def main_script(words: Mapping[str, int]) -> str:
    """LATIN, CYRILLIC or GREEK if nearly all letters of a text in one of them are in it, or "".

    words: how often each occurs.

    >>> main_script({"слово": 190, "word": 10}), main_script({"слово": 90, "word": 90})
    ('CYRILLIC', '')
    """
    counts = Counter[str]()
    for word, count in words.items():
        for script, run in SCRIPT_RUNS.items():
            counts[script] += count * sum(map(len, run.findall(word)))
    [(script, most)] = counts.most_common(1)
    is_clear = counts.total() >= MIN_LETTERS and most >= MIN_SHARE * counts.total()
    return script if is_clear else ""


def letter_repair_of(text: str) -> LetterRepair:
    """The repair of the lines of a side, whose whole text this is."""
    plain = LetterRepair(MIXED_SIGN, replace_look_alikes)
    if not any(SCRIPT_RUNS[script].search(text) for script in ("CYRILLIC", "GREEK")):
        return plain
    words = Counter(WORD.findall(text))
    script = main_script(words)
    if not script:
        return plain
    frequent = {word for word in words if _is_frequent(whole_word_in(script, word), word, words)}
    sign = MIXED_SIGN
    if frequent:
        others = "|".join(map(re.escape, sorted(frequent)))
        sign = re.compile(rf"{MIXED_SIGN.pattern}|\b(?:{others})\b")
    repair = functools.partial(replace_look_alikes, script=script, frequent=frequent)
    return LetterRepair(sign, repair)


def _is_frequent(repaired: str, word: str, words: Mapping[str, int]) -> bool:
    """Whether a repaired word is so frequent that the word as it was written is hardly meant."""
    return bool(repaired) and words.get(repaired, 0) >= max(MIN_COUNT, MIN_RATIO * words[word])


def with_repaired_letters(lines: Iterable[str]) -> list[str]:
    """The lines of a side in NFC with repaired look-alikes; a line without any is left alone."""
    repaired = list(lines)
    composed: Sequence[str] = [unicodedata.normalize("NFC", line) for line in repaired]
    text = joined_lines(composed)
    sign, repair = letter_repair_of(text)
    for index in lines_with(sign, text, composed):
        new = repair(composed[index])
        if new != composed[index]:
            repaired[index] = new
    return repaired
