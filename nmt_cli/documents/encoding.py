"""The bytes of a document as text, and back."""

import codecs
from pathlib import Path

from nmt_cli.data.text.encoding import conversion, has_utf8_characters, is_utf8, repair_hint
from nmt_cli.documents.document import MAX_DOCUMENT_BYTES
from nmt_cli.errors import DataError
from nmt_cli.plurals import agreeing, counted
from nmt_cli.storage.files import read_bytes

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BYTE_ORDER_MARK = "\ufeff"


def read_document_bytes(path: Path) -> bytes:
    """The bytes of a file; raises DataError if it is too large for a document."""
    data = read_bytes(path, "document", max_bytes=None)
    require_size(data, str(path))
    return data


def require_size(data: bytes, name: str) -> None:
    """Raise DataError if a document is too large."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise DataError(
            f"`{name}` has {len(data) >> 20} MiB; a document may have "
            f"{MAX_DOCUMENT_BYTES >> 20} MiB",
            "split it, or translate its lines without --document",
        )


def decode(data: bytes, name: str, declared: str = "utf-8") -> tuple[str, str]:
    """The text and its encoding; a byte order mark stays its first character.

    declared: the encoding of a file without a byte order mark. Raises DataError if the bytes are
    not text in this encoding, or would not be the same if they were written again.
    """
    encoding = next((code for mark, code in BYTE_ORDER_MARKS if data.startswith(mark)), declared)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _not_in(encoding, data, name, line) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"`{name}`, line {line}: a NUL byte; this is not text")
    if text.encode(encoding) != data:
        raise DataError(
            f"`{name}`: its encoding {encoding} cannot be written again byte for byte",
            f"convert it: {conversion(name, encoding)}",
        )
    return text, encoding


def _not_in(encoding: str, data: bytes, name: str, line: int) -> DataError:
    """The error of a document that is not in `encoding`, first in `line`."""
    lines = data.removesuffix(b"\n").split(b"\n")
    if encoding == "utf-8" and any(map(has_utf8_characters, lines)):
        invalid = sum(not is_utf8(each) for each in lines)
        return DataError(
            f"`{name}`: {invalid:,} of {counted(len(lines), 'line')} "
            f"{agreeing(invalid, 'is', 'are')} not UTF-8, first line {line}",
            repair_hint(name, invalid, has_utf8=True),
        )
    return DataError(
        f"`{name}`, line {line}: not {encoding.upper()}; the file is in another encoding",
        repair_hint(name, 1, has_utf8=False),
    )


def encode(text: str, encoding: str, name: str) -> bytes:
    """The bytes of a document; raises DataError if its encoding lacks a letter."""
    if encoding.startswith("utf"):
        return text.encode(encoding, "replace")
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        letter = text[error.start]
        raise DataError(
            f"`{name}`: the translation has {letter!r}, which {encoding.upper()} cannot write",
            f"convert the document to UTF-8 first: {conversion(name, encoding)}",
        ) from error
