"""`nmt translate --document` as it is typed, and the commands of docs/documents.md."""

import csv
import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from document_samples import (
    ASS,
    CSV,
    HTML,
    JSON,
    JSONL,
    MARKDOWN,
    PO,
    SAMPLES,
    SRT,
    TEXT,
    TSV,
    VTT,
    XLIFF,
    each_text,
    opened,
    word_document,
)

from nmt_cli.cli import main
from nmt_cli.installation import install_command
from nmt_cli.model_dir import save_model
from nmt_cli.translation.translator import Translator

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "documents.md"
FILES = {
    "page.html": HTML, "README.md": MARKDOWN, "film.srt": SRT, "film.vtt": VTT, "film.ass": ASS,
    "de.po": PO, "app.xlf": XLIFF, "notes.txt": TEXT, "items.jsonl": JSONL, "letter.tmpl": HTML,
    "reviewed.jsonl": '{"text": "a"}\n{"text": "b", "flags": ["mine"], "translation": "c"}\n',
    "titles.jsonl": '{"item": {"title": "A dog"}}\n', "terms.tsv": "dog\tHund\n",
    "strings.csv": CSV, "texts.tsv": TSV, "reviewed.csv": "text,flags\na,mine\n",
    "app.json": JSON, "app_en.arb": '{"@@locale": "en", "title": "A dog"}',
    "lines.json": '{"a": "b"}\n{"a": "c"}\n', "cut.json": '{"a":\n"b"',
    "items.json": '[{"title": "A dog", "type": "x"}]',
    "cut.csv": 'text,id\n"a,b\n', "short.csv": "text,id\na\n",
}  # fmt: skip
XLIFF_HEAD = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en"><file id="f">'
)


class Result(NamedTuple):
    code: int
    out: bytes
    err: str


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    config = byte_config({"search.beam": 1, "languages.src": "en", "languages.tgt": "de"})
    save_model(path, byte_model(config).state_dict(), config, byte_subwords(), {})
    return path


@pytest.fixture
def folder(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    (tmp_path / "model").symlink_to(model)
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "report.docx").write_bytes(word_document())
    return tmp_path


@pytest.fixture
def nmt(folder: Path, monkeypatch, capfdbinary):
    def run(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["translate", *arguments])
        out, err = capfdbinary.readouterr()
        return Result(code, out, err.decode())

    return run


def test_text_that_does_not_fit_is_warned_of_with_its_place(nmt) -> None:
    Path("a.md").write_text("# 12\n\n---\n\nthe sm@@ all dog\n")
    assert "marks of subwords (@@, ▁) (first on line 5)" in nmt("--document", "a.md").err


def test_each_segment_is_translated_as_a_line(nmt, model: Path) -> None:
    text = b"<html lang=en><p>The dog.</p><p>A house.</p></html>"
    Path("a.html").write_bytes(text)
    result = nmt("--document", "a.html")
    assert (result.code, result.err) == (0, "")
    first, second = (
        each.text for each in Translator.load(model).translate(["The dog.", "A house."])
    )
    document = opened(text, "html", language="de")
    words = {"The dog.": first, "A house.": second}
    assert result.out == document.render(each_text(document.segments, words.__getitem__))
    assert b"<html lang=de>" in result.out


def test_code_is_not_taken_for_another_language(nmt, monkeypatch) -> None:
    """The words alone are compared with the training text."""
    checked: list[str] = []
    monkeypatch.setattr(
        "nmt_cli.cli.commands.translation.document.warn_of_misfit",
        lambda texts, *_: checked.extend(texts),
    )
    Path("code.html").write_text("<p>A dog <code>x()</code> sleeps <b>Qux well</b> {x}.</p>\n")
    Path("names").write_text("Qux\n")
    assert nmt("--document", "code.html", "--keep", "names").code == 0
    assert [text.split() for text in checked] == [["A", "dog", "sleeps", "well."]]


@pytest.mark.parametrize(
    ("options", "output"),
    [
        ("film.srt", "de.txt"), ("page.html", "de.tmpl"), ("letter.tmpl --kind html", "de.htm"),
        ("README.md --kind text", "de.md"), ("film.vtt --kind text", "de.vtt"),
        ("de.po", "new.pot"), ("film.vtt", "de.vtt"), ("letter.tmpl --kind html", "de"),
    ],
)  # fmt: skip
def test_output_may_have_a_suffix_that_promises_no_other_format(nmt, options, output) -> None:
    result = nmt("--document", *options.split(), "-o", output)
    assert result.code == 0, result.err
    assert Path(output).stat().st_size


