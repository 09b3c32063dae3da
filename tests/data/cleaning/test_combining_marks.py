"""Combining marks are repaired: the same one twice, and lines below letters in place of dots."""

import unicodedata

import pytest

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.letters.combining_marks import without_repeated_marks
from nmt_cli.data.cleaning.repairs import Repaired, repair_sides

# o, e and s with a dot below.
DOT_O, DOT_E, DOT_S = "\u1ecd", "\u1eb9", "\u1e63"
YORUBA = [f"{DOT_O}j{DOT_O} {DOT_S}e {DOT_E}s{DOT_E} {number}" for number in range(9)]


def repaired(side: list[str], *lines: str) -> list[str]:
    """These repaired lines behind others of a side; both sides of a text are repaired alike."""
    text = [*side, *lines]
    for sides in ((text, ["a"] * len(text)), (["a"] * len(text), text)):
        record = Repaired()
        results = repair_sides(*sides, record)
        result = results[sides.index(text)]
        composed = [unicodedata.normalize("NFC", line) for line in text]
        changed = {index for index, line in enumerate(composed) if result[index] != line}
        assert record.lines.get(kinds.MARK, set()) == changed
        assert record.lines.keys() <= {kinds.MARK, kinds.UNICODE_FORM}
        assert all(unicodedata.is_normalized("NFC", line) for line in result)
    return result[len(side) :]


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (f"l{DOT_O}\u0323 s{DOT_O}\u0323\u0323\u0300r{DOT_O}", f"l{DOT_O} s{DOT_O}\u0300r{DOT_O}"),
        ("o\u0323\u0323j", f"{DOT_O}j"),
        # Other marks keep their order, and the first of two may be part of a letter.
        ("\u00ed\u0301 \u00f1\u0303 \u00c0\u0300", "\u00ed \u00f1 \u00c0"),
        ("\u00e1\u0331\u0301", "\u00e1\u0331"),
        ("e\u0329\u0329\u0301", "\u00e9\u0329"),
        ("\u1ec7\u0323", "\u1ec7"),
        # Cyrillic, Greek, Hebrew, Arabic, Devanagari, Thai, Japanese.
        ("\u0439\u0306 \u03ac\u0301", "\u0439 \u03ac"),
        ("\u05e9\u05c1\u05c1\u05b8\u05b8", "\u05e9\u05b8\u05c1"),
        ("\u0645\u0651\u0651 \u0622\u0653", "\u0645\u0651 \u0622"),
        ("\u0921\u093c\u093c", "\u0921\u093c"),
        ("\u0e17\u0e35\u0e48\u0e48", "\u0e17\u0e35\u0e48"),
        ("\u304b\u3099\u3099", "\u304c"),
    ],
)  # fmt: skip
def test_a_mark_is_once_on_its_letter(line: str, right: str) -> None:
    assert repaired([], f"a {line} b") == [f"a {right} b"]
    assert without_repeated_marks(line) == right


@pytest.mark.parametrize(
    "line",
    [
        f"{DOT_O}\u0300 \u1ec7 \u00e9\u0329 \u01d5 \u1e17 m\u0300",
        # Tones of one letter, and other marks that may be there twice.
        "o\u0301\u0300\u0301", "\u0930\u0951\u0951", "\u0645\u064e\u064e", "\u0915\u094d\u094d",
        "\u0f62\u0f7a\u0f7a", "I\u0305\u0305", "v\u20d7\u20d7", "a\u0364\u0364",
        "e\u0301e\u0301 \u0301\u00b4",
    ],
)  # fmt: skip
def test_other_marks_stay(line: str) -> None:
    right = unicodedata.normalize("NFC", line)
    assert repaired([], line) == [right]
    assert without_repeated_marks(line) is line


def test_lines_below_become_the_dots_that_the_side_has() -> None:
    assert repaired(YORUBA, "s\u0329e \u00e8\u0329 mo\u0329\u0301 E\u0329 S\u0329") == [
        f"{DOT_S}e {DOT_E}\u0300 m{DOT_O}\u0301 \u1eb8 \u1e62"
    ]
    # A letter with both, and with each of them twice.
    assert repaired(YORUBA, f"{DOT_O}\u0329 {DOT_O}\u0323\u0329 o\u0329\u0329") == [
        f"{DOT_O} {DOT_O} {DOT_O}"
    ]
    decomposed = [unicodedata.normalize("NFD", line) for line in YORUBA]
    assert repaired(decomposed, "e\u0329")[-1] == DOT_E


def test_lines_below_stay_where_a_dot_is_not_known_to_be_right() -> None:
    # This side has no dot below i, and syllables have lines below consonants.
    line = "i\u0329 b\u028ctn\u0329 l\u0329"
    assert repaired([*YORUBA, *["\u1e47 \u1e37"] * 9], line) == [line]
    assert repaired([DOT_O.upper()] * 9, "o\u0329") == [DOT_O]
    for dots, lines, is_repaired in ((4, 1, False), (5, 1, True), (11, 3, False), (12, 3, True)):
        found = repaired([f"{DOT_O}k"] * dots, *["o\u0329k"] * lines)
        assert found == [f"{DOT_O}k" if is_repaired else "o\u0329k"] * lines
    # All letters are decided together: no word is repaired in part.
    for dots, word in ((47, "s\u0329e\u0329"), (48, DOT_S + DOT_E)):
        text = [*[DOT_S] * 9, *[DOT_E] * (dots - 9), *["e\u0329"] * 4]
        assert repaired(text, *["s\u0329e\u0329"] * 4)[0] == word
    # Dots are not changed to lines.
    assert repaired(["o\u0329k"] * 90, f"{DOT_O}k") == [f"{DOT_O}k"]
