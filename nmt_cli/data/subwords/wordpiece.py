"""Word-pieces as in GNMT (section 5.1): a learnt vocabulary, and greedy longest match.

The vocabulary grows from the characters: the most frequent pair of neighbours is joined, again
and again. Only integers are compared, and ties are broken by age, so that the same words give the
same vocabulary everywhere. A word begins with U+2581, so that spaces come back when decoding.
"""

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import sentencepiece

from nmt_cli.data.subwords.segmenters import (
    NORMALIZER,
    SPACE,
    SPECIAL,
    UNK,
    UNKNOWN_SHOWN,
    Kind,
    vocabulary_too_large,
    vocabulary_too_small,
)
from nmt_cli.errors import DataError

# Longer words hardly come again, and would be dear to keep.
CACHED_WORDS, LONGEST_CACHED = 200_000, 100
# Rarer words than the first so many hardly change the vocabulary, but cost memory.
MOST_WORDS = 1_000_000

Pair = tuple[int, int]


class WordPieces:
    """Encodes each word by the longest piece that fits, from left to right."""

    kind: Kind = "wordpiece"

    def __init__(self, pieces: Sequence[str]) -> None:
        """`pieces` in the order of their ids, the special ones first."""
        self._pieces = list(pieces)
        self._ids = {piece: one for one, piece in enumerate(pieces) if one >= len(SPECIAL)}
        self._longest = max(map(len, self._ids), default=1)
        self._cache: dict[str, list[int]] = {}
        self._normalizer = _make_normalizer()

    def pieces(self) -> list[str]:
        """All pieces in the order of their ids."""
        return list(self._pieces)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Piece ids of each line; a run of characters that no piece has is one UNK."""
        return [
            [one for word in _words(self._normalizer.normalize(line)) for one in self._word(word)]
            for line in lines
        ]

    def _word(self, word: str) -> list[int]:
        ids = self._cache.get(word)
        if ids is None:
            if len(word) > LONGEST_CACHED:
                return self._match(word)
            if len(self._cache) >= CACHED_WORDS:
                self._cache.clear()
            ids = self._cache[word] = self._match(word)
        return ids

    def _match(self, word: str) -> list[int]:
        ids: list[int] = []
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                known = self._ids.get(word[start:end])
                if known is not None:
                    ids.append(known)
                    start = end
                    break
            else:
                if not ids or ids[-1] != UNK:
                    ids.append(UNK)
                start += 1
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of piece ids."""
        text = "".join(UNKNOWN_SHOWN if one == UNK else self._pieces[one] for one in ids)
        return text.replace(SPACE, " ").removeprefix(" ")

    def to_bytes(self) -> bytes:
        """One piece a line."""
        return "".join(f"{piece}\n" for piece in self._pieces).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "WordPieces":
        """What `to_bytes` gave; raises DataError where it is something else."""
        try:
            pieces = data.decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise DataError("the list of word-pieces is not UTF-8", "copy it again") from error
        if tuple(pieces[: len(SPECIAL)]) != SPECIAL:
            raise DataError("the list of word-pieces is damaged", "copy it again")
        return cls(pieces)


def _make_normalizer() -> sentencepiece.SentencePieceNormalizer:
    return sentencepiece.SentencePieceNormalizer(
        rule_name=NORMALIZER, add_dummy_prefix=True, escape_whitespaces=True
    )


def _words(normalized: str) -> Iterator[str]:
    """The words of a normalised line, each beginning with U+2581."""
    return (SPACE + word for word in normalized.split(SPACE) if word)


def learn_word_pieces(words: Iterable[tuple[str, int]], size: int) -> WordPieces:
    """Learn `size` entries, special ones included, from (word, count) in any order.

    Raises DataError where the text has more characters or fewer pieces than that.
    """
    counts: Counter[str] = Counter()
    normalizer = _make_normalizer()
    for text, count in words:
        for word in _words(normalizer.normalize(text)):
            counts[word] += count
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_WORDS]
    characters = sorted(set().union(*(word for word, _ in frequent)))
    if len(characters) + len(SPECIAL) > size:
        raise vocabulary_too_small(size, len(characters) + len(SPECIAL))
    joiner = _Joiner(characters, frequent)
    while len(joiner.pieces) + len(SPECIAL) < size:
        if not joiner.join_next():
            raise vocabulary_too_large(size, len(joiner.pieces) + len(SPECIAL))
    return WordPieces([*SPECIAL, *joiner.pieces])


class _Joiner:
    """All words as lists of symbols (places in `pieces`), and the pairs of neighbours in them."""

    def __init__(self, characters: list[str], words: Sequence[tuple[str, int]]) -> None:
        self.pieces = characters
        self._symbols = {piece: one for one, piece in enumerate(characters)}
        self._words = [[self._symbols[one] for one in word] for word, _ in words]
        self._word_counts = [count for _, count in words]
        self._counts: dict[Pair, int] = defaultdict(int)
        # A place may be listed twice, or when the pair is gone from there: it is looked at again.
        self._places: dict[Pair, list[int]] = defaultdict(list)
        for place, word in enumerate(self._words):
            for pair in itertools.pairwise(word):
                self._counts[pair] += self._word_counts[place]
                self._places[pair].append(place)
        self._queue = [(-count, pair) for pair, count in self._counts.items()]
        heapq.heapify(self._queue)

    def join_next(self) -> bool:
        """Join the most frequent pair everywhere; False when there is none left."""
        while self._queue:
            count, pair = heapq.heappop(self._queue)
            known = self._counts.get(pair, 0)
            if self.pieces[pair[0]] + self.pieces[pair[1]] in SPECIAL:
                continue
            if known == -count:
                self._join(pair)
                return True
            if known > 0:
                # It became rarer since it was queued.
                heapq.heappush(self._queue, (-known, pair))
        return False

    def _join(self, pair: Pair) -> None:
        piece = self.pieces[pair[0]] + self.pieces[pair[1]]
        joined = self._symbols.setdefault(piece, len(self.pieces))
        if joined == len(self.pieces):
            self.pieces.append(piece)
        changes: dict[Pair, int] = defaultdict(int)
        for place in self._places.pop(pair):
            old = self._words[place]
            new = _replaced(old, pair, joined)
            if len(new) == len(old):
                continue
            self._words[place] = new
            count = self._word_counts[place]
            for one in itertools.pairwise(old):
                changes[one] -= count
            for one in itertools.pairwise(new):
                changes[one] += count
                if joined in one:
                    self._places[one].append(place)
        for one, change in changes.items():
            self._change(one, change)

    def _change(self, pair: Pair, change: int) -> None:
        count = self._counts[pair] + change
        if count:
            self._counts[pair] = count
        else:
            del self._counts[pair]
        if change > 0:
            heapq.heappush(self._queue, (-count, pair))


def _replaced(word: list[int], pair: Pair, joined: int) -> list[int]:
    """`word` with each occurrence of `pair`, from the left, as one symbol."""
    first, second = pair
    if first not in word:
        return word
    new: list[int] = []
    index, last = 0, len(word) - 1
    while index <= last:
        if index < last and word[index] == first and word[index + 1] == second:
            new.append(joined)
            index += 2
        else:
            new.append(word[index])
            index += 1
    return new