def test_output_file_is_written_and_not_replaced_without_force(nmt) -> None:
    assert nmt("--document", "page.html", "-o", "new.html").out == b""
    written = Path("new.html").read_bytes()
    assert written.startswith(b"<!DOCTYPE html>")
    assert nmt("--document", "page.html", "-o", "new.html").code == 73
    assert nmt("--document", "page.html", "-o", "new.html", "--force").code == 0
    assert nmt("--document", "page.html", "-o", "page.html", "--force").code == 73
    assert Path("page.html").read_text() == HTML


def test_json_has_a_document_for_each_segment_with_its_place(nmt) -> None:
    result = nmt("--document", "film.srt", "--json")
    rows = [json.loads(line) for line in result.out.splitlines()]
    document = opened(SRT, "subtitles")
    assert [row["place"] for row in rows] == document.places
    assert [row["line"] for row in rows] == list(range(len(document.segments)))
    assert "".join(rows[-1]["source"].split()) == "Last42"


def test_json_of_a_word_document_goes_to_stdout(nmt) -> None:
    result = nmt("--document", "report.docx", "--json")
    assert result.code == 0, result.err
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert [row["place"] for row in rows] == opened(word_document(), "docx").places


def test_flag_file_names_the_place(nmt) -> None:
    Path("long.txt").write_text("\nhello\n", "utf-8")
    result = nmt("--document", "long.txt", "--flag-file", "flags.tsv", "--max-length", "1")
    assert result.code == 0, result.err
    head, row = Path("flags.tsv").read_text("utf-8").splitlines()
    assert head.startswith("line\tflags")
    assert row.startswith("line 2\t")
    failing = nmt("--document", "long.txt", "--max-length", "1", "--fail-on", "at_limit")
    assert failing.code == 3
    assert "line 2: at_limit" in failing.err


def test_wrong_numbers_of_a_document_are_counted_without_a_flag_file(nmt) -> None:
    Path("numbers.txt").write_text("There were 1867 dogs.\n\n12 cats came.\n", "utf-8")
    said = " ".join(nmt("--document", "numbers.txt").err.split())
    assert "2 segments with number_mismatch" in said
    assert "--flag-file FILE lists them; --keep-numbers keeps numbers in digits" in said
    assert "number_mismatch" not in nmt("--document", "numbers.txt", "--quiet").err
    assert "number_mismatch" not in nmt("--document", "numbers.txt", "--json").err


def test_segment_without_a_translation_keeps_its_source(nmt, monkeypatch) -> None:
    from dataclasses import replace

    from nmt_cli.data.markup.marked_text import plain_text
    from nmt_cli.translation import translator

    real = translator.Translator.translate_marked

    def translate(self, texts, **options):  # type: ignore[no-untyped-def]
        return [
            replace(marked, pieces=(), translation=replace(marked.translation, flags=("failed",)))
            if "dog" in plain_text(text)
            else marked
            for text, marked in zip(texts, real(self, texts, **options), strict=True)
        ]

    monkeypatch.setattr(translator.Translator, "translate_marked", translate)
    Path("a.html").write_bytes(b"<p>The   <b>dog</b> &amp; I</p>\n<p>word</p>")
    result = nmt("--document", "a.html", "--flag-file", "flags.tsv")
    assert result.out.startswith(b"<p>The   <b>dog</b> &amp; I</p>\n<p>")
    assert not result.out.endswith(b"<p>word</p>")
    rows = [row.split("\t") for row in Path("flags.tsv").read_text("utf-8").split("\n")]
    assert rows[1][:3] == ["line 1", "failed,source_kept", "The <b>dog</b> & I"]
    assert "source_kept" not in rows[2][1:2]


