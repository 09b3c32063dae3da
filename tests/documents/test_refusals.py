"""Documents that are damaged, dangerous or of another kind are refused before any work."""

import io
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from document_samples import KINDS, SAMPLES, SRT, each_text, opened, word_document

from nmt_cli.data.markup.marked_text import plain_text
from nmt_cli.documents import document as document_module
from nmt_cli.documents import encoding
from nmt_cli.documents.document import ReadOptions, notes_of
from nmt_cli.documents.kinds import kind_of, read_document
from nmt_cli.documents.word import package as word_package
from nmt_cli.errors import DataError, UnavailableError, UsageError
from nmt_cli.installation import install_command


def archive(**changes: bytes | None) -> bytes:
    """A Word document with these files (names with __ for a slash) changed, added or left out."""
    files = {name.replace("__", "/"): content for name, content in changes.items()}
    data = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(word_document())) as source,
        zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for info in source.infolist():
            content = files.pop(info.filename, source.read(info))
            if content is not None:
                target.writestr(info.filename, content)
        for name, content in files.items():
            assert content is not None
            target.writestr(name, content)
    return data.getvalue()


MAIN = "word__document.xml"
ENTITY = b'<!DOCTYPE w [<!ENTITY e SYSTEM "file:///secret.txt">]><w>&e;</w>'


def encrypted() -> bytes:
    """The flag of encryption in the directory of the archive."""
    data = bytearray(word_document())
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    return bytes(data)


def twice() -> bytes:
    data = io.BytesIO(word_document())
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(data, "a") as target:
        target.writestr("word/document.xml", b"<w/>")
    return data.getvalue()


WORD_FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "macros": (lambda: archive(word__vbaProject=b"x"), "macros"),
    "macros by type": (
        lambda: archive(**{"[Content_Types].xml": b"<Types>application/macroEnabled</Types>"}),
        "macros",
    ),
    "bomb": (lambda: archive(**{"word/media/a.xml": bytes(20 << 20)}), "zip bomb"),
    "entity": (lambda: archive(**{MAIN: ENTITY}), "declares entities"),
    "entity in UTF-16": (
        lambda: archive(**{MAIN: ENTITY.decode().encode("utf-16")}), "declares entities"
    ),
    "entity in another part": (lambda: archive(**{"word/x.xml": ENTITY}), "declare"),
    "entity in relations": (lambda: archive(**{"word/_rels/x.rels": ENTITY}), "declare"),
    "cut": (lambda: word_document()[:-200], "damaged"),
    "cut early": (lambda: word_document()[:3000], "damaged"),
    "no archive": (lambda: b"PK\x03\x04 but no more", "damaged"),
    "text": (lambda: b"plain text", "not a .docx"),
    "empty": (lambda: b"", "not a .docx"),
    "old": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "encrypted, or a .doc"),
    "encrypted": (encrypted, "is refused: encrypted"),
    "twice": (twice, "two files of one name"),
    "another archive": (lambda: archive(**{MAIN: None}), "no Word document"),
    "broken XML": (lambda: archive(**{MAIN: b"<w:document"}), "damaged"),
    "other XML": (lambda: archive(**{MAIN: b"<document/>"}), "no paragraphs"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORD_FILES)
def test_word_document_is_refused(name: str) -> None:
    make, reason = WORD_FILES[name]
    with pytest.raises(DataError, match=reason):
        opened(make(), "docx")


def test_a_changed_byte_of_a_word_document_is_an_error_or_nothing() -> None:
    data = word_document()
    for at in range(0, len(data), 997):
        broken = bytearray(data)
        broken[at] ^= 0x55
        try:
            document = opened(bytes(broken), "docx")
            document.render(document.segments)
        except DataError:
            continue


def test_bomb_is_found_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> bytes:
        raise AssertionError("unpacked")

    data = archive(**{"word/media/a.bin": bytes(30 << 20)})
    monkeypatch.setattr(zipfile.ZipFile, "read", read)
    with pytest.raises(DataError, match="zip bomb"):
        opened(data, "docx")


def test_document_that_is_too_large_unpacked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_package, "MAX_UNPACKED_BYTES", 10_000)
    with pytest.raises(DataError, match="too large"):
        opened(word_document(), "docx")


def test_document_of_too_many_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_package, "MAX_FILES", 2)
    with pytest.raises(DataError, match="files of 0 MiB: too large"):
        opened(word_document(), "docx")


