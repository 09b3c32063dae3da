"""Finds hypotheses and references that differ in characters which nobody sees."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.text.sanitize import JOINERS, UNSEEN
from nmt_cli.plurals import counted

# A smaller share of such lines hardly changes a score.
MIN_SHARE = 0.01
# The most characters that a note names.
NAMED = 5
_INVISIBLE = re.compile(f"[{UNSEEN}{''.join(JOINERS)}]")
_NAMES = {"\u200c": "ZWNJ", "\u200d": "ZWJ", "\ufeff": "byte order mark"}


class InvisibleDifference(NamedTuple):
    """The name of a reference, the characters that differ in it, and what to say of them."""

    reference: str
    characters: tuple[str, ...]
    note: str


def invisible_difference(
    hypotheses: Sequence[str], references: Sequence[tuple[str, Sequence[str]]]
) -> InvisibleDifference | None:
    """Find a reference with lines that differ from the hypotheses only in such characters.

    references: the lines of each, with its name. Words with such a character never match others.
    """
    for name, lines in references:
        counts: Counter[str] = Counter()
        differing_lines = 0
        for line, hypothesis in zip(lines, hypotheses, strict=False):
            if characters := _differing(line, hypothesis):
                differing_lines += 1
                counts.update(characters)
        if differing_lines >= max(1, MIN_SHARE * len(hypotheses)):
            shown = ", ".join(_shown(character) for character, _ in counts.most_common(NAMED))
            more = ", ..." if len(counts) > NAMED else ""
            note = (
                f"{counted(differing_lines, 'line')} of `{name}` and of the hypotheses have "
                f"different invisible characters ({shown}{more}) in the same words, which count as "
                "others; where the language needs them, find the program that has removed or added "
                "them; elsewhere, remove them from both"
            )
            return InvisibleDifference(name, tuple(sorted(counts)), note)
    return None


def _differing(line: str, hypothesis: str) -> set[str]:
    """The characters of words that both lines have, but with other ones of these characters."""
    if line == hypothesis or (line.isprintable() and hypothesis.isprintable()):
        return set()
    ours, theirs = (_words(text) for text in (line, hypothesis))
    return {
        character
        for word in ours.keys() & theirs.keys()
        if ours[word].isdisjoint(theirs[word])
        for character in _INVISIBLE.findall("".join(ours[word] ^ theirs[word]))
    }


def _words(text: str) -> dict[str, frozenset[str]]:
    """The spellings of each word that differ in such characters only, by what is seen of it."""
    spellings: dict[str, set[str]] = {}
    for word in text.split():
        spellings.setdefault(_INVISIBLE.sub("", word), set()).add(word)
    return {seen: frozenset(words) for seen, words in spellings.items() if seen}


def _shown(character: str) -> str:
    name = _NAMES.get(character) or unicodedata.name(character, "").lower()
    return f"U+{ord(character):04X} {name}"
