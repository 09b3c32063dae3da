"""Validation and test text that is spelt in another way than the training text is warned of."""

from pathlib import Path

import pytest

from nmt_cli.cli import main

PLAIN = ["ko mita ha"] * 1_100
TRAIN = [*["haguã ko'ẽ mita"] * 60, *PLAIN]
VALID = [*["haguâ ko'ê mita"] * 60, *PLAIN]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def warnings(
    train: list[str],
    valid: list[str],
    capsys: pytest.CaptureFixture[str],
    *options: str,
    words: str = "spelt",
) -> list[str]:
    for name, lines in (("a", train), ("v", valid)):
        for side, text in (("es", ["El perro, ni\u00f1o"] * len(lines)), ("gn", lines)):
            Path(f"{name}.{side}").write_text("".join(f"{line}\n" for line in text))
    files = ["--train", "a.es", "a.gn", "--valid", "v.es", "v.gn", *options]
    assert main(["init", "--force", *files, "--src-lang", "es", "--tgt-lang", "gn"]) == 0
    return [line for line in capsys.readouterr().err.splitlines() if words in line]


def test_letters_that_only_one_of_the_texts_has_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (said,) = warnings(TRAIN, VALID, capsys)
    assert said == (
        "warning: the validation target `v.gn` seems to be spelt differently from the training "
        "text: of their first lines, only the training text has `ã` (U+00E3) 60 times and `ẽ` "
        "(U+1EBD) 60 times and only the validation text has `â` (U+00E2) 60 times and `ê` (U+00EA) "
        "60 times; the first such lines are 1, 2, 3, 4 and 5; a model knows words only as the "
        "training text spells them: spell all texts in one way, unless these are words of another "
        "language; if a program has removed letters, take the text from where it has them"
    )
    first, second = warnings(TRAIN, VALID, capsys, "--test", "v.es", "v.gn")
    assert ("validation target" in first, "test target" in second) == (True, True)


def test_a_letter_that_one_line_in_fifty_has_is_named_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (said,) = warnings(TRAIN, [*VALID[:59], "haguã mita", *PLAIN], capsys)
    assert "only the training text has `ã` (U+00E3) 60 times" in said


@pytest.mark.parametrize(
    ("train", "valid"),
    [
        (TRAIN, TRAIN),
        # Capital letters, and accents of their own.
        (TRAIN, ["HAGUÃ ko'e\u0303 mita"] * 60),
        # Too few to be expected, and a word of few lines that has the letter often.
        (TRAIN[35:], VALID[35:]),
        (["ã" * 60, *PLAIN], PLAIN),
        # A word of a small text, whose letter the long one has rarely.
        ([*["haguã mita"] * 19, *PLAIN], [*["haguâ mita"] * 19, *["ko mita"] * 180]),
        (PLAIN, ["haguâ mita"] * 19),
        # Letters that the other text has rarely, as those of names.
        ([*["haguã mita"] * 60, *PLAIN], [*["hagua mita"] * 58, "haguã ãã", *PLAIN]),
        # Few lines to train on, as those of a domain.
        (TRAIN[:999], VALID[:999]),
        # Characters of other kinds of scripts are of the subject.
        (["".join(map(chr, range(0x4E00, 0x4E00 + 310)))] * 1_000, ["\u5e94\u7528"] * 900),
    ],
)
def test_texts_that_are_spelt_alike_are_not(
    train: list[str], valid: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert warnings(train, valid, capsys) == []


QUOTED = [*['ko "mita" haj'] * 60, *PLAIN]
SPOKEN = [*["ko mit'a haj"] * 60, *PLAIN]
SIGNS = [*["ko mi*ta h[aj"] * 60, *PLAIN]


@pytest.mark.parametrize(
    ("train", "valid", "warning"),
    [
        (
            QUOTED,
            PLAIN,
            "quotation marks of the validation target `v.gn`: of their first lines, the training "
            "text has 120, and the validation text 0, where about 113 would be usual;",
        ),
        (
            PLAIN,
            SPOKEN,
            "apostrophes within words of the validation target `v.gn`: of their first lines, the "
            "validation text has 60, and the training text 0, where about 57 would be usual;",
        ),
        (
            PLAIN,
            [f"{line}." for line in PLAIN],
            "marks at the ends of sentences of the validation target `v.gn`: of their first lines, "
            "the validation text has 1,100, and the training text 0, where about 1,100 would be "
            "usual;",
        ),
        (
            [line.replace("[", "") for line in SIGNS],
            PLAIN,
            "`*` within words of the validation target `v.gn`: of their first lines, the training "
            "text has 60, and the validation text 0, where about 57 would be usual;",
        ),
        (
            PLAIN,
            [line.replace("*", "") for line in SIGNS],
            "`[` within words of the validation target `v.gn`: of their first lines, the "
            "validation text has 60, and the training text 0, where about 57 would be usual;",
        ),
    ],
)
def test_marks_that_only_one_of_the_texts_has_are_counted(
    train: list[str], valid: list[str], warning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (said,) = warnings(train, valid, capsys, words="would be usual")
    assert said.startswith(f"warning: {warning}")


@pytest.mark.parametrize(
    ("train", "valid"),
    [
        (QUOTED, QUOTED),
        # In other forms.
        (QUOTED, [line.replace('"', "\u201c") for line in QUOTED]),
        (SPOKEN, [line.replace("'", "\u2019") for line in SPOKEN]),
        (SIGNS, SIGNS),
        ([f"{line}." for line in PLAIN], [f"{line} ko! )" for line in PLAIN]),
        # Signs beside words, or numbers.
        ([*["*ko mita* 2*3 a*2"] * 60, *PLAIN], PLAIN),
        # Too few to be expected, of few lines, and of a small text.
        (QUOTED, PLAIN[:250]),
        (PLAIN, QUOTED[:9]),
        (['"' * 200, *PLAIN], PLAIN),
        # Apostrophes as quotation marks.
        ([*["ko 'mita haj'"] * 60, *PLAIN], PLAIN),
    ],
)
def test_marks_of_texts_that_are_written_alike_are_not(
    train: list[str], valid: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert warnings(train, valid, capsys, words="would be usual") == []
