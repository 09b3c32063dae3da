"""With --keep-numbers, part numbers are placeholders as a whole, and words with digits are none."""

import pytest

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.marked_text import Placeholder, raw_text

NUMBERS = Kept(numbers=True)


def kept_in(line: str, kept: Kept = NUMBERS) -> list[str]:
    pieces = parse_line(line, kept)
    assert raw_text(pieces) == line
    return [piece.raw for piece in pieces if isinstance(piece, Placeholder)]


@pytest.mark.parametrize(
    "code",
    [
        "AX-200/5",
        "HM71-B",
        "6205-2RS",
        "BC547B",
        "1N4148",
        "M8X40",
        "A12.30_C",
        "C.01A.003",
        "GX-4410-B",
        "GX-4410-BC",
        "13965-B",
    ],
)
def test_part_numbers_are_kept_whole(code: str) -> None:
    for line in ("{}", "Replace {} now.", "The part ({}), or:", "<b>{}</b>, 2 pieces", "It is {}."):
        assert code in kept_in(line.format(code)), line
    assert kept_in(f"Replace {code} now.", Kept()) == []
    assert kept_in(f"Order 25 of {code}/x.")[0] == "25"


@pytest.mark.parametrize(
    "word",
    [
        "COVID-19", "3D", "2nd", "G20", "A4", "2ND", "100TH", "10-12KG", "1000W", "9-11AM", "MP3",
        "mid-1990s", "U-20-WM", "1908.P.C", "SOR/2024-10", "2010/35/EU", "Q1/25", "ISO",
        "AX-200a", "AX-200's", "x@AX-200/5", "Ü-2000-A", "HTML",
    ],
)  # fmt: skip
def test_words_references_and_units_are_no_part_numbers(word: str) -> None:
    found = kept_in(f"The {word} is new.")
    assert [raw for raw in found if any(map(str.isalpha, raw))] == []


def test_numbers_beside_part_numbers_stay_numbers() -> None:
    line = "12.50 for AX-200/5 and 6,000 since 2026-03-31, see v2.4.1 or www.A1-200.de."
    assert kept_in(line) == [
        "12.50", "AX-200/5", "6,000", "2026-03-31", "v2.4.1", "www.A1-200.de",
    ]  # fmt: skip
