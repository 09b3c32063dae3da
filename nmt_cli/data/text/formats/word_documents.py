"""Reads the paragraphs and tables of Word documents (`.docx`)."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from xml.etree import ElementTree

from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile
from nmt_cli.errors import DataError

DOCUMENT = "word/document.xml"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACES = (f"{_W}p", f"{_W}tab", f"{_W}br")
# zipfile raises NotImplementedError for compression that it cannot read, and RuntimeError for
# documents with a password.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, ElementTree.ParseError, EOFError, KeyError, ValueError,
    NotImplementedError, RuntimeError,
)  # fmt: skip
# Larger than the text of any book.
MOST_BYTES = 1 << 28


def _document_rows(source: SourceFile, _: Columns) -> Iterator[Row]:
    """Yield each row of a table, and each other paragraph as a row of one cell.

    An empty paragraph is a row, too: without it, paragraph n of two documents would not be line n
    of both files.
    """
    with source.binary() as file:
        content = file.read(MOST_BYTES + 1)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if len(content) > MOST_BYTES or archive.getinfo(DOCUMENT).file_size > MOST_BYTES:
                raise DataError(
                    f"`{source.name}` is larger than {MOST_BYTES >> 20} MiB", "divide the document"
                )
            root = ElementTree.fromstring(archive.read(DOCUMENT))
    except _DAMAGED as error:
        raise DataError(
            f"`{source.name}` is no complete document of Word: {error}", "save it again as .docx"
        ) from error
    yield from _rows(root)


def _rows(node: ElementTree.Element) -> Iterator[Row]:
    """The rows of the children of a node; content controls are looked into."""
    for child in node:
        if child.tag == f"{_W}tbl":
            for row in child.findall(f"{_W}tr"):
                # A cell may have several paragraphs and line breaks.
                yield [_text(cell) for cell in row.findall(f"{_W}tc")]
        elif child.tag == f"{_W}p":
            yield [_text(child)]
        else:
            yield from _rows(child)


def _text(node: ElementTree.Element) -> str:
    return "".join(
        (part.text or "") if part.tag == f"{_W}t" else "\n" * (part.tag in _SPACES)
        for part in node.iter()
    )


WORD_DOCUMENT = Conversion("a document of Word", _document_rows, suffix=".txt")
