"""The lengths of two sides tell, beside their words, whether they translate each other."""

import random
from pathlib import Path

import numpy as np
import pytest
from corpora import tiny_config, write_pairs

from nmt_cli.data.cleaning import clean
from nmt_cli.data.cleaning.alignment import matching
from nmt_cli.data.cleaning.alignment.length_fit import (
    WEIGHT,
    LengthFit,
    Lengths,
    learn_lengths,
    log_lengths,
)
from nmt_cli.data.preparation.prepare import prepare

Pairs = list[tuple[str, str]]
SYLLABLES = [a + b for a in "kmnrtylbdfgs" for b in "aoueiü"]


def rare_words(count: int, seed: int) -> Pairs:
    """Sentences of 4 to 40 words, of which most are rare, as in news of many topics."""
    chance = random.Random(seed)
    words = [["".join(chance.choices(SYLLABLES, k=4)) for _ in range(9_000)] for _ in range(2)]
    pairs = []
    for _ in range(count):
        indices = [int(9_000 * chance.random() ** 4) for _ in range(chance.randint(4, 40))]
        # Many words of one side have no counterpart on the other.
        sides = [
            " ".join(words[side][index] for index in indices if chance.random() < 0.6)
            for side in (0, 1)
        ]
        pairs.append((f"{sides[0]}.", f"{sides[1]}."))
    return pairs


def shuffled(pairs: Pairs, lines: range) -> Pairs:
    """The pairs, of which those in `lines`, from 0, have each other's targets."""
    order = list(lines)
    random.Random(2).shuffle(order)
    targets = [tgt for _, tgt in pairs]
    for line, other in zip(order, [*order[1:], order[0]], strict=True):
        targets[line] = pairs[other][1]
    return [(src, tgt) for (src, _), tgt in zip(pairs, targets, strict=True)]


def wrong_lines(folder: Path, pairs: Pairs) -> set[int]:
    """The lines, from 0, that are dropped as not a translation."""
    train, dropped = write_pairs(folder, "train", pairs), folder / "dropped.tsv"
    config = tiny_config(data_train=[train], data_vocab_size=200, data_clean="strict")
    prepare(config, folder / "corpus", force=True, workers=1, dropped=dropped)
    rows = [row.split("\t") for row in dropped.read_text("utf-8").splitlines()[1:]]
    dropped.unlink()
    return {int(row[1]) - 1 for row in rows if row[2] == "not a translation"}


def test_few_pairs_with_rare_words_are_not_taken_for_wrong_ones(tmp_path: Path) -> None:
    pairs = rare_words(2_400, 2)
    # By their words alone, 6 % seem wrong, and 10 % of the right ones beside the shuffled ones.
    assert len(wrong_lines(tmp_path, pairs)) < 0.01 * len(pairs)
    block = range(400, 640)
    found = wrong_lines(tmp_path, shuffled(pairs, block))
    assert len(found & set(block)) > 0.4 * len(block)
    assert len(found - set(block)) < 0.05 * len(pairs)


def test_wrong_pairs_are_found_in_text_that_is_sorted_by_length(tmp_path: Path) -> None:
    pairs = sorted(rare_words(4_000, 3), key=lambda pair: len(pair[0]))
    block = range(0, len(pairs), 5)
    found = wrong_lines(tmp_path, shuffled(pairs, block))
    # With targets a fixed distance away in place of those at random, 45 % of them are found.
    assert len(found & set(block)) > 0.7 * len(block)
    assert len(found - set(block)) < 0.1 * len(pairs)


def test_lengths_also_tell_in_lines_that_were_not_learnt_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "CHUNK_PAIRS", 600)
    monkeypatch.setattr(matching, "LEARNT_FROM_FOR_ALL", 1_800)
    pairs = rare_words(3_600, 3)
    # Every second chunk is learnt from.
    block = range(700, 1_100)
    found = wrong_lines(tmp_path, shuffled(pairs, block))
    assert len(found & set(block)) > 0.6 * len(block)
    assert len(found - set(block)) < 0.08 * len(pairs)


def with_ratios(ratios: np.ndarray, sums: np.ndarray | None = None) -> Lengths:
    """Log lengths with these ratios and these sums of both sides, or with equal sums."""
    sums = np.full(len(ratios), 8.0) if sums is None else sums
    return Lengths((sums + ratios) / 2, (sums - ratios) / 2)


def test_the_ratios_are_learnt_for_each_length_and_odd_pairs_do_not_change_them() -> None:
    chance = np.random.default_rng(1)
    sums = chance.uniform(4, 10, 20_000)
    usual = chance.normal(0.3, np.where(sums < 7, 0.4, 0.1))
    ratios = np.where(chance.random(20_000) < 0.05, chance.normal(4.0, 1.0, 20_000), usual)
    fit = learn_lengths(
        with_ratios(ratios, sums), with_ratios(chance.normal(0.4, 1.0, 20_000), sums)
    )
    assert (fit.middle, fit.other_middle) == pytest.approx((0.3, 0.4), abs=0.03)
    assert fit.spreads == pytest.approx([0.4] * 4 + [0.1] * 4, rel=0.15)
    assert fit.other_spreads == pytest.approx([1.0] * 8, rel=0.1)
    # The same ratio is odd only between long sides.
    scores = fit.scores(with_ratios(np.array([0.8, 0.8]), np.array([5.0, 9.0])))
    assert scores == pytest.approx([WEIGHT * 0.1, WEIGHT * np.log(0.05)], abs=0.15)


def test_lengths_that_say_nothing_give_no_score() -> None:
    # All pairs have equal lengths, and so have any sides.
    equal = with_ratios(np.zeros(10))
    assert abs(learn_lengths(equal, equal).scores(equal)[0]) < 1e-6
    # Sides at random that fit better than pairs do are chance.
    unequal = with_ratios(np.array([-1.0, 0.0, 1.0]))
    assert max(learn_lengths(unequal, equal).other_spreads) > 1


def test_lengths_that_do_not_fit_cannot_outweigh_all_words() -> None:
    fit = LengthFit(np.arange(7.0), 0.0, np.full(8, 0.1), 0.0, np.ones(8))
    scores = fit.scores(with_ratios(np.array([0.0, 0.5, 1.0, 9.0])))
    assert scores[0] == pytest.approx(WEIGHT * np.log(10), abs=0.1)
    assert scores[1:] == pytest.approx(WEIGHT * np.log(0.05), abs=0.01)


def test_lengths_are_those_of_characters() -> None:
    text = np.frombuffer("ab\n\nßé€😀\n".encode(), np.uint8)
    assert np.expm1(log_lengths(text)).round().tolist() == [2, 0, 4]
