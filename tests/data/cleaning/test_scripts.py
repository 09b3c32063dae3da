"""Lines in another script than the rest, and letters that repeat, are found in all scripts."""

import pytest

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.doubts import find_doubts

TEXTS = {
    "Devanagari": "यह बात ठीक नहीं है।",
    "Bengali": "আমি ভাত খাই।",
    "Tifinagh": "ⴰⵣⵓⵍ ⴰⴳⵎⴰ",
    "Osage": "𐓏𐓘𐓻𐓘𐓻𐓟 𐓣𐓟",
    "Adlam": "𞤢𞤣𞤤𞤢𞤥 𞤺𞤫",
    "N'Ko": "ߒߞߏ ߓߟߏߡߊ",
    "Ethiopic": "ሰላም ለዓለም",
    "Cherokee": "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
    "Latin": "Ka mi to da.",
    "Japanese": "これはテストです。",
}


def doubts(lines: list[str]) -> list[int]:
    found = find_doubts([f"{line} x" for line in ["So it is."] * len(lines)], lines, ("en", "xx"))
    return found.tolist()


@pytest.mark.parametrize("other", TEXTS)
@pytest.mark.parametrize("own", TEXTS)
def test_lines_in_any_other_script_are_found(own: str, other: str) -> None:
    lines = [*([TEXTS[own]] * 60), TEXTS[other]]
    assert doubts(lines)[-1] == (kinds.OTHER_SCRIPT if own != other else kinds.CLEAN)


@pytest.mark.parametrize(
    ("end", "is_found"),
    [(". Это правда, сказал он нам.", True), ("? «Это правда, сказал он нам»", True),
     (". Это правда, он.", False), (", это правда, сказал он нам.", False),
     (" (St. Это правда, сказал он нам, ka mi to da ka mi to.)", False)],
)  # fmt: skip
def test_lines_that_end_with_a_sentence_in_another_script_are_found(
    end: str, is_found: bool
) -> None:
    lines = [*([TEXTS["Latin"]] * 60), f"Ka mi to da ka mi to da ka mi to da ka mi to{end}"]
    assert doubts(lines)[-1] == (kinds.OTHER_SCRIPT if is_found else kinds.CLEAN)


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("ΔΣΩ", False), ("ΔΣΩΨ", True), ("to ΔΣΩΨ", False), ("to ΔΣΩΨΦ", True),
        # Letters that stand for others: mathematical and full-width ones.
        ("𝑎𝑏𝑐𝑑", False), ("ＡＢＣＤ", False),
        # Signs that lengthen others.
        ("ــــــ", False), ("ーーーー", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [0, 30])
def test_lines_in_another_script_have_several_letters_and_hardly_others(
    line: str, is_found: bool, place: int
) -> None:
    lines = [TEXTS["Latin"]] * 60
    lines[place] = line
    expected = [kinds.CLEAN] * 60
    expected[place] = kinds.OTHER_SCRIPT if is_found else kinds.CLEAN
    assert doubts(lines) == expected


def test_text_in_two_scripts_has_no_lines_in_another_one() -> None:
    lines = [TEXTS["Latin"]] * 40 + [TEXTS["Cherokee"]] * 10
    assert set(doubts(lines)) == {kinds.CLEAN}


@pytest.mark.parametrize("line", [TEXTS["Japanese"], "スーパー", "〆〆〆〆"])
def test_japanese_is_one_script(line: str) -> None:
    assert set(doubts([*(["今天天气很好，我们去学校。"] * 60), line])) == {kinds.CLEAN}


@pytest.mark.parametrize("letter", ["к", "α", "क", "ा", "\u0301", "ሀ", "𞤢", "ß", "हा"[1]])
def test_letters_and_marks_of_any_script_may_not_repeat_so_often(letter: str) -> None:
    for count, kind in ((9, kinds.CLEAN), (10, kinds.REPEATED), (15, kinds.REPEATED)):
        line = f"a {letter * count} b"
        assert doubts(["a b c.", line, "a b c."]) == [kinds.CLEAN, kind, kinds.CLEAN]


def test_lines_and_dashes_that_are_drawn_are_no_repeated_letters() -> None:
    assert set(doubts(["اسم: " + 20 * "ـ", 20 * "—" + " a", "スーパ" + 12 * "ー"])) <= {
        kinds.CLEAN, kinds.OTHER_SCRIPT,
    }  # fmt: skip
