"""Sides that were cut short are found, and short or free translations stay."""

import random
from pathlib import Path

import numpy as np
import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.data.cleaning.alignment.cut_sides import LEAST_LENGTH, too_short
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare

Pairs = list[tuple[str, str]]
KIND = "a side cut short, or the other too long"
TEXT = list(dict.fromkeys(two_languages(3_000, 4)))
LONG = [index for index, (src, _) in enumerate(TEXT) if len(src.split()) >= 10]


def prepared(folder: Path, pairs: Pairs, clean: str = "strict") -> tuple[PreparedCorpus, Pairs]:
    """What `nmt prepare` reports, and the pairs that it drops as cut short."""
    config = tiny_config(
        data_train=[write_pairs(folder, "train", pairs)],
        data_vocab_size=200, data_clean=clean, data_max_ratio=1_000,
    )  # fmt: skip
    dropped = folder / "dropped.tsv"
    result = prepare(config, folder / "corpus", force=True, workers=1, dropped=dropped)
    rows = [row.split("\t") for row in dropped.read_text("utf-8").split("\n")[1:-1]]
    return result, [(row[3], row[4]) for row in rows if row[2] == KIND]


def cut(text: str) -> str:
    """The first third of the words."""
    words = text.split()
    return " ".join(words[: len(words) // 3])


def changed(places: list[int], side: int, change: str) -> Pairs:
    """The text with one side of some pairs cut, or written shorter as a whole."""
    pairs = list(TEXT)
    for place in places:
        sides = list(pairs[place])
        sides[side] = cut(sides[side]) + change
        pairs[place] = (sides[0], sides[1])
    return pairs


@pytest.mark.parametrize("side", [0, 1])
def test_sides_that_stop_within_a_sentence_are_found(tmp_path: Path, side: int) -> None:
    places = random.Random(side).sample(LONG, 30)
    pairs = changed(places, side, "")
    _, dropped = prepared(tmp_path, pairs)
    assert sorted(dropped) == sorted(pairs[place] for place in places)
    result, dropped = prepared(tmp_path, pairs, "safe")
    [finding] = [finding for finding in result.findings if finding.kind == KIND]
    assert (finding.pairs, finding.action, dropped) == (30, "kept", [])
    assert finding.lines[0] == str(min(places) + 1)


def test_short_translations_that_end_their_sentence_stay(tmp_path: Path) -> None:
    assert prepared(tmp_path, changed(random.Random(3).sample(LONG, 30), 1, "."))[1] == []


def test_a_side_that_lacks_sentences_is_found(tmp_path: Path) -> None:
    whole = [
        (f"{first[0].capitalize()} {second[0].capitalize()} {third[0].capitalize()}",
         f"{first[1].capitalize()} {second[1].capitalize()} {third[1].capitalize()}")
        for first, second, third in zip(TEXT[::3], TEXT[1::3], TEXT[2::3], strict=True)
    ]  # fmt: skip
    places = range(5, 900, 30)
    lost = list(whole)
    for place in places:
        lost[place] = (whole[place][0], TEXT[3 * place][1].capitalize())
    _, dropped = prepared(tmp_path, lost)
    assert sorted(dropped) == sorted(lost[place] for place in places)


def test_ends_of_lines_that_say_nothing_are_not_compared(tmp_path: Path) -> None:
    """In a language without full stops, a short translation stops like any other."""
    places = random.Random(5).sample(LONG, 30)
    pairs = [(src, tgt.removesuffix(".")) for src, tgt in changed(places, 1, "")]
    assert prepared(tmp_path, pairs)[1] == []


def test_what_is_too_short_depends_on_the_usual_ratio() -> None:
    generator = np.random.default_rng(1)
    whole = generator.integers(20, 200, 2_000)
    whole[:3] = LEAST_LENGTH - 1, 150, 150
    # Targets are half as long, as in Chinese; of 150 characters, 70 are usual, 30 are far too few.
    usual = (whole / 2 * generator.normal(1, 0.1, 2_000).clip(0.7, 1.3)).astype(np.int64)
    usual[:3] = 3, 30, 70
    assert too_short(whole, usual).tolist() == [1]
    # Where lengths vary much, the same pair is not far from the others.
    varied = (whole / 2 * generator.uniform(0.3, 3, 2_000)).astype(np.int64)
    varied[:3] = 3, 30, 70
    assert too_short(whole, varied).tolist() == []
