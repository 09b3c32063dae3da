"""Marks of a typewriter beside printed ones, in hypotheses and references."""

import pytest
from noisy_lines import LINES

from nmt_cli.scoring.notes import text_notes
from nmt_cli.scoring.typography import typography_note


def note(hypotheses: list[str], reference: list[str]) -> str:
    return typography_note(hypotheses, [("ref", reference)])


@pytest.mark.parametrize(
    ("plain", "printed", "told"),
    [
        ("l'eau", "l\u2019eau", "apostrophes in different ways (' and \u2019"),
        ("l'eau", "l\u02bceau", "apostrophes in different ways (' and \u02bc"),
        ('"a"', "\u00aba\u00bb", 'quotation marks in different ways (" and \u00ab'),
        ('"a"', "\u201ca\u201d", 'quotation marks in different ways (" and \u201c'),
        ('"a"', "\u201fa\u201d", 'quotation marks in different ways (" and \u201f'),
        ("a -- b", "a \u2014 b", "dashes in different ways (-- and \u2014"),
        ("a - b", "a \u2014 b", "dashes in different ways (- and \u2014"),
        ("a - b", "a \u2013 b", "dashes in different ways (- and \u2013"),
    ],
)
def test_the_forms_of_marks_are_told_apart(plain: str, printed: str, told: str) -> None:
    assert f"`ref` write {told}, in 10 lines):" in note([plain] * 10, [printed] * 10)
    assert note([plain] * 10, [plain] * 10) == note([printed] * 10, [printed] * 10) == ""


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [
        # Quotation marks, feet, and the apostrophe of a genitive, which may close a quotation.
        ("'a' 6' boys' b", "l\u2019eau"),
        ("l'eau", "\u2018a\u2019 6\u2019 boys\u2019 b"),
        # Hyphens, numbers, ranges and options.
        ("well-known -5 1-2 --all", "a \u2013 b"),
        ("a - b", "1\u20132 \u2014all"),
        ("a - b", "a b"),
    ],
)
def test_other_marks_are_not_compared(hypothesis: str, reference: str) -> None:
    assert note([hypothesis] * 20, [reference] * 20) == ""
    assert note([reference] * 20, [hypothesis] * 20) == ""


def test_all_kinds_of_marks_of_a_reference_are_named() -> None:
    plain, printed = '"l\'eau" - a', "\u00abl\u2019eau\u00bb \u2013 a"
    said = note([plain] * 30, [printed] * 30)
    for kind in ("apostrophes", "quotation marks", "dashes"):
        assert said.count(f"{kind} in different ways") == 1
    # The first reference that differs is enough.
    references = [("same", [plain] * 30), ("first", [printed] * 30), ("second", [printed] * 30)]
    assert "`first`" in typography_note([plain] * 30, references)
    assert "`second`" not in typography_note([plain] * 30, references)


def test_the_commonest_mark_is_named() -> None:
    assert "(' and \u02bc," in note(["l'eau"] * 20, ["l\u2019eau"] * 9 + ["l\u02bceau"] * 11)


@pytest.mark.parametrize(("others", "is_told"), [(1, True), (2, False)])
def test_nearly_all_marks_of_either_side_are_of_one_form(others: int, is_told: bool) -> None:
    plain, printed = ["l'eau"] * 20, ["l\u2019eau"] * 20
    assert bool(note(plain, printed[others:] + plain[:others])) is is_told
    assert bool(note(plain[others:] + printed[:others], printed)) is is_told


@pytest.mark.parametrize(("differing", "lines", "is_told"), [
    (10, 100, True), (9, 100, False), (20, 2_000, True), (19, 2_000, False),
])  # fmt: skip
def test_few_lines_do_not_count(differing: int, lines: int, is_told: bool) -> None:
    """Those in which both sides have marks, and more than a small share of long texts."""
    alone = (lines - differing) // 2
    plain = ["l'eau"] * (differing + alone) + ["eau"] * (lines - differing - alone)
    printed = ["l\u2019eau"] * differing + ["eau"] * alone
    printed += ["l\u2019eau"] * (lines - len(printed))
    said = note(plain, printed)
    assert f"in {differing} lines)" in said if is_told else said == ""


def test_several_references_in_another_order_have_one_note() -> None:
    shifted = [*LINES[1:], LINES[0]]
    (said,) = text_notes(LINES, [("same", LINES), ("a", shifted), ("b", shifted)])
    assert "the hypotheses and the reference `a` seem" in said
