"""Word-pieces in the style of GNMT (section 5.1): a learnt vocabulary, greedy longest match."""

from collections.abc import Sequence


class WordPieces:
    """to come"""

    kind = "wordpiece"

    @classmethod
    def from_bytes(cls, data: bytes) -> "WordPieces":
        raise NotImplementedError

    def pieces(self) -> list[str]:
        raise NotImplementedError

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        raise NotImplementedError

    def decode(self, ids: Sequence[int]) -> str:
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        raise NotImplementedError


def learn_word_pieces(words: Sequence[tuple[str, int]], size: int) -> WordPieces:
    """to come"""
    raise NotImplementedError
