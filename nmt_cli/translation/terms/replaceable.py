"""The words of a translation that terms may replace, in languages with and without spaces."""

import re
from collections.abc import Sequence
from itertools import pairwise

from nmt_cli.data.languages.elision import APOSTROPHES, elided_word
from nmt_cli.data.languages.word_characters import WORD
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.translation.markup.boundaries import HYPHENS

# The positions of the ids of a word.
Word = tuple[int, ...]
_HYPHENATED = re.compile(rf"\s*{WORD}[{HYPHENS}]{WORD}")
# Words with an apostrophe within them, as `ng'ombe`; not the short forms of English, as in `dog's`.
# Other signs are letters of some orthographies, or stand before endings: `su*nú`, `EU:ssa`.
_WITH_SIGN = re.compile(
    rf"\s*{WORD}(?:(?:[{APOSTROPHES}](?!(?:s|t|d|m|ll|re|ve)\Z)|[*+:·](?=[^\W\d])){WORD})+",
    re.IGNORECASE,
)


def words_of(ids: Sequence[int], spellings: Sequence[bytes], *, spaced: bool) -> list[Word]:
    """The words of a translation; without spaces between words, each id is one.

    Those with an apostrophe or another sign within them are one word: `ng'ombe`, `su*nú`. An elided
    article is a word of its own.
    """
    if not spaced:
        return [(position,) for position in range(len(ids))]
    whole: list[Word] = []
    for word in SpelledIds(ids, spellings).words():
        if whole:
            begin, end = whole[-1][0], word[-1] + 1
            text = SpelledIds(ids[begin:end], spellings).text
            if _WITH_SIGN.fullmatch(text) and not elided_word(text):
                whole[-1] = tuple(range(begin, end))
                continue
        whole.append(word)
    return whole


def joined_words(ids: Sequence[int], words: Sequence[Word], spellings: Sequence[bytes]) -> set[int]:
    """The indices of the words that a hyphen joins with the next one."""
    spelled = {
        index: SpelledIds(ids[left[0] : right[-1] + 1], spellings).text
        for index, (left, right) in enumerate(pairwise(words))
    }
    return {index for index, text in spelled.items() if _HYPHENATED.fullmatch(text)}
