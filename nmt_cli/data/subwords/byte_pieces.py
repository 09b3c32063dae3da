"""Pieces that stand for one byte, and characters of which a model wrote only some bytes."""

import re
from collections.abc import Mapping, Sequence

_BYTE = re.compile("<0x([0-9A-F]{2})>")


def byte_of(piece: str) -> int | None:
    """The byte that a piece stands for; None for another piece.

    >>> byte_of("<0xC5>"), byte_of("the")
    (197, None)
    """
    found = _BYTE.fullmatch(piece)
    return int(found[1], 16) if found else None


class BytePieces:
    """The ids that stand for one byte each.

    >>> pieces = BytePieces({4: "a", 5: "<0xC5>", 6: "<0xA9>"})
    >>> pieces.whole_characters([4, 5, 6, 4, 5, 4])
    [4, 5, 6, 4, 4]
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        """names: the piece of each id."""
        values = {token: byte_of(piece) for token, piece in names.items()}
        self._bytes = {token: byte for token, byte in values.items() if byte is not None}
        self._ids = {byte: token for token, byte in self._bytes.items()}

    def whole_characters(self, ids: Sequence[int]) -> list[int]:
        """The ids without those of bytes that are no whole character in UTF-8."""
        if not any(token in self._bytes for token in ids):
            return list(ids)
        whole: list[int] = []
        row = bytearray()
        for token in ids:
            byte = self._bytes.get(token)
            if byte is not None:
                row.append(byte)
                continue
            whole += [*self._decodable(row), token]
            row.clear()
        return whole + self._decodable(row)

    def _decodable(self, row: bytes | bytearray) -> list[int]:
        """The ids of the bytes in a row that can be decoded."""
        decodable = row.decode("utf-8", errors="ignore").encode("utf-8")
        return [self._ids[byte] for byte in decodable]
