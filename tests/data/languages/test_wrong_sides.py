"""How much evidence it takes to call a side wrong: alone, or together with the other one."""

from typing import NamedTuple

import numpy as np
import pytest

from nmt_cli.data.cleaning.kinds import CLEAN, SOURCE_WRONG, SWAPPED, TARGET_WRONG
from nmt_cli.data.languages import wrong_sides
from nmt_cli.data.languages.trigrams import BUCKETS, trigram_counts


class GivenPair(NamedTuple):
    """A span of one pair."""

    src: str
    tgt: str

    def side(self, side: str) -> np.ndarray:
        return _bytes(self.src if side == "src" else self.tgt)


def _bytes(line: str) -> np.ndarray:
    return np.frombuffer(f"{line}\n".encode(), np.uint8)


@pytest.fixture
def odds() -> np.ndarray:
    """Each trigram of `s` counts 1 for the source's language, each of `t` for the target's."""
    odds = np.zeros(BUCKETS, np.float32)
    for line, weight in (("sss", 1.0), ("ttt", -1.0)):
        odds[trigram_counts(_bytes(line)) > 0] = weight
    return odds


@pytest.mark.parametrize(
    ("src", "tgt", "kind"),
    [
        # Ten letters have eight trigrams.
        ("t" * 10, "t" * 20, CLEAN),
        ("t" * 11, "t" * 20, SOURCE_WRONG),
        ("s" * 20, "s" * 10, CLEAN),
        ("s" * 20, "s" * 11, TARGET_WRONG),
        ("t" * 7, "s" * 7, SWAPPED),
        ("t" * 20, "s" * 7, SWAPPED),
        ("t" * 7, "s" * 6, CLEAN),
        ("t" * 6, "s" * 11, TARGET_WRONG),
    ],
)
def test_one_wrong_side_takes_more_evidence_than_two(
    src: str, tgt: str, kind: int, odds: np.ndarray
) -> None:
    verdicts = wrong_sides._check_span(odds, ("xx", "yy"), {}, GivenPair(src, tgt))
    assert verdicts.kinds.tolist() == [kind]


def test_a_line_that_clearly_belongs_to_its_side_takes_less(odds: np.ndarray) -> None:
    """Else a text of short lines would not be checked at all."""
    verdicts = wrong_sides._check_span(odds, ("xx", "yy"), {}, GivenPair("s" * 7, "t" * 7))
    assert verdicts.right.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("src", "tgt", "kind"),
    [
        # Names of the source's language, and words of the target's.
        ("sss Ssssssss Sssssssss", "tttt Ssssssss Sssssssss", CLEAN),
        ("Tttttttt Ttttttttt sss", "Tttttttt Ttttttttt ttt", CLEAN),
        ("Ssssssss sss sss ss", "tttt Ssssssss sss", CLEAN),
        # Nothing, or too much of it, is not translated.
        ("Ssssssss Sssssssss", "Ssssssss Sssssssss", TARGET_WRONG),
        ("Ssssssss Sssssssss ss", "Ssssssss Sssssssss ssss", TARGET_WRONG),
        ("ssss Ssssssss sssss ssssss sss", "tttt Ssssssss sssss ssssss sss", TARGET_WRONG),
    ],
)
def test_side_with_names_is_judged_by_its_other_words(
    src: str, tgt: str, kind: int, odds: np.ndarray
) -> None:
    verdicts = wrong_sides._check_span(odds, ("xx", "yy"), {}, GivenPair(src, tgt))
    assert verdicts.kinds.tolist() == [kind]
