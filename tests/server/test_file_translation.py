"""LibreTranslate's translation of files: uploads, kinds, and what is kept for how long."""

import csv
import json
import random
import urllib.parse
import zipfile
from collections.abc import Iterator
from io import BytesIO, StringIO
from xml.etree import ElementTree

import docx
import pytest
from servers import Answer, RunningServer, byte_translator, running_server

from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.kinds import KINDS, kind_by_suffix, read_document
from nmt_cli.errors import UnavailableError, UsageError
from nmt_cli.server.libretranslate import translated_files
from nmt_cli.server.libretranslate.translated_files import TranslatedFiles
from nmt_cli.server.limits import Limits

BOUNDARY = "7d33a816d302b6"
FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as made:
        yield made


def form(data: bytes, name: str | None, **fields: str) -> bytes:
    """The body of a form with a file of this name, as curl -F sends it."""
    body = b""
    for field, value in fields.items():
        head = f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="{field}"\r\n\r\n'
        body += head.encode() + value.encode() + b"\r\n"
    if name is not None:
        head = f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="{name}"'
        body += f"{head}\r\n\r\n".encode() + data + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


def upload(server: RunningServer, data: bytes, name: str | None, **fields: str) -> Answer:
    languages = byte_translator().config.languages
    given = {"source": languages.src, "target": languages.tgt} | fields
    return server.ask("POST", "/translate_file", form(data, name, **given), FORM)


def download(server: RunningServer, answer: Answer) -> Answer:
    assert answer.status == 200, answer.body
    url = urllib.parse.urlsplit(answer.json["translatedFileUrl"])
    assert url.netloc == f"127.0.0.1:{server.port}"
    return server.ask("GET", url.path)


def test_another_field_of_json_lines_is_translated(server: RunningServer) -> None:
    data = b'{"title": "abc"}\n'
    assert "no field `text`" in upload(server, data, "a.jsonl").json["error"]
    file = download(server, upload(server, data, "a.jsonl", field="title"))
    assert json.loads(file.body)["translation"] == byte_translator().translate("abc").text


def test_a_column_of_a_table_is_translated(server: RunningServer) -> None:
    data = "\ufeffid\ten\r\n1\tabc\r\n".encode("utf-16-le")
    assert "no column `text`; the columns are" in upload(server, data, "a.tsv").json["error"]
    file = download(server, upload(server, data, "a.TSV", field="en"))
    head, row = csv.reader(
        StringIO(file.body.decode("utf-16"), newline=""), delimiter="\t", strict=True
    )
    assert head == ["id", "en", "translation", "flags"]
    assert row[:3] == ["1", "abc", byte_translator().translate("abc").text]


@pytest.mark.parametrize("name", ["a.json", "app_en.ARB"])
def test_strings_of_json_are_translated(server: RunningServer, name: str) -> None:
    data = '\ufeff{"@@locale": "en",\r\n"a": "abc", "text": {"b": "de"}}'.encode("utf-16-le")
    file = download(server, upload(server, data, name)).body.decode("utf-16")
    first, last = (byte_translator().translate(text).text for text in ("abc", "de"))
    assert json.loads(file) == {"@@locale": "en", "a": first, "text": {"b": last}}
    assert file.startswith('{"@@locale": "en",\r\n"a": "')
    chosen = download(server, upload(server, data, name, field="b")).body.decode("utf-16")
    assert json.loads(chosen) == {"@@locale": "en", "a": "abc", "text": {"b": last}}


def test_text_file_is_translated(server: RunningServer) -> None:
    answer = upload(server, b"abc de\n\nfgh\n", "notes of mine.TXT")
    file = download(server, answer)
    first, last = (byte_translator().translate(line).text for line in ("abc de", "fgh"))
    assert file.body.decode() == f"{first}\n\n{last}\n"
    assert answer.json["translatedFileUrl"].endswith(".txt")
    language = byte_translator().config.languages.tgt
    disposition = f"attachment; filename*=UTF-8''notes%20of%20mine_{language}.txt"
    assert file.headers["content-disposition"] == disposition