def test_placeholder_alone_is_no_translation(nmt, monkeypatch) -> None:
    from dataclasses import replace

    from nmt_cli.data.markup.marked_text import Placeholder
    from nmt_cli.translation import translator

    real = translator.Translator.translate_marked

    def translate(self, texts, **options):  # type: ignore[no-untyped-def]
        marked = real(self, texts, **options)
        return [replace(each, pieces=(Placeholder("{name}"),)) for each in marked]

    monkeypatch.setattr(translator.Translator, "translate_marked", translate)
    Path("hello.txt").write_text("Hello {name}, welcome.\n", "utf-8")
    assert nmt("--document", "hello.txt").out == b"Hello {name}, welcome.\n"
    assert "source_kept" in json.loads(nmt("--document", "hello.txt", "--json").out)["flags"]
    Path("hello.csv").write_text("text\nHello {name}.\n", "utf-8")
    [_, row] = list(csv.reader(nmt("--document", "hello.csv").out.decode().splitlines()))
    assert row[:2] == 2 * ["Hello {name}."]
    assert "source_kept" in row[2].split()
    failing = nmt("--document", "hello.txt", "--fail-on", "source_kept")
    assert (failing.code, "line 1: source_kept" in failing.err) == (3, True)
    # Where such a text stays without a translation, a note says so.
    Path("hello.po").write_text('msgid "Hello {name}."\nmsgstr ""\n', "utf-8")
    Path("hello.xlf").write_text(
        XLIFF_HEAD + "<unit id='a'><segment><source>Hello {name}.</source></segment></unit>"
        "</file></xliff>", "utf-8",
    )  # fmt: skip
    for name in ("hello.po", "hello.xlf"):
        result = nmt("--document", name)
        assert result.out == Path(name).read_bytes()
        assert f"`{name}`: 1 entry stays without a translation, first " in result.err
        assert "without a translation" not in nmt("--document", name, "--json").err


def test_document_is_read_in_its_own_encoding(nmt) -> None:
    page = '<meta charset="iso-8859-1">' + "<p>Gr\u00fcn</p>\n" * 40
    Path("long.html").write_bytes(page.encode("latin-1"))
    result = nmt("--document", "long.html")
    assert result.code == 0, result.err


def test_json_input_reads_the_argument_and_stdin(nmt) -> None:
    result = nmt("--json-input", "items.jsonl")
    rows = [json.loads(line) for line in result.out.splitlines() if line]
    assert [row["text"] for row in rows] == ["Hello you.", "two\nlines"]
    assert all(isinstance(row["translation"], str) and "flags" in row for row in rows)
    assert nmt("--json-input", stdin=JSONL.encode()).out == result.out
    assert nmt("--document", "-", "--kind", "jsonl", stdin=JSONL.encode()).out == result.out


def test_table_keeps_its_cells_and_gets_two_more(nmt) -> None:
    result = nmt("--document", "strings.csv", "--field", "en")
    assert (result.code, result.err) == (0, "")
    lines = io.StringIO(result.out.decode("utf-8-sig"), newline="")
    head, *rows = [row for row in csv.reader(lines, delimiter=";") if row]
    assert head == ["id", "en", "translation", "note", "flags"]
    texts = ["A dog, a cat.", 'He said "no".\r\nTwo lines; here.', "", "Last"]
    assert [row[1] for row in rows] == texts
    assert [bool(row[2]) for row in rows] == [True, True, False, True]
    assert rows[2][4] == "empty"
    stdin = CSV.encode()
    options = ("--document", "-", "--kind", "table", "--field", "en")
    assert nmt(*options, stdin=stdin).out == result.out
    named = nmt(*options, "--translation-field", "de", "--flags-field", "id_2", stdin=stdin)
    renamed = result.out.replace(b";translation;", b";de;").replace(b";flags\r", b";id_2\r")
    assert named.out == renamed


def test_json_keeps_all_but_its_strings(nmt) -> None:
    result = nmt("--document", "app.json", "--quiet")
    assert (result.code, result.err) == (0, "")
    before, after = json.loads(JSON), json.loads(result.out)
    assert before["title"] != after["title"]
    assert after["@meta"] == before["@meta"]
    assert [*after["menu"]["items"][1:], after["count"]] == [2, ["12 %"], 1.5]
    assert b'{{name}}", "count": 1.50, "on": true, "none": null, "empty": "",\n' in result.out
    assert nmt("--document", "-", "--kind", "json", stdin=JSON.encode()).out == result.out
    only = json.loads(nmt("--document", "app.json", "--field", "items").out)
    assert only["menu"]["items"] == after["menu"]["items"]
    assert only["title"] == before["title"]


def test_places_and_notes_of_json(nmt) -> None:
    message = "{n, plural, one {# dog} other {# dogs}}"
    Path("a.json").write_text(json.dumps({"menu": {"a\tb": ["12", "A dog"]}, "m": message}))
    result = nmt("--document", "a.json", "--flag-file", "flags.tsv", "--max-length", "1")
    assert result.code == 0, result.err
    assert "`a.json`: 1 text has a plural or select message of ICU, first `m`" in result.err
    assert json.loads(result.out)["m"] == message
    _, row = Path("flags.tsv").read_text("utf-8").splitlines()
    assert row.startswith('menu["a\\tb"][1]\tat_limit')
    rows = nmt("--document", "a.json", "--json").out.splitlines()
    assert [json.loads(row)["place"] for row in rows] == ['menu["a\\tb"][1]']


