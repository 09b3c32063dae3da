"""Flags of translations as `nmt translate` shows them."""

import json
from pathlib import Path

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.cli import main
from nmt_cli.model_dir import save_model

# This model copies nothing and repeats one letter.
LINES = ["The first line has 37 words.", "", "Another line."]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = byte_config({"search.beam": 1, "search.max_extra_length": 20})
    model = byte_model(config)
    with torch.no_grad():
        model.output_bias[3] -= 50.0
        model.output_bias[4 + ord("x")] += 50.0
    save_model(tmp_path / "model", model.state_dict(), config, byte_subwords(), {})
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in LINES))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def translate(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> tuple[int, str, str]:
    code = main(["translate", "text", "--threads", "1", *arguments])
    captured = capfdbinary.readouterr()
    return code, captured.out.decode(), captured.err.decode()


def test_flags_are_counted_on_stderr(folder: Path, capfdbinary) -> None:
    code, out, err = translate(capfdbinary, "--fail-on", "copied")
    assert code == 0
    assert len(out.splitlines()) == 3
    assert (
        "2 doubtful lines: 2 at_limit, 2 repetition, 1 number_mismatch (--flag-file lists them)"
    ) in err.replace("\n", " ")
    _, _, quiet = translate(capfdbinary, "--quiet", "--fail-on", "copied")
    assert "doubtful" not in quiet
    assert translate(capfdbinary)[2] == ""


def test_flag_file_has_a_row_for_each_flagged_line(folder: Path, capfdbinary) -> None:
    _, out, _ = translate(capfdbinary, "--flag-file", "flags.tsv")
    rows = [line.split("\t") for line in Path("flags.tsv").read_text().splitlines()]
    texts = [" ".join(line.split()) for line in out.splitlines()]
    assert rows == [
        ["line", "flags", "source", "translation"],
        ["1", "at_limit,repetition,number_mismatch", LINES[0], texts[0]],
        ["2", "empty", "", ""],
        ["3", "at_limit,repetition", LINES[2], texts[2]],
    ]


@pytest.mark.parametrize(
    ("flags", "code", "part"),
    [
        (["number_mismatch"], 3, "1 line with a flag; the first is line 1: number_mismatch"),
        (["copied", "repetition"], 3, "2 lines with a flag; the first is line 1: repetition"),
        (["copied"], 0, ""),
    ],
)
def test_fail_on_ends_with_3_after_all_lines_are_written(
    folder: Path, capfdbinary, flags: list[str], code: int, part: str
) -> None:
    options = [option for flag in flags for option in ("--fail-on", flag)]
    found, _, err = translate(capfdbinary, "-o", "out", "--flag-file", "tsv", *options)
    assert found == code
    assert part in err.replace("\n", " ")
    assert len(Path("out").read_text().splitlines()) == 3
    assert len(Path("tsv").read_text().splitlines()) == 4


def test_unknown_flag_is_refused_with_the_nearest_one(folder: Path, capfdbinary) -> None:
    code, out, err = translate(capfdbinary, "--fail-on", "number_mismatsch")
    assert (code, out) == (2, "")
    assert "did you mean `number_mismatch`?" in err


def test_unknown_flags_are_listed_once_and_commas_are_explained(folder: Path, capfdbinary) -> None:
    _, _, err = translate(capfdbinary, "--fail-on", "everything")
    assert err.count("number_mismatch") == 1
    code, out, err = translate(capfdbinary, "--fail-on", "copied,repetition")
    assert (code, out) == (2, "")
    assert "repeat the option: --fail-on copied --fail-on repetition" in err


@pytest.mark.parametrize("name", ["out.gz", "out.de.XZ"])
def test_output_named_like_a_compressed_file_is_refused(
    folder: Path, capfdbinary, name: str
) -> None:
    code, out, err = translate(capfdbinary, "-o", name)
    assert (code, out) == (2, "")
    assert "plain text" in err
    assert not Path(name).exists()


def test_output_and_flag_file_may_not_be_the_same(folder: Path, capfdbinary) -> None:
    code, _, err = translate(capfdbinary, "-o", "same", "--flag-file", "./same")
    assert code == 2
    assert "same file" in err


def test_missing_statistics_are_said_once_where_flags_are_asked_for(
    folder: Path, capfdbinary
) -> None:
    _, _, plain = translate(capfdbinary)
    assert "no statistics" not in plain
    _, _, err = translate(capfdbinary, "--flag-file", "flags.tsv")
    assert err.count("no statistics") == 1


def test_retry_leaves_fewer_flags(folder: Path, capfdbinary) -> None:
    found = []
    for options in ([], ["--retry"]):
        _, out, _ = translate(capfdbinary, "--json", *options)
        found.append([len(json.loads(line)["flags"]) for line in out.splitlines()])
    before, after = found
    assert all(own <= earlier for own, earlier in zip(after, before, strict=True))
    assert sum(after) < sum(before)


def test_input_with_subword_marks_is_warned_of_before_the_work(folder: Path, capfdbinary) -> None:
    Path("text").write_text("the sm@@ all dog\nno mark\nan@@ other one\n")
    code, out, err = translate(capfdbinary)
    assert code == 0
    assert "the text has marks of subwords" in err.replace("\n", " ")
    assert "first on line 1" in err.replace("\n", " ")
    assert len(out.splitlines()) == 3
