"""A text in parts: the parts joined are the translation of the whole text, or an error says why."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from faults.tally import fault

from nmt_cli.cli import main
from nmt_cli.cli.commands.translation.parts import Part
from nmt_cli.model_dir import save_model
from nmt_cli.plurals import counted

LINES = ["abc", "", "b a", "cccc cc", "a", "ab", "cab", "bbb", "acb ac", "c"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    config = byte_config({"search.beam": 3})
    save_model(tmp_path / "model", byte_model(config).state_dict(), config, byte_subwords(), {})
    Path("test.en").write_text("\n".join(LINES) + "\n", "utf-8")
    Path("starts").write_text("".join(f"{'a' * (index % 3)}\n" for index in range(len(LINES))))


def nmt(*arguments: str) -> int:
    return main(["translate", "-q", *arguments])


def translated_in_parts(count: int, *options: str) -> bytes:
    """The joined translation of parts that were translated in any order."""
    for number in reversed(range(1, count + 1)):
        assert nmt("test.en", "--part", f"{number}/{count}", "-o", "out.{part}", *options) == 0
    assert nmt("--join", "out.{part}", "-o", "joined", *options) == 0
    joined = Path("joined").read_bytes()
    for path in [Path("joined"), *Path().glob("out.*")]:
        path.unlink()
    return joined


@pytest.mark.parametrize("count", [1, 2, 3, 10, 13])
def test_parts_joined_are_the_whole(count: int) -> None:
    assert nmt("test.en", "-o", "whole") == 0
    assert translated_in_parts(count) == Path("whole").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ["--json"],
        ["--n-best", "2"],
        ["--n-best", "2", "--json"],
        ["--scores"],
        ["--sample", "--seed", "3"],
        ["--prefix", "starts"],
    ],
    ids=" ".join,
)
def test_parts_keep_indices_samples_and_prefixes_of_the_whole(options: list[str]) -> None:
    """--sample draws by the index of the line in the whole text."""
    assert nmt("test.en", "-o", "whole", *options) == 0
    for count in (3, 4):
        assert translated_in_parts(count, *options) == Path("whole").read_bytes()


def test_flags_and_checks_of_a_part_name_lines_of_the_whole_text(capfd) -> None:
    files = ("--flag-file", "flags", "-o", "out.{part}")
    assert nmt("test.en", "--part", "2/4", "--verify", *files) == 0
    rows = [row.split("\t") for row in Path("flags").read_text().splitlines()[1:]]
    assert rows
    assert all(LINES[int(row[0]) - 1] == row[2] for row in rows)
    assert {int(row[0]) % 4 for row in rows} == {2}


def test_flag_files_are_named_as_the_parts() -> None:
    for number in (1, 2):
        files = ("-o", "out.{part}", "--flag-file", "{part}.flags")
        assert nmt("test.en", "--part", f"{number}/2", "--max-length", "1", *files) == 0
    assert sorted(path.name for path in Path().glob("*.flags")) == ["1-of-2.flags", "2-of-2.flags"]


def test_flag_files_of_parts_are_joined_by_their_lines(capsys) -> None:
    """Parts have other numbers of flagged lines."""
    assert nmt("test.en", "--max-length", "2", "-o", "out", "--flag-file", "whole.tsv") == 0
    for number in (3, 1, 2):
        files = ("-o", "out.{part}", "--flag-file", "flags.{part}.tsv")
        assert nmt("test.en", "--part", f"{number}/3", "--max-length", "2", *files) == 0
    rows = [len(Path(f"flags.{k}-of-3.tsv").read_text().splitlines()) for k in (1, 2, 3)]
    assert len(set(rows)) > 1
    for options in ((), ("--n-best", "2"), ("test.en",)):
        assert nmt(*options, "--join", "flags.{part}.tsv", "-o", "joined.tsv", "--force") == 0
        assert Path("joined.tsv").read_bytes() == Path("whole.tsv").read_bytes()
    Path("flags.2-of-3.tsv").write_bytes(Path("flags.1-of-3.tsv").read_bytes())
    assert nmt("--join", "flags.{part}.tsv", "-o", "joined.tsv", "--force") == 65
    assert "`flags.2-of-3.tsv`, line 2: not a row of part 2 of 3" in capsys.readouterr().err


def test_parts_of_an_n_best_list_are_not_joined_as_lines(capsys) -> None:
    for number in (1, 2):
        assert nmt("test.en", "--part", f"{number}/2", "--n-best", "2", "-o", "out.{part}") == 0
    assert nmt("--join", "out.{part}", "-o", "joined") == 65
    assert "`out.1-of-2` is an n-best list" in capsys.readouterr().err
    assert not Path("joined").exists()


def test_a_part_reads_stdin_and_the_stride_is_that_of_the_lines(monkeypatch, capfdbinary) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(Path("test.en").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert nmt("--part", "3/4", "--json") == 0
    documents = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [document["line"] for document in documents] == [2, 6]
    assert [document["source"] for document in documents] == LINES[2::4]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["-o", "x.{part}.de"], "--output x.{part}.de: `{part}` is the number of", "--part K/N"),
        (["--flag-file", "{part}.tsv"], "--flag-file {part}.tsv: `{part}` is the", "--part K/N"),
        (["--join", "x.{part}", "-o", "y.{part}"], "--output y.{part}: `{part}`", "--part K/N"),
        (["--part", "1/2", "-o", "x.de"], "--output x.de: the name needs `{part}` once",
         "name it 'x.{part}.de'"),
        (["--part", "1/2", "-o", "{part}/x"], "the name needs `{part}` once",
         "name it '{part}/x.{part}'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_outputs_are_named_by_part_if_and_only_if_there_are_parts(
    capsys, arguments: list[str], message: str, hint: str
) -> None:
    before = sorted(Path().iterdir())
    assert nmt("test.en", *arguments) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert message in error
    assert hint in error
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("output", [[], ["-o", "-"], ["-o", "/dev/null"]], ids=" ".join)
def test_a_part_can_be_written_to_stdout_and_devices(capfdbinary, output: list[str]) -> None:
    assert nmt("test.en", "--part", "2/4", *output) == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert len(lines) == (0 if "/dev/null" in output else 3)


@pytest.mark.parametrize(
    ("given", "named"), [([], "TEXT"), (["test.en"], "test.en"), (["my text.en"], "'my text.en'")]
)
def test_hint_of_a_missing_part_is_the_command_that_writes_it(capsys, given, named) -> None:
    shutil.copy("test.en", "my text.en")
    parts(_1_of_3="a\n", _3_of_3="a\n")
    assert nmt(*given, "--join", "out.{part}", "-o", "joined") == 66
    hint = " ".join(capsys.readouterr().err.split())
    command = f"nmt translate {named} --part 2/3 -o 'out.{{part}}'"
    assert f"to write part 2: `{command}`" in hint
    assert nmt(*shlex.split(command)[2:]) == (0 if given else 66)


def test_hint_of_several_missing_parts_writes_the_first(capsys) -> None:
    parts(_3_of_3="a\n")
    assert nmt("test.en", "--join", "out.{part}", "-o", "joined") == 66
    hint = " ".join(capsys.readouterr().err.split())
    assert "to write part 1: `nmt translate test.en --part 1/3 -o" in hint


def test_hint_of_a_missing_part_repeats_the_options(capsys) -> None:
    parts(_1_of_3="a\n", _3_of_3="a\n")
    options = ["--json", "--n-best", "2"]
    assert nmt("test.en", "--join", "out.{part}", "-o", "joined", "--force", *options) == 66
    hint = " ".join(capsys.readouterr().err.split())
    command = hint.partition("to write part 2: `")[2].partition("`")[0]
    assert command.startswith("nmt translate test.en --part 2/3 -o 'out.{part}' ")
    words = shlex.split(command)
    assert sorted(words[7:]) == sorted(options)


def test_debug_is_no_option_to_repeat() -> None:
    assert nmt("test.en", "-o", "whole", "--debug") == 0


def test_sizes_of_parts_add_up() -> None:
    for lines in range(12):
        sizes = [Part(number, 5).size(lines) for number in range(1, 6)]
        assert sizes == [len(range(number, lines, 5)) for number in range(5)]


def parts(**texts: str) -> None:
    for name, text in texts.items():
        Path("out." + name.strip("_").replace("_", "-")).write_text(text)


@fault("I15")
@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        ({}, 66, "no part in `.`"),
        ({"_1_of_3": "a\n", "_3_of_3": "a\n"}, 66, "of 3 parts, 2 is missing"),
        ({"_3_of_3": "a\n"}, 66, "of 3 parts, 1, 2 are missing"),
        ({"_1_of_1": "a\n", "_1_of_2": "a\n", "_2_of_2": ""}, 66, "parts of 1 and of 2"),
        (
            {"_1_of_2": "a\n", "_2_of_2": "a\na\n"},
            65,
            "ends after 1 line, but `out.2-of-2` goes on",
        ),
        ({"_1_of_2": "a\na\na\n", "_2_of_2": "a\n"}, 65, "`out.2-of-2` ends after 1 line"),
        ({"_1_of_1": "a\n", "_3_of_2": "a\n"}, 65, "`out.3-of-2` is named like a part that"),
        # No output has such a name.
        ({"_1_of_1": "a\n", "_01_of_1": "a\n", "_1_of_1.old": "a\n"}, 0, ""),
        ({"_1_of_2": "a\n", "_2_of_2": "a\n"}, 0, ""),
        ({"_1_of_2": "a\na\n", "_2_of_2": "a\n"}, 0, ""),
    ],
)
def test_missing_parts_and_lines_are_noticed(capsys, files, code: int, message: str) -> None:
    parts(**files)
    assert nmt("--join", "out.{part}", "-o", "joined") == code
    assert message in capsys.readouterr().err
    assert Path("joined").exists() == (code == 0)


@fault("I15")
@pytest.mark.parametrize(
    ("texts", "options"),
    [
        # All parts are one line shorter, or only one is, so that the lengths still fit.
        (("a\nd\n", "b\ne\n", "c\n"), []),
        (('{"line": 0}\n', '{"line": 1}\n', '{"line": 2}\n'), ["--json"]),
        ((2 * "0 ||| a ||| 0.1\n", 2 * "1 ||| a ||| 0.1\n", ""), ["--n-best", "2"]),
    ],
)
def test_parts_are_compared_with_the_text_where_it_is_named(capsys, texts, options) -> None:
    parts(**{f"_{number}_of_3": text for number, text in enumerate(texts, 1)})
    arguments = ["--join", "out.{part}", "-o", "joined", *options]
    lines = 2 if "--n-best" in options else sum(text.count("\n") for text in texts)
    for others in (lines + 1, lines - 1):
        Path("text").write_text(others * "a\n")
        assert nmt("text", *arguments) == 65
        message = f"`text` has {counted(others, 'line')}, and the parts are of {lines}"
        assert message in " ".join(capsys.readouterr().err.split())
        assert not Path("joined").exists()
    Path("text").write_text(lines * "a\n")
    assert nmt("text", *arguments) == 0
    assert Path("joined").exists()
    assert nmt("no-text", *arguments, "--force") == 66


@fault("I15")
@pytest.mark.parametrize(
    ("second", "options", "message"),
    [
        ('{"line": 3}\n', ["--json"], "no translation of line 2"),
        ('{"line": 0}\n', ["--json"], "line 1: a translation of line 1, which is in part 1 of 2"),
        ('{"line": 1}\n' * 2, ["--json"], "line 2 twice"),
        ("0 ||| a ||| 0.1\n", ["--n-best", "2"], "line 1: a translation of line 1"),
        ("b\n", ["--json"], "`out.2-of-2`, line 1: not a line of nmt translate --json"),
        ("b\n", ["--n-best", "2"], "line 1: not a line of an n-best list"),
    ],
)
def test_missing_and_foreign_records_are_noticed(capsys, second, options, message) -> None:
    first = '{"line": 0}\n' if "--json" in options else "0 ||| a ||| 0.1\n"
    parts(_1_of_2=first, _2_of_2=second)
    assert nmt("--join", "out.{part}", "-o", "joined", *options) == 65
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--part", "0/3"], "--part 0/3: not a part"),
        (["--part", "4/3"], "not a part"),
        (["--part", "1"], "not a part"),
        (["--part", "-1/3"], "not a part"),
        (["--join", "out"], "the name needs `{part}` once"),
        (["--document", "page.html", "--part", "1/2"], "--part: not for documents"),
    ],
)
def test_wrong_parts_are_refused(capsys, arguments: list[str], message: str) -> None:
    Path("page.html").write_text("<p>a</p>")
    assert nmt(*arguments) == 2
    assert message in capsys.readouterr().err


def test_joining_overwrites_no_part_and_no_other_file() -> None:
    parts(_1_of_1="a\n")
    Path("mine").write_text("mine")
    assert nmt("--join", "out.{part}", "-o", "out.1-of-1", "--force") == 73
    assert nmt("--join", "out.{part}", "-o", "mine") == 73
    assert nmt("--join", "out.{part}", "-o", "mine", "--force") == 0
    assert Path("mine").read_text() == "a\n"
