"""Says what to do with files that are no text: documents, spreadsheets, archives."""

import re

from nmt_cli.data.preparation.text_check import ZIP
from nmt_cli.data.text.formats.word_documents import WORD_DOCUMENT

# The name of a file within a zip archive follows its head of 30 bytes.
_WORD = re.compile(re.escape(ZIP) + rb".{26}word/", re.DOTALL)
_SPREADSHEET = re.compile(re.escape(ZIP) + rb".{26}xl/", re.DOTALL)
# The first file of an OpenDocument file says what it is.
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument."


def no_text_hint(head: bytes, name: str) -> str:
    """Return the hint how to get the text out of a file that is not text and begins with `head`.

    >>> no_text_hint(ZIP + bytes(26) + b"xl/workbook.xml", "a.xlsx")
    'save the spreadsheet as text with tabs, in UTF-8'
    >>> no_text_hint(bytes(9), "a.bin")
    'text must be UTF-8, plain or compressed (gz, xz, zst, bz2); see `file NAME`'
    """
    if is_word_document(head):
        return (
            "save the document as plain text in UTF-8, or let each row of its tables, with tabs, "
            "and each other paragraph, also an empty one, become a line: "
            f"{WORD_DOCUMENT.command(name)}"
        )
    if _OPEN_DOCUMENT + b"text" in head:
        return "save the document as plain text in UTF-8, with one sentence per line"
    if _SPREADSHEET.search(head) or _OPEN_DOCUMENT + b"spreadsheet" in head:
        return "save the spreadsheet as text with tabs, in UTF-8"
    if head.startswith(ZIP):
        return "unpack it (`unzip NAME`), or save a spreadsheet or document as text in UTF-8"
    return "text must be UTF-8, plain or compressed (gz, xz, zst, bz2); see `file NAME`"


def is_word_document(head: bytes) -> bool:
    """Whether a file that begins with `head` is a document of Word (`.docx`)."""
    return _WORD.search(head) is not None