def test_external_entity_is_not_read_even_without_the_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    monkeypatch.setattr(word_package, "_has_declarations", lambda content: False)
    namespace = b'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = (
        b'<!DOCTYPE w [<!ENTITY e SYSTEM "' + secret.as_uri().encode() + b'">]>'
        b"<w:document " + namespace + b"><w:p><w:r><w:t>a&e;</w:t></w:r></w:p></w:document>"
    )
    document = opened(archive(**{MAIN: body}), "docx")
    assert "SECRET" not in str(document.segments)
    assert b"SECRET" not in document.render(document.segments)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "a"', "not JSON"),
        ('["text"]', "not a JSON object"),
        ('{"other": 1}', "no field `text`"),
        ('{"text": 1}', "is not a text"),
        ('{"text": "b", "translation": "c"}', "has the field `translation` already"),
        ('{"flags": 1, "translation": "", "text": "b"}', "the fields `translation` and `flags` al"),
        ("[" * 100_000, "not JSON"),
        ('{"text": ' + "9" * 5_000 + "}", "not JSON"),
    ],
)
def test_bad_json_line_is_named(line: str, reason: str) -> None:
    with pytest.raises(DataError, match=rf"line 3: .*{reason}"):
        opened('{"text": "a"}\n\n' + line + "\n", "jsonl")


@pytest.mark.parametrize("name", [*SAMPLES, "a.json", "a.jsonl", "a.csv"])
def test_other_encodings_and_binary_files_are_refused(name: str) -> None:
    kind = KINDS[name.rpartition(".")[2]]
    lines = '{"text": "a"}\n'
    texts = {**SAMPLES, "a.json": lines, "a.jsonl": lines, "a.csv": "id,text\n1,a\n"}
    text = texts[name].removeprefix("\ufeff")
    if kind not in ("html", "po"):
        with pytest.raises(DataError, match="another encoding") as caught:
            opened(text.encode("ascii", "replace") + "Grün".encode("latin-1"), kind)
        assert "iconv -f" in caught.value.hint
    with pytest.raises(DataError, match="looks like UTF-16LE without a byte order mark") as caught:
        opened(text.encode("utf-16-le"), kind)
    assert caught.value.hint == "convert it: iconv -f UTF-16LE -t UTF-8 file > file.utf8"
    with pytest.raises(DataError, match="NUL byte"):
        opened(b"#\0\n" + text.encode(), kind)


CATALOGUE = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    'msgid "Grün"\nmsgstr ""\n'
)


@pytest.mark.parametrize("is_early", [True, False])
def test_a_catalogue_is_converted_with_the_encoding_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_early: bool
) -> None:
    """After iconv alone it would be read as ISO-8859-1 again."""
    monkeypatch.chdir(tmp_path)
    data = CATALOGUE.encode("latin-1")
    Path("a.po").write_bytes(data)
    document = read_document(data, "po", ReadOptions("a.po"))
    if is_early:
        [said] = notes_of(document)
        assert said.startswith(
            "`a.po` is in ISO-8859-1, which lacks ’ and “, for instance; a translation with such "
            "a character cannot be written into it; to convert it: iconv"
        )
    else:
        with pytest.raises(DataError, match="has '’', which ISO-8859-1 cannot write") as caught:
            document.render(each_text(document.segments, lambda text: text + "’"))
        said = caught.value.hint
    subprocess.run(["sh", "-c", said.rpartition(": ")[2]], check=True)
    assert Path("a.utf8.po").read_text("utf-8") == CATALOGUE.replace("ISO-8859-1", "UTF-8")
    converted = opened(Path("a.utf8.po").read_bytes(), "po")
    assert notes_of(converted) == []
    written = converted.render(each_text(converted.segments, lambda text: text + "’"))
    assert 'msgid "Grün"\nmsgstr "Grün’"' in written.decode()
    assert notes_of(opened(data.replace(b"ISO-8859-1", b"CP1252"), "po")) == []


@pytest.mark.parametrize("letter", [b"\xc3\xbc", b"\xfc"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.po", CATALOGUE.replace("ISO-8859-1", "us-ascii")),
        ("a.html", '<html>\n<meta charset="iso-2022-jp"><p>Grün</p>\n'),
        (
            "a.xlf",
            '<?xml version="1.0" encoding="ascii"?>\n<xliff version="1.2"><file><body>'
            '<trans-unit id="1"><source>Grün</source></trans-unit></body></file></xliff>',
        ),
    ],
)
def test_a_wrong_declaration_is_corrected_with_the_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, letter: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    data = text.encode().replace("ü".encode(), letter)
    Path(name).write_bytes(data)
    kind = kind_of(Path(name))
    with pytest.raises(DataError) as caught:
        read_document(data, kind, ReadOptions(name))
    is_utf8 = len(letter) > 1
    assert ("but UTF-8" if is_utf8 else "the file is in another encoding") in caught.value.message
    assert ("iconv" in caught.value.hint) != is_utf8
    subprocess.run(["sh", "-c", caught.value.hint.rpartition(": ")[2]], check=True)
    converted = opened(Path(name.replace(".", ".utf8.")).read_bytes(), kind)
    assert [plain_text(segment) for segment in converted.segments] == ["Grün"]


