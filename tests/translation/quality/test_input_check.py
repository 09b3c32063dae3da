"""Text that is of another kind than the training text."""

import dataclasses

import numpy as np
import pytest
from byte_models import byte_subwords
from test_checker import ENGLISH, GERMAN, STATISTICS

from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.translation.quality.input_check import MIN_LINES, find_misfit

GOOD = ["The small dog sleeps in the house.", "Where is the train to the city?"] * 5


class LetterSubwords:
    """Subwords that know the letters of English alone."""

    unk_id = 1

    def encode_source(self, lines: list[str]) -> list[list[int]]:
        return [[7 if ord(letter) < 128 else 1 for letter in line] + [3] for line in lines]


def message(lines: list[str], text: TextStatistics | None = STATISTICS) -> str:
    return str(find_misfit(lines, byte_subwords(), text) or "")


def test_text_like_the_training_text_fits() -> None:
    assert message(GOOD) == message([]) == message(["", " "]) == ""


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        (["the sm@@ all dog", "the ca@@ t"], "marks of subwords (@@, ▁) (first on line 2)"),
        (["▁The ▁dog"], "marks of subwords"),
        ([line.capitalize() for line in GERMAN[:10]], "not in `en` but in `de`"),
        ([line.replace(".", " .").replace("?", " ?") for line in GOOD], "spaces before its punct"),
        ([line.lower() for line in GOOD], "no capital letters"),
    ],
)
def test_misfit_names_the_kind_the_line_and_the_mend(lines: list[str], part: str) -> None:
    shown = message(["", *lines])
    assert part in shown
    assert "first on line 2): " in shown


def test_unknown_characters_are_reported_without_statistics() -> None:
    lines = ["The dog", "Die Tür ist größer", "Ελληνικά"]
    misfit = find_misfit(lines, LetterSubwords(), None)
    assert misfit is not None
    assert misfit.line == 1
    assert "does not know 33 % of the text" in misfit.message
    usual = dataclasses.replace(
        STATISTICS, src=dataclasses.replace(STATISTICS.src, unknown=0.2),
        language_odds=np.zeros(0, np.float32),
    )  # fmt: skip
    assert find_misfit(lines, LetterSubwords(), usual) is None


def test_few_lines_are_not_judged_by_shares() -> None:
    lines = [line.lower() for line in GOOD]
    assert message(lines[: MIN_LINES - 1]) == ""
    assert "capital" in message(lines[:MIN_LINES])


def test_what_is_usual_in_the_training_text_fits() -> None:
    lower = dataclasses.replace(STATISTICS.src, lower_case=0.9, tokenized=0.9)
    usual = dataclasses.replace(STATISTICS, src=lower)
    assert message([line.lower() for line in GOOD], usual) == ""
    assert message([line.replace(".", " .") for line in GOOD], usual) == ""
    assert message(ENGLISH[:10], usual) == ""