def test_word_document_is_translated(server: RunningServer) -> None:
    """Its bytes are not text: nothing may change them on their way."""
    written = BytesIO()
    document = docx.Document()
    document.add_paragraph("abc de")
    document.save(written)
    file = download(server, upload(server, written.getvalue(), "letter.docx"))
    [paragraph] = docx.Document(BytesIO(file.body)).paragraphs
    assert paragraph.text == byte_translator().translate("abc de").text


def test_xliff_is_translated_in_its_encoding(server: RunningServer) -> None:
    text = (
        '<?xml version="1.0" encoding="iso-8859-1"?><xliff version="2.0" trgLang="x"><file>'
        "<unit><segment>\n<source>abc ü</source>\n</segment></unit></file></xliff>"
    )
    file = download(server, upload(server, text.encode("latin-1"), "a.xlf"))
    root = ElementTree.fromstring(file.body)
    assert [each.text for each in root.iter("source")] == ["abc ü"]
    [target] = root.iter("target")
    assert target.text == byte_translator().translate("abc ü").text


def test_page_is_downloaded_as_a_file_and_not_run(server: RunningServer) -> None:
    file = download(server, upload(server, b"<p>abc</p><script>x()</script>", "page.html"))
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["x-content-type-options"] == "nosniff"
    assert file.body.endswith(b"<script>x()</script>")


def test_language_is_detected_when_asked(server: RunningServer) -> None:
    found = upload(server, b"abc\n", "a.txt", source="auto").json["detectedLanguage"]
    assert found["language"] in byte_translator().config.languages.src


def test_address_of_a_file_begins_with_that_of_the_proxy() -> None:
    """What a client says of the proxy is not trusted."""
    with running_server(public_url="https://mt.example.org/nmt/") as server:
        url = upload(server, b"abc\n", "a.txt").json["translatedFileUrl"]
        assert url.startswith("https://mt.example.org/nmt/download_file/")
        assert server.ask("GET", url.removeprefix("https://mt.example.org/nmt")).status == 200
    forwarded = {**FORM, "x-forwarded-proto": "https", "x-forwarded-host": "evil.example.org"}
    with running_server() as server:
        languages = byte_translator().config.languages
        body = form(b"abc\n", "a.txt", source=languages.src, target=languages.tgt)
        answer = server.ask("POST", "/translate_file", body, forwarded)
        assert answer.json["translatedFileUrl"].startswith(f"http://127.0.0.1:{server.port}/")


@pytest.mark.parametrize(
    "url",
    ["", "mt.example.org", "ftp://a", "https://", "https://a?b", "https://a#b", "https://u@a",
     "http://[", "https://a b"],
)  # fmt: skip
def test_public_url_must_be_the_address_of_a_server(url: str) -> None:
    with pytest.raises(UsageError, match="not the address of a server"):
        translated_files.check_public_url(url)


@pytest.mark.parametrize(
    ("data", "name", "fields", "status", "reason"),
    [
        (b"abc\n", None, {}, 400, "no field `file`"),
        (b"abc\n", "", {}, 400, "no field `file`"),
        (b"abc\n", "a.pdf", {}, 400, "known suffixes: .txt"),
        (b"abc\n", "a", {}, 400, "known suffixes: .txt"),
        (b"abc\n", "a.txt", {"target": "xx"}, 400, "xx cannot be translated to"),
        (b"abc\n", "a.txt", {"source": "xx"}, 400, "xx cannot be translated from"),
        (b"not a package", "a.docx", {}, 400, "docx"),
        (b"\xff\xfe\xff", "a.txt", {}, 400, "UTF-"),
        (b"abc de\n" * 1_000, "a.txt", {}, 413, "5,000"),
        (bytes(1 << 20), "a.txt", {}, 413, "1,048,576 bytes"),
    ],
)
def test_wrong_uploads_are_refused(
    server: RunningServer, data: bytes, name: str | None, fields: dict[str, str], status: int,
    reason: str,
) -> None:  # fmt: skip
    answer = upload(server, data, name, **fields)
    assert answer.status == status, answer.body
    assert reason in f"{answer.json['error']} {answer.json.get('hint')}"