@pytest.mark.parametrize("start", ["\ufeff", "Jörg\n"])
def test_document_with_one_line_in_another_encoding_is_not_to_be_converted(start: str) -> None:
    text = start.encode() + b"a\nGr\xfcn\nb\n"
    count, line = text.count(b"\n"), text.split(b"\n").index(b"Gr\xfcn") + 1
    with pytest.raises(DataError) as caught:
        opened(text, "text")
    assert f": 1 of {count} lines is not UTF-8, first line {line}" in caught.value.message
    assert caught.value.hint.startswith("correct that line")


@pytest.mark.parametrize("text", ["", "\n\n", "just text\n", "WEBVTT\n\n", "[Script Info]\n"])
def test_subtitles_without_cues_are_refused(text: str) -> None:
    with pytest.raises(DataError):
        opened(text, "subtitles")


def test_endless_line_of_subtitles_is_refused() -> None:
    with pytest.raises(DataError, match="more than 10,000 characters"):
        opened(SRT.replace("Last", "<i" * 5_001), "subtitles")


@pytest.mark.parametrize("part", ["<!--", "<a ", '<a b="', "</a ", "<![CDATA[", "<b>", "<"])
def test_work_grows_with_the_length_of_broken_html(part: str) -> None:
    """An unclosed mark is searched for once: quadratic work would take minutes."""
    began = time.process_time()
    opened(part * (60_000 // len(part)), "html")
    assert time.process_time() - began < 15


def test_broken_times_are_named_by_their_line() -> None:
    with pytest.raises(DataError, match="line 7: 00:00:02;600 -->"):
        opened(SRT.replace("00:00:02,600", "00:00:02;600"), "subtitles")


def test_subtitles_that_other_programs_read_otherwise_are_refused() -> None:
    text = SRT.replace("Some text", "from 00:00:01,000 to 00:00:02,000")
    with pytest.raises(DataError, match="5 lines of times, but pysubs2 finds 6") as caught:
        opened(text, "subtitles")
    assert caught.value.hint == "a line of a text may not have two times in it"
    text = SRT.replace("00:00:02,600 --> 00:00:03,500", "00:00:02.600 -> 00:00:03")
    with pytest.raises(DataError, match="5 lines of times, but pysubs2 finds 4 cues") as caught:
        opened(text, "subtitles")
    assert caught.value.hint == "line 7 is not written as 00:01:02,345 --> 00:01:04,000"


@pytest.mark.parametrize("text", ["no catalogue", 'msgid "a"\n', 'msgstr "a'])
def test_broken_catalogue_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        opened(text, "po")


def test_large_document_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MAX_DOCUMENT_BYTES", 10)
    with pytest.raises(DataError, match="MiB"):
        opened("a" * 11, "text")
    assert document_module.MAX_DOCUMENT_BYTES == 64 << 20


@pytest.mark.parametrize("name", ["a.pdf", "a.docm", "a.doc", "a.odt", "a.xyz", "a"])
def test_unknown_suffix_is_refused_with_a_hint(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind_of(name)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a.xlsx", "save it as .csv"), ("a.XLS", "save it as .csv"), ("a.ods", "save it as .csv"),
        ("a.tmx", "convert its segments to lines, or translate the XLIFF of the project instead"),
    ],
)  # fmt: skip
def test_spreadsheet_and_translation_memory_get_a_hint(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match="documents of this kind cannot be translated") as caught:
        kind_of(name)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("kind", "module", "text"),
    [
        ("po", "polib", SAMPLES["a.po"]),
        ("subtitles", "pysubs2", SRT),
        ("markdown", "markdown_it", "a"),
        ("docx", "lxml", "a"),
    ],
)
def test_missing_library_is_named(
    kind: str, module: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "nmt_cli.documents.libraries.find_spec",
        lambda name: None if name == module else sys.modules["io"],
    )
    with pytest.raises(UnavailableError) as caught:
        opened(text, kind)
    assert caught.value.hint == install_command("documents")


@pytest.mark.parametrize(
    ("data", "what", "hint"),
    [
        (word_document(), "a Word document", "--kind docx"),
        (b"PK\x03\x04 ...", "a ZIP archive", "the files that are in it"),
        (b"%PDF-1.7\n", "a PDF", "the document that it was made from"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old version of Microsoft Office", "save it as .docx"),
        (b"{\\rtf1 abc}", "Rich Text Format", "save it as .docx"),
        (b"\x1f\x8b\x08", "compressed with gzip", "`gunzip`"),
    ],
)
@pytest.mark.parametrize("kind", ["text", "html", "markdown", "po", "table"])
def test_files_of_other_formats_are_named(kind: str, data: bytes, what: str, hint: str) -> None:
    with pytest.raises(DataError) as caught:
        read_document(data, kind, ReadOptions("page.html"))
    assert what in caught.value.message
    assert hint in (caught.value.hint or "")
