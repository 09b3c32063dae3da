"""Labels with which nearly all lines of a side begin: the warning and its commands."""

import shlex
import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.text.labels.line_labels import common_label

PAIRS = 60


def labelled(label: str, side: str) -> list[str]:
    """Lines of a side that begin with this label."""
    return [f"{label}a {number} dog: {side}" for number in range(PAIRS)]


class TestCommonLabel:
    @pytest.mark.parametrize(
        "label", ["Tharo: ", " Old Tharo : ", "हिन्दी:", "[A.B]\uff1a ", "P2: "]
    )
    def test_a_word_or_two_before_a_colon_is_a_label(self, label: str) -> None:
        found = common_label(labelled(label, "x"))
        assert found is not None
        assert found.text == label.strip().rstrip(":\uff1a").strip()
        assert found.indices == list(range(PAIRS))

    @pytest.mark.parametrize(
        "start", ["a dog is here: ", "https://", "std::", "10:30 ", "7: ", '"en": ', "10:", "T 10:"]
    )
    def test_other_colons_are_none(self, start: str) -> None:
        assert common_label([f"{start}{number}" for number in range(PAIRS)]) is None

    def test_a_tenth_of_lines_may_have_none_and_empty_ones_do_not_count(self) -> None:
        for step, is_found in ((10, True), (9, False)):
            lines = labelled("Tharo: ", "x")
            lines[::step] = ["Note: a dog"] * len(lines[::step])
            assert (common_label([*lines, *[" "] * PAIRS]) is not None) == is_found

    def test_few_lines_have_none(self) -> None:
        lines = labelled("Tharo: ", "x")
        assert common_label(lines[:50]) is not None
        assert common_label([*lines[:49], "", ""]) is None


class TestLabelWarning:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def commands(self, err: str) -> list[str]:
        """The commands that the warning names."""
        (warning,) = (line for line in err.splitlines() if "remove them: " in line)
        return warning.partition("remove them: ")[2].split("; ")

    def test_commands_restore_the_text_of_two_files(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        labels = {"thr": " Old Tharo* : ", "en": "English\uff1a"}
        for side, label in labels.items():
            content = "\r\n".join([*labelled(label, side), "Note: b"]).encode()
            Path(f"a.{side}").write_bytes(b"\xef\xbb\xbf" + content + b"\xe9")
        assert main(["init", "--train", "a.thr", "a.en"]) == 0
        err = capsys.readouterr().err
        assert (
            "60 of the first 61 lines of the training source `a.thr` begin with the label "
            "`Old Tharo*:` and 60 of the first 61 lines of the training target `a.en` begin with "
            "the label `English:`, which count as text: if they only name the language or the "
            "speaker, remove them: nmt convert "
        ) in err
        commands = self.commands(err)
        assert len(commands) == 2
        for command, side in zip(commands, labels, strict=True):
            subprocess.run(command, shell=True, check=True)
            plain = "\r\n".join([*labelled("", side), "Note: b"]).encode() + b"\xe9\n"
            assert Path(f"a.without-labels.{side}").read_bytes() == plain

    def test_one_side_of_validation_text_is_warned_of_by_both_commands(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("a.thr").write_text("\n".join(labelled("", "ka mi")) + "\n")
        Path("a.en").write_text("\n".join(labelled("", "so it is")) + "\n")
        rows = zip(labelled("English: ", "ka"), labelled("English: ", "it"), strict=True)
        Path("b c.tsv").write_text("".join(f"{src[9:]}\t{tgt}\n" for src, tgt in rows))
        given = ["--train", "a.thr", "a.en", "--valid-tsv", "b c.tsv"]
        init = ["init", *given, "--src-lang", "xyz", "--tgt-lang", "zyx"]
        for command in (init, ["prepare", "--vocab-size", "60"]):
            assert main(command) == 0
            err = " ".join(capsys.readouterr().err.split())
            target = "60 of the first 60 lines of the validation target column of `b c.tsv`"
            assert f"{target} begin with the label `English:`, which counts as text" in err
            assert "lines of the training" not in err

    def test_command_restores_a_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        sides = labelled("Tharo: ", "x"), labelled("English: ", "y")
        rows = [f"{src}\t{tgt}\n" for src, tgt in zip(*sides, strict=True)]
        rows += ["Tharo:\tEnglish: b\n"]
        Path("b c.tsv").write_text("".join(rows))
        given = ["--train-tsv", "b c.tsv", "--src-lang", "xyz", "--tgt-lang", "zyx"]
        assert main(["init", *given]) == 0
        (command,) = self.commands(capsys.readouterr().err)
        assert shlex.split(command)[-1] == "b c.without-labels.tsv"
        subprocess.run(command, shell=True, check=True)
        bare = zip(labelled("", "x"), labelled("", "y"), strict=True)
        text = Path("b c.without-labels.tsv").read_text()
        assert text == "".join(f"{src}\t{tgt}\n" for src, tgt in bare) + "\tb\n"
        assert main(["init", "--force", "--tsv-columns", "1,2", *given]) == 0
        assert "remove them: write the text without them" in capsys.readouterr().err
