"""BPE-dropout (Provilkov et al. 2020): merges are skipped at random, so that segmentations vary.

sentencepiece is not used for it because it draws other numbers in each process, whatever its seed.
Here a draw depends only on the seed, the word and a small number, so the occurrences of a frequent
word share a few segmentations.
"""

import hashlib
import heapq
import random
import re
from collections.abc import Callable, Mapping, Sequence

from nmt_cli.data.subwords.segmenters import SPACE, Segmenter, SentencePieces
from nmt_cli.data.text.sanitize import clean_words

# The number of segmentations of a word from which each occurrence draws one.
VARIANTS = 16
# The number of segmentations that are cached.
MAX_CACHED = 1 << 20
WORD = re.compile(f"{SPACE}?[^{SPACE}]+|{SPACE}")


class BpeDropout:
    """Encodes lines of one side by merges of which each step skips a share."""

    def __init__(
        self, segmenter: Segmenter, vocabulary: Mapping[str, int], unk_id: int, eos_id: int,
        share: float,
    ) -> None:  # fmt: skip
        """Use the merges of `segmenter`; vocabulary: id of each piece; share: skipped merges.

        A share of 0 gives the segmentation of the segmenter.
        """
        if not isinstance(segmenter, SentencePieces) or segmenter.kind != "bpe":
            raise ValueError(f"subwords of the kind {segmenter.kind} have no merges")
        self._segmenter = segmenter
        self._merges = segmenter.merges()
        self._vocabulary = vocabulary
        self._unk_id = unk_id
        self._eos_id = eos_id
        self._share = share
        self._cache: dict[tuple[str, int], list[int]] = {}
        self._seed = ""

    def encode(self, lines: Sequence[str], seed: str, chunk: str) -> list[list[int]]:
        """Return the ids of each line, without BOS, with EOS.

        `seed` determines the segmentations of a word, `chunk` which of them each occurrence gets.
        """
        if seed != self._seed:
            self._seed = seed
            self._cache.clear()
        choose = random.Random(f"{seed}/{chunk}").random
        encoded = []
        for line in lines:
            ids: list[int] = []
            for word in WORD.findall(self._segmenter.normalize(clean_words(line))):
                ids += self._ids(word, int(choose() * VARIANTS))
            encoded.append([*ids, self._eos_id])
        return encoded

    def _ids(self, word: str, variant: int) -> list[int]:
        key = word, variant
        ids = self._cache.get(key)
        if ids is None:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            name = f"{self._seed}/{variant}/{word}".encode()
            word_seed = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")
            pieces = merge_pieces(word, self._merges, self._share, random.Random(word_seed).random)
            ids = self._cache[key] = self._ids_of(pieces)
        return ids

    def _ids_of(self, pieces: list[str]) -> list[int]:
        """Return the ids of pieces; unknown characters become bytes, or one UNK per run."""
        ids: list[int] = []
        for piece in pieces:
            known = piece in self._merges
            names = [piece] if known else [f"<0x{byte:02X}>" for byte in piece.encode()]
            if all(name in self._vocabulary for name in names):
                ids += [self._vocabulary[name] for name in names]
            elif ids[-1:] != [self._unk_id]:
                ids.append(self._unk_id)
        return ids


def merge_pieces(
    word: str, merges: Mapping[str, float], share: float, draw: Callable[[], float]
) -> list[str]:
    """Split `word` into pieces: merge the neighbours with the lowest rank in `merges`, repeatedly.

    At each step every possible merge is skipped with probability `share`; `draw` returns random
    numbers from 0 to 1.

    >>> merge_pieces("abab", {"ab": 1, "abab": 2}, 0.0, lambda: 1.0)
    ['abab']
    >>> numbers = iter([0.0, 1.0, 0.0])
    >>> merge_pieces("abab", {"ab": 1, "abab": 2}, 0.1, lambda: next(numbers, 0.0))
    ['a', 'b', 'ab']
    """
    pieces = list(word)
    # A piece that was merged into the one before it becomes empty.
    after = list(range(1, len(pieces) + 1))
    before = list(range(-1, len(pieces) - 1))
    queue: list[tuple[float, int, str]] = []

    def propose(left: int) -> None:
        right = after[left] if left >= 0 else len(pieces)
        if right < len(pieces) and (text := pieces[left] + pieces[right]) in merges:
            heapq.heappush(queue, (merges[text], left, text))

    for index in range(len(pieces) - 1):
        propose(index)
    while (left := _next_merge(queue, pieces, after, share, draw)) is not None:
        right = after[left]
        pieces[left] += pieces[right]
        pieces[right] = ""
        after[left] = after[right]
        if after[left] < len(pieces):
            before[after[left]] = left
        propose(left)
        propose(before[left])
    return [piece for piece in pieces if piece]


def _next_merge(
    queue: list[tuple[float, int, str]],
    pieces: list[str],
    after: list[int],
    share: float,
    draw: Callable[[], float],
) -> int | None:
    """Return the index of the left piece of the next merge; skipped merges stay in the queue."""
    skipped = []
    chosen = None
    while queue and chosen is None:
        candidate = heapq.heappop(queue)
        _, left, text = candidate
        right = after[left]
        if not pieces[left] or right >= len(pieces) or pieces[left] + pieces[right] != text:
            continue  # One of the two pieces was already merged with another one.
        if share and draw() < share:
            skipped.append(candidate)
        else:
            chosen = left
    for candidate in skipped:
        heapq.heappush(queue, candidate)
    return chosen
