"""`nmt translate` as it is typed: streams, files, formats, exit codes, and how it ends."""

import gzip
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords
from processes import wait_until

from nmt_cli.cli import loading, main
from nmt_cli.cli.commands.translation.file_formats import warn_of_format
from nmt_cli.data.text.line_count import count_lines
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import NoInputError
from nmt_cli.inference.engines import Engine
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model_dir import save_model
from nmt_cli.storage import manifest
from nmt_cli.storage.model_check import WEIGHTS
from nmt_cli.terminal.console import Console
from nmt_cli.translation.models import StoredCpuModel
from nmt_cli.translation.translator import Translator

ROOT = Path(__file__).resolve().parents[2]
LINES = ["The first line.", "", "größer 👍", "a longer line of text, with a comma", " ", "x"]


class Result(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of stdout; each ends with a newline."""
        *lines, rest = self.out.split(b"\n")
        assert rest == b""
        return [line.decode("utf-8") for line in lines]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    config = byte_config({"search.beam": 3})
    save_model(path, byte_model(config).state_dict(), config, byte_subwords(), {})
    return path


@pytest.fixture
def folder(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the model where it is looked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    (tmp_path / "model").symlink_to(model)
    (tmp_path / "test.en").write_text("\n".join(LINES) + "\n", "utf-8")
    return tmp_path


@pytest.fixture
def nmt(folder: Path, monkeypatch, capfdbinary):
    def run(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["translate", *arguments])
        out, err = capfdbinary.readouterr()
        return Result(code, out, err.decode())

    return run


def expected(model: Path, lines: list[str], **settings: object) -> list[str]:
    translator = Translator.load(model)
    search = byte_config({"search.beam": 3, **settings}).search
    return [result.text for result in translator.translate(lines, search=search)]


def test_translate_without_options_reads_stdin_and_writes_stdout(nmt, model: Path) -> None:
    result = nmt(stdin=("\n".join(LINES) + "\n").encode())
    assert (result.code, result.err) == (0, "")
    assert result.lines == expected(model, LINES)
    assert any(result.lines)


def test_translate_reads_file_stdin_and_gzip_alike(nmt) -> None:
    result = nmt("test.en")
    assert result.code == 0
    assert nmt("-", stdin=Path("test.en").read_bytes()).out == result.out
    Path("test.en.gz").write_bytes(gzip.compress(Path("test.en").read_bytes()))
    assert nmt("test.en.gz").out == result.out


def test_text_in_another_encoding_is_refused_and_a_damaged_line_is_not(nmt) -> None:
    lines = "Une légende.\n".encode("latin-1")
    Path("latin.fr").write_bytes(20 * lines)
    result = nmt("latin.fr")
    assert (result.code, result.out) == (65, b"")
    assert "20 of 20 lines are not UTF-8" in result.err
    assert "iconv -f CP1252 -t UTF-8 latin.fr > latin.utf8.fr" in result.err
    Path("damaged.fr").write_bytes(19 * lines)
    result = nmt("damaged.fr", "--beam", "1")
    assert (result.code, len(result.lines)) == (0, 19)
    assert "invalid bytes were replaced by U+FFFD" in result.err


def test_a_table_is_warned_of(nmt) -> None:
    for name in ("test.tsv", "test.en-fr.tsv.gz"):
        opened = gzip.open if name.endswith("gz") else open
        with opened(name, "wt") as file:
            file.write("1\ta\tb\n")
        result = nmt(name)
        assert (result.code, len(result.lines)) == (0, 1)
        assert f"`{name}` is named like a table: its columns are translated as one" in result.err


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("a.csv", "nmt translate --document a.csv --field NAME -o FILE"),
        ("a b.CSV", "nmt translate --document 'a b.CSV' --field NAME -o FILE"),
        (
            "a.tsv",
            "nmt translate --document a.tsv --field NAME -o FILE; without a header: "
            "cut -f1 < a.tsv | nmt translate",
        ),
        (
            "a.TSV.gz",
            "gzip -dc a.TSV.gz | nmt translate --document - --kind table --field NAME -o FILE; "
            "without a header: gzip -dc a.TSV.gz | cut -f1 | nmt translate",
        ),
        (
            "a.csv.gz",
            "gzip -dc a.csv.gz | nmt translate --document - --kind table --field NAME -o FILE",
        ),
    ],
)
def test_the_warning_of_a_table_names_the_ways_to_translate_a_column(nmt, name, ways) -> None:
    data = b"text\na\n"
    Path(name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    result = nmt(name)
    assert (result.code, len(result.lines)) == (0, 2)
    assert result.err == (
        f"warning: `{name}` is named like a table: its columns are translated as one text; for "
        f"one column: {ways}\n"
    )


def test_the_warning_of_a_table_names_its_column_with_text(nmt) -> None:
    rows = "".join(f"{n}\ts{n}\tthe dog\n" for n in range(8))
    Path("a.tsv").write_text(rows)
    result = nmt("a.tsv")
    assert "--field NAME -o FILE; without a header: cut -f3 < a.tsv | nmt translate" in result.err
    Path("a.tsv").write_text(f"id\tsegment\tmy English\n{rows}")
    result = nmt("a.tsv")
    assert "--document a.tsv --field 'my English' -o FILE; without a header: cut -f3" in result.err
    assert "cut -f3 | tail -n +2" in result.err


@pytest.mark.parametrize("name", ["my mem.tmx", "m.TMX", "m.tmx.gz"])
def test_a_translation_memory_is_warned_of_with_the_command_for_its_segments(
    nmt, name: str
) -> None:
    unit = "<tu><tuv xml:lang='EN-gb'><seg>A <ph>x</ph>dog</seg></tuv><tuv xml:lang='de'/></tu>"
    data = f"<tmx><body>{unit}</body></tmx>\n".encode()
    Path(name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    result = nmt(name)
    assert (result.code, len(result.lines)) == (0, 1)
    about, _, command = result.err.partition("`en`, or another code: ")
    assert about.startswith(f"warning: `{name}` is named like a translation memory: its tags are")
    shown, _, rest = command.partition(" | nmt translate\n")
    assert rest == ""
    assert subprocess.check_output(shown, shell=True) == b"A dog\n"


def test_the_segments_of_a_translation_memory_are_those_of_the_source_language() -> None:
    warnings: list[str] = []
    warn_of_format(Mock(warning=warnings.append), "mem.tmx", "deu_Latn")
    [warning] = warnings
    assert warning.endswith(
        "in the language `de`: nmt convert mem.tmx --columns de | nmt translate"
    )


def test_verify_counts_correct_lines(nmt) -> None:
    plain = nmt("test.en")
    result = nmt("--verify", "test.en")
    assert (result.code, result.out) == (0, plain.out)
    same = "6 lines checked: the same as when translated alone, by the reference engine\n"
    assert result.err == same
    result = nmt("--verify-every", "4", "--precision", "int8", "--quiet", "test.en")
    assert (result.code, result.err) == (0, "")
    result = nmt("--verify-every", "4", "--precision", "int8", "test.en")
    assert result.err == "2 lines checked: the same as when translated alone\n"
    assert nmt("--verify-every", "0", "test.en").code == 2


def test_verify_names_the_lines_that_a_wrong_engine_mistranslates(nmt, monkeypatch) -> None:
    class Leaky(ReferenceDecoder):
        def admit(self, slots, sources) -> None:
            wrong = [
                replace(source, ids=[*source.ids[1:-1], 70, source.ids[-1]])
                for source in sources[1:]
            ]
            super().admit(slots, [*sources[:1], *wrong])

    def engine(self, stored) -> Engine:
        model = stored.make_model()
        return Engine("leaky", "", lambda slots, beam: Leaky(model, slots, beam))

    monkeypatch.setattr(StoredCpuModel, "_engine", engine)
    plain = nmt("test.en")
    result = nmt("--verify", "test.en")
    assert (result.code, result.out) == (3, plain.out)
    *warnings, error, blank, hint = result.err.splitlines()
    assert warnings
    lines = plain.lines
    for warning in warnings:
        match = re.fullmatch(r"warning: line (\d): `.*` \(score .*\), but alone `.*\)", warning)
        assert match is not None
        assert f"`{lines[int(match[1]) - 1]}`" in warning
    assert error == (
        f"error: {len(warnings)} of 6 checked lines differ from the translation of the line alone, "
        "by the reference engine"
    )
    assert (blank, hint[:5]) == ("", "hint:")
    result = nmt("--verify", "test.en", "-o", "out.de")
    assert result.code == 3
    assert not Path("out.de").exists()


def test_an_output_file_is_written_only_when_complete(nmt, model: Path) -> None:
    result = nmt("test.en", "-o", "out.de")
    assert (result.code, result.out) == (0, b"")
    assert Path("out.de").read_text("utf-8").split("\n")[:-1] == expected(model, LINES)
    Path("broken.gz").write_bytes(gzip.compress(os.urandom(9000))[:5000])
    Path("out2.de").write_text("old")
    result = nmt("broken.gz", "-o", "out2.de", "--force")
    assert result.code == 65
    assert Path("out2.de").read_text() == "old"
    assert not list(Path().glob(".tmp*"))
    assert nmt("test.en", "-o", "nowhere/out.de").code == 73


def test_hint_names_the_option_of_the_file_that_cannot_be_written(nmt) -> None:
    for option in ("--flag-file", "--output"):
        result = nmt("test.en", option, "nowhere/file")
        assert (result.code, result.out) == (73, b"")
        assert result.err.rstrip().endswith(f"or choose another with {option}")


def test_output_dash_is_stdout(nmt, model: Path) -> None:
    result = nmt("test.en", "-o", "-")
    assert (result.code, result.lines) == (0, expected(model, LINES))
    assert not Path("-").exists()


def test_binary_files_are_refused(nmt) -> None:
    Path("noise.en.gz").write_bytes(random.Random(1).randbytes(5_000))
    Path("noise.en").write_bytes(random.Random(1).randbytes(5_000))
    result = nmt("noise.en.gz")
    assert (result.code, result.out) == (65, b"")
    assert "neither gzip, as its name says, nor text" in result.err
    assert "it is not text" in nmt("noise.en").err
    Path("wide.en").write_bytes("A line of plain text.\n".encode("utf-16-le") * 9)
    assert "UTF-16" in nmt("wide.en").err
    with zipfile.ZipFile("table.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    assert "it is a zip archive, as spreadsheets" in nmt("table.xlsx").err


_WITHOUT_TORCH = """
import sys
from nmt_cli.cli import main
codes = [main(["translate", *arguments.split()]) for arguments in sys.argv[1:]]
print(codes, "torch" in sys.modules)
"""


def test_wrong_files_are_refused_before_torch_is_loaded(folder: Path) -> None:
    wrong = ["--model nothing test.en", "nothing.en", "test.en -o nowhere/out.de"]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TORCH, *wrong],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "[66, 66, 73] False\n"


def test_threads_are_set_for_torch(nmt, model: Path, monkeypatch) -> None:
    import torch

    set_to = []
    monkeypatch.setattr(torch, "set_num_threads", set_to.append)
    assert nmt("--threads", "3", "test.en").lines == nmt("test.en").lines
    assert set_to == [3]
    assert nmt("--threads", "0", "test.en").code == 2


@pytest.mark.parametrize(
    ("options", "warning"),
    [([], "3 lines have control"), (["--part", "2/2"], "2 lines have control")],
)
def test_control_characters_of_latin1_are_warned_of_and_end_no_line(nmt, options, warning) -> None:
    lines = ["plain", "the dog\x92s", "für Zoë", "one\x85two", "\x93Hi\x94"]
    result = nmt(*options, stdin="\n".join(lines).encode())
    assert result.code == 0
    assert len(result.lines) == (2 if options else 5)
    shown = " ".join(result.err.split())
    assert f"`stdin`: {warning} characters from U+0080 to U+009F, first in line 2" in shown
    assert shown.count("U+0080") == 1
    assert "U+0080" not in nmt(stdin="für\ttab\n".encode()).err


def test_html_entities_are_warned_of_with_a_command_that_works(nmt) -> None:
    lines = "a b\na &amp; b&#39;s\nAT&T; a&b\n&eacute;\n"
    # They are resolved, unless markup is translated like words.
    assert "entities" not in nmt(stdin=lines.encode()).err
    result = nmt("--markup", "off", stdin=lines.encode())
    assert result.code == 0
    warning = " ".join(result.err.split())
    assert "`stdin`: 2 lines have HTML entities, first `&amp;` in line 2" in warning
    assert "as `nmt convert - --repair entities` writes them" in warning
    repaired = subprocess.run(
        ["nmt", "convert", "-", "--repair", "entities"],
        input=lines, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert repaired.stdout == "a b\na & b's\nAT&T; a&b\n\u00e9\n"
    assert "entities" not in nmt("--markup", "off", stdin=repaired.stdout.encode()).err


def test_translate_json_has_one_document_per_line(nmt, model: Path) -> None:
    nasty = "one\x85two\u2028three"
    result = nmt("--json", "--n-best", "2", stdin=f"{nasty}\n\nabc\n".encode())
    assert result.code == 0
    text = result.out.decode()
    assert text.splitlines() == text.split("\n")[:-1]
    documents = [json.loads(line) for line in result.lines]
    assert [document["schema"] for document in documents] == [1, 1, 1]
    assert [document["line"] for document in documents] == [0, 1, 2]
    assert [document["source"] for document in documents] == [nasty, "", "abc"]
    assert documents[1]["flags"] == ["empty"]
    assert [document["text"] for document in documents] == expected(model, [nasty, "", "abc"])
    for document in documents:
        assert document["text"] == document["hypotheses"][0]["text"]
        assert document["score"] == document["hypotheses"][0]["score"]
    assert [len(document["hypotheses"]) for document in documents] == [2, 1, 2]
    best = documents[0]["hypotheses"][0]
    assert set(best) == {"text", "score", "log_prob", "tokens", "token_scores"}
    assert len(best["tokens"]) == len(best["token_scores"])
    assert best["tokens"][-1] == "</s>"
    assert sum(best["token_scores"]) == pytest.approx(best["log_prob"], abs=1e-4)


def test_n_best_lines_are_sorted_by_score(nmt) -> None:
    result = nmt("--n-best", "3", stdin=b"abc\n\nsome words\n")
    assert result.code == 0
    rows = [line.split(" ||| ") for line in result.lines]
    assert [row[0] for row in rows] == ["0", "0", "0", "1", "2", "2", "2"]
    scores = [float(row[2]) for row in rows]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    assert rows[0][1] == nmt(stdin=b"abc\n").lines[0]


def test_options_override_the_project_file_and_the_model(nmt, model: Path) -> None:
    data = b"some words to be translated\nand more of them\n"
    lines = data.decode().split("\n")[:-1]
    plain = nmt(stdin=data).lines
    greedy = nmt("--beam", "1", stdin=data).lines
    assert plain == expected(model, lines)
    assert greedy == expected(model, lines, **{"search.beam": 1})
    assert greedy != plain
    Path("nmt.toml").write_text("[search]\nbeam = 1\n")
    assert nmt(stdin=data).lines == greedy
    assert nmt("--beam", "3", stdin=data).lines == plain
    assert nmt("--set", "search.beam=3", stdin=data).lines == plain
    longer = nmt("--max-extra-length", "0", "--alpha", "5", stdin=data).lines
    settings = {"search.beam": 1, "search.max_extra_length": 0, "search.alpha": 5.0}
    assert longer == expected(model, lines, **settings)
    Path("nmt.toml").write_text('[paths]\nmodel = "other"\n')
    assert nmt(stdin=data).code == 66
    assert nmt("--model", "model", stdin=data).lines == plain


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--model", "nothing"], 66, "no model directory `nothing`"),
        (["--model", "nothing"], 66, "name another one with --model"),
        (["nothing.en"], 66, "`nothing.en` cannot be read"),
        (["It's me."], 66, """echo 'It'"'"'s me.' | nmt translate"""),
        (["-o", "nowhere/out.de"], 73, "choose another with --output"),
        (["-o", "nowhere/out.de"], 73, "`mkdir -p nowhere`"),
        (["model"], 66, "`model` is a model, a file with text is needed here"),
        (["."], 66, "is a directory"),
        (["--model", "test.en"], 78, "not a model directory"),
        (["--n-best", "9"], 2, "--n-best 9 is more than search.beam=4"),
        (["--beam", "0"], 2, "--beam must be at least 1, not 0"),
        (["--beam", "two"], 2, "two"),
        (["--device", "banana"], 69, "banana"),
        (["--precision", "int3"], 2, "int3"),
        (["--set", "search.baem=3"], 78, "did you mean"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(nmt, arguments, code: int, words: str) -> None:
    result = nmt(*arguments, stdin=b"abc\n")
    assert result.code == code
    assert result.out == b""
    assert result.err.startswith("error: ")
    assert words in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("prefixes", "words"),
    [(5, "has a line 4, but the text ends"), (2, "ends before line 3")],
)
def test_files_of_prefixes_are_counted_before_any_work(
    nmt, folder: Path, monkeypatch, prefixes: int, words: str
) -> None:
    monkeypatch.setattr("nmt_cli.cli.commands.translation.work._load", None)
    (folder / "short.en").write_text("a\nb\nc\n")
    (folder / "prefixes").write_text("x\n" * prefixes)
    result = nmt("short.en", "--prefix", "prefixes")
    assert (result.code, result.out) == (65, b"")
    assert words in result.err


def test_buffered_lines_know_if_the_next_line_would_block(monkeypatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", stdin)
        writer.write(b"one\ntwo\nthr")
        lines = read_lines("-")
        assert next(lines) == "one"
        assert not lines.must_wait(0.0), "the second line was read with the first"
        assert next(lines) == "two"
        assert lines.must_wait(0.01)
        writer.write(b"ee\n")
        assert not lines.must_wait(0.01)
        assert next(lines) == "three"
        writer.close()
        assert not lines.must_wait(0.01), "the end has come"
        assert list(lines) == []


class TestRealProcess:
    """Behaviour that needs a real process with real pipes."""

    def start(self, folder: Path, *arguments: str, shell: str = "") -> "subprocess.Popen[bytes]":
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        # A locale without UTF-8: what is written is UTF-8 all the same.
        environ = {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "LC_ALL": "C",
                   "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}  # fmt: skip
        line = f'exec "$0" -m nmt_cli translate "$@" {shell}'
        return subprocess.Popen(
            ["bash", "-c", line, sys.executable, *arguments], cwd=folder, env=environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def test_each_line_is_answered_at_once_and_interrupt_is_quiet(self, folder, model):
        process = self.start(folder)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        with process:
            process.stdin.write("größer\n".encode())
            process.stdin.flush()
            answers = [process.stdout.readline()]
            start = time.monotonic()
            process.stdin.write(b"one\ntwo\n")
            process.stdin.flush()
            answers += [process.stdout.readline() for _ in range(2)]
            assert time.monotonic() - start < 5
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 130
            assert process.stderr.read() == b"interrupted\n"
        lines = ["größer", "one", "two"]
        assert [answer.decode("utf-8")[:-1] for answer in answers] == expected(model, lines)

    @pytest.mark.parametrize(
        ("number", "code", "message"),
        [
            (signal.SIGINT, 130, b"interrupted\n"),
            (signal.SIGTERM, 143, b"terminated (SIGTERM)\n"),
            (signal.SIGHUP, 129, b"ended by SIGHUP, as when a terminal is closed\n"),
        ],
    )
    def test_signals_remove_the_incomplete_output(self, folder, number, code, message):
        before = set(folder.iterdir())
        process = self.start(folder, "-o", "out.de")
        assert process.stdin is not None
        assert process.stderr is not None
        with process:
            process.stdin.write(b"one\n")
            process.stdin.flush()
            wait_until(lambda: any(path.stat().st_size for path in set(folder.iterdir()) - before))
            process.send_signal(number)
            assert process.wait(120) == code
            assert process.stderr.read() == message
        assert set(folder.iterdir()) == before


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is seen of the command where stderr is a terminal."""
    stream = io.StringIO()
    monkeypatch.setattr(
        "nmt_cli.cli.commands.translate.make_console",
        lambda *, quiet: Console(stream, interactive=True, quiet=quiet),
    )
    return stream


@pytest.mark.parametrize("name", ["test.en", "test.en.gz"])
def test_translate_progress_bar_of_a_file_has_a_total(nmt, folder, terminal, name) -> None:
    (folder / "test.en.gz").write_bytes(gzip.compress((folder / "test.en").read_bytes()))
    assert nmt(name, "-o", "out.de").code == 0
    assert re.search(r"translating: +0% \|.*\| 0/6", terminal.getvalue())
    last = terminal.getvalue().split("\r")[-1]
    flags, empty, wrote = last.splitlines()
    shown = "3 doubtful lines: 2 sentences_lost, 1 unknown_words (--flag-file lists them)"
    assert flags == shown
    assert empty == "2 translations of text are empty: --min-length 1 forbids this"
    assert re.fullmatch(r"wrote out\.de: 6 lines in \d+s \([\d,.]+ lines/s\)", wrote)


def test_translate_progress_bar_moves_within_a_window(nmt, terminal, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.terminal.progress.SECONDS_BETWEEN_DRAWINGS", 0.0)
    assert nmt("test.en", "-o", "out.de").code == 0
    drawn = [int(count) for count in re.findall(r"(\d+)/6", terminal.getvalue())]
    assert drawn == sorted(drawn)
    assert set(drawn) - {0, 6}
    assert "left" not in terminal.getvalue()


def test_translate_progress_bar_of_stdin_has_no_total(nmt, terminal) -> None:
    assert nmt(stdin=b"a\nb\n").code == 0
    assert "translating ..." in terminal.getvalue()
    assert "%" not in terminal.getvalue()
    assert "wrote" not in terminal.getvalue()
    terminal.truncate(0)
    assert nmt("test.en", "-o", "out.de", "--quiet").code == 0
    assert terminal.getvalue().strip("\0") == ""


def test_translate_without_terminal_shows_no_progress(nmt) -> None:
    assert nmt("test.en", "-o", "out.de").err == ""


@pytest.mark.parametrize(
    ("content", "count"),
    [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb\r\n\n", 3), (b"\x1f\x8bdamaged", None)],
)
def test_lines_are_counted_as_they_are_read(tmp_path, content, count) -> None:
    for index, text in enumerate([content, gzip.compress(content)][: 1 if count is None else 2]):
        path = tmp_path / str(index)
        path.write_bytes(text)
        assert count_lines(str(path)) == count
        assert count is None or len(list(read_lines(path))) == count
    assert count_lines("-") is None
    assert count_lines(str(tmp_path)) is None


def test_compiling_is_announced_on_a_terminal_only(folder, model, monkeypatch) -> None:
    """Before it begins, and only for a model that uses the kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    must = []
    monkeypatch.setattr(
        "nmt_cli.inference.native.library.must_compile", lambda cache: must.append(cache) or True
    )
    monkeypatch.setattr(Translator, "load", lambda *_, **__: None)
    stream = io.StringIO()
    for interactive in (False, True):
        loading.load_translator(model, console=Console(stream, interactive=interactive))
    loading.load_translator(model)
    assert stream.getvalue() == "compiling kernels for this CPU (once, about 10 s)\n"
    assert must == [folder / "cache" / "nmt"]
    with pytest.raises(NoInputError):
        loading.load_translator(folder / "none", console=Console(stream, interactive=True))
    assert stream.getvalue().count("compiling") == 1


def test_packing_is_announced_before_large_weights_are_packed(folder, model, monkeypatch) -> None:
    """Once for each precision; not where there is no library that could use them."""
    cache = folder / "cache" / "nmt"
    cache.mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr("nmt_cli.inference.native.library.must_compile", lambda cache: False)
    monkeypatch.setattr(Translator, "load", lambda *_, **__: None)
    entry = manifest.read_manifest(model)[WEIGHTS]
    stream = io.StringIO()
    console = Console(stream, interactive=True)

    def notes(**options: object) -> int:
        loading.load_translator(model, console=console, **options)
        return stream.getvalue().count(f"packing {entry['bytes'] / 1e6:.0f} MB of weights")

    assert notes() == 0
    monkeypatch.setattr(loading, "LARGE", entry["bytes"] - 1)
    assert notes() == 1
    (cache / f"packed-{entry['sha256'][:32]}-int8.bin").touch()
    assert notes(precision="int8") == 1
    assert notes(precision="float32") == 2
    # Where split weights cannot be used, those of float32 are.
    assert notes(precision="split") == 3
    (cache / f"packed-{entry['sha256'][:32]}-float32.bin").touch()
    assert notes(precision="split") == 3
    assert notes(precision="bf16") == 4
    monkeypatch.setattr("nmt_cli.inference.native.library.may_load", lambda: False)
    assert notes(precision="bf16") == 4


def test_compiling_for_training_is_announced_where_it_is_needed(monkeypatch) -> None:
    must = {"compile": True}
    monkeypatch.setattr("nmt_cli.kernels.training.must_compile", lambda _: must["compile"])
    stream = io.StringIO()
    console = Console(stream, interactive=True)
    loading.announce_training_kernels(torch.device("meta"), console)
    assert stream.getvalue() == ""
    loading.announce_training_kernels(torch.device("cpu"), console)
    assert stream.getvalue() == "compiling kernels for this CPU (once, some seconds)\n"
    must["compile"] = False
    loading.announce_training_kernels(torch.device("cpu"), console)
    assert stream.getvalue().count("compiling") == 1


def test_stats_count_what_was_translated(nmt, folder: Path) -> None:
    result = nmt("test.en", "--stats", "--threads", "1", "-q")
    assert (result.code, result.out) == (0, nmt("test.en").out)
    shown = dict(re.split(r"  +", line, maxsplit=1) for line in result.err.splitlines())
    words = sum(len(line.split()) for line in LINES)
    assert shown["lines"] == str(len(LINES))
    out_words = sum(len(line.split()) for line in result.lines)
    assert shown["words"] == f"{words} in, {out_words} out"
    documents = [json.loads(line) for line in nmt("test.en", "--json").lines]
    subwords = sum(len(document["hypotheses"][0]["tokens"]) for document in documents)
    assert shown["subwords"] == f"{subwords} out"
    assert shown["CPU threads"] == "1"
    assert shown["engine"].startswith("native: ")
    seconds = float(shown["translating"].split()[0])
    speed = float(shown["speed"].split()[0].replace(",", ""))
    assert len(LINES) / speed == pytest.approx(seconds, abs=0.006)
    assert int(shown["peak memory"].split()[0].replace(",", "")) > 50
    assert nmt("--stats", stdin=b"").code == 0
    page = folder / "page.html"
    page.write_text("<p>abc</p><p>def</p>")
    of_document = nmt("--document", str(page), "--stats", "-q")
    assert of_document.err.startswith("lines                  2\n")


@pytest.mark.parametrize(
    ("name", "noted"),
    [
        ("page.html", True),
        ("a.jsonl", True),
        ("app.json", True),
        ("a_en.arb", True),
        ("a.txt", False),
    ],
)
def test_text_of_a_document_is_translated_with_a_note(folder, capsys, name, noted):
    (folder / name).write_text("a\n")
    assert main(["translate", name, "-o", "out"]) == 0
    command = f"nmt translate --document {name} -o FILE"
    assert (command in " ".join(capsys.readouterr().err.split())) == noted


def test_bytes_that_are_not_utf8_are_flagged(folder, capsys):
    (folder / "in.txt").write_bytes("größer\n".encode() + "größer\n".encode("latin-1"))
    assert main(["translate", "in.txt", "--json"]) == 0
    flags = [json.loads(line)["flags"] for line in capsys.readouterr().out.splitlines()]
    assert ["unknown_words" in line_flags for line_flags in flags] == [False, True]
