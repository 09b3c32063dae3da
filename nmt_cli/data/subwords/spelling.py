"""How subwords are spelt, byte by byte, and where words begin and end in them."""

import re
from collections.abc import Sequence

from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import SPACE

# Languages written without spaces between words.
WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my"})
_BYTE = re.compile("<0x([0-9A-F]{2})>")


def target_spellings(subwords: Subwords) -> list[bytes]:
    """UTF-8 of each target id, a space where a word begins; b"" of the special ones."""
    pieces = subwords.target_pieces(range(subwords.tgt_size))
    special = set(subwords.special)
    return [b"" if one in special else _spelling(piece) for one, piece in enumerate(pieces)]


def source_spellings(subwords: Subwords) -> list[bytes]:
    """The same of each source id."""
    pieces = subwords.source_pieces(range(subwords.src_size))
    special = set(subwords.special)
    return [b"" if one in special else _spelling(piece) for one, piece in enumerate(pieces)]


def _spelling(piece: str) -> bytes:
    byte = _BYTE.fullmatch(piece)
    if byte:
        return bytes([int(byte[1], 16)])
    return piece.replace(SPACE, " ").encode("utf-8", errors="replace")


def begins_inside(spelling: bytes) -> bool:
    """Whether it goes on with the word before it, if there is one.

    >>> [begins_inside(one) for one in (b"ing", b" the", b",", "ß".encode()[1:])]
    [True, False, False, True]
    """
    try:
        return spelling.decode("utf-8")[:1].isalnum()
    except UnicodeDecodeError:
        return True


def ends_inside(spelling: bytes) -> bool:
    """Whether a word may go on after it."""
    try:
        return spelling.decode("utf-8")[-1:].isalnum()
    except UnicodeDecodeError:
        return True


def word_numbers(ids: Sequence[int], spellings: Sequence[bytes], unk_id: int) -> list[int]:
    """The number, from 0, of the word that each id belongs to; -1 of those without a letter.

    >>> word_numbers([0, 1, 2, 3], [b" a", b"b", b" ", b" c"], 9)
    [0, 0, -1, 1]
    """
    numbers, count, inside = [], -1, False
    for one in ids:
        number = -1
        for byte in b"?" if one == unk_id else spellings[one]:
            count += byte != ord(" ") and not inside
            inside = byte != ord(" ")
            number = count if inside and number < 0 else number
        numbers.append(number)
    return numbers
