"""With --keep-numbers, an amount is kept with its currency, and a score with its hyphen."""

import pytest

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.kept_numbers import find_numbers
from nmt_cli.data.markup.marked_text import Placeholder, raw_text


def kept_in(line: str) -> list[str]:
    pieces = parse_line(line, Kept(numbers=True))
    assert raw_text(pieces) == line
    return [piece.raw for piece in pieces if isinstance(piece, Placeholder)]


@pytest.mark.parametrize(
    "amount",
    [
        "N4.5", "N500", "R500", "K1,250", "L4,50", "NPR1,000", "CHF5'000", "CHF5’000", "N10m",
        "N5bn", "N20K", "N1.2b", "N4.5tn", "₦4.5", "₦500k", "500₦", "GH₵20", "₹5",
        "KSh500", "Ksh5", "Rs5", "Rp50.000", "N1,500,000.50",
    ],
)  # fmt: skip
def test_amounts_are_kept_with_their_currency(amount: str) -> None:
    lines = ("Pay {}.", "({})", "{}, or 2", "{}/litre", "{}-a-day", "up to {}.", "“{}”", "**{}**")
    for line in lines:
        assert kept_in(line.format(amount))[0] == amount, line
    assert Placeholder(amount) not in parse_line(f"Pay {amount}.")
    for line in ("{}'s", "x{}", "#{}", "a-{}", "x.{}", "{}.5.x"):
        assert amount not in kept_in(line.format(amount)), line


@pytest.mark.parametrize(
    "scale", ["thousand", "million", "millions", "Milliarden", "millones", "mil", "billion"]
)
def test_few_digits_before_a_large_number_word_are_an_amount(scale: str) -> None:
    assert kept_in(f"N5 {scale} for L50\u00a0{scale}.") == ["N5", "L50"]


@pytest.mark.parametrize(
    "name",
    ["A4", "G20", "N95", "CO2", "MP3", "Act1992", "Web2.0", "K9 military", "M25 miles"],
)
def test_names_with_digits_are_no_amounts(name: str) -> None:
    assert kept_in(f"The {name} is new.") == []


def test_signs_that_move_in_other_languages_are_left_to_the_model() -> None:
    assert kept_in("$4.5, US$4.5, €5, 5€, £5, ¥5") == ["4.5", "4.5", "5", "5", "5", "5"]


def test_both_amounts_of_a_range_are_kept() -> None:
    assert [mark.piece.raw for mark in find_numbers("N400–N500, ₦4-₦5, N4.5–N5.5 billion")] == [
        "N400", "N500", "₦4", "₦5", "N4.5", "N5.5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "score", ["2-1", "1-1", "0-0", "21-9", "110-99", "2–1", "4410-882", "121-5", "1978-883"]
)
def test_two_numbers_that_are_no_range_are_one(score: str) -> None:
    for line in ("They won {}.", "({})", "a {} win, 3 goals", "{}, or 1-0"):
        assert kept_in(line.format(score))[0] == score, line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("10-12 years", ["10", "12"]),
        ("1990-91, 2019-2020", ["1990", "91", "2019", "2020"]),
        ("800-2 100 Hz", ["800", "2 100"]),
        ("2-1-A", ["2", "1"]),
        ("A2-1", ["1"]),
        ("2-1.5", ["2", "1.5"]),
        ("6-4, 7-5", ["6-4", "7-5"]),
        ("4.2-1", ["4.2", "1"]),
        ("2--1", ["2", "-1"]),
    ],
)
def test_ranges_and_parts_of_others_stay_two_numbers(line: str, expected: list[str]) -> None:
    assert kept_in(line) == expected


def test_very_long_numbers_are_two() -> None:
    long = "9" * 5000
    assert kept_in(f"{long}-{long}") == [long, long]