def test_other_languages_than_those_of_the_model_are_warned_of(nmt) -> None:
    text = '<xliff version="2.1" srcLang="{}" trgLang="{}"><file><unit><segment><source>A dog'
    text += "</source></segment></unit></file></xliff>"
    Path("es.xlf").write_text(text.format("es", "de-AT"))
    Path("fr.xlf").write_text(text.format("en", "fr"))
    result = nmt("--document", "es.xlf")
    assert (result.code, result.err.count("warning:")) == (0, 1), result.err
    assert "`es` by its `srcLang`" in result.err
    assert "`fr` by its `trgLang`" in nmt("--document", "fr.xlf", "--quiet").err


def test_flag_file_names_the_line_of_a_record(nmt) -> None:
    result = nmt(
        "--document", "strings.csv", "--field", "en", "--flag-file", "flags.tsv",
        "--max-length", "1",
    )  # fmt: skip
    assert result.code == 0, result.err
    places = [line.split("\t")[0] for line in Path("flags.tsv").read_text("utf-8").splitlines()]
    assert places == ["line", "line 2", "line 3", "line 3", "line 7"]
    assert result.out.count(b"at_limit") == 3


def test_document_without_words_stays(nmt) -> None:
    text = re.sub(r"[^\W\d_]", "1", "Some words") + "\n"
    Path("numbers.txt").write_text(text, "utf-8")
    assert nmt("--document", "numbers.txt").out == text.encode()


@pytest.mark.parametrize(
    ("options", "repeated"),
    [
        ("--model model", "--model model"),
        ("--beam 2 --keep-numbers --set search.alpha=1", "--set search.alpha=1 --beam 2"),
        ("--model other --glossary 'my terms' -q", "--model other --glossary 'my terms'"),
        # These are for lines only, or in the hint already.
        ("--scores --n-best 2 --part 1/2 -o {part} --force", ""),
    ],
)
def test_hint_repeats_the_options_that_were_given(nmt, options: str, repeated: str) -> None:
    result = nmt("report.docx", *shlex.split(options))
    assert result.code == 2
    command = result.err.strip().rpartition("keep its format: ")[2]
    shown = shlex.split(command.removeprefix("nmt translate --document report.docx -o FILE"))
    assert {*shlex.split(repeated)} <= {*shown}
    assert not {"--scores", "--n-best", "--part", "--output", "--force"} & {*shown}


