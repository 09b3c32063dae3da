"""Writes a vocabulary shortlist as Marian's binary file.

Little-endian: a magic number, a checksum, two numbers of words, the number of entries of the first
table and of the second (uint64); for each source id the first entry of its words, and the end
(uint64); the words, target ids (uint32).
"""

import struct

import numpy as np

from nmt_cli.data.lexical.shortlist import Shortlist

MAGIC = 0xF11A48D5013417F5
# Translations that are kept for each source subword.
MOST = 50
_MASK = (1 << 64) - 1


def shortlist_bytes(shortlist: Shortlist, eos_id: int, rows: int) -> bytes:
    """The content of the file.

    eos_id: its words are allowed for every source, since every source ends with it: the target
    subwords that are always allowed; rows: of the source embeddings.
    """
    lists = []
    for token in range(rows):
        words = np.zeros(0, np.int32)
        if token < len(shortlist.candidates):
            words = np.append(shortlist.candidates[token, :MOST], shortlist.same[token])
        if token == eos_id:
            words = np.concatenate([words, shortlist.frequent, [eos_id]])
        unique = np.unique(words)
        lists.append(unique[np.searchsorted(unique, 0) :])
    ends = np.cumsum([0, *map(len, lists)]).astype("<u8")
    body = struct.pack("<QQQQ", 0, MOST, len(ends), int(ends[-1]))
    body += ends.tobytes() + np.concatenate(lists).astype("<u4").tobytes()
    return struct.pack("<QQ", MAGIC, checksum(body)) + body


def checksum(data: bytes) -> int:
    """Marian's checksum of the whole 8-byte numbers in `data`.

    >>> checksum(bytes(8)) == 0x9E3779B9
    True
    """
    seed = 0
    for number in np.frombuffer(data[: len(data) // 8 * 8], "<u8").tolist():
        seed ^= (number + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & _MASK
    return seed
