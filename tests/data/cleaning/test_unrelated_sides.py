"""The warning that the sides of a small text are not related to each other."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from synthetic_pairs import two_languages

from nmt_cli.cli import main
from nmt_cli.data.cleaning.alignment import matching
from nmt_cli.data.cleaning.alignment.cooccurrence import Table

WARNING = "the words of the two sides do not seem to be related"
PAIRS = 700


def shuffled(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs with their targets in another order."""
    targets = [tgt for _, tgt in pairs]
    random.Random(1).shuffle(targets)
    return list(zip((src for src, _ in pairs), targets, strict=True))


class TestUnrelatedSides:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def is_warned(
        self, pairs: Sequence[tuple[str, str]], capsys: pytest.CaptureFixture[str]
    ) -> bool:
        """Whether preparing these pairs gives the warning."""
        for side, name in enumerate(("a.x", "a.y")):
            Path(name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
        options = ["--force", "--vocab-size", "200", "--src-lang", "xyz", "--tgt-lang", "zyx"]
        assert main(["prepare", "--train", "a.x", "a.y", *options]) == 0
        return WARNING in " ".join(capsys.readouterr().err.split())

    def test_shuffled_pairs_are_warned_of(self, capsys: pytest.CaptureFixture[str]) -> None:
        pairs = two_languages(PAIRS, 3)
        assert not self.is_warned(pairs, capsys)
        assert self.is_warned(shuffled(pairs), capsys)
        # So many that single pairs are judged, too.
        assert self.is_warned(shuffled(two_languages(matching.MIN_PAIRS + 300, 5)), capsys)
        # 126 of these seem shifted by chance.
        assert self.is_warned(shuffled(two_languages(2_100, 3)), capsys)

    def test_shifted_pairs_are_warned_of_as_shifted(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pairs = two_languages(2_100, 3)
        sources, targets = zip(*pairs[700:], strict=True)
        shifted = list(zip(sources[1:], targets, strict=False))
        assert not self.is_warned([*shuffled(pairs[:700]), *shifted], capsys)

    def test_two_texts_without_relation_are_warned_of(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (sources, _), (_, targets) = (
            list(zip(*two_languages(PAIRS, seed), strict=True)) for seed in (3, 4)
        )
        assert self.is_warned(list(zip(sources, targets, strict=True)), capsys)

    def test_pairs_half_of_which_are_shuffled_are_not(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pairs = two_languages(PAIRS, 3)
        half = PAIRS // 2
        assert not self.is_warned(pairs[:half] + shuffled(pairs[half:]), capsys)

    def test_few_pairs_and_single_words_tell_nothing(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pairs = shuffled(two_languages(PAIRS, 3))
        assert self.is_warned(pairs[:500], capsys)
        assert not self.is_warned(pairs[:499], capsys)
        words = [(src.split()[0], tgt.split()[0]) for src, tgt in pairs]
        assert not self.is_warned(words, capsys)


@pytest.mark.parametrize(
    ("errors", "counts", "is_unrelated"),
    [
        # Standard errors between the means; 1.5 words in a line that occur three times.
        (4.0, ([75, 75], [75, 75]), True), (6.0, ([75, 75], [75, 75]), False),
        (-9.0, ([75, 75], [75, 75]), True), (4.0, ([75, 74], [75, 75]), False),
        (4.0, ([75, 75], [75, 74]), False), (4.0, ([148, *[2] * 99], [150]), False),
        (4.0, ([147, 3, 1], [150]), True),
    ],
)  # fmt: skip
def test_the_scores_and_enough_recurring_words_of_both_sides_tell(
    errors: float, counts: tuple[list[int], list[int]], is_unrelated: bool
) -> None:
    nothing = np.zeros(1)
    tables = [Table(100, *map(np.array, sides), nothing) for sides in (counts, counts[::-1])]
    learnt = matching._WordTables((nothing, nothing), (tables[0], tables[1]), nothing)
    random = np.array([-1.0, 1.0] * 200)
    # Each mean has the error 1 / 20.
    values = random + errors * np.sqrt(2) / 20
    assert matching._is_unrelated(learnt, values, random) is is_unrelated
