"""`nmt init`: from flags or from the files that are there to a project file that loads."""

import gzip
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.cli.settings import resolve_settings
from nmt_cli.config.schema import Config
from nmt_cli.data.languages.names import guess_languages, language_of
from nmt_cli.extras.project import toml_value

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory with three pairs of files."""
    monkeypatch.chdir(tmp_path)
    for kind in ("train", "valid", "test"):
        for code in ("en", "de"):
            (tmp_path / f"{kind}.{code}").write_text("y\n" if kind == "test" else "x\n")
    return tmp_path


def written(folder: Path = Path()) -> Config:
    return resolve_settings({}, config_file=folder / "nmt.toml", environ={}).config


@pytest.mark.parametrize("more", [[], ["--valid", "valid.en", "valid.de", "--preset", "tiny"]])
def test_empty_files_are_refused(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.en").write_bytes(b"")
    Path("empty.gz").write_bytes(gzip.compress(b""))
    languages = ["--src-lang", "en", "--tgt-lang", "de"]
    assert main(["init", "--train", "train.en", "empty.gz", *languages, *more]) == 65
    assert capsys.readouterr().err.startswith("error: `train.en`, `empty.gz` are empty\n")
    assert not Path("nmt.toml").exists()


def test_files_of_unequal_length_are_refused_with_both_line_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("valid.de").write_text("x\n" * 3)
    Path("test.en").write_bytes(gzip.compress(b"x\n" * 2 + b"x"))
    texts = [f"--{kind} {kind}.en {kind}.de" for kind in ("train", "valid", "test")]
    assert main(["init", "--preset", "tiny", *" ".join(texts).split()]) == 65
    err = capsys.readouterr().err
    assert "`valid.en` has 1 line, `valid.de` has 3; `test.en` has 3 lines, `test.de` has 1" in err
    assert "hint: line n of one file must be the translation of line n of the other" in err
    assert not Path("nmt.toml").exists()
    Path("train.de").write_text("x\ny\n")
    assert main(["init", "--train", "train.en", "train.de"]) == 65
    assert "`train.en` has 1 line, `train.de` has 2" in capsys.readouterr().err


class TestInitOptions:
    def test_init_writes_all_given_options_without_prompting(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = (
            "init --train train.en train.de --train more.en more.de --valid valid.en valid.de "
            "--test test.en test.de --preset tiny"
        )
        for code in ("en", "de"):
            Path(f"more.{code}").write_bytes(Path(f"test.{code}").read_bytes())
        assert main(arguments.split()) == 0
        first = Path("nmt.toml").read_text().splitlines()[0]
        assert first.startswith("# The settings of this project; `nmt config show --origin` shows")
        config = written()
        assert (config.languages.src, config.languages.tgt) == ("en", "de")
        assert config.data.train == (("train.en", "train.de"), ("more.en", "more.de"))
        assert config.data.valid == ("valid.en", "valid.de")
        assert config.data.test == ("test.en", "test.de")
        assert config.train.preset == "tiny"
        out, err = capsys.readouterr()
        assert out == ""
        assert err == "wrote nmt.toml: en to de\nnext: nmt prepare\n"

    def test_preset_is_chosen_by_text_size_with_reason(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["init", "--train", "train.en", "train.de"]) == 0
        assert written().train.preset == "small"
        reason = next(
            line for line in capsys.readouterr().err.splitlines() if line.startswith("preset")
        )
        assert reason.startswith("preset small for 1 training pair")
        assert f"# {reason}\n" in Path("nmt.toml").read_text()

    def test_an_unknown_preset_is_refused_before_text_is_read(self) -> None:
        Path("train.en").unlink()
        assert main(["init", "--train", "train.en", "train.de", "--preset", "smal"]) == 78
        assert not Path("nmt.toml").exists()

    def test_same_file_for_source_and_target_is_refused(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["init", "--src-lang", "en", "--tgt-lang", "de"]
        assert main([*arguments, "--train", "train.en", "./train.en"]) == 2
        assert "`train.en` is given for both sides" in capsys.readouterr().err
        assert not Path("nmt.toml").exists()

    def test_init_without_validation_text_warns_and_invents_none(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["init", "--train", "train.de", "train.en"]) == 0
        config = written()
        assert (config.languages.src, config.languages.tgt) == ("de", "en")
        assert (config.data.valid, config.data.test) == ((), ())
        assert "warning: there is no validation text" in capsys.readouterr().err

    def test_named_languages_beat_the_guess(self) -> None:
        main(["init", "--train", "train.de", "train.en", "--src-lang", "gsw"])
        assert (written().languages.src, written().languages.tgt) == ("gsw", "en")

    def test_paths_are_relative_to_the_new_project_directory(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        absolute = str(folder / "test.en")
        assert main(["init", "my project", "--train", "train.en", "train.de",
                     "--test", absolute, "test.de"]) == 0  # fmt: skip
        assert "next: cd 'my project' && nmt prepare" in capsys.readouterr().err
        monkeypatch.chdir("my project")
        assert written().data.train == (("../train.en", "../train.de"),)
        assert written().data.test == (absolute, "../test.de")


class TestValidationTextBesideTheTrainingText:
    @pytest.mark.parametrize("folder_name", ["texts", "."])
    def test_it_is_suggested_with_a_command_that_runs(
        self, folder: Path, folder_name: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        texts = folder / folder_name
        texts.mkdir(exist_ok=True)
        for name in ("train.en", "train.de", "valid.en", "valid.de"):
            (folder / name).rename(texts / name)
        train = [f"{folder_name}/train.en", f"{folder_name}/train.de"]
        assert main(["init", "--train", *train]) == 0
        err = capsys.readouterr().err
        assert "to use the one beside the training text: " in err
        advice = err.split("to use the one beside the training text: ")[1].split("\n")[0]
        assert "--valid-split" not in err
        assert main(shlex.split(advice)[1:]) == 0
        paths = tuple(Path(path).as_posix() for path in written().data.valid)
        assert paths == tuple(
            Path(folder_name, name).as_posix() for name in ("valid.en", "valid.de")
        )
        assert "warning" not in capsys.readouterr().err

    def test_a_tsv_file_is_suggested_too(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("texts").mkdir()
        for name in ("train", "dev"):
            Path(f"texts/{name}.tsv").write_text("x\ty\n")
        languages = ["--src-lang", "en", "--tgt-lang", "de"]
        assert main(["init", "--train-tsv", "texts/train.tsv", *languages]) == 0
        assert "--valid-tsv texts/dev.tsv\n" in capsys.readouterr().err

    def test_columns_of_validation_and_test_tables_are_checked(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("dev.tsv").write_text("x\ty\tz\n")
        for option in ("--valid-tsv", "--test-tsv"):
            assert main(["init", "--train", "train.en", "train.de", option, "dev.tsv"]) == 65
            assert "`dev.tsv`, line 1: 3 columns, 2 are needed" in capsys.readouterr().err
            assert not Path("nmt.toml").exists()

    def test_the_training_text_itself_is_not_suggested(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["init", "--train", "valid.en", "valid.de"]) == 0
        assert "to use the one beside" not in capsys.readouterr().err


class TestFindingFiles:
    def test_languages_alone_find_files_with_usual_names(self) -> None:
        assert main(["init", "--src-lang", "de", "--tgt-lang", "en"]) == 0
        data = written().data
        assert data.train == (("train.de", "train.en"),)
        assert (data.valid, data.test) == (("valid.de", "valid.en"), ("test.de", "test.en"))

    def test_init_without_options_asks_for_the_translation_direction(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["init"]) == 2
        err = capsys.readouterr().err
        assert (
            "training text in German (`de`) and English (`en`): which is the source language?"
            in err
        )
        assert "nmt init --src-lang de --tgt-lang en" in err
        assert not Path("nmt.toml").exists()

    def test_init_without_text_files_hints_at_an_example(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["init", str(folder / "empty")]) == 2
        assert "hint: say which files: nmt init --train" in capsys.readouterr().err
        assert main(["init", "--src-lang", "en", "--tgt-lang", "fr"]) == 2
        assert "no train.en and train.fr" in capsys.readouterr().err

    @pytest.mark.parametrize(("answer", "code"), [(b"en\nde\n", 0), (b"en\n\n", 2)])
    def test_init_prompts_on_a_terminal(self, answer: bytes, code: int) -> None:
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        done = subprocess.run(
            [sys.executable, "-m", "nmt_cli", "init"], stdin=theirs, stderr=theirs,
            stdout=subprocess.PIPE, check=False, timeout=60,
            env={"PYTHONPATH": str(ROOT), "TERM": "dumb"},
        )  # fmt: skip
        shown = os.read(ours, 10_000).decode()
        os.close(ours)
        os.close(theirs)
        assert (done.returncode, done.stdout) == (code, b"")
        assert "Source language code (such as en)" in shown
        assert Path("nmt.toml").exists() == (code == 0)
        if code == 0:
            assert (written().languages.src, written().languages.tgt) == ("en", "de")


class TestInitRefusals:
    def test_existing_project_file_is_kept_without_force(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("nmt.toml").write_text("# mine\n")
        arguments = ["init", "--train", "train.en", "train.de"]
        assert main(arguments) == 73
        assert "use --force" in capsys.readouterr().err
        assert Path("nmt.toml").read_text() == "# mine\n"
        assert main([*arguments, "--force"]) == 0
        assert written().languages.src == "en"

    def test_all_missing_text_files_are_named_in_one_error(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["init", "--train", "a.en", "train.de", "--valid", "valid.en", "b.de",
                     "--test", ".", "test.de"]) == 66  # fmt: skip
        err = capsys.readouterr().err
        for message in ("`a.en` cannot be read", "`b.de` cannot be read", "`.` is a directory"):
            assert message in err
        assert not Path("nmt.toml").exists()

    def test_an_unknown_preset_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["init", "--train", "train.en", "train.de", "--preset", "bsae"]) == 78
        assert "did you mean `base`?" in capsys.readouterr().err

    def test_a_tsv_file_given_as_one_side_names_its_option(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("extra.tsv").write_text("x\ty\n")
        assert main(["init", "--train", "train.en", "extra.tsv"]) == 2
        assert "give it with --train-tsv" in capsys.readouterr().err

    def test_file_names_without_language_ask_for_language_options(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("a.txt").write_text("x\n")
        Path("b.txt").write_text("x\n")
        assert main(["init", "--train", "a.txt", "b.txt"]) == 2
        assert "add --src-lang en --tgt-lang de" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("train.en", "en"), ("a/b.c/train.de.gz", "de"), ("x.pt_BR", "pt_BR"),
        ("x.zh-Hans", "zh-Hans"), ("train.txt", None), ("train.tsv.xz", None), ("train", None),
        ("train.v12", None),
        ("train.english", None), (".en", None),
    ],
)  # fmt: skip
def test_guess_language_from_file_name(name: str, code: str | None) -> None:
    assert language_of(name) == code


@pytest.mark.parametrize(
    ("pair", "languages"),
    [
        (("a.en", "a.de.gz"), ("en", "de")),
        (("europarl.de-en.en", "europarl.de-en.de"), ("en", "de")),
        (("train_en.txt", "train_de.txt"), ("en", "de")),
        (("news.en.tok", "news.de.tok"), ("en", "de")),
        (("a.en", "b.en"), None),
        (("src.txt", "target.txt"), None),
        (("src-train.txt", "tgt-train.txt"), None),
        (("src-val.txt", "tgt-val.txt"), None),
        (("train.src-en.txt", "train.trg-en.txt"), None),
        (("a.src", "a.trg"), None),
        (("a_en-US.txt", "a_de-DE.txt"), ("en-US", "de-DE")),
        (("one_en.txt", "two_de.txt"), None),
    ],
)
def test_languages_are_guessed_only_from_language_names(
    pair: tuple[str, str], languages: tuple[str, str] | None
) -> None:
    assert guess_languages([pair]) == languages


def test_toml_values_round_trip() -> None:
    import tomllib

    value = ['\x00\x1f\x7f"\\ü\u2028', [1, -2.5e-9, True], []]
    assert tomllib.loads(f"x = {toml_value(value)}")["x"] == value


def test_test_split_replaces_the_test_files(capsys: pytest.CaptureFixture[str]) -> None:
    for code in ("en", "de"):
        Path(f"train.{code}").write_text("".join(f"{n} {code}\n" for n in range(100)))
    languages = ["--src-lang", "en", "--tgt-lang", "de"]
    assert main(["init", *languages, "--test-split", "21"]) == 65
    refused = capsys.readouterr().err
    assert "a test set of 21 pairs is too large for 100" in refused
    # Less than a fifth: the limit of nmt prepare is that of the pairs which cleaning keeps.
    assert "use --test-split 18 or less" in refused
    assert main(["init", "--test", "test.en", "test.de", "--test-split", "10"]) == 2
    assert "--test-split sets training pairs apart" in capsys.readouterr().err
    assert main(["init", *languages, "--test-split", "10", "--valid-split", "10"]) == 0
    data = written().data
    assert (data.test, data.test_split, data.valid, data.valid_split) == ((), 10, (), 10)
    assert "preset small for 80 training pairs" in capsys.readouterr().err
    assert main(["init", *languages, "--force"]) == 0
    assert written().data.test == ("test.en", "test.de")


def test_preset_for_gpus_is_noted_on_a_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["--train", "train.en", "train.de", "--force"]
    for preset, count in (("base", 1), ("small", 0)):
        assert main(["init", *texts, "--preset", preset]) == 0
        assert capsys.readouterr().err.count("is made for millions of pairs") == count


class TestValidationSplitAdvice:
    @pytest.fixture(autouse=True)
    def _texts(self) -> None:
        for code in ("en", "de"):
            Path(f"train.{code}").write_text("".join(f"{n} {code}\n" for n in range(6_122)))
            Path(f"valid.{code}").unlink()

    @pytest.mark.parametrize("preset", [[], ["--preset", "tiny"]])
    def test_too_large_validation_split_is_refused(
        self, preset: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        files = ["--train", "train.en", "train.de", *preset]
        assert main(["init", *files, "--valid-split", "10000"]) == 65
        err = capsys.readouterr().err
        assert "a validation set of 10,000 pairs is too large for 6,122 training pairs" in err
        assert "use --valid-split 1101 or less" in err
        assert not Path("nmt.toml").exists()
        assert main(["init", *files, "--valid-split", "1224"]) == 0
        assert (
            "warning: 1,224 validation pairs are almost 20% of 6,122 training pairs, more than "
            "which `nmt prepare` refuses, and it counts them without those that it drops, such as "
            "duplicates: use --valid-split 1101 or less, more text, or"
        ) in " ".join(capsys.readouterr().err.split())
        assert main(["init", "--force", *files, "--valid-split", "1101"]) == 0
        assert "almost" not in capsys.readouterr().err

    @pytest.mark.parametrize("directory", [[], ["a project"]])
    def test_validation_warning_keeps_the_test_split(
        self, directory: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        texts = ["--train", "train.en", "train.de", "--test-split", "30"]
        assert main(["init", *directory, *texts]) == 0
        advice = capsys.readouterr().err.split("to set training pairs apart: ")[1].split("\n")[0]
        assert main(shlex.split(advice)[1:]) == 0
        data = written(Path(*directory)).data
        assert (data.valid_split, data.test_split) == (300, 30)

    @pytest.mark.parametrize("directory", [[], ["a project"]])
    def test_validation_warning_contains_a_command_that_runs(
        self, directory: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        texts = ["--train", "train.en", "train.de", "--test", "test.en", "test.de"]
        assert main(["init", *directory, *texts, "--preset", "tiny"]) == 0
        advice = capsys.readouterr().err.split("to set training pairs apart: ")[1].split("\n")[0]
        before = written(Path(*directory)).data
        program, *arguments = shlex.split(advice)
        assert program == "nmt"
        assert main(arguments) == 0
        config = written(Path(*directory))
        assert (config.data.valid_split, config.train.preset) == (300, "tiny")
        assert (config.data.train, config.data.test) == (before.train, before.test)
        assert "validation" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "surplus", "hint"),
    [
        (["--train-tsv", "a.tsv"], "b c.tsv", "a second file: --train-tsv 'b c.tsv'"),
        (["--train", "a.en", "a.de"], "b c.tsv", "hint: --train-tsv names a TSV file: --train"),
        ([], "b c.tsv", "hint: --train-tsv names a TSV file: --train-tsv 'b c.tsv'"),
        (["--train", "a.en", "a.de"], "more.en", "repeat it for a second pair: --train SRC TGT"),
    ],
)
def test_a_text_file_is_not_taken_for_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, options: list[str], surplus: str,
    hint: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name in (*options[1:], surplus):
        Path(name).write_text("one\ttwo\n", "utf-8")
    assert main(["init", *options, surplus, "--src-lang", "en", "--tgt-lang", "de"]) == 2
    err = capsys.readouterr().err
    assert f"error: DIR: `{surplus}` is a file\n" in err
    assert hint in err


@pytest.mark.parametrize(
    "command",
    [["prepare"], ["train"], ["train", "--max-steps", "1"], ["translate", "text.en"], ["score"]],
)
def test_a_project_in_the_folder_above_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, command: list[str]
) -> None:
    (tmp_path / "text").mkdir()
    monkeypatch.chdir(tmp_path / "text")
    Path("text.en").write_text("a\n")
    hint = "this folder has no nmt.toml, but there is `../nmt.toml`"
    for is_there in (False, True):
        assert main(command) in (2, 66)
        assert capsys.readouterr().err.endswith(f"; {hint}\n") is is_there
        (tmp_path / "nmt.toml").touch()
    Path("nmt.toml").touch()
    assert main(command) in (2, 66)
    assert hint not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["translate", "missing.en"],
        ["translate", "--model", "none", "text.en"],
        ["translate", "--model=model", "text.en"],
        ["translate", "--document", "page.doc"],
        ["translate", "--document", "page.docx"],
        ["translate", "text.en", "--temp", "1"],
        ["train", "--corpus", "corpus"],
    ],
)
def test_project_above_is_not_pointed_at_where_it_would_not_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, command: list[str]
) -> None:
    (tmp_path / "nmt.toml").touch()
    (tmp_path / "text").mkdir()
    monkeypatch.chdir(tmp_path / "text")
    for name in ("text.en", "page.doc", "page.docx"):
        Path(name).write_text("a\n")
    assert main(command) in (2, 66)
    assert "nmt.toml`" not in capsys.readouterr().err


def test_a_tmx_file_without_languages_is_named_with_its_conversion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new file has a name that tells the languages, so that the same command goes on."""
    monkeypatch.chdir(tmp_path)
    sides = "".join(
        f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>'
        for code, text in (("en-US", "The pump runs."), ("fr-FR", "La pompe tourne."))
    )
    Path("memory.tmx").write_text(
        f'<?xml version="1.0"?>\n<tmx version="1.4"><body>{40 * f"<tu>{sides}</tu>"}</body></tmx>\n'
    )
    assert main(["init", "--train-tsv", "memory.tmx"]) == 65
    err = capsys.readouterr().err
    assert "`memory.tmx` looks like TMX" in err
    assert "cannot be guessed" not in err
    subprocess.run(err[err.index("nmt convert") :].strip(), shell=True, check=True)
    assert main(["init", "--train-tsv", "memory.en-fr.tsv"]) == 0
    assert "en to fr" in capsys.readouterr().err
