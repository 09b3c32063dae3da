"""Word-pieces as in GNMT (section 5.1): a learnt vocabulary and greedy longest match.

The vocabulary starts with the characters, and the most frequent pair of neighbours is merged
repeatedly. Only integers are compared, and the older pair wins ties, so the same words give the
same vocabulary on every machine. A word begins with U+2581, which is decoded as a space.
"""

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from nmt_cli.data.languages.unspaced import separated_words
from nmt_cli.data.subwords.normalization import UNKNOWN_SHOWN, Normalizer, kept_characters
from nmt_cli.data.subwords.segmenters import (
    SPACE,
    SPECIAL,
    UNK,
    Kind,
    vocabulary_too_large,
    vocabulary_too_small,
)
from nmt_cli.errors import DataError

# Longer words rarely occur again and would take much memory.
MAX_CACHED, LONGEST_CACHED = 200_000, 100
# Only this many of the most frequent words are used; rarer ones hardly change the vocabulary.
MAX_WORDS = 1_000_000

Pair = tuple[int, int]


class WordPieces:
    """Encodes each word by the longest piece that fits, from left to right."""

    kind: Kind = "wordpiece"
    unk_id = UNK

    def __init__(self, pieces: Sequence[str]) -> None:
        """Take the pieces in the order of their ids, with the special ones first."""
        self._pieces = list(pieces)
        self._ids = {piece: i for i, piece in enumerate(pieces) if i >= len(SPECIAL)}
        self._longest = max(map(len, self._ids), default=1)
        self._cache: dict[str, list[int]] = {}
        # The vocabulary has the characters that were kept in the text that it was learnt from.
        self._normalizer = Normalizer(kept_characters(self._ids), marks_words=True)

    def pieces(self) -> list[str]:
        """Return all pieces in the order of their ids."""
        return list(self._pieces)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the piece ids of each line; a run of unknown characters is one UNK."""
        return [
            [
                piece
                for word in _words(self._normalizer.normalize(line))
                for piece in self._word(word)
            ]
            for line in lines
        ]

    def _word(self, word: str) -> list[int]:
        ids = self._cache.get(word)
        if ids is None:
            if len(word) > LONGEST_CACHED:
                return self._match(word)
            if len(self._cache) >= MAX_CACHED:
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
        """Return the text of piece ids."""
        text = "".join(UNKNOWN_SHOWN if piece == UNK else self._pieces[piece] for piece in ids)
        return text.replace(SPACE, " ").removeprefix(" ")

    def to_bytes(self) -> bytes:
        """Return the pieces, one per line."""
        return "".join(f"{piece}\n" for piece in self._pieces).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "WordPieces":
        """Load the result of `to_bytes`; raises DataError if it is damaged."""
        try:
            pieces = data.decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise DataError("the list of word-pieces is not UTF-8", "copy it again") from error
        if tuple(pieces[: len(SPECIAL)]) != SPECIAL:
            raise DataError("the list of word-pieces is damaged", "copy it again")
        return cls(pieces)


def _words(normalized: str) -> Iterator[str]:
    """Yield the words of a normalised line, each beginning with U+2581."""
    return (SPACE + word for word in normalized.split(SPACE) if word)


def learn_word_pieces(words: Iterable[tuple[str, int]], size: int) -> WordPieces:
    """Learn `size` entries, with the special ones, from (word, count) pairs in any order.

    Raises DataError if the text has more characters or fewer pieces than `size`.
    """
    counts: Counter[str] = Counter()
    words = list(words)
    normalizer = Normalizer(kept_characters(word for word, _ in words), marks_words=True)
    for text, count in words:
        for word in _words(normalizer.normalize(text)):
            for part in separated_words(word):
                counts[part] += count
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_WORDS]
    characters = sorted(set().union(*(word for word, _ in frequent)))
    if len(characters) + len(SPECIAL) > size:
        raise vocabulary_too_small(size, len(characters) + len(SPECIAL))
    merger = _PairMerger(characters, frequent)
    while len(merger.pieces) + len(SPECIAL) < size:
        if not merger.merge_next():
            raise vocabulary_too_large(size, len(merger.pieces) + len(SPECIAL))
    return WordPieces([*SPECIAL, *merger.pieces])


class _PairMerger:
    """All words as lists of symbols (indices in `pieces`), and their pairs of neighbours."""

    def __init__(self, characters: list[str], words: Sequence[tuple[str, int]]) -> None:
        self.pieces = characters
        self._symbols = {piece: i for i, piece in enumerate(characters)}
        self._words = [[self._symbols[character] for character in word] for word, _ in words]
        self._word_counts = [count for _, count in words]
        self._counts: dict[Pair, int] = defaultdict(int)
        # Indices of words that contain a pair. An index may be listed twice, or still be listed
        # after the pair is gone from the word, which is checked.
        self._words_with: dict[Pair, list[int]] = defaultdict(list)
        for index, word in enumerate(self._words):
            for pair in itertools.pairwise(word):
                self._counts[pair] += self._word_counts[index]
                self._words_with[pair].append(index)
        self._queue = [(-count, pair) for pair, count in self._counts.items()]
        heapq.heapify(self._queue)

    def merge_next(self) -> bool:
        """Merge the most frequent pair everywhere; return False if no pair is left."""
        while self._queue:
            count, pair = heapq.heappop(self._queue)
            current = self._counts.get(pair, 0)
            if self.pieces[pair[0]] + self.pieces[pair[1]] in SPECIAL:
                continue
            if current == -count:
                self._merge(pair)
                return True
            if current > 0:
                # The pair has become rarer since it was queued.
                heapq.heappush(self._queue, (-current, pair))
        return False

    def _merge(self, pair: Pair) -> None:
        piece = self.pieces[pair[0]] + self.pieces[pair[1]]
        merged = self._symbols.setdefault(piece, len(self.pieces))
        if merged == len(self.pieces):
            self.pieces.append(piece)
        changes: dict[Pair, int] = defaultdict(int)
        for index in self._words_with.pop(pair):
            old = self._words[index]
            new = _replace_pair(old, pair, merged)
            if len(new) == len(old):
                continue
            self._words[index] = new
            count = self._word_counts[index]
            for neighbours in itertools.pairwise(old):
                changes[neighbours] -= count
            for neighbours in itertools.pairwise(new):
                changes[neighbours] += count
                if merged in neighbours:
                    self._words_with[neighbours].append(index)
        for neighbours, change in changes.items():
            self._change_count(neighbours, change)

    def _change_count(self, pair: Pair, change: int) -> None:
        count = self._counts[pair] + change
        if count:
            self._counts[pair] = count
        else:
            del self._counts[pair]
        if change > 0:
            heapq.heappush(self._queue, (-count, pair))


def _replace_pair(word: list[int], pair: Pair, merged: int) -> list[int]:
    """Replace each occurrence of `pair` in `word`, from the left, with the symbol `merged`."""
    first, second = pair
    if first not in word:
        return word
    new: list[int] = []
    index, last = 0, len(word) - 1
    while index <= last:
        if index < last and word[index] == first and word[index + 1] == second:
            new.append(merged)
            index += 2
        else:
            new.append(word[index])
            index += 1
    return new
