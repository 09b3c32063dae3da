"""`nmt prepare` as it is typed: flags, nmt.toml, the tables, JSON, exit codes."""

import csv
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.cli.commands import prepare
from nmt_cli.config import schema
from nmt_cli.data.cleaning.findings import Finding
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.storage.locks import locked, only_writer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with small text files in it."""
    monkeypatch.chdir(tmp_path)
    chooser = random.Random(1)
    words = ["red", "green", "blue", "house", "tree", "stone", "sees", "likes", "the"]
    lines = [" ".join(chooser.choices(words, k=6)) for _ in range(200)]
    for name, part in (("train", lines), ("valid", lines[:2] + ["the tree"] * 3), ("more", ["a"])):
        for side, change in (("en", str), ("de", str.upper)):
            text = "".join(f"{change(line)}\n" for line in part)
            (tmp_path / f"{name}.{side}").write_text(text, "utf-8")
    tsv = "".join(f"{line}\t{line.upper()}\n" for line in lines)
    (tmp_path / "pairs.tsv").write_text(tsv, "utf-8")
    return tmp_path


SMALL = ("--vocab-size", "60", "--workers", "1")
TRAIN = ("--train", "train.en", "train.de")


def test_prepare_options_become_settings_of_the_corpus(folder, capsys):
    flags = (*TRAIN, "--train", "more.en", "more.de", "--train-tsv", "pairs.tsv", *SMALL)
    more = ("--valid", "valid.en", "valid.de", "--subwords", "wordpiece", "--vocab-size", "50",
            "--separate", "--normalize", "--src-lang", "en", "--tgt-lang", "de",
            "--set", "data.max_length=99", "--out", "elsewhere", "--preset", "tiny")  # fmt: skip
    assert main(["prepare", *flags, *more]) == 0
    corpus = Corpus.open(folder / "elsewhere")
    data = corpus.config.data
    assert data.train == (("train.en", "train.de"), ("more.en", "more.de"), ("pairs.tsv",))
    assert data.valid == ("valid.en", "valid.de")
    assert (data.subwords, data.vocab_size, data.joint) == ("wordpiece", 50, False)
    assert (data.normalize, data.max_length) == (True, 99)
    assert corpus.config.languages == schema.LanguagesConfig("en", "de")
    assert corpus.config.train.preset == "tiny"
    out, err = capsys.readouterr()
    assert out == ""
    following = "nmt train --preset tiny --corpus elsewhere --set model.tie_embeddings=target"
    assert following in err


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (("3", "17", "20", "40"), "3, 17, 20, 40"),
        (("3", "1000000", "1000001", "1000002"), "3, 1000000, 1000001, ..."),
        (("a.en:3", "a.en:17", "b.en:4"), "a.en:3, 17, b.en:4"),
        (("corpus-of-laws.en:3", "corpus-of-laws.en:17"), "corpus-of-laws.en:3, 17"),
        (("corpus-of-laws.en:3", "more-laws.en:1000000"), "corpus-of-laws.en:3, ..."),
    ],
)
def test_line_numbers_of_a_finding_name_each_file_once(lines: tuple[str, ...], shown: str) -> None:
    finding = Finding("empty", len(lines), "dropped", lines)
    assert prepare.shown_lines(finding) == shown


def test_ranges_of_lines_that_are_not_shown_are_named_by_dots() -> None:
    ranges = ("corpus-of-laws.en:1104-1350", "corpus-of-laws.en:2104-2350")
    for lines, more in ((ranges, ", ..."), (ranges[:1], "")):
        finding = Finding("shifted", 247 * len(lines), "kept", lines)
        assert prepare.shown_lines(finding) == f"corpus-of-laws.en:1104-1350{more}"


def test_prepare_ends_with_summary_tables(folder, capsys):
    assert main(["prepare", *TRAIN, "--train-tsv", "pairs.tsv", *SMALL,
                 "--valid", "valid.en", "valid.de"]) == 0  # fmt: skip
    out, err = capsys.readouterr()
    rows = {" ".join(line.split()) for line in err.splitlines()}
    corpus = Corpus.open(folder / "corpus")
    tokens = f"{corpus.train.src_lengths.sum():,}"
    assert out == ""
    assert "pairs read 400" in rows
    assert any(row.startswith("same pair before 200 dropped pairs.tsv:1") for row in rows)
    assert "pairs kept 200 50.0%" in rows
    assert "validation pairs 5" in rows
    assert not any(row.startswith("test pairs") for row in rows)
    fertility = (corpus.train.src_lengths.sum() - 200) / 1_200
    assert f"source {tokens} 60 0 {fertility:.2f}" in rows
    overlap = "warning: 2 of 5 validation sentences also occur in the training text; "
    assert f"{overlap}to drop these training pairs: --set data.drop_held_out=true" in rows
    assert "next: nmt train" in rows


@pytest.mark.parametrize("drops", [["--set", "data.drop_held_out=true"], ["--clean"]])
def test_dropped_copies_of_held_out_text_are_no_warning(folder, capsys, drops):
    for _ in range(2):
        assert main(["prepare", *TRAIN, *SMALL, *drops, "--valid", "valid.en", "valid.de"]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert "2 training pairs were dropped as copies of held-out text (2 of 5 validation" in said
        assert "warning" not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--drop", "notatranslation"], "has `notatranslation`, which is not one kind of noise"),
        (["--drop", "tags on one side only"], "has `tags on one side only`, which is not one kind"),
        (["--drop", "a side"], "hint: one of `a side in a third language`, `a side cut short"),
        (["--drop", ""], "hint: one of `not UTF-8`, "),
        (["--drop", "numbers", "--no-clean"], "--no-clean does not look for"),
    ],
)
def test_kinds_that_cannot_be_dropped_are_refused(folder, capsys, options, said):
    assert main(["prepare", *TRAIN, *SMALL, *options]) == 2
    assert said in capsys.readouterr().err
    assert not Path("corpus").exists()


def test_kinds_to_drop_are_options(folder, capsys):
    lines = Path("train.en").read_text().splitlines(keepends=True)
    targets = Path("train.de").read_text().splitlines(keepends=True)
    Path("train.de").write_text("".join(lines[:20] + targets[20:]))
    for options, action in (([], "kept"), (["--drop", "the same text"], "dropped")):
        assert main(["prepare", *TRAIN, *SMALL, *options, "--force"]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert re.search(rf"the same text on both sides \d+ {action}", said), said


def test_the_hint_of_a_missing_file_names_its_folder_only_once(folder, capsys):
    for name, hint in (("x", f"check the path; the current directory is `{folder}`"),
                       (str(folder / "x"), "check the path")):  # fmt: skip
        assert main(["prepare", "--train", f"{name}.en", f"{name}.de"]) == 66
        assert capsys.readouterr().err.endswith(f"\n\nhint: {hint}\n")


def test_the_summary_counts_the_pairs_of_a_test_file(folder, capsys):
    test = ("--test", "valid.en", "valid.de")
    for _ in range(2):
        assert main(["prepare", *TRAIN, *SMALL, *test]) == 0
        rows = {" ".join(line.split()) for line in capsys.readouterr().err.splitlines()}
        assert "test pairs 5" in rows
    assert main(["prepare", *TRAIN, *SMALL, *test, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["test"], values["test_split"]) == (5, 0)
    assert main(["prepare", *TRAIN, *SMALL, "--test-split", "30", "--force"]) == 0
    rows = {" ".join(line.split()) for line in capsys.readouterr().err.splitlines()}
    assert "test pairs 30 15.0%" in rows


def test_prepare_without_options_reuses_its_corpus(folder, capsys):
    (folder / "nmt.toml").write_text(
        '[data]\ntrain = [["train.en", "train.de"]]\nvocab_size = 60\n[train]\npreset = "tiny"\n'
    )
    assert main(["prepare"]) == 0
    first = capsys.readouterr().err
    assert main(["prepare"]) == 0
    again = capsys.readouterr().err
    assert "wrote corpus" in first
    assert "already prepared" in again
    assert main(["prepare", "--vocab-size", "50"]) == 73
    refusal = capsys.readouterr().err
    assert "data.vocab_size was 60, is 50" in refusal
    assert main(["prepare", "--vocab-size", "50", "--force", "--quiet"]) == 0
    assert capsys.readouterr().err.startswith("warning: there is no validation text")
    valid = ("--valid", "valid.en", "valid.de", "--out", "other")
    assert main(["prepare", "--vocab-size", "60", *valid, "--quiet"]) == 0
    assert capsys.readouterr().err.count("\n") == 1
    assert Corpus.open(folder / "corpus").subwords.src_size == 50


def test_prepare_reuses_its_corpus_from_another_directory(folder, capsys, monkeypatch):
    """The paths of the text differ, the text does not."""
    assert main(["prepare", *TRAIN, *SMALL, "--quiet"]) == 0
    capsys.readouterr()
    inside = folder / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    moved = [part if part.startswith("--") else f"../{part}" for part in TRAIN]
    assert main(["prepare", *moved, *SMALL, "--out", "../corpus"]) == 0
    assert "already prepared" in capsys.readouterr().err
    (folder / "train.en").write_text((folder / "train.en").read_text().upper())
    assert main(["prepare", *moved, *SMALL, "--out", "../corpus"]) == 73
    error = capsys.readouterr().err.split("differently: ")[1].splitlines()[0]
    assert error == "the text of `../train.en` has changed"


def test_prepare_json_has_the_figures_of_the_table(folder, capsys):
    assert main(["prepare", *TRAIN, *SMALL, "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["path"] == "corpus"
    assert (document["schema"], document["reused"]) == (1, False)
    assert (document["read"], document["kept"], document["dropped"]) == (200, 200, {})
    assert document["src"]["tokens"] == len(Corpus.open(folder / "corpus").train.src.ids)
    assert document["src"]["fertility"] > 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, ("no training files", "nmt init")),
        (("--train", "none.en", "more.de"), 66, ("none.en", "No such file")),
        (("--train", ".", "more.de"), 66, ("is a directory",)),
        (("--train", "train.en", "more.de"), 65, ("200 lines", "1$", "line n of one file")),
        (("--train-tsv", "train.en"), 65, ("line 1: 1 column",)),
        ((*TRAIN, "--vocab-size", "5000"), 65, ("the largest is ", "--vocab-size ")),
        ((*TRAIN, "--subwords", "words"), 2, ("words", "bpe")),
        ((*TRAIN, "--set", "data.vocabsize=5"), 78, ("did you mean `data.vocab_size`",)),
    ],
)
def test_prepare_bad_input_has_its_exit_code_and_no_output(folder, capsys, arguments, code, words):
    before = sorted(folder.iterdir())
    assert main(["prepare", *arguments]) == code
    message = capsys.readouterr().err
    for word in words:
        assert word.rstrip("$") in message
    assert "Traceback" not in message
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("done", ["dropped", "repaired"])
def test_a_list_of_pairs_does_not_replace_another_file(folder, capsys, done):
    (folder / "notes.tsv").write_text("mine\n")
    command = ["prepare", *TRAIN, *SMALL, f"--{done}", "notes.tsv"]
    for force in ([], ["--force"]):
        assert main([*command, *force]) == 73
        error = f"`notes.tsv` exists already, and is not a list of {done} pairs that nmt wrote"
        assert error in capsys.readouterr().err
        assert (folder / "notes.tsv").read_text() == "mine\n"
        assert not (folder / "corpus").exists()


@pytest.mark.parametrize("done", ["dropped", "repaired"])
def test_a_list_of_pairs_is_replaced_with_force(folder, capsys, done):
    command = ["prepare", *TRAIN, *SMALL, f"--{done}", "list.tsv"]
    assert main(command) == 0
    written = (folder / "list.tsv").read_text()
    (folder / "list.tsv").write_text(written + "of an earlier run\n")
    assert main([*command, "--out", "other"]) == 73
    assert f"use --force to replace it, or another --{done}" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert (folder / "list.tsv").read_text() == written


def test_several_outputs_that_exist_have_one_hint(folder, capsys):
    command = ["prepare", *TRAIN, *SMALL, "--dropped", "list.tsv"]
    assert main(command) == 0
    capsys.readouterr()
    assert main([*command, "--set", "data.seed=7"]) == 73
    err = " ".join(capsys.readouterr().err.split())
    assert "use --force to replace them, or another --dropped and another --out" in err
    assert err.count("--force") == 1


def test_the_lists_of_pairs_are_two_files_of_their_own_kind(folder, capsys):
    command = ["prepare", *TRAIN, *SMALL]
    assert main([*command, "--dropped", "a.tsv", "--repaired", "./a.tsv"]) == 2
    assert "--dropped and --repaired name the same file" in capsys.readouterr().err
    assert not (folder / "corpus").exists()
    assert main([*command, "--dropped", "a.tsv", "--repaired", "b.tsv"]) == 0
    written = [(folder / name).read_bytes() for name in ("a.tsv", "b.tsv")]
    for option, name, other in (("--dropped", "b.tsv", "dropped"), ("--repaired", "a.tsv", "")):
        assert main([*command, "--force", option, name]) == 73
        assert f"is not a list of {other}" in capsys.readouterr().err
    assert [(folder / name).read_bytes() for name in ("a.tsv", "b.tsv")] == written


def test_repaired_pairs_are_counted_or_said_not_to_be_written(folder, capsys):
    lines = (folder / "train.en").read_text("utf-8").splitlines()
    lines[3:7] = ["red &amp; <b>blue</b>", "the &lt; tree", "&amp; house", "na\u03b7 tree"]
    (folder / "train.en").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    command = ["prepare", *TRAIN, *SMALL, "--repaired"]
    assert main([*command, "a.tsv"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "wrote a.tsv: 3 repaired pairs, and 1 with letters of another script, not" in said
    assert main([*command, "b.tsv"]) == 0
    said = capsys.readouterr().err
    assert "warning: `b.tsv` was not written: nothing was done; add --force" in said
    assert "wrote b.tsv" not in said
    assert not (folder / "b.tsv").exists()


def test_repaired_pairs_are_written_to_a_pipe(folder):
    lines = (folder / "train.en").read_text("utf-8").splitlines()
    (folder / "train.en").write_text("".join(f"&lt; {line}\n" for line in lines), "utf-8")
    command = [sys.executable, "-m", "nmt_cli", "prepare", *TRAIN, *SMALL, "--quiet"]
    done = subprocess.run(
        [*command, "--repaired", "/dev/stdout"], capture_output=True, text=True, check=True,
        timeout=100,
    )  # fmt: skip
    rows = done.stdout.splitlines()
    assert len(rows) == 201
    assert rows[0].startswith("file\tline\trepairs\t")
    assert rows[200].startswith("train.en\t200\tHTML entities\t&lt; ")


@pytest.mark.parametrize("options", [[], ["--valid-split", "100"]])
def test_dropped_pairs_are_listed_where_none_is_left(folder, capsys, options):
    (folder / "train.de").write_text("TODO\n" * 200)
    command = ["prepare", *TRAIN, *SMALL, *options, "--clean", "--dropped", "a.tsv"]
    assert main(command) == 65
    err = " ".join(capsys.readouterr().err.split())
    assert "no training pair is left: 200 same text beside unrelated lines" in err
    assert "`a.tsv` lists the dropped pairs" in err
    assert len((folder / "a.tsv").read_text("utf-8").splitlines()) == 201
    assert not (folder / "corpus").exists()


def test_an_error_of_too_few_pairs_counts_and_lists_the_dropped_ones(folder, capsys):
    for name in ("train.en", "train.de"):
        lines = (folder / name).read_text("utf-8").splitlines()
        (folder / name).write_text("".join(f"{line}\n" for line in [*lines[:60], *lines[:1] * 140]))
    command = ["prepare", *TRAIN, *SMALL, "--valid-split", "100", "--dropped", "a.tsv"]
    assert main(command) == 65
    err = " ".join(capsys.readouterr().err.split())
    assert "a validation set of 100 pairs is too large for 60 training pairs" in err
    assert "only 60 of 200 pairs were kept (30.0%); dropped were 140 same pair before" in err
    assert "`a.tsv` lists the dropped pairs" in err
    assert len((folder / "a.tsv").read_text("utf-8").splitlines()) == 141


def test_prepare_without_project_file_reports_default_settings(folder, capsys):
    news = "no nmt.toml was found, so the settings are the defaults (preset base, vocabulary 37,000"
    # The text is too small for them: it is said all the same, with what would fit.
    assert main(["prepare", *TRAIN]) == 65
    err = capsys.readouterr().err
    (line,) = [line for line in err.splitlines() if "nmt.toml" in line]
    assert line == f"{news}); `nmt init` chooses them for this text"
    assert "--vocab-size auto, which chooses " in err
    for more in (["--quiet"], ["--preset", "tiny"], ["--vocab-size", "5000"],
                 ["--set", "data.vocab_size=5000"]):  # fmt: skip
        main(["prepare", *TRAIN, "--dropped", "no/folder", *more])
        assert "nmt.toml was found" not in capsys.readouterr().err
    (folder / "nmt.toml").touch()
    main(["prepare", *TRAIN])
    assert "nmt.toml was found" not in capsys.readouterr().err


def make_latin1(path: Path, lines: int) -> None:
    """The file with so many lines in Latin-1; the others stay as they are."""
    text = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"\xe9t\xe9 " + line for line in text[:lines]] + text[lines:]))


@pytest.mark.parametrize("more", [(), ("--clean", "--valid-split", "20"), ("--no-clean",)])
def test_prepare_refuses_another_encoding(folder, capsys, more):
    make_latin1(folder / "train.de", 150)
    assert main(["prepare", *TRAIN, *SMALL, *more]) == 65
    err = capsys.readouterr().err
    assert "error: `train.de`: 150 of 200 lines are not UTF-8, the first at line:byte 1:1;" in err
    assert "hint: convert it, and look at its letters (CP1252 is Western European, CP1250" in err
    assert ", for example: iconv -f CP1252 -t UTF-8 train.de > train.utf8.de" in err
    assert not (folder / "corpus").exists()
    assert main(["init", *TRAIN, "--preset", "tiny"]) == 65
    assert "`train.de`: 150 of 200 lines are not UTF-8" in capsys.readouterr().err
    assert not (folder / "nmt.toml").exists()


def test_a_random_validation_split_is_reported_as_such(folder, capsys):
    for name in ("train.en", "train.de"):
        shutil.copy(folder / name, folder / f"v.{name[-2:]}")
    for options in (["--valid-split", "20"], ["--valid", "v.en", "v.de"]):
        assert main(["prepare", *TRAIN, *SMALL, *options, "--force"]) == 0
        said = " ".join(capsys.readouterr().err.split())
        note = "scores on them are higher than those on new text"
        assert (note in said) is (options[0] == "--valid-split")


def test_hints_repeat_the_arguments_of_the_command(folder, capsys, monkeypatch):
    """Without them, the command of the hint would end: no training files are given."""
    # Some pairs are copied, which is suspicious.
    lines = (folder / "train.de").read_text("utf-8").splitlines()
    lines[:30] = (folder / "train.en").read_text("utf-8").splitlines()[:30]
    (folder / "train.de").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    arguments = ["prepare", *TRAIN, *SMALL, "--no-clean", "--dropped", "a.tsv"]
    arguments += ["--repaired", "b.tsv"]
    monkeypatch.setattr("sys.argv", ["nmt", *arguments])
    assert main(arguments) == 0
    typed = "nmt prepare --train train.en train.de --vocab-size 60 --workers 1"
    said = " ".join(capsys.readouterr().err.split())
    lists = "--no-clean --dropped a.tsv --repaired b.tsv"
    assert f"to set training pairs apart: {typed} {lists} --force --valid-split " in said
    arguments = ["prepare", *TRAIN, *SMALL, "--force"]
    monkeypatch.setattr("sys.argv", ["nmt", *arguments])
    assert main(arguments) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert f"`{typed} --clean --force --dropped FILE`" in said
    assert main([*shlex.split(typed)[1:], "--clean", "--force", "--dropped", "FILE"]) == 0


def test_another_encoding_late_in_a_file_is_refused(folder, capsys, monkeypatch):
    monkeypatch.setattr("nmt_cli.data.preparation.encoding_check.LINES_CHECKED", 10)
    text = (folder / "pairs.tsv").read_bytes().splitlines(keepends=True)
    (folder / "pairs.tsv").write_bytes(b"".join(text[:100] + [b"\xe9" + row for row in text[100:]]))
    assert main(["prepare", "--train-tsv", "pairs.tsv", *SMALL]) == 65
    assert "`pairs.tsv`: 100 of 200 lines are not UTF-8" in capsys.readouterr().err


def test_few_lines_in_another_encoding_are_a_warning_with_command(folder, capsys):
    make_latin1(folder / "train.de", 19)
    assert main(["prepare", *TRAIN, *SMALL]) == 0
    err = capsys.readouterr().err
    assert "warning: `train.de`: 19 lines are not UTF-8, the first at line:byte 1:1;" in err
    assert "; convert it, and look at its letters (CP1252 is Western European, CP1250" in err
    assert ", for example: iconv -f CP1252 -t UTF-8 train.de >" in err


@pytest.fixture
def trained(folder, capsys):
    """A corpus, and beside it what `nmt train` first writes into a model directory."""
    assert main(["prepare", *TRAIN, *SMALL]) == 0
    capsys.readouterr()
    shutil.copytree(folder / "corpus" / "subwords", folder / "model" / "subwords")
    (folder / "model" / "manifest.json").write_text("{}", "utf-8")
    (folder / "model" / "config.toml").write_text(schema.dump(schema.Config()), "utf-8")
    return folder


def test_a_corpus_that_a_run_uses_is_not_replaced(trained, capsys):
    before = (trained / "corpus" / "corpus.json").read_bytes()
    with locked(trained / "model"):
        assert main(["prepare", *TRAIN, *SMALL, "--force"]) == 75
        err = capsys.readouterr().err
        assert "error: `corpus` is in use: `model` is being trained on it by process " in err
        assert "--out" in err
        assert main(["prepare", *TRAIN, *SMALL, "--force", "--out", "other"]) == 0
    assert (trained / "corpus" / "corpus.json").read_bytes() == before


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_second_preparation_at_the_same_moment_leaves_nothing(folder, capsys, force):
    before = set(folder.iterdir())
    lists = ("--dropped", "dropped.tsv")
    with only_writer(folder / "corpus", "nmt prepare"):
        assert main(["prepare", *TRAIN, *SMALL, *lists, *force, "--out", "./corpus"]) == 75
    message = "error: another `nmt prepare` is writing `corpus`: process "
    assert message in capsys.readouterr().err
    assert set(folder.iterdir()) == before
    assert main(["prepare", *TRAIN, *SMALL, *lists]) == 0
    assert set(folder.iterdir()) == before | {folder / "corpus", folder / "dropped.tsv"}


@pytest.mark.parametrize("out", ["corpus", "new/corpus", "new/er/corpus"])
def test_second_preparation_is_refused_before_text_is_read(folder, capsys, monkeypatch, out):
    """The first one is still checking the text, and has made no folder yet."""
    before = set(folder.iterdir())
    read = []

    def check_languages(config):
        read.append(config)
        if len(read) == 1:
            assert main(["prepare", *TRAIN, *SMALL, "--out", out]) == 75
            assert f"another `nmt prepare` is writing `{out}`: process " in capsys.readouterr().err
            assert main(["prepare", *TRAIN, *SMALL, "--out", f"{out}-2"]) == 0
        return []

    monkeypatch.setattr("nmt_cli.data.preparation.prepare.check_languages", check_languages)
    assert main(["prepare", *TRAIN, *SMALL, "--out", out]) == 0
    assert len(read) == 2
    new = {"new"} if out.startswith("new") else {"corpus", "corpus-2"}
    assert {path.name for path in set(folder.iterdir()) - before} == new
    assert {path.name for path in (folder / out).parent.glob(".*")} == set()


def test_corpus_that_is_only_checked_is_not_refused_while_another_process_replaces_it(folder):
    assert main(["prepare", *TRAIN, *SMALL]) == 0
    with only_writer(folder / "corpus", "nmt prepare"):
        assert main(["prepare", *TRAIN, *SMALL]) == 0


def test_all_runs_that_use_a_corpus_are_named_before_it_is_replaced(trained, capsys):
    for name in ("runs/a", "runs/b", "average"):
        shutil.copytree(trained / "model", trained / name)
    for name in ("runs/a", "runs/b"):
        (trained / name / "log.jsonl").touch()
    with locked(trained / "runs" / "b"):
        assert main(["prepare", *TRAIN, *SMALL, "--force"]) == 75
    assert "`runs/b` is being trained on it by process " in capsys.readouterr().err
    assert main(["prepare", *TRAIN, *SMALL, "--force"]) == 0
    assert (
        "warning: `model`, `runs/a` and `runs/b` were trained on `corpus`, which is replaced"
        in capsys.readouterr().err
    )
    for number in range(3):
        shutil.copytree(trained / "runs" / "b", trained / "runs" / f"c{number}")
    assert main(["prepare", *TRAIN, *SMALL, "--force"]) == 0
    assert "`model`, `runs/a`, `runs/b` and 3 more were trained on" in capsys.readouterr().err
    shutil.rmtree(trained / "model")
    shutil.rmtree(trained / "runs")
    assert main(["prepare", *TRAIN, *SMALL, "--force"]) == 0
    assert "trained on" not in capsys.readouterr().err


def test_replacing_the_corpus_of_a_model_is_warned_of(trained, capsys):
    warning = "warning: `model` was trained on `corpus`, which is replaced: unless the new corpus"
    # Not if nothing is replaced, because the list would overwrite an input file.
    for option in ("--dropped", "--repaired"):
        assert main(["prepare", *TRAIN, "--vocab-size", "50", "--force", option, TRAIN[1]]) == 73
        err = capsys.readouterr().err
        assert f"`{TRAIN[1]}` is an input file" in err
        assert "warning" not in err
    assert main(["prepare", *TRAIN, "--vocab-size", "50", "--force"]) == 0
    err = capsys.readouterr().err
    assert err.count(warning) == 1
    assert err.endswith("nmt train --out model-2\n")
    assert main(["prepare", *TRAIN, "--vocab-size", "40", "--out", "other"]) == 0
    assert capsys.readouterr().err.endswith("nmt train --corpus other --out model-2\n")
    # The model was trained on another one than the corpus which is there now.
    assert main(["prepare", *TRAIN, *SMALL, "--force"]) == 0
    assert warning not in capsys.readouterr().err


@pytest.mark.parametrize(("separator", "name"), [(",", "commas"), (";", "semicolons")])
def test_values_with_another_separator_are_refused_with_the_conversion(
    folder, capsys, separator, name
):
    with (folder / "my company.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(f"red, {n}; house", f"ROT é, {n}; HAUS") for n in range(200)]
        csv.writer(file, delimiter=separator).writerows(rows)
    init = ["init", "--src-lang", "en", "--tgt-lang", "fr", "--train-tsv"]
    assert main([*init, "my company.csv"]) == 65
    refused = capsys.readouterr().err
    assert main(["prepare", "--train-tsv", "my company.csv", *SMALL]) == 65
    for err in (refused, capsys.readouterr().err):
        assert f"`my company.csv` looks like values separated by {name}; nmt reads tab-" in err
        command = err.split("convert it: ")[1].splitlines()[0]
    environ = {**os.environ, "PYTHONUTF8": "1"}
    subprocess.run(["sh", "-c", command], check=True, timeout=30, env=environ)
    assert (folder / "my company.tsv").read_text("utf-8") == "".join(
        f"{src}\t{tgt}\n" for src, tgt in rows
    )


def test_json_lines_are_refused_with_the_conversion(folder, capsys):
    rows = [{"id": n, "src": f"red\t{n}, house", "tgt": f'ROT "é", {n}; HAUS'} for n in range(200)]
    path = folder / "my pairs.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert main(["prepare", "--train-tsv", "my pairs.jsonl", *SMALL]) == 65
    err = capsys.readouterr().err
    assert "`my pairs.jsonl` looks like JSON lines; nmt reads tab-separated values" in err
    command = err.split("with `src` as source and `tgt` as target: ")[1].splitlines()[0]
    environ = {**os.environ, "PYTHONUTF8": "1"}
    subprocess.run(["sh", "-c", command], check=True, timeout=30, env=environ)
    assert (folder / "my pairs.tsv").read_text("utf-8") == "".join(
        f'red {n}, house\tROT "é", {n}; HAUS\n' for n in range(200)
    )


@pytest.mark.parametrize("header", ["English\tFrench", "en\tfr", "source\ttarget"])
def test_tsv_header_is_dropped_with_a_note(folder, capsys, header):
    path = folder / "pairs.tsv"
    path.write_text(f"{header}\n{path.read_text('utf-8')}", "utf-8")
    languages = ("--src-lang", "en", "--tgt-lang", "fr")
    command = ["prepare", "--train-tsv", "pairs.tsv", *SMALL, *languages]
    assert main([*command, "--dropped", "dropped.tsv"]) == 0
    rows = {" ".join(line.split()) for line in capsys.readouterr().err.splitlines()}
    assert "header of a table 1 dropped 1" in rows
    dropped = (folder / "dropped.tsv").read_text("utf-8").splitlines()
    assert dropped[1:] == [f"pairs.tsv\t1\theader of a table\t{header}"]
    assert len(Corpus.open(folder / "corpus").train) == 200
    assert main([*command, "--no-clean", "--out", "unclean"]) == 0
    assert len(Corpus.open(folder / "unclean").train) == 201


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_training_text_is_no_validation_text(folder, capsys, command):
    more = () if command == "init" else SMALL
    assert main([command, *TRAIN, "--valid", "./train.en", "train.de", *more]) == 2
    assert capsys.readouterr().err == (
        "error: --valid: `./train.en` and `train.de` are training text too, so scores say nothing "
        "about new text\n\n"
        "hint: name other files, or set training pairs apart with --valid-split N\n"
    )
    assert not (folder / "nmt.toml").exists()
    table = ["--train-tsv", "pairs.tsv", "--src-lang", "en", "--tgt-lang", "fr"]
    assert main(["init", *table, "--test-tsv", "pairs.tsv"]) == 2
    said = capsys.readouterr().err
    assert "--test: `pairs.tsv` is training text too" in said
    assert "set training pairs apart with --test-split N\n" in said


@pytest.mark.parametrize(("shared", "is_warned"), [(5, True), (3, True), (2, False)])
def test_validation_pairs_used_for_testing_are_warned_of(folder, capsys, shared, is_warned):
    for side in ("en", "de"):
        lines = (folder / f"valid.{side}").read_text("utf-8").splitlines()
        text = [*lines[:shared], *(f"{line} x" for line in lines[shared:])]
        (folder / f"test.{side}").write_text("\n".join(text) + "\n", "utf-8")
    warning = (
        f"{shared} of 5 test pairs are validation pairs: training chooses the checkpoint by these"
    )
    files = ["--valid", "valid.en", "valid.de", "--test", "test.en", "test.de"]
    assert main(["init", *TRAIN, *files]) == 0
    assert (warning in " ".join(capsys.readouterr().err.split())) is is_warned
    assert main(["prepare", *SMALL]) == 0
    assert (warning in " ".join(capsys.readouterr().err.split())) is is_warned


def test_loss_of_most_pairs_is_warned_of(folder, capsys):
    for code in ("en", "de"):
        lines = (folder / f"train.{code}").read_text("utf-8").splitlines(keepends=True)
        (folder / f"train.{code}").write_text("".join(lines + lines[:90] * 3), "utf-8")
    assert main(["prepare", *TRAIN, *SMALL]) == 0
    assert (
        "warning: only 200 of 470 pairs were kept (42.6%); dropped were 270 same pair before: are "
        "these the right files? `--dropped FILE` lists the dropped pairs"
    ) in " ".join(capsys.readouterr().err.split())
    assert main(["prepare", *TRAIN, *SMALL, "--force", "--valid-split", "20"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    # As many as the table has.
    assert "were kept (42.6%), 180 to train on and 20 set apart; dropped were 270" in said


def test_languages_in_the_names_of_files_are_named(folder, capsys):
    for name, options in (
        ("pairs.tsv", "--src-lang SRC --tgt-lang TGT"),
        ("pairs.en-cs.tsv", "--src-lang en --tgt-lang cs"),
    ):
        shutil.copy("pairs.tsv", "other.tsv")
        Path("other.tsv").rename(name)
        assert main(["prepare", "--train-tsv", name, *SMALL, "--force"]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert "no languages were given, so they are called src and tgt, text is not" in said
        assert f"no rules for a language are used; to name them: {options}" in said
    for ending in ("src", "tgt"):
        shutil.copy(f"train.{'en' if ending == 'src' else 'de'}", f"a.{ending}")
    assert main(["prepare", "--train", "a.src", "a.tgt", *SMALL, "--force"]) == 0
    assert "to name them: --src-lang SRC --tgt-lang TGT" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_language_name_of_the_project_file_is_refused_too(folder, capsys, command):
    project = '[languages]\nsrc = "Deutsch"\ntgt = "en"\n'
    project += '[data]\ntrain = [["train.en", "train.de"]]\n'
    (folder / "nmt.toml").write_text(project, "utf-8")
    more = ("--src-lang", "Deutsch", "--tgt-lang", "en", "--force", *TRAIN)
    assert main([command, *(more if command == "init" else SMALL)]) == 2
    err = capsys.readouterr().err
    assert err == "error: `Deutsch` is not a language code\n\nhint: for Deutsch use de\n"
    assert not (folder / "corpus").exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [("Englisch", "en"), ("Französisch", "fr"), ("FRANZOSISCH", "fr"), ("anglais", "en"),
     ("Francais", "fr"), ("inglés", "en"), ("Čeština", "cs")],
)  # fmt: skip
def test_language_name_in_another_language_is_refused(folder, capsys, name, code):
    assert main(["init", *TRAIN, "--src-lang", name, "--tgt-lang", "xx"]) == 2
    assert capsys.readouterr().err == (
        f"error: `{name}` is not a language code\n\nhint: for {name} use {code}\n"
    )
    assert not (folder / "nmt.toml").exists()


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_language_name_instead_of_code_is_refused(folder, capsys, command):
    more = () if command == "init" else SMALL
    languages = ("--src-lang", "English", "--tgt-lang", "german")
    assert main([command, *TRAIN, *languages, *more]) == 2
    assert capsys.readouterr().err == (
        "error: `English` is not a language code; `german` is not a language code\n\n"
        "hint: for English use en; for german use de\n"
    )
    assert not (folder / "nmt.toml").exists()
    assert not (folder / "corpus").exists()


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_unknown_language_codes_are_noted_once(folder, capsys, command):
    more = () if command == "init" else SMALL
    assert main([command, *TRAIN, "--src-lang", "xx", "--tgt-lang", "gsw", *more]) == 0
    err = capsys.readouterr().err
    assert err.count("`xx` and `gsw` are not language codes that nmt knows") == 1
    again = ("--force", "--src-lang", "deu", "--tgt-lang", "cy")
    assert main([command, *TRAIN, *again, *more]) == 0
    err = capsys.readouterr().err
    assert "that nmt knows" not in err
    assert err.count("nmt does not know the common words of Welsh (`cy`)\n") == 1


def test_the_next_command_has_what_was_typed_and_what_two_vocabularies_need(folder, capsys):
    def following(*options: str) -> str:
        assert main(["prepare", *TRAIN, *SMALL, "--force", *options]) == 0
        return capsys.readouterr().err.rpartition("next: ")[2]

    assert following("--preset", "tiny") == "nmt train --preset tiny\n"
    ties = "--set model.tie_embeddings=target"
    assert following("--separate") == f"nmt train {ties}\n"
    assert following("--separate", "--set", "model.tie_embeddings=none") == "nmt train\n"
    assert following("--separate", "--subwords", "bytes") == "nmt train\n"


def test_settings_of_training_are_not_silently_left_out(folder, capsys):
    sets = [f"{key}={value}" for key, value in (("train.max_steps", 5), ("model.layers", 2))]
    options = [word for text in [*sets, "data.seed=2"] for word in ("--set", text)]
    assert main(["prepare", *TRAIN, *SMALL, *options]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "`nmt prepare` does not use train.max_steps, model.layers, nor does the corpus" in said
    assert main(["prepare", *TRAIN, *SMALL, "--force", "--set", "data.seed=3"]) == 0
    assert "does not use" not in capsys.readouterr().err


def test_the_next_command_names_the_project_file_that_was_named(folder, capsys):
    (folder / "my own.toml").write_text('[train]\npreset = "tiny"\n', "utf-8")
    options = [*TRAIN, *SMALL, "--config", "my own.toml", "--out", "other"]
    assert main(["prepare", *options]) == 0
    following = "next: nmt train --config 'my own.toml' --corpus other\n"
    assert capsys.readouterr().err.endswith(following)


def test_text_for_fine_tuning_leads_to_the_command_that_trains(folder, capsys):
    assert main(["prepare", *TRAIN, *SMALL, "--quiet"]) == 0
    options = ["--set", "model.d_model=16", "--set", "model.d_ff=16", "--set", "model.layers=1"]
    steps = ["--max-steps", "1", "--set", "train.batch_tokens=100", "--preset", "tiny", "--quiet"]
    assert main(["train", *options, *steps]) == 0
    more = ["--train", "more.en", "more.de", "--workers", "1", "--subwords-from"]
    capsys.readouterr()
    assert main(["prepare", *more, "model", "--out", "new"]) == 0
    err = capsys.readouterr().err
    assert err.endswith("next: nmt train --init-from model --corpus new --out model-2\n")
    assert "no nmt.toml was found" not in err
    assert (
        main(["train", "--init-from", "model", "--corpus", "new", "--out", "model-2", *steps]) == 0
    )
    (folder / "nmt.toml").write_text('[train]\npreset = "small"\n', "utf-8")
    assert main(["prepare", *more, "model", "--out", "again"]) == 0
    assert capsys.readouterr().err.endswith(
        "next: nmt train --init-from model --preset tiny --corpus again --out model-3\n"
    )
    (folder / "nmt.toml").unlink()
    assert main(["prepare", *more, "corpus", "--out", "from-corpus"]) == 0
    err = capsys.readouterr().err
    assert err.endswith("next: nmt train --corpus from-corpus --out model-3\n")
    assert main(["prepare", *more, "model", "--out", "other", "--vocab-size", "70"]) == 78
    assert "data.vocab_size is 70 (command line), but 60 in `model`" in capsys.readouterr().err


SPLITS = """[data]
train = [["train.en", "train.de"]]
valid_split = 40
test_split = 30
"""


def test_given_text_replaces_the_split_of_the_project_file(folder, capsys):
    (folder / "nmt.toml").write_text(SPLITS, "utf-8")
    for name in ("train.en", "train.de"):
        lines = (folder / name).read_text("utf-8").splitlines(keepends=True)
        (folder / f"v.{name[-2:]}").write_text("".join(lines[:7]), "utf-8")
    valid = ("--valid", "v.en", "v.de")
    assert main(["prepare", *SMALL, *valid]) == 0
    config = schema.load(folder / "corpus" / "config.toml")
    assert (config.data.valid, config.data.valid_split) == (("v.en", "v.de"), 0)
    assert config.data.test_split == 30
    more = ("--test-split", "0", "--out", "other")
    assert main(["prepare", *SMALL, *valid, *more]) == 0
    assert schema.load(folder / "other" / "config.toml").data.test_split == 0
    # The other way round, and what --set says.
    files = SPLITS.replace("valid_split = 40", 'valid = ["v.en", "v.de"]')
    (folder / "nmt.toml").write_text(files, "utf-8")
    test = ("--test", "v.en", "v.de", "--out", "third")
    assert main(["prepare", *SMALL, "--valid-split", "20", *test]) == 0
    config = schema.load(folder / "third" / "config.toml")
    assert (config.data.valid, config.data.valid_split) == ((), 20)
    assert (config.data.test, config.data.test_split) == (("v.en", "v.de"), 0)
    capsys.readouterr()
    # What the command line itself says twice is refused.
    assert main(["prepare", *SMALL, *valid, "--valid-split", "20", "--out", "fourth"]) == 2
    assert "error: --valid names validation files, and --valid-split chooses" in (
        capsys.readouterr().err
    )


def test_errors_about_splits_name_where_their_values_come_from(folder, capsys, monkeypatch):
    (folder / "nmt.toml").write_text(SPLITS, "utf-8")
    assert main(["prepare", *SMALL, "--test-split", "50"]) == 65
    assert (
        "error: validation and test sets of 90 pairs are too large for 200 training pairs: more "
        "than 20% of them (data.valid_split of nmt.toml: 40, --test-split: 50)\n"
    ) in capsys.readouterr().err
    monkeypatch.setenv("NMT_DATA_VALID_SPLIT", "50")
    assert main(["prepare", *SMALL, "--test-split", "0"]) == 65
    assert "of them (data.valid_split of NMT_DATA_VALID_SPLIT: 50)\n" in capsys.readouterr().err
    with (folder / "nmt.toml").open("a", encoding="utf-8") as file:
        file.write('valid = ["train.de", "train.en"]\n')
    monkeypatch.delenv("NMT_DATA_VALID_SPLIT")
    assert main(["prepare", *SMALL]) == 2
    assert (
        "data.valid of nmt.toml names validation files, and data.valid_split of nmt.toml chooses"
    ) in capsys.readouterr().err


def test_options_that_keep_the_corpus_are_offered_beside_force(folder, capsys):
    assert main(["prepare", *TRAIN, *SMALL, "--clean"]) == 0
    capsys.readouterr()
    assert main(["prepare", *TRAIN, *SMALL]) == 73
    assert capsys.readouterr().err.endswith(
        'differently: data.clean was "strict", is "safe"\n\nhint: use --force to replace it, or '
        "another --out; to keep it as it is: --clean, or the same in nmt.toml "
        '(clean = "strict" under [data])\n'
    )
    assert main(["prepare", *TRAIN, *SMALL, "--clean"]) == 0
    # No option gives a changed text back.
    with (folder / "train.en").open("a", encoding="utf-8") as en:
        en.write("one more\n")
    with (folder / "train.de").open("a", encoding="utf-8") as de:
        de.write("einer mehr\n")
    capsys.readouterr()
    assert main(["prepare", *TRAIN, *SMALL]) == 73
    assert capsys.readouterr().err.endswith("hint: use --force to replace it, or another --out\n")


def test_hint_at_cleaning_names_the_line_of_the_project_file(folder, capsys):
    with (folder / "train.en").open("a", encoding="utf-8") as en:
        en.write("in 1989 there was 2 1\n")
    with (folder / "train.de").open("a", encoding="utf-8") as de:
        de.write("dort war 1998 eine 2 1\n")
    assert main(["prepare", *TRAIN, *SMALL]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert 'with clean = "strict" under [data] in nmt.toml, later commands do so too' in said


def test_tables_of_validation_and_test_text_are_named_by_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 90), ("dev", 20), ("test", 30)):
        rows = (f"the {name} dog {n} runs\tder Hund {n} von {name} rennt\n" for n in range(count))
        Path(f"{name}.tsv").write_text("".join(rows))
    given = ["--train-tsv", "train.tsv", "--valid-tsv", "dev.tsv", "--test-tsv", "test.tsv"]
    options = ["--src-lang", "en", "--tgt-lang", "de", "--vocab-size", "60"]
    assert main(["prepare", *given, *options]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert "validation pairs 20" in err
    assert "test pairs 30" in err
    for split in ("valid", "test"):
        again = ["--force", f"--{split}", "dev.tsv", "dev.tsv"]
        assert main(["prepare", *given, *options, *again]) == 2
        assert f"--{split} and --{split}-tsv both name a text" in capsys.readouterr().err