def test_larger_files_are_translated_where_the_server_allows_them() -> None:
    document = docx.Document()
    document.add_paragraph("abc de")
    written = BytesIO()
    document.save(written)
    with zipfile.ZipFile(written, "a") as package:
        package.writestr("word/media/image1.png", random.Random(1).randbytes(1 << 20))
    with running_server(limits=Limits(body_bytes=2 << 20)) as server:
        answer = upload(server, written.getvalue(), "a.docx")
        assert answer.status == 200, answer.body
        refused = upload(server, bytes(2 << 20), "a.txt")
    assert (refused.status, refused.json["error"]) == (
        413, "the body is larger than 2,097,152 bytes",
    )  # fmt: skip
    assert "`nmt serve --max-body` sets the limit" in refused.json["hint"]


def test_other_bodies_are_refused(server: RunningServer) -> None:
    for kind in ("application/json", "multipart/form-data", "multipart/form-data; boundary=x"):
        answer = server.ask("POST", "/translate_file", b"{}", {"content-type": kind})
        assert answer.status == 400, kind
        assert "form with a file" in answer.json["error"] or "no field" in answer.json["error"]


def test_upload_needs_the_right_key() -> None:
    with running_server(tokens=("right",)) as server:
        assert upload(server, b"abc\n", "a.txt", api_key="wrong").status == 403
        answer = upload(server, b"abc\n", "a.txt", api_key="right")
        # Nobody guesses its name: whoever has it may fetch the file.
        assert download(server, answer).status == 200


def test_settings_name_the_kinds_of_files(server: RunningServer) -> None:
    settings = server.ask("GET", "/frontend/settings").json
    assert settings["filesTranslation"] is True
    assert {".txt", ".docx", ".srt", ".csv"} <= set(settings["supportedFilesFormat"])


def test_kinds_that_need_a_missing_library_are_not_named(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt_cli.documents.libraries.find_spec", lambda _: None)
    suffixes = server.ask("GET", "/frontend/settings").json["supportedFilesFormat"]
    readable = {kind_by_suffix(f"a{suffix}") for suffix in suffixes}
    assert readable == {"text", "html", "xliff", "json", "jsonl", "table"}
    for kind in KINDS.keys() - readable:
        with pytest.raises(UnavailableError):
            read_document(b"", kind, ReadOptions("a"))
    refused = upload(server, b"a", "a.xyz").json["hint"]
    assert ".txt" in refused
    assert ".po" not in refused


def test_unknown_files_are_not_found(server: RunningServer) -> None:
    for name in ("0" * 32 + ".txt", "..%2f..%2fetc%2fpasswd", "%00"):
        assert server.ask("GET", f"/download_file/{name}").status == 404


def test_damaged_forms_are_refused(server: RunningServer) -> None:
    """Forms with bytes changed, lost and doubled: an answer each, and never an internal error."""
    chooser = random.Random(5)
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("word/document.xml", "<a>")
    whole = [
        form(b"abc\n", "a.txt", source="src", target="tgt"),
        form(archive.getvalue(), "a.docx", source="auto", target="tgt"),
    ]
    for turn in range(300):
        body = bytearray(whole[turn % 2])
        for _ in range(chooser.randint(1, 4)):
            place = chooser.randrange(len(body))
            match chooser.randrange(3):
                case 0:
                    body[place] = chooser.randrange(256)
                case 1:
                    del body[place : place + chooser.randint(1, 30)]
                case _:
                    body[place:place] = body[place : place + chooser.randint(1, 60)]
        answer = server.ask("POST", "/translate_file", bytes(body), FORM)
        assert answer.status in (200, 400, 413), (answer.status, answer.body, bytes(body))


def test_files_are_kept_for_a_time() -> None:
    clock = [0.0]
    files = TranslatedFiles(lambda: clock[0])
    key = files.add("a.txt", b"abc")
    clock[0] = translated_files.SECONDS - 1
    assert files.get(key) is not None
    clock[0] = translated_files.SECONDS + 1
    assert files.get(key) is None


def test_oldest_files_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    files = TranslatedFiles()
    keys = [files.add("a.txt", bytes(1)) for _ in range(translated_files.MAX_FILES + 2)]
    kept = [files.get(key) is not None for key in keys]
    assert kept == [False, False] + [True] * translated_files.MAX_FILES
    monkeypatch.setattr(translated_files, "MAX_BYTES", 1_000)
    last = files.add("b.txt", bytes(990))
    assert [files.get(key) is not None for key in keys[-11:]] == [False] + [True] * 10
    assert files.get(last) is not None
