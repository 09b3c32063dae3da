"""The bytes of a document as text, and back."""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.data.preparation.text_check import utf16_without_mark
from nmt_cli.data.text.encoding import (
    conversion_hint,
    has_utf8_characters,
    is_utf8,
    repair_hint,
)
from nmt_cli.data.text.shell_commands import copy_command
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
# Apostrophe, quotation marks and dash as they are printed: models learn them from their text.
USUAL_MARKS = "’“”–"
# How files that are no text begin, with what they are and what can be done.
_NO_TEXT = (
    (b"%PDF-", "a PDF", "translate the document that it was made from"),
    (b"\xd0\xcf\x11\xe0", "a document of an old version of Microsoft Office", "save it as .docx"),
    (b"{\\rtf", "a document in Rich Text Format", "save it as .docx"),
    (b"\x1f\x8b", "compressed with gzip", "decompress it with `gunzip`"),
)
_ZIP = b"PK\x03\x04"
_WORD_PART = b"word/document.xml"
# How many bytes are looked at to tell whether a document is in UTF-16.
HEAD_BYTES = 1 << 16


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


@dataclass(frozen=True)
class Declaration:
    """What a document says about its own encoding.

    name: as it is written there, "" if it says nothing; line: where it stands, from 1.
    """

    name: str = ""
    line: int = 1

    @classmethod
    def found(cls, match: re.Match[bytes] | None) -> "Declaration":
        """The declaration at a match whose first group is the name of the encoding; None: none."""
        if match is None:
            return cls()
        name = match[1].decode("ascii", "replace")
        return cls(name, match.string.count(b"\n", 0, match.start(1)) + 1)

    @property
    def change(self) -> str:
        """The command that makes it UTF-8; "" if that is how nmt reads the document anyway."""
        try:
            is_other = codecs.lookup(self.name).name != "utf-8"
        except LookupError:
            is_other = False
        return f"sed '{self.line}s/{self.name}/UTF-8/'" if is_other else ""


def to_utf8(name: str, encoding: str, declaration: Declaration) -> str:
    """The command that converts a document to UTF-8, and what it says about its encoding.

    >>> to_utf8("a.po", "iso-8859-1", Declaration("ISO-8859-1", 3))
    "iconv -f iso-8859-1 -t UTF-8 a.po | sed '3s/ISO-8859-1/UTF-8/' > a.utf8.po"
    """
    command = f"iconv -f {encoding} -t UTF-8"
    return copy_command(command, name, "utf8", then=declaration.change)


def encoding_notes(name: str, encoding: str, declaration: Declaration) -> list[str]:
    """The warning that an encoding lacks marks that translations have in most languages."""
    if encoding.startswith("utf"):
        return []
    lacking = [mark for mark in USUAL_MARKS if not _has(encoding, mark)]
    if not lacking:
        return []
    return [
        f"`{name}` is in {encoding.upper()}, which lacks {' and '.join(lacking[:2])}, for "
        "instance; a translation with such a character cannot be written into it; to convert it: "
        + to_utf8(name, encoding, declaration)
    ]


def _has(encoding: str, letter: str) -> bool:
    try:
        letter.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def decode(
    data: bytes,
    name: str,
    declared: str = "utf-8",
    declaration: Declaration = Declaration(),
) -> tuple[str, str]:
    """The text and its encoding; a byte order mark stays its first character.

    declared: the encoding of a file without a byte order mark; declaration: where the document
    names it. Raises DataError if the bytes are not text in this encoding, or would not be the same
    if they were written again.
    """
    _require_text(data, name)
    encoding = next((code for mark, code in BYTE_ORDER_MARKS if data.startswith(mark)), declared)
    utf16 = utf16_without_mark(data[:HEAD_BYTES]) if encoding == "utf-8" else ""
    if utf16:
        raise DataError(
            f"`{name}` looks like {utf16} without a byte order mark",
            f"convert it: {to_utf8(name, utf16, declaration)}",
        )
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _encoding_error(encoding, data, name, line, declaration) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(
            f"`{name}`, line {line}: a NUL byte; this is not text",
            "check whether this is the document that you mean",
        )
    if text.encode(encoding) != data:
        raise DataError(
            f"`{name}`: its encoding {encoding} cannot be written again byte for byte",
            f"convert it: {to_utf8(name, encoding, declaration)}",
        )
    return text, encoding


def _require_text(data: bytes, name: str) -> None:
    """Raise DataError for a file of another format than its name or --kind says."""
    if data.startswith(_ZIP):
        is_word = _WORD_PART in data
        raise DataError(
            f"`{name}` is {'a Word document' if is_word else 'a ZIP archive'}, and not text",
            "translate it with --kind docx" if is_word else "translate the files that are in it",
        )
    for head, what, hint in _NO_TEXT:
        if data.startswith(head):
            raise DataError(f"`{name}` is {what}, and not text", hint)


def _encoding_error(
    encoding: str, data: bytes, name: str, line: int, declaration: Declaration
) -> DataError:
    """The error of a document that is not in `encoding`, first in `line`."""
    lines = data.removesuffix(b"\n").split(b"\n")
    if encoding == "utf-8" and any(map(has_utf8_characters, lines)):
        invalid = sum(not is_utf8(content) for content in lines)
        return DataError(
            f"`{name}`: {invalid:,} of {counted(len(lines), 'line')} "
            f"{agreeing(invalid, 'is', 'are')} not UTF-8, first line {line}",
            repair_hint(name, invalid, has_utf8=True),
        )
    message = f"`{name}`, line {line}: not {encoding.upper()}; the file is in another encoding"
    change = declaration.change
    if not change:
        return DataError(message, repair_hint(name, 1, has_utf8=False))
    if is_utf8(data):
        return DataError(
            f"`{name}`, line {line}: not {encoding.upper()}, but UTF-8",
            f"correct the encoding that it names: {copy_command(change, name, 'utf8')}",
        )
    return DataError(message, conversion_hint(to_utf8(name, "CP1252", declaration)))


def encode(
    text: str,
    encoding: str,
    name: str,
    declaration: Declaration = Declaration(),
) -> bytes:
    """The bytes of a document; raises DataError if its encoding lacks a letter."""
    if encoding.startswith("utf"):
        return text.encode(encoding, "replace")
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        letter = text[error.start]
        raise DataError(
            f"`{name}`: the translation has {letter!r}, which {encoding.upper()} cannot write",
            f"convert the document to UTF-8 first: {to_utf8(name, encoding, declaration)}",
        ) from error
