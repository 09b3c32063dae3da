"""Says what to do with files that are no text: documents, spreadsheets, archives."""

import re

from nmt_cli.data.preparation.text_check import ZIP
from nmt_cli.data.text.shell_commands import AS_LINE, one_line, tsv_command

# The name of a file within a zip archive follows its head of 30 bytes.
_WORD = re.compile(re.escape(ZIP) + rb".{26}word/", re.DOTALL)
_SPREADSHEET = re.compile(re.escape(ZIP) + rb".{26}xl/", re.DOTALL)
# Content controls are looked into; a cell may have several paragraphs and line breaks. An empty
# paragraph is a line, too: without it, paragraph n of two documents would not be line n of both.
_WORD_TO_TEXT = """\
import io, sys, zipfile
AS_LINE
import xml.etree.ElementTree as E
sys.stdout.reconfigure(encoding="utf-8")
w = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
spaces = (w + "p", w + "tab", w + "br")
def text(node):
 parts = (e.text or "" if e.tag == w + "t" else "\\n" * (e.tag in spaces) for e in node.iter())
 return as_line("".join(parts))
def show(node):
 for e in node:
  if e.tag == w + "tbl":
   for row in e.findall(w + "tr"): print(*map(text, row.findall(w + "tc")), sep="\\t")
  elif e.tag == w + "p": print(text(e))
  else: show(e)
archive = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
show(E.fromstring(archive.read("word/document.xml")))"""
# The first file of an OpenDocument file says what it is.
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument."


def no_text_hint(head: bytes, name: str) -> str:
    """Return the hint how to get the text out of a file that is not text and begins with `head`.

    >>> no_text_hint(ZIP + bytes(26) + b"xl/workbook.xml", "a.xlsx")
    'save the spreadsheet as text with tabs, in UTF-8'
    >>> no_text_hint(bytes(9), "a.bin")
    'text must be UTF-8, plain or compressed (gz, xz, zst, bz2); see `file NAME`'
    """
    if _WORD.search(head):
        program = one_line(_WORD_TO_TEXT.replace("AS_LINE", AS_LINE))
        command = tsv_command(["python3", "-c", program], name, ".txt")
        return (
            "save the document as plain text in UTF-8, or let each row of its tables, with tabs, "
            f"and each other paragraph, also an empty one, become a line: {command}"
        )
    if _OPEN_DOCUMENT + b"text" in head:
        return "save the document as plain text in UTF-8, with one sentence per line"
    if _SPREADSHEET.search(head) or _OPEN_DOCUMENT + b"spreadsheet" in head:
        return "save the spreadsheet as text with tabs, in UTF-8"
    if head.startswith(ZIP):
        return "unpack it (`unzip NAME`), or save a spreadsheet or document as text in UTF-8"
    return "text must be UTF-8, plain or compressed (gz, xz, zst, bz2); see `file NAME`"
