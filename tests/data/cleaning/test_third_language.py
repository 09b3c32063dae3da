"""Lines of a third language beside a language whose function words nmt does not know."""

from collections.abc import Callable
from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.cli import main
from nmt_cli.data.cleaning.findings import Finding
from nmt_cli.data.preparation.prepare import prepare

ENGLISH = "the dog of the man is in the garden and it was not with her for he is old"
GERMAN = "der Hund des Mannes ist in dem Garten und er war nicht mit ihr weil er alt ist"
FRENCH = "Le chien de la voisine est dans le jardin et il ne dort pas"
# English beside a language that is not known.
PAIRS = [(f"{ENGLISH} {tgt.split()[0]}", tgt) for _, tgt in two_languages(300, 1)]


def found(folder: Path, pairs: list[tuple[str, str]], src: str, tgt: str) -> dict[str, Finding]:
    train = write_pairs(folder, "train", pairs)
    config = tiny_config(
        data_train=[train], data_vocab_size=200, languages_src=src, languages_tgt=tgt
    )
    result = prepare(config, folder / "corpus", force=True, workers=1)
    return {finding.kind: finding for finding in result.findings}


@pytest.mark.parametrize("turned", [False, True])
def test_few_lines_of_a_third_language_are_found_beside_an_unknown_one(
    tmp_path: Path, turned: bool
) -> None:
    pairs = [*PAIRS]
    for index, line in ((20, FRENCH), (90, GERMAN)):
        pairs[index] = line, pairs[index][1]
    # A line of the other side is no third language, and neither is one with few of its words.
    pairs[40] = pairs[41][1], pairs[40][1]
    pairs[50] = "A dog sat on la plage with him", pairs[50][1]
    codes = ("en", "tw")
    if turned:
        pairs, codes = [(tgt, src) for src, tgt in pairs], ("tw", "en")
    kinds = found(tmp_path, pairs, *codes)
    third = kinds.pop("a side in a third language")
    assert (third.pairs, third.action, third.lines) == (2, "kept", ("21", "91"))
    side = "target" if turned else "source"
    assert kinds.pop(f"{side} not in its language").lines == ("41",)
    assert not kinds


def test_a_side_whose_language_is_unknown_is_not_compared_with_known_ones(tmp_path: Path) -> None:
    """It may be similar to one of them, as the dialects of German are to German."""
    german = [(f"{ENGLISH} {n}", f"{GERMAN} {n}") for n in range(300)]
    assert not found(tmp_path, german, "en", "gsw")
    # Its lines on the side of the known language keep the kind that says so.
    german[70] = german[70][::-1]
    assert found(tmp_path, german, "en", "gsw").keys() == {"sides swapped"}


@pytest.mark.parametrize(("languages", "is_warned"), [("en tw", True), ("tw en", False)])
def test_init_warns_of_them_on_the_side_of_the_known_language(
    languages: str,
    is_warned: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path, "train", PAIRS)
    write_pairs(tmp_path, "valid", [*[(FRENCH, tgt) for _, tgt in PAIRS[:5]], *PAIRS[5:200]])
    src, tgt = languages.split()
    sides = ["src", "tgt"] if src == "en" else ["tgt", "src"]
    # Where the French lines are on the side of the unknown language, nothing is said.
    (tmp_path / "valid.other").write_text("".join(f"{ENGLISH} {n}\n" for n in range(200)))
    valid = ["valid.src", "valid.tgt"] if is_warned else ["valid.src", "valid.other"]
    train = [f"train.{side}" for side in sides]
    assert main(["init", "--train", *train, "--valid", *valid, "--src-lang", src,
                 "--tgt-lang", tgt]) == 0  # fmt: skip
    err = " ".join(capsys.readouterr().err.split())
    assert (
        "5 of the first 200 lines of the validation source `valid.src` look like French (`fr`)"
        in err
    ) == (is_warned)


CYRILLIC = str.maketrans("abcdefghijklmnopqrstuvwxyzü", "абтдефгхийклмнопқрсөууәксүү")
RUSSIAN = "Он сказал, что это не так и что он был в городе"


