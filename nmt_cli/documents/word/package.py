"""The archive of a .docx file: checked before anything in it is parsed, and written again."""

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from nmt_cli.errors import DataError

# An element of lxml, which has no public type of that name.
Element = Any
# All files of a document together, unpacked, and how much smaller they may be when packed.
MAX_UNPACKED_BYTES, MAX_RATIO, MAX_FILES = 256 << 20, 200, 10_000
# Small files are no bombs, however well they are packed.
RATIO_COUNTS_FROM = 1 << 20
SPLIT = "split it into several documents"
TRUST = "use a document from a source that you trust"
SAVE_AGAIN = "open it with a word processor, and save it as .docx again"
# Where the body is; some programs count it.
_MAIN = re.compile(r"word/document\d*\.xml")
_OLD_FORMAT = b"\xd0\xcf\x11\xe0"
_TRANSLATED = re.compile(r"word/(?:(?:document|header|footer)\d*|footnotes|endnotes)\.xml")
_MACROS = re.compile(r"(?i)vbaProject|macroEnabled")
_DECLARATION = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
# zipfile raises NotImplementedError for compression and encryption that it cannot read.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError)


def is_main(name: str) -> bool:
    """Whether a file of the archive is the body of the document."""
    return bool(_MAIN.fullmatch(name))


class WordPackage:
    """The files of a document by their names. Nothing is ever unpacked to the disk."""

    def __init__(self, data: bytes, name: str) -> None:
        """Raises DataError for what is no .docx, damaged, encrypted, a bomb, or has macros."""
        self._name = name
        if data.startswith(_OLD_FORMAT):
            raise DataError(
                f"`{name}`: encrypted, or a .doc file of an old version",
                "save it as .docx without a password",
            )
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
        except _DAMAGED as error:
            raise DataError(
                f"`{name}`: damaged, or not a .docx file: {error}", SAVE_AGAIN
            ) from error
        with archive:
            self._check(archive)
            try:
                self._files = [(info, archive.read(info)) for info in archive.infolist()]
            except (*_DAMAGED, RuntimeError) as error:
                raise DataError(f"`{name}`: damaged: {error}", SAVE_AGAIN) from error
        self._check_content()

    def _check(self, archive: zipfile.ZipFile) -> None:
        """Check what the directory of the archive says, before anything is unpacked."""
        infos = archive.infolist()
        names = [info.filename for info in infos]
        size = sum(info.file_size for info in infos)
        packed = sum(info.compress_size for info in infos)
        if len(infos) > MAX_FILES or size > MAX_UNPACKED_BYTES:
            raise self._refused(f"{len(infos):,} files of {size >> 20:,} MiB: too large", SPLIT)
        if size > RATIO_COUNTS_FROM and size > MAX_RATIO * packed:
            raise self._refused(
                f"unpacked {size // max(1, packed):,} times as large: a zip bomb", TRUST
            )
        if any(info.flag_bits & 1 for info in infos):
            raise self._refused("encrypted", "save it without a password")
        if len(set(names)) != len(names):
            raise self._refused("two files of one name")
        if macros := next(filter(_MACROS.search, names), None):
            raise self._refused(f"macros ({macros})", "save it as .docx, which has none")
        if not any(map(is_main, names)):
            raise self._refused("no `word/document.xml`: this is no Word document")

    def _check_content(self) -> None:
        for info, content in self._files:
            if info.filename == "[Content_Types].xml" and b"macroEnabled" in content:
                raise self._refused("macros", "save it as .docx, which has none")
            suffix = PurePosixPath(info.filename).suffix
            if suffix in (".xml", ".rels") and _has_declarations(content):
                raise self._refused(f"`{info.filename}` declares entities", TRUST)

    def _refused(self, reason: str, hint: str = SAVE_AGAIN) -> DataError:
        return DataError(f"`{self._name}` is refused: {reason}", hint)

    def parts(self) -> dict[str, Element]:
        """The parts with text, parsed: the body, headers, footers and notes."""
        from lxml import etree

        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        )
        parts = {}
        for info, content in self._files:
            if _TRANSLATED.fullmatch(info.filename):
                try:
                    parts[info.filename] = etree.fromstring(content, parser)
                except etree.XMLSyntaxError as error:
                    raise DataError(
                        f"`{self._name}`: `{info.filename}` is damaged: {error}", SAVE_AGAIN
                    ) from error
        # The body first: its segments are what a reader counts.
        return dict(sorted(parts.items(), key=lambda part: (not is_main(part[0]), part[0])))

    def written(self, changed: Mapping[str, Element]) -> bytes:
        """The archive with these parts changed; all other files keep their bytes."""
        from lxml import etree

        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for info, content in self._files:
                if info.filename in changed:
                    content = etree.tostring(
                        changed[info.filename], xml_declaration=True, encoding="UTF-8",
                        standalone=True,
                    )  # fmt: skip
                archive.writestr(info, content)
        return data.getvalue()


def _has_declarations(content: bytes) -> bool:
    """Whether XML declares a document type or entities, in any encoding that XML may have."""
    return bool(_DECLARATION.search(content.replace(b"\0", b"")))
