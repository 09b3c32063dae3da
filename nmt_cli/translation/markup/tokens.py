"""The words of a segment and of its translation, and how strongly they are aligned."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
# A number is one word; in scripts without spaces each character is one.
_WORD = re.compile(
    r"\d+(?:[.,:/]\d+)+"
    "|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "|\\w+?(?=\\b|[\u3040-\u30ff\u3400-\u9fff])"
    "|\\S"
)


class Token(NamedTuple):
    """A word, or a single other character, `text[begin:end]`."""

    begin: int
    end: int
    is_word: bool


def tokens_of(text: str) -> list[Token]:
    """The words and the punctuation of a text.

    >>> [token[:2] for token in tokens_of("Anna's dog.")]
    [(0, 4), (4, 5), (5, 6), (7, 10), (10, 11)]
    """
    return [
        Token(match.start(), match.end(), text[match.start()].isalnum())
        for match in _WORD.finditer(text)
    ]


def token_of_ids(
    ids: Sequence[int], spellings: Sequence[bytes], unk_id: int, text: str, tokens: Sequence[Token]
) -> list[int]:
    """The token that each id begins in; -1 for ids without a character.

    Where the spelling of a word differs from the text, as for unknown characters, its ids share
    the word by their lengths.
    """
    words, begins, lengths = _spelt_words(ids, spellings, unk_id)
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    if len(spans) != len(lengths) or not spans:
        # Not the same words: share the whole text.
        spans = [(0, len(text))]
        offsets = np.concatenate([[0], np.cumsum(lengths)]) if lengths else np.zeros(1)
        begins = [
            begin + int(offsets[word]) if word >= 0 else 0
            for word, begin in zip(words, begins, strict=True)
        ]
        words, lengths = [min(word, 0) for word in words], [sum(lengths)]
    ends = [token.end for token in tokens]
    result = []
    for word, begin in zip(words, begins, strict=True):
        if word < 0 or not tokens:
            result.append(-1)
            continue
        first, last = spans[word]
        place = first + _character(text[first:last], begin, lengths[word])
        result.append(min(bisect_right(ends, place), len(tokens) - 1))
    return result


def _character(word: str, byte: int, length: int) -> int:
    """The index of the character of a word that a byte of its spelling belongs to.

    length: that of the spelling in bytes, by which the bytes are scaled if it is another one.
    """
    if word.isascii() and length == len(word):
        return min(byte, len(word) - 1)
    encoded = word.encode("utf-8", "replace")
    place = byte if length == len(encoded) else byte * len(encoded) // max(1, length)
    return min(len(encoded[:place].decode("utf-8", "ignore")), len(word) - 1)


def _spelt_words(
    ids: Sequence[int], spellings: Sequence[bytes], unk_id: int
) -> tuple[list[int], list[int], list[int]]:
    """The word of each id (-1: none), the byte of the word that it begins at, and word lengths.

    The first two have an entry for each id, the last one, in bytes, for each word.
    """
    words, begins, lengths = [], [], []
    inside = False
    for token_id in ids:
        word, begin = -1, 0
        for byte in b"?" if token_id == unk_id else spellings[token_id]:
            if byte == ord(" "):
                inside = False
                continue
            if not inside:
                lengths.append(0)
                inside = True
            if word < 0:
                word, begin = len(lengths) - 1, lengths[-1]
            lengths[-1] += 1
        words.append(word)
        begins.append(begin)
    return words, begins, lengths


def token_matrix(
    attention: Matrix, src: Sequence[int], tgt: Sequence[int], counts: tuple[int, int]
) -> Matrix:
    """How strongly each target token and each source token are aligned: (target, source) tokens.

    attention: (target ids, source ids); src, tgt: the token of each id, -1 for none; counts: of
    source tokens and target tokens. The attention is normalised over the source, and multiplied by
    the same normalised over the target.
    """
    by_token = np.zeros((counts[1] + 1, counts[0] + 1))
    # Ids without a token go to a last row or column, which is dropped.
    np.add.at(by_token, (np.array(tgt)[:, None], np.array(src)[None, :]), attention)
    by_token = np.nan_to_num(by_token[:-1, :-1])
    rows = by_token / np.maximum(by_token.sum(1, keepdims=True), 1e-12)
    columns = rows / np.maximum(rows.sum(0, keepdims=True), 1e-12)
    product: Matrix = rows * columns
    return product


def align(matrix: Matrix, row: int, column: int) -> None:
    """Align a target token and a source token with each other and with nothing else, in place."""
    matrix[row], matrix[:, column] = 0.0, 0.0
    matrix[row, column] = 1.0