@pytest.mark.parametrize("turned", [False, True])
def test_few_lines_of_a_third_language_are_found_on_the_side_of_the_unknown_one(
    tmp_path: Path, turned: bool
) -> None:
    pairs = [*PAIRS]
    for index, line in ((20, FRENCH), (90, GERMAN)):
        pairs[index] = pairs[index][0], line
    # A line of the other side is no third language, and neither is one with few of its words.
    pairs[40] = pairs[40][0], pairs[41][0]
    pairs[50] = pairs[50][0], f"{pairs[50][1]} la plage dans"
    codes = ("en", "tw")
    if turned:
        pairs, codes = [(tgt, src) for src, tgt in pairs], ("tw", "en")
    kinds = found(tmp_path, pairs, *codes)
    third = kinds.pop("a side in a third language")
    assert (third.pairs, third.action, third.lines) == (2, "kept", ("21", "91"))
    side = "source" if turned else "target"
    assert kinds.pop(f"{side} not in its language").lines == ("41",)
    assert not kinds


@pytest.mark.parametrize(("src", "tgt"), [("en", "tw"), ("tw", "en"), ("en", "de")])
@pytest.mark.parametrize("side", [0, 1])
def test_lines_that_end_with_a_sentence_in_a_third_language_are_found(
    src: str, tgt: str, side: int, tmp_path: Path
) -> None:
    pairs = [(f"{ENGLISH} {n}", f"{GERMAN} {n}") for n in range(300)] if tgt == "de" else PAIRS
    pairs = [pair[::-1] for pair in pairs] if src == "tw" else [*pairs]
    for index, end in ((20, f". {FRENCH}."), (70, f"! «{FRENCH}»"), (90, f", {FRENCH}")):
        sides = list(pairs[index])
        sides[side] += end
        pairs[index] = sides[0], sides[1]
    found_lines = found(tmp_path, pairs, src, tgt)["a side in a third language"].lines
    # One that follows a comma is a part of the sentence before it, whose words are known or not.
    assert found_lines == (("21", "71", "91") if (src, tgt)[side] == "tw" else ("21", "71"))


def test_russian_lines_are_found_among_those_of_an_unknown_language_in_cyrillic(
    tmp_path: Path,
) -> None:
    pairs = [(src, tgt.lower().translate(CYRILLIC)) for src, tgt in PAIRS]
    pairs[20] = pairs[20][0], RUSSIAN
    # It is the unknown language where many lines have these words.
    assert found(tmp_path, pairs, "en", "qzl")["a side in a third language"].lines == ("21",)
    pairs[100:140] = [(src, f"{tgt} и не на в что это как") for src, tgt in pairs[100:140]]
    assert not found(tmp_path, pairs, "en", "qzl")


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda src, tgt: (tgt, src), "sides swapped"),
        (lambda src, _: (src, src), "target not in its language"),
        (lambda _, tgt: (tgt, tgt), "source not in its language"),
        (lambda src, _: (src, "Wo ist das denn?"), "another script than the rest"),
    ],
)
def test_lines_in_the_script_of_the_other_side_are_named_by_their_side(
    wrong: Callable[[str, str], tuple[str, str]], kind: str, tmp_path: Path
) -> None:
    pairs = [(src, tgt.lower().translate(CYRILLIC)) for src, tgt in PAIRS]
    for index in (30, 70, 200):
        pairs[index] = wrong(*pairs[index])
    kinds = found(tmp_path, pairs, "en", "qzl")
    assert {name: finding.lines for name, finding in kinds.items()} == {kind: ("31", "71", "201")}


def test_a_single_swapped_pair_among_thousands_is_still_reported(tmp_path: Path) -> None:
    """One in 5,000 of swapped sides may be right, and is not listed; another script is."""
    pairs = [(f"{src} {n}", f"{tgt.lower().translate(CYRILLIC)} {n}")
             for n, (src, tgt) in enumerate(PAIRS * 20)]  # fmt: skip
    pairs[30] = pairs[30][::-1]
    kinds = found(tmp_path, pairs, "en", "qzl")
    assert kinds["another script than the rest"].lines == ("31",)
    assert "sides swapped" not in kinds
