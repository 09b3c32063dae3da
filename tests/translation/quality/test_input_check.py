"""Text that is of another kind than the training text."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from byte_models import byte_subwords
from sacremoses import MosesDetokenizer
from test_checker import ENGLISH, GERMAN, STATISTICS

from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.translation.quality.input_check import find_misfit

GOOD = ["The small dog sleeps in the house.", "Where is the train to the city?"] * 5


class LetterSubwords:
    """Subwords that know the letters of English alone."""

    unk_id = 1

    def encode_source(self, lines: list[str]) -> list[list[int]]:
        return [[7 if ord(letter) < 128 else 1 for letter in line] + [3] for line in lines]


def message(lines: list[str], text: TextStatistics | None = STATISTICS) -> str:
    misfit = find_misfit(lines, byte_subwords(), text)
    return misfit.shown() if misfit else ""


def test_text_like_the_training_text_fits() -> None:
    assert message(GOOD) == message([]) == message(["", " "]) == ""


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        (["the sm@@ all dog", "the ca@@ t"], "marks of subwords (@@, ▁) (first on line 2)"),
        (["the sm@@ all dog"], "plain text, as `sed -E 's/@@( |$)//g'` writes it"),
        (["▁The ▁dog"], "marks of subwords"),
        ([line.capitalize() for line in GERMAN[:10]], "not in `en` but in `de`"),
        ([line.replace(".", " .").replace("?", " ?") for line in GOOD], "spaces before its punct"),
        ([line.lower() for line in GOOD], "no capital letters"),
        ([f"{line}\t7\tx" for line in GOOD], "3 columns, which are translated as one text"),
    ],
)
def test_misfit_names_the_kind_the_line_and_the_mend(lines: list[str], part: str) -> None:
    shown = message(["", *lines])
    assert part in shown
    assert "first on line 2): " in shown


def test_lines_that_begin_with_a_placeholder_may_have_no_capital_letters() -> None:
    lines = [f"{{name}} {line.lower()}" for line in GOOD]
    assert message(lines) == ""


def test_tokenised_text_is_detokenised_by_the_command_in_the_hint() -> None:
    tokenised = [line.replace(".", " .").replace("?", " ?") for line in GOOD]
    command = message([f"{line} &amp;" for line in tokenised]).split("`")[1]
    assert command == "sacremoses -l en -q detokenize"
    detokenised = MosesDetokenizer("en")
    assert [detokenised.detokenize(line.split()) for line in tokenised] == GOOD


def test_misfit_of_a_document_names_the_place() -> None:
    misfit = find_misfit(["", "▁The ▁dog"], byte_subwords(), STATISTICS)
    assert misfit is not None
    assert "(first on cue 8): " in misfit.shown(["cue 7", "cue 8"])


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
    assert message(lines[:4]) == message(GERMAN[:4]) == ""
    assert "capital" in message(lines[:5])
    assert "`de`" in message(GERMAN[:5])


@pytest.mark.parametrize(
    ("change", "part", "share"),
    [
        (lambda line: line.replace("e ", "e@@ "), "marks of subwords", 0.5),
        (lambda line: GERMAN[0].capitalize(), "not in `en`", 0.5),
        (lambda line: line.replace(".", " .").replace("?", " ?"), "spaces before", 0.5),
        (lambda line: line.lower(), "no capital letters", 0.9),
    ],
)
def test_misfit_is_a_share_of_the_lines(
    change: Callable[[str], str], part: str, share: float
) -> None:
    enough = round(share * len(GOOD))
    changed = [change(line) for line in GOOD]
    # Empty lines do not count.
    assert part in message([*changed[:enough], *[""] * 20, *GOOD[enough:]])
    assert message([*changed[: enough - 1], *GOOD[enough - 1 :]]) == ""


@pytest.mark.parametrize(
    ("line", "is_mark"),
    [
        ("The sm@@", True),
        ("<s> The dog", True),
        ("The dog </s>", True),
        ("The ▁dog", True),
        ("dog@@house", False),
        ("dog▁house", False),
    ],
)
def test_marks_of_subwords_are_at_the_ends_of_words(line: str, is_mark: bool) -> None:
    assert ("marks of subwords" in message([line])) == is_mark


def test_gravest_misfit_is_named() -> None:
    lines = [line.replace(".", " .").replace("?", " ?").lower() for line in GOOD]
    assert "spaces before" in message(lines)
    assert "marks of subwords" in message([f"{line} th@@ e" for line in lines])


def test_few_unknown_characters_fit() -> None:
    for count, text, is_misfit in ((10, None, True), (4, None, False), (4, STATISTICS, False)):
        misfit = find_misfit(["a" * (100 - count) + "é" * count], LetterSubwords(), text)
        assert (misfit is not None) == is_misfit


def test_text_of_no_language_fits() -> None:
    assert message(["12 34"] * 6) == ""
    similar = dataclasses.replace(STATISTICS, language_odds=np.zeros(0, np.float32))
    assert message(GOOD, similar) == ""
    assert find_misfit(["A \udcff"] * 6, LetterSubwords(), similar) is not None
    assert find_misfit(["A \udcff"] * 6, LetterSubwords(), STATISTICS) is not None


def test_what_is_usual_in_the_training_text_fits() -> None:
    lower = dataclasses.replace(STATISTICS.src, lower_case=0.9, tokenized=0.9)
    usual = dataclasses.replace(STATISTICS, src=lower)
    assert message([line.lower() for line in GOOD], usual) == ""
    assert message([line.replace(".", " .") for line in GOOD], usual) == ""
    assert message(ENGLISH[:10], usual) == ""


def test_what_is_rare_in_the_training_text_of_the_source_does_not_fit() -> None:
    rare = dataclasses.replace(
        STATISTICS,
        src=dataclasses.replace(STATISTICS.src, lower_case=0.4, tokenized=0.05),
        tgt=dataclasses.replace(STATISTICS.tgt, lower_case=0.9, tokenized=0.9),
    )
    assert "no capital letters" in message([line.lower() for line in GOOD], rare)
    spaced = [line.replace(".", " .").replace("?", " ?") for line in GOOD]
    assert "spaces before" in message(spaced, rare)


def test_few_lines_with_a_tab_are_no_table() -> None:
    assert message([*GOOD, "a\tb"]) == message(["a\tb"]) == ""
