"""The text that subword ids spell, and which of its characters belong to which id."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from nmt_cli.data.languages.word_characters import WORD

# A byte that is not UTF-8 is a character by itself, so that positions stay right.
INVALID = "surrogateescape"
_WORD = re.compile(WORD)


class SpelledIds:
    """Ids as text; positions count the ids.

    >>> spelled = SpelledIds([0, 1, 2], [b" a", b"bc,", b" d"])
    >>> spelled.text, spelled.positions(2, 3), spelled.words()
    (' abc, d', (1,), [(0, 1), (2,)])
    """

    def __init__(self, ids: Sequence[int], spellings: Sequence[bytes]) -> None:
        """spellings: of every id, see `spelling.target_spellings`."""
        self._parts = [spellings[token_id] for token_id in ids]
        self.text = b"".join(self._parts).decode("utf-8", errors=INVALID)
        # Before which byte of the text each id ends, and before which each character does.
        self._ends = list(accumulate(map(len, self._parts)))
        self._bytes = [0, *accumulate(map(_size, self.text))]

    def positions(self, begin: int, end: int) -> tuple[int, ...]:
        """The ids that spell the characters from `begin` to `end`."""
        if begin >= end or not self._ends:
            return ()
        first = bisect_right(self._ends, self._bytes[begin])
        last = bisect_right(self._ends, self._bytes[end] - 1)
        return tuple(range(first, min(last + 1, len(self._ends))))

    def words(self) -> list[tuple[int, ...]]:
        """The ids of each word; marks belong to none.

        A space that is an id by itself belongs to the word behind it.

        >>> SpelledIds([0, 1, 2], [b"a", b" ", b"7"]).words()
        [(0,), (1, 2)]
        """
        words = [self.positions(*match.span()) for match in _WORD.finditer(self.text)]
        return [(word[0] - 1, *word) if self._is_space(word[0] - 1) else word for word in words]

    def _is_space(self, position: int) -> bool:
        """Whether an id spells nothing but a space; none does at -1."""
        return position >= 0 and self._parts[position] == b" "


def _size(character: str) -> int:
    return len(character.encode("utf-8", errors=INVALID))