def test_notes_on_formats_repeat_the_options_that_were_given(nmt) -> None:
    Path("a.tsv").write_text("text\n")
    message = nmt("a.tsv", "--beam", "2").err
    assert "--field NAME -o FILE --beam 2; " in message
    assert message.endswith("| nmt translate --beam 2\n")
    Path("a.tmx").write_text("text\n")
    assert nmt("a.tmx", "--beam", "2").err.endswith("| nmt translate --beam 2\n")


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("--document report.docx", 2, "-o FILE"),
        ("report.docx", 2, "nmt translate --document report.docx -o FILE"),
        ("--document page.html test.en", 2, "names a file"),
        ("--document page.html --document a.md", 2, "2 times, for `page.html` and `a.md`, and"),
        ("--document app.json --field a --field b", 2, "--field is given 2 times, for `a` and"),
        ("--document page.xyz", 2, "--kind"),
        ("--document .", 66, "is a directory"),
        ("--document report.docm", 2, "macros"),
        ("--document -", 2, "--kind"),
        ("--kind html", 2, "--document"),
        ("--field a", 2, "--document"),
        ("--fuzzy", 2, "--document"),
        ("--flags-field a", 2, "--document"),
        ("--document page.html --field a --flags-field b", 2, "--field, --flags-field: for JSON"),
        ("--json-input items.jsonl --flags-field translation", 2, "are both `translation`"),
        ("--document page.html --fuzzy", 2, "catalogues"),
        ("--json-input --kind html items.jsonl", 2, "--kind says html"),
        ("--document page.html --scores --prefix x --verify", 2, "--scores, --prefix, --verify:"),
        ("--document page.html --verify-every 2", 2, "--verify-every"),
        ("--document page.html --n-best 2", 2, "--n-best"),
        ("--document page.html --alignment", 2, "--alignment"),
        ("--document none.html", 66, "none.html"),
        ("--json-input reviewed.jsonl", 65, "line 2: has the fields `translation` and `flags` al"),
        ("--document reviewed.jsonl --translation-field a", 65, "line 2: has the field `flags`"),
        ("--document items.jsonl --field other", 65, "line 1: no field `other`"),
        ("--document page.html --translation-field b", 2, "JSON lines and tables only"),
        ("--document page.html --field b", 2, "--field: for JSON, JSON lines and tables only"),
        ("--document page.html --field b", 2, "add --kind json, --kind jsonl or --kind table, or"),
        ("--document app.json --flags-field b", 2, "--flags-field: for JSON lines and tables only"),
        ("--document app.json --translation-field b", 2, "add --kind jsonl or --kind table, or"),
        ("--document app.json --field none", 65, "`app.json`: no text in a field `none`"),
        ("--document cut.json", 65, "`cut.json`, line 2, column 4: not JSON: Expecting"),
        ("--document lines.json", 65, "these are JSON lines: --kind jsonl"),
        ("--json-input --kind json items.jsonl", 2, "--kind says json"),
        ("--json-input --kind table items.jsonl", 2, "--kind says table"),
        ("--document strings.csv", 65, "no column `text`; the columns are `id`, `en`, `note`"),
        ("--document strings.csv", 65, "name the column to translate: --field NAME; the first"),
        ("--document reviewed.csv", 65, "line 1: has the column `flags` already"),
        ("--document texts.tsv --flags-field translation", 2, "are both `translation`"),
        ("--document texts.tsv --translation-field id", 65, "line 1: has the column `id` already"),
        ("--document cut.csv", 65, "`cut.csv`, line 2: a quotation mark that is never closed"),
        ("--document short.csv", 65, "`short.csv`, line 2: 1 cell; the header has 2"),
        ("--document terms.tsv", 65, "the first line must name the columns"),
        ("--document mem.tmx", 2, "convert its segments to lines"),
        ("--document strings.xlsx", 2, "save it as .csv"),
        ("--document film.srt -o film.de.vtt", 2, "`film.srt` is no .vtt"),
        ("--document film.srt -o film.html", 2, "name a .srt file"),
        ("--document strings.csv --field en -o strings.de.tsv", 2, "documents keep their format"),
        ("--document README.md -o README.pdf", 2, "documents keep their format"),
        ("--document letter.tmpl --kind html -o letter.docx", 2, "name a .tmpl file"),
        ("--document page.html --kind docx -o new.docx", 65, "damaged, or not a .docx"),
        ("--document page.html --kind po", 65, "catalogue"),
        ("--document page.html --kind xliff", 65, "document type"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_model_is_loaded(
    nmt, line: str, code: int, words: str, monkeypatch
) -> None:
    def load(*_: object, **__: object) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(Translator, "load", load)
    before = sorted(path.name for path in Path.cwd().iterdir())
    result = nmt(*line.split())
    assert result.code == code, result.err
    assert words in result.err
    assert result.out == b""
    assert sorted(path.name for path in Path.cwd().iterdir()) == before


def test_missing_library_is_one_line_of_hint(nmt, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.documents.libraries.find_spec", lambda name: None)
    result = nmt("--document", "film.srt")
    assert result.code == 69
    assert install_command("documents") in result.err


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if "nmt translate" in line]


@pytest.mark.parametrize("line", commands())
def test_commands_of_the_page_run(nmt, folder: Path, line: str) -> None:
    words = shlex.split(line, comments=True)
    stdin = b""
    if words[0] == "cat":
        stdin = Path(words[1]).read_bytes()
        words = words[words.index("|") + 1 :]
    assert words[:2] == ["nmt", "translate"]
    result = nmt(*words[2:], stdin=stdin)
    assert result.code == 0, result.err
    assert result.out or any(Path(word).is_file() for word in words if word.count("."))


def test_page_shows_every_kind_and_library() -> None:
    from nmt_cli.documents.kinds import KINDS

    text = PAGE.read_text("utf-8")
    assert len(commands()) > 8
    for name, kind in KINDS.items():
        assert f"`{name}`" in text
        assert all(f"`{suffix}`" in text for suffix in kind.suffixes)
    assert set(SAMPLES) == {
        f"a.{each}" for each in ("txt", "html", "md", "srt", "vtt", "ass", "po", "xlf", "xliff")
    }
