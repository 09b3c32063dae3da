"""Documents of strangers, and broken ones: refused before any work, and never half written."""

import random
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from document_samples import XLIFF, opened, word_document
from faults.tally import fault

from nmt_cli.cli import main
from nmt_cli.documents.word import package as word_package
from nmt_cli.errors import DataError
from nmt_cli.translation.translator import Translator

Checks = Callable[..., None]
GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "model-v1"
ENTITY = b'<!DOCTYPE w [<!ENTITY e SYSTEM "file:///secret.txt">]><w>&e;</w>'
HOSTILE = {
    "bomb": ("word/media/a.bin", bytes(30 << 20)),
    "macros": ("word/vbaProject.bin", b"x"),
    "entity": ("word/footer9.xml", ENTITY),
    "entity in UTF-16": ("word/footer9.xml", ENTITY.decode().encode("utf-16")),
}


def with_file(name: str, content: bytes) -> bytes:
    data = BytesIO(word_document())
    with zipfile.ZipFile(data, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return data.getvalue()


@fault("U14")
def test_hostile_word_document_is_refused_before_it_is_parsed(
    monkeypatch: pytest.MonkeyPatch, checks: Checks
) -> None:
    def parts(_: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(word_package.WordPackage, "parts", parts)
    for name, content in HOSTILE.values():
        with pytest.raises(DataError, match="is refused"):
            opened(with_file(name, content), "docx")
        checks()


BROKEN = {
    "cut.docx": word_document()[:-300],
    "page.docx": b"<p>word</p>",
    "bad.jsonl": b'{"text": "a"}\n{"text": "b"\n',
    "cut.json": b'{"a": "b", "c": "d"',
    "lines.json": b'{"a": "b"}\n{"a": "c"}\n',
    "deep.json": b"[" * 100_000,
    "half.json": b'{"a": "b", "c": "\\ud83d"}',
    "number.arb": b'{"a": "b", "c": ' + b"9" * 5_000 + b"}",
    "bad.csv": b'id,text\n1,"a\n2,b\n',
    "headless.tsv": b"A dog\tEin Hund\n",
    "bad.srt": b"1\n00:00:01;000 --> 00:00:02,000\nHello\n",
    "latin.txt": "Grün\n".encode("latin-1"),
    "bad.po": b"no catalogue\n",
    "cut.xlf": XLIFF.encode()[:-20],
    "entity.xlf": ENTITY,
}


@fault("T20")
def test_broken_document_is_refused_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    checks: Checks,
) -> None:
    def load(*_: object, **__: object) -> None:
        raise AssertionError("the model is loaded")

    monkeypatch.setattr(Translator, "load", load)
    monkeypatch.chdir(tmp_path)
    for name, data in BROKEN.items():
        Path(name).write_bytes(data)
        code = main(["translate", "--model", str(GOLDEN), "--document", name, "-o", f"new-{name}"])
        shown = capsys.readouterr()
        assert (code, shown.out) == (65, ""), shown.err
        assert name in shown.err
        assert sorted(path.name for path in tmp_path.glob("*new*")) == []
        checks()


@fault("T20")
def test_no_byte_of_broken_marks_is_lost(checks: Checks) -> None:
    parts = ["<p>", "</p", "<b ", "a=", '"', "<!--", "-->", "&", "word ", "<![", "]]>", ">", "é"]
    chosen = random.Random(3)
    for _ in range(300):
        data = "".join(chosen.choices(parts, k=chosen.randrange(1, 20))).encode()
        document = opened(data, "html")
        assert document.render(document.segments) == data
        checks()
