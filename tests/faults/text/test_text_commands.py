"""Every command that reads text has the same lines, and says the same of what is not UTF-8."""

import ast
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.support import nasty_lines
from faults.support.forked import Ended, forked
from faults.support.letters import save_byte_model
from faults.tally import fault

from nmt_cli.data.text.encoding import conversion_hint

PACKAGE = Path(__file__).resolve().parents[3] / "nmt_cli"
# One line each, whatever other programs take for an end.
ODD = [f"one{chr(mark)}two words" for mark in nasty_lines.SEPARATORS.values()]
LINES = [*ODD, "plain words", "</s> <2de> [/b]", "\ufeffa mark", "naïve Straße"]
COUNT = len(LINES)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_byte_model(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture(autouse=True)
def folder(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the model where it is looked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").symlink_to(model)
    return tmp_path


def text_lines(text: Path) -> list[bytes]:
    """The lines of a file."""
    return text.read_bytes().split(b"\n")[:-1]


def _lines_of_json(ended: Ended, key: str) -> int:
    assert ended.code == 0, ended.err
    return int(json.loads(ended.lines[-1])[key])


def _last_line(text: str) -> int:
    """The number of the line that a glossary or a list of banned words complains of."""
    result = re.search(r"line (\d+)", text)
    assert result, text
    return int(result[1])


def translate(text: Path) -> int:
    return len(forked("translate", str(text)).lines)


def translate_stdin(text: Path) -> int:
    return len(forked("translate", "--json", stdin=text.read_bytes()).lines)


def prefix(text: Path) -> int:
    """As many lines as there are prefixes: with one more or less it fails."""
    Path("source").write_text("a\n" * COUNT)
    return len(forked("translate", "source", "--prefix", str(text)).lines)


def score(text: Path) -> int:
    return _lines_of_json(forked("score", str(text), str(text), "--json"), "lines")


def score_stdin(text: Path) -> int:
    data = text.read_bytes()
    return _lines_of_json(forked("score", "-", str(text), "--json", stdin=data), "lines")


def score_pairs(text: Path) -> int:
    result = forked("score", "--pairs", str(text), str(text), "--json")
    return _lines_of_json(result, "lines")


def n_best_list(text: Path) -> int:
    parts = text.read_bytes().split(b"\n")[:-1]
    Path("list").write_bytes(b"".join(b"0 ||| %b ||| 1\n" % part for part in parts))
    return len(forked("score", "--n-best-list", str(text), "list").lines)


def parse(text: Path) -> int:
    # A word may hold what ends a line elsewhere: it is a word of the tree then.
    return len(forked("parse", str(text), "--beam", "1").lines)


def parse_score(text: Path) -> int:
    with Path("parsed").open("wb") as file:
        for line in text_lines(text):
            file.write(b"(S (X %b))\n" % re.sub(rb"[ \t\x0b\x0c\r()]", b"", line))
    result = forked("parse", "score", "parsed", "parsed", "--each", "--json")
    assert result.code == 0, result.err
    return len(json.loads(result.out)["each"])


def parse_prepare(text: Path) -> int:
    with Path("trees").open("wb") as file:
        for line in text_lines(text):
            file.write(b"(S (X %b))\n" % re.sub(rb"[ \t\x0b\x0c\r()]", b"", line))
    assert forked("parse", "prepare", "trees", "--out", "out", "--force").code == 0
    return Path("out.words").read_bytes().count(b"\n")


def prepare(text: Path) -> int:
    Path("copy").write_bytes(text.read_bytes())
    # One file is not taken for both sides; how it is compressed is told by its first bytes.
    arguments = ["--train", str(text), "copy", "--subwords", "bytes", "--force"]
    result = forked("prepare", *arguments, "--workers", "1", "--json")
    return _lines_of_json(result, "read")


def prepare_tsv(text: Path) -> int:
    lines = [line.replace(b"\t", b"") for line in text.read_bytes().split(b"\n")[:-1]]
    data = b"".join(b"%b\t%b\n" % (line, line) for line in lines)
    arguments = ["--train-tsv", "-", "--subwords", "bytes", "--force", "--json"]
    return _lines_of_json(forked("prepare", *arguments, stdin=data), "read")


def glossary(text: Path) -> int:
    """A wrong line behind all others is named by its number."""
    lines = [b"%d\tx" % index for index, _ in enumerate(LINES)]
    marks = list(nasty_lines.SEPARATORS.values())
    for index, mark in enumerate(marks):
        lines[index] = f"{index}{chr(mark)}\tx".encode()
    Path("terms").write_bytes(b"\n".join([*lines[:-1], b"wrong"]) + b"\n")
    result = forked("translate", str(text), "--glossary", "terms")
    assert result.code == 65
    return _last_line(result.err.decode())


def banned(text: Path) -> int:
    """The lines behind are read, too: they are refused where they are no UTF-8."""
    data = text.read_bytes().split(b"\n")[:-1]
    Path("ban").write_bytes(b"\n".join([*data[:-1], b"\xff"]) + b"\n")
    result = forked("translate", str(text), "--ban", "ban")
    assert result.code == 65
    return _last_line(result.err.decode())


def names(text: Path) -> int:
    """A wrong line behind all others is named by its number."""
    data = text.read_bytes().split(b"\n")[:-1]
    lines = [line.replace(b"\t", b"") for line in data]
    Path("names").write_bytes(b"\n".join([*lines[:-1], b"a\tb"]) + b"\n")
    result = forked("translate", str(text), "--keep", "names")
    assert result.code == 65
    return _last_line(result.err.decode())


READERS: list[Callable[[Path], int]] = [
    translate, translate_stdin, prefix, score, score_stdin, score_pairs, n_best_list, parse,
    parse_score, parse_prepare, prepare, prepare_tsv, glossary, banned, names,
]  # fmt: skip


@fault("T4", "T3", "T2")
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_every_command_reads_the_same_lines(folder: Path, reader: Callable[[Path], int]) -> None:
    for name, data in (
        ("text", "".join(f"{line}\n" for line in LINES).encode()),
        ("text.crlf", "".join(f"{line}\r\n" for line in LINES).encode()),
    ):
        (folder / name).write_bytes(data)
        assert reader(folder / name) == COUNT


@fault("T2")
def test_every_command_reads_compressed_text_alike(folder: Path, checks) -> None:
    (folder / "text").write_bytes(gzip.compress("\n".join([*LINES, ""]).encode()))
    for reader in (translate, translate_stdin, prefix, score, score_pairs, parse):
        assert reader(folder / "text") == COUNT
        checks()


BAD = b"good\nbro\xffken\ngood\n"
COMMANDS = {
    "translate": ["translate", "bad"],
    "score": ["score", "bad", "bad"],
    "score pairs": ["score", "--pairs", "bad", "good"],
    "score list": ["score", "--n-best-list", "bad", "list"],
    "parse": ["parse", "bad", "--beam", "1"],
    "prepare": ["prepare", "--train", "bad", "good", "--subwords", "bytes", "--workers", "1"],
    "prepare valid": [
        "prepare", "--train", "good", "copy", "--valid", "good", "bad", "--subwords", "bytes",
        "--workers", "1",
    ],
}  # fmt: skip


@pytest.fixture
def bad(folder: Path) -> None:
    (folder / "bad").write_bytes(BAD)
    for name in ("good", "copy"):
        (folder / name).write_bytes(b"good\nbroken\nother\n")
    (folder / "list").write_bytes(b"0 ||| a\n1 ||| b\n2 ||| c\n")


@fault("T6")
@pytest.mark.parametrize("name", [name for name in COMMANDS if "prepare" not in name])
@pytest.mark.usefixtures("bad")
def test_invalid_utf8_is_reported_once(name: str) -> None:
    result = forked(*COMMANDS[name])
    assert result.code == 0
    warning = "warning: `bad`: 1 line is not UTF-8, first at line:byte 2:4; invalid bytes were"
    # Hypothesis and reference are two files, though here the same.
    assert result.err.decode().count(warning) == (2 if name == "score" else 1)


@fault("T6")
@pytest.mark.usefixtures("bad")
def test_prepare_reports_invalid_utf8() -> None:
    result = forked(*COMMANDS["prepare"])
    assert result.code == 0
    assert "`bad`: 1 line is not UTF-8, the first at line:byte 2:4" in result.err.decode()


@fault("T6")
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("bad")
def test_strict_refuses_invalid_utf8_in_every_command(name: str) -> None:
    result = forked(*COMMANDS[name], "--strict")
    assert result.code == 65
    error, blank, hint = result.err.decode().splitlines()
    assert error == "error: `bad`, line 2, byte 4: not UTF-8"
    command = "iconv -f CP1252 -t UTF-8 bad > bad.utf8"
    assert (blank, hint) == ("", f"hint: {conversion_hint(command)}")
    assert not Path("corpus").exists()


@fault("I5")
def test_broken_file_ends_every_command_with_65(folder: Path, checks) -> None:
    whole = gzip.compress(b"".join(b"%d words\n" % (n * 7919 % 104729) for n in range(1_500)))
    (folder / "bad").write_bytes(whole[: len(whole) // 2])
    for name in ("good", "copy"):
        (folder / name).write_bytes(b"a\n" * 1_500)
    (folder / "list").write_bytes(b"0 ||| a\n")
    for name, arguments in COMMANDS.items():
        beam = ["--beam", "1", "--max-extra-length", "0"] if name in ("translate", "parse") else []
        result = forked(*arguments, *beam)
        assert result.code == 65, name
        message = re.search(r"`bad`: the compressed stream ends in the middle, after line (\d+)",
                         result.err.decode())  # fmt: skip
        assert message, name
        assert int(message[1]) > 400
        if name in ("translate", "parse"):
            assert len(result.lines) == int(message[1])
        checks()


@fault("T7")
def test_no_command_prints_control_characters_of_the_text(folder: Path, checks) -> None:
    text = "".join(f"{control}\n" for control in nasty_lines.CONTROLS.values()).encode()
    (folder / "text").write_bytes(text)
    count = text.count(b"\n")
    (folder / "list").write_bytes(
        b"".join(b"%d ||| %b\n" % item for item in enumerate(text.split(b"\n")[:-1]))
    )
    for arguments in (
        ["translate", "text", "--beam", "1"],
        ["translate", "text", "--beam", "1", "--json"],
        ["parse", "./text", "--beam", "1"],
        ["parse", "./text", "--beam", "1", "--json"],
        ["score", "--n-best-list", "text", "list"],
        ["score", "--pairs", "text", "text", "--json"],
    ):
        result = forked(*arguments)
        assert result.code == 0
        assert len(result.lines) in (count, count + ("--pairs" in arguments))
        # A parsed tree holds the words, and U+0085 may stand in one.
        allowed = {0x0A, 0x1C, 0x1D, 0x1E, 0x1F} if arguments[0] == "parse" else {0x0A}
        shown = set(map(ord, result.out.decode()))
        assert not shown & {*range(0x20), 0x7F} - allowed
        if arguments[0] != "parse":
            assert not shown & {*range(0x80, 0xA0), 0x2028, 0x2029}
        checks()


# polib splits catalogues in this way, and says where entries stand.
TEXT_IS_READ_HERE = {"data/text/lines.py", "documents/catalogue.py"}
NO_TEXT_OF_USERS = {
    # The table of a terminal, help and tables of our own, files of the system, logs of ours.
    "cli/exit_codes.py", "cli/error_reporting.py", "terminal/console.py", "machine.py",
    "inference/cuda/self_test.py",
    "extras/doctor.py", "extras/demo/vocabulary/lexicon.py",
    "extras/parsing/summary.py", "extras/paper_tables/table3.py", "training/loop.py", "cli/app.py",
    "cli/man_pages.py",
}  # fmt: skip


@fault("T4")
def test_only_the_line_reader_splits_text_into_lines() -> None:
    cutters = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        results = [
            node.attr
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Attribute) and node.attr in ("splitlines", "readlines")
        ]
        if results and name not in TEXT_IS_READ_HERE | NO_TEXT_OF_USERS:
            cutters[name] = results
    assert cutters == {}
