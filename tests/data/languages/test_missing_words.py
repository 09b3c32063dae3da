"""Text without the function words of the language that it should be in is warned of."""

import unicodedata
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.languages.missing_words import LEAST_LINES, missing_words

OTHER = [f"Kagtol{n} murnef wuntol rikbor gulsaw{n} ndok." for n in range(200)]
ENGLISH = [f"The dog {n} was not seen in the garden." for n in range(200)]
LANGUAGES = ["--src-lang", "en", "--tgt-lang", "xnd"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, *columns: list[str]) -> None:
    rows = zip(*columns, strict=True)
    Path(name).write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def test_init_and_prepare_warn_of_a_wrong_column(capsys: pytest.CaptureFixture[str]) -> None:
    write("d.tsv", [f"x{n}" for n in range(200)], OTHER, OTHER[::-1], ENGLISH)
    table = ["--train-tsv", "d.tsv", "--tsv-columns", "2,3", *LANGUAGES]
    warning = (
        "the training source column of `d.tsv` does not look like English (`en`): none of its "
        "first 200 lines of several words have one of the commonest words of this language; does "
        "`--tsv-columns` name the right columns?"
    )
    assert main(["init", *table]) == 0
    assert warning in capsys.readouterr().err
    assert main(["prepare", "--set", "data.subwords=chars"]) == 0
    assert warning in capsys.readouterr().err
    assert main(["init", "--force", *table[:3], "4,2", *LANGUAGES]) == 0
    assert "does not look like" not in capsys.readouterr().err


@pytest.mark.parametrize(("option", "role"), [("--valid", "validation"), ("--test", "test")])
def test_held_out_text_is_checked(
    option: str, role: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, lines in (("train.en", ENGLISH), ("train.xnd", OTHER), ("held.en", OTHER[::-1])):
        write(name, lines)
    held_out = [option, "held.en", "train.xnd"]
    assert main(["init", "--train", "train.en", "train.xnd", *held_out, *LANGUAGES]) == 0
    err = capsys.readouterr().err
    assert (
        f"the {role} source `held.en` does not look like English (`en`): none of its first 200"
        in err
    )
    assert "is the source of this pair of files in English (`en`)?" in err


def test_lists_of_names_and_little_text_are_not_checked() -> None:
    assert missing_words(OTHER[: LEAST_LINES - 1], "en") is None
    assert missing_words(["Tathlina Lake (60-30N, 117-30W), Willow River"] * 200, "en") is None
    assert missing_words(OTHER, "xnd") is None
    assert missing_words([*OTHER[:160], *ENGLISH[:40]], "en") is None
    assert missing_words([*OTHER[:180], *ENGLISH[:20]], "en") == (20, 200)


def test_the_form_of_diacritics_does_not_matter() -> None:
    lines = ["một con chó đã ở trong nhà của tôi"] * 100
    assert missing_words([unicodedata.normalize("NFD", line) for line in lines], "vi") is None
