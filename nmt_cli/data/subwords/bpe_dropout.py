"""BPE-dropout (Provilkov and others 2020): merges are left out by chance, so that words vary.

Our own, because sentencepiece draws other numbers in each process, whatever its seed. A draw is a
function of the seed, the word and a small number: frequent words share a few segmentations.
"""

import hashlib
import heapq
import random
import re
from collections.abc import Callable, Mapping, Sequence

from nmt_cli.data.subwords.segmenters import SPACE, Segmenter, SentencePieces
from nmt_cli.data.text.sanitize import clean_line

# Segmentations of a word among which its occurrences draw.
VARIANTS = 16
# Words whose segmentations are remembered.
MOST_REMEMBERED = 1 << 20
WORD = re.compile(f"{SPACE}?[^{SPACE}]+|{SPACE}")


class BpeDropout:
    """Encodes lines of one side by merges of which each step leaves out a share."""

    def __init__(
        self, segmenter: Segmenter, vocabulary: Mapping[str, int], unk_id: int, eos_id: int,
        share: float,
    ) -> None:  # fmt: skip
        """`vocabulary`: id of each piece; `share`: 0 gives what the segmenter gives."""
        if not isinstance(segmenter, SentencePieces) or segmenter.kind != "bpe":
            raise ValueError(f"subwords of the kind {segmenter.kind} have no merges")
        self._segmenter = segmenter
        self._merges = segmenter.merges()
        self._vocabulary = vocabulary
        self._unk_id = unk_id
        self._eos_id = eos_id
        self._share = share
        self._remembered: dict[tuple[str, int], list[int]] = {}
        self._seed = ""

    def encode(self, lines: Sequence[str], seed: str, chunk: str) -> list[list[int]]:
        """Ids of each line, no BOS, each ends with EOS.

        `seed` decides how words are cut, `chunk` which of these ways each occurrence takes.
        """
        if seed != self._seed:
            self._seed = seed
            self._remembered.clear()
        choose = random.Random(f"{seed}/{chunk}").random
        encoded = []
        for line in lines:
            ids: list[int] = []
            for word in WORD.findall(self._segmenter.normalize(clean_line(line))):
                ids += self._ids(word, int(choose() * VARIANTS))
            encoded.append([*ids, self._eos_id])
        return encoded

    def _ids(self, word: str, variant: int) -> list[int]:
        key = word, variant
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            name = f"{self._seed}/{variant}/{word}".encode()
            number = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")
            pieces = merged(word, self._merges, self._share, random.Random(number).random)
            found = self._remembered[key] = self._ids_of(pieces)
        return found

    def _ids_of(self, pieces: list[str]) -> list[int]:
        """Ids of pieces; of unknown characters their bytes, or one UNK for a run of them."""
        ids: list[int] = []
        for piece in pieces:
            known = piece in self._merges
            names = [piece] if known else [f"<0x{byte:02X}>" for byte in piece.encode()]
            if all(name in self._vocabulary for name in names):
                ids += [self._vocabulary[name] for name in names]
            elif ids[-1:] != [self._unk_id]:
                ids.append(self._unk_id)
        return ids


def merged(
    word: str, merges: Mapping[str, float], share: float, chance: Callable[[], float]
) -> list[str]:
    """The pieces of `word`: of all neighbours that merge, those of the lowest number, again and
    again, until none merge; at each merge every other one is left out with probability `share`.

    >>> merged("abab", {"ab": 1, "abab": 2}, 0.0, lambda: 1.0)
    ['abab']
    >>> chances = iter([0.0, 1.0, 0.0])
    >>> merged("abab", {"ab": 1, "abab": 2}, 0.1, lambda: next(chances, 0.0))
    ['a', 'b', 'ab']
    """
    pieces = list(word)
    # A piece that was merged into the one before it is empty.
    after = list(range(1, len(pieces) + 1))
    before = list(range(-1, len(pieces) - 1))
    waiting: list[tuple[float, int, str]] = []

    def propose(left: int) -> None:
        right = after[left] if left >= 0 else len(pieces)
        if right < len(pieces) and (text := pieces[left] + pieces[right]) in merges:
            heapq.heappush(waiting, (merges[text], left, text))

    for place in range(len(pieces) - 1):
        propose(place)
    while (left := _next_merge(waiting, pieces, after, share, chance)) is not None:
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
    waiting: list[tuple[float, int, str]],
    pieces: list[str],
    after: list[int],
    share: float,
    chance: Callable[[], float],
) -> int | None:
    """The place of the next merge; those left out wait for the one after it."""
    left_out = []
    found = None
    while waiting and found is None:
        one = heapq.heappop(waiting)
        _, left, text = one
        right = after[left]
        if not pieces[left] or right >= len(pieces) or pieces[left] + pieces[right] != text:
            continue  # One of the two has become part of something else.
        if share and chance() < share:
            left_out.append(one)
        else:
            found = left
    for one in left_out:
        heapq.heappush(waiting, one)
    return found
