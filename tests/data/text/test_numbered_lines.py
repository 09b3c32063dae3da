"""Running numbers with which both sides of a text begin: the warning and its commands."""

import shlex
import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.text.labels.numbered_lines import numbered_lines

PAIRS = 60
WORDS = ["4 dogs run", "(so) it is", "12.5 metres", "a dog"]


def sentences(side: str, numbers: list[str]) -> list[str]:
    """Lines that begin with these numbers."""
    return [f"{number}{WORDS[i % 4]} {side} {i}" for i, number in enumerate(numbers)]


def running(form: str, start: int = 1) -> list[str]:
    """Numbers in this form that rise by one."""
    return [form.format(number) for number in range(start, start + PAIRS)]


def verses(form: str) -> list[str]:
    """Chapters and verses in this form, of chapters of 20 verses."""
    return [form.format(number // 20 + 1, number % 20 + 1) for number in range(PAIRS)]


class TestNumberedLines:
    @pytest.mark.parametrize("form", ["{}. ", "{} ", "({}) ", "[{}] ", "{}: ", "{}.) ", "{}\t"])
    def test_all_numbered_pairs_are_found(self, form: str) -> None:
        numbers = running(form)
        assert len(numbered_lines(sentences("x", numbers), sentences("y", numbers))) == PAIRS

    def test_numbers_in_two_notations_are_the_same(self) -> None:
        pairs = sentences("x", running("{}. ", 99_980)), sentences("y", running("({}) ", 99_980))
        assert len(numbered_lines(*pairs)) == PAIRS

    def test_numbers_of_shuffled_lines_are_found_by_being_different(self) -> None:
        """Also if a few lines occur twice, but not if many do."""
        for repeated, found in ((0, PAIRS), (3, PAIRS), (6, 0)):
            numbers = [f"{(29 * number) % 61}. " for number in range(1, PAIRS + 1)]
            numbers[:repeated] = numbers[-repeated:] if repeated else []
            sides = sentences("x", numbers), sentences("y", numbers)
            assert len(numbered_lines(*sides)) == found

    def test_years_are_no_numbers_of_lines(self) -> None:
        for step, found in ((1, PAIRS), (2, 0)):
            numbers = [f"{1900 + step * index}: " for index in range(PAIRS)]
            assert len(numbered_lines(sentences("x", numbers), sentences("y", numbers))) == found

    def test_pairs_with_an_empty_side_do_not_count(self) -> None:
        numbers = running("{}. ")
        src, tgt = sentences("x", numbers), sentences("y", numbers)
        src[::4], tgt[1::4] = [""] * 15, [" "] * 15
        assert len(numbered_lines(src, tgt)) == PAIRS // 2

    @pytest.mark.parametrize(
        "form", ["{1} ", "{0}:{1} ", "({0}:{1}) ", "{0}:{1}. ", "MRK {0}:{1}\t", "1CO {0}:{1} "]
    )
    def test_verses_of_several_chapters_are_found(self, form: str) -> None:
        numbers = verses(form)
        assert len(numbered_lines(sentences("x", numbers), sentences("y", numbers))) == PAIRS

    def test_verses_are_the_same_if_book_and_chapter_are(self) -> None:
        """Those that only one side has, or writes otherwise, are repaired."""
        src = sentences("x", verses("{0}:{1} "))
        for form in ("{1} ", "2{0}:{1} ", "MRK {0}:{1} "):
            assert numbered_lines(src, sentences("y", verses(form))) == []
        assert len(numbered_lines(src, sentences("y", verses("[{0}:{1}] ")))) == PAIRS

    def test_a_tenth_of_lines_may_have_none(self) -> None:
        for step, found in ((10, PAIRS - 6), (9, 0)):
            numbers = running("{}. ")
            numbers[::step] = ["- "] * len(numbers[::step])
            sides = sentences("x", numbers), sentences("y", numbers)
            assert len(numbered_lines(*sides)) == found

    @pytest.mark.parametrize(
        "numbers",
        [
            running("")[:PAIRS],
            [f"{number % 3 + 1}. " for number in range(PAIRS)],
            [f"{200 + 50 * (number % 2)} " for number in range(PAIRS)],
            ["1. "] * PAIRS,
            [f"{number % 4}:{(number * number) % 3} " for number in range(PAIRS)],
            [f"{number // 60}:{number % 60:02}:00 " for number in range(PAIRS)],
        ],
        ids=["none", "short lists", "amounts", "one number", "scores of games", "hours"],
    )
    def test_other_numbers_are_not_warned_of(self, numbers: list[str]) -> None:
        assert numbered_lines(sentences("x", numbers), sentences("y", numbers)) == []

    def test_different_numbers_and_few_lines_are_not_warned_of(self) -> None:
        src = sentences("x", running("{}. "))
        assert numbered_lines(src, sentences("y", running("{}. ", start=2))) == []
        assert len(numbered_lines(src[:20], src[:20])) == 20
        assert numbered_lines(src[:19], src[:19]) == []


class TestWarning:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def commands(self, err: str) -> list[str]:
        """The commands that the warning names."""
        remedy = err.split("remove it: ", 1)[1].splitlines()[0]
        return remedy.split("; ")

    def test_commands_restore_the_text_of_two_files(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for side in ("en", "de"):
            lines = sentences(side, running("{}. "))
            (folder / f"a.{side}").write_bytes(
                b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\xe9"
            )
        assert main(["init", "--train", "a.en", "a.de"]) == 0
        err = capsys.readouterr().err
        assert (
            "60 of the first 60 lines of the training text `a.en` and `a.de` begin with the same "
            "running number on both sides (line 1: `1. 4 dogs run en 0`)"
        ) in err
        commands = self.commands(err)
        assert len(commands) == 2
        for command, side in zip(commands, ("en", "de"), strict=True):
            subprocess.run(command, shell=True, check=True, cwd=folder)
            plain = "\r\n".join(sentences(side, [""] * PAIRS)).encode() + b"\xe9\n"
            assert (folder / f"a.without-numbers.{side}").read_bytes() == plain

    def test_commands_remove_verses_and_nothing_else(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A target may lack its verse, and begin with another number."""
        for side in ("en", "de"):
            lines = sentences(side, verses("{0}:{1} "))
            lines[4::20] = [f"4 dogs {side}"] * 3
            (folder / f"a.{side}").write_text("\n".join(lines) + "\n")
        assert main(["init", "--train", "a.en", "a.de"]) == 0
        err = capsys.readouterr().err
        assert (
            "57 of the first 60 lines of the training text `a.en` and `a.de` begin with the same "
            "running number on both sides (line 1: `1:1 4 dogs run en 0`)"
        ) in err
        for command, side in zip(self.commands(err), ("en", "de"), strict=True):
            subprocess.run(command, shell=True, check=True, cwd=folder)
            plain = sentences(side, [""] * PAIRS)
            plain[4::20] = [f"4 dogs {side}"] * 3
            assert (folder / f"a.without-numbers.{side}").read_text().splitlines() == plain

    @pytest.mark.parametrize("numbers", [running("{} "), verses("JHN {0}:{1} ")])
    def test_command_restores_a_table(
        self, folder: Path, capsys: pytest.CaptureFixture[str], numbers: list[str]
    ) -> None:
        rows = zip(sentences("x", numbers), sentences("y", numbers), strict=True)
        text = "".join(f"{src}\t{tgt}\n" for src, tgt in rows)
        (folder / "a b.tsv").write_text(f"{text}61\t61\n")
        options = ["--train-tsv", "a b.tsv", "--src-lang", "xyz", "--tgt-lang", "zyx"]
        assert main(["init", *options]) == 0
        (command,) = self.commands(capsys.readouterr().err)
        assert shlex.split(command)[-1] == "a b.without-numbers.tsv"
        subprocess.run(command, shell=True, check=True, cwd=folder)
        bare = zip(sentences("x", [""] * PAIRS), sentences("y", [""] * PAIRS), strict=True)
        text = (folder / "a b.without-numbers.tsv").read_text()
        assert text == "".join(f"{src}\t{tgt}\n" for src, tgt in bare) + "61\t61\n"

    def test_test_text_is_warned_of_and_a_table_of_more_columns_has_no_command(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        numbers = running("{}. ")
        for side in ("en", "de"):
            (folder / f"train.{side}").write_text("\n".join(sentences(side, [""] * PAIRS)) + "\n")
            (folder / f"test.{side}").write_text("\n".join(sentences(side, numbers)) + "\n")
        given = ["--train", "train.en", "train.de", "--test", "test.en", "test.de"]
        assert main(["init", *given]) == 0
        err = capsys.readouterr().err
        assert "lines of the test text `test.en` and `test.de` begin" in err
        assert "of the training text" not in err
        rows = zip(sentences("x", numbers), sentences("y", numbers), strict=True)
        (folder / "c.tsv").write_text("".join(f"{src}\t{tgt}\t3 stars\n" for src, tgt in rows))
        options = ["--train-tsv", "c.tsv", "--tsv-columns", "1,2"]
        assert main(["init", "--force", *options, "--src-lang", "xyz", "--tgt-lang", "zyx"]) == 0
        assert "remove it: write the text without them" in capsys.readouterr().err
