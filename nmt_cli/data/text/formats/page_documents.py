"""Recognises documents whose bytes look like text, but are the layout of pages: RTF and PDF."""

import re
import shlex
from pathlib import PurePath
from typing import NamedTuple

from nmt_cli.data.text.shell_commands import STDIN_NAMES, decompressor
from nmt_cli.errors import DataError


class _Kind(NamedTuple):
    """A kind of document: how its bytes begin, what it is called, and how its text is taken out.

    command: what precedes the name of the file; names_output: whether the name of the text
    follows it.
    """

    start: re.Pattern[bytes]
    name: str
    suffix: str
    remedy: str
    command: str
    names_output: bool


_KINDS = (
    _Kind(
        re.compile(rb"%PDF-\d\.\d[ \t]*[\r\n]"),
        "a PDF",
        ".pdf",
        "copy its text into a text file, or take the document that it was made from",
        "pdftotext -enc UTF-8",
        names_output=True,
    ),
    _Kind(
        re.compile(rb"\{\\rtf\d*[\s\\{]"),
        "a document in Rich Text Format",
        ".rtf",
        "open it in a word processor, and save it as plain text in UTF-8",
        "soffice --headless --convert-to 'txt:Text (encoded):UTF8'",
        names_output=False,
    ),
)


def page_document_error(head: bytes, name: str) -> DataError | None:
    r"""The error for a file that begins with `head` if that is RTF or PDF, else None.

    >>> error = page_document_error(b"{\\rtf1\\ansi Yes.}", "my text.en.rtf")
    >>> error.hint.partition("for example: ")[2].partition("; ")[0]
    "soffice --headless --convert-to 'txt:Text (encoded):UTF8' 'my text.en.rtf'"
    >>> page_document_error(b"%PDF-1.7 is a version.\n", "a.en")
    """
    kind = next((kind for kind in _KINDS if kind.start.match(head)), None)
    if kind is None:
        return None
    example = ""
    if name not in STDIN_NAMES and not decompressor(name):
        out = (
            str(PurePath(name).with_suffix(".txt")) if name.endswith(kind.suffix) else f"{name}.txt"
        )
        files = [name, out] if kind.names_output else [name]
        example = f", for example: {kind.command} {shlex.join(files)}"
    return DataError(
        f"`{name}` cannot be read as text: it is {kind.name}",
        f"{kind.remedy}{example}; then put each sentence on a line of its own",
    )
