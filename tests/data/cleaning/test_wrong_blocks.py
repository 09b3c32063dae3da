"""Blocks of lines in which many pairs are wrong are named as a whole."""

import random
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from corpora import tiny_config
from synthetic_pairs import two_languages

from nmt_cli.data.cleaning.alignment.wrong_blocks import find_block, wrong_block_notes
from nmt_cli.data.preparation.prepare import prepare


def wrong_at(*ranges: tuple[int, int, int], pairs: int = 2_000) -> np.ndarray:
    """Every n-th pair from a first to before a last one is wrong."""
    wrong = np.zeros(pairs, bool)
    for first, last, step in ranges:
        wrong[first:last:step] = True
    return wrong


@pytest.mark.parametrize(
    ("wrong", "block"),
    [
        (wrong_at((500, 600, 2)), (500, 598)),
        (wrong_at((500, 900, 3)), (500, 899)),
        (wrong_at((0, 100, 2)), (0, 98)),
        (wrong_at((1_900, 2_000, 2)), (1_900, 1_998)),
        (wrong_at((500, 560, 2), (1_500, 1_600, 2)), (500, 558)),
        (wrong_at((300, 400, 2), (1_500, 1_600, 2)), (300, 398)),
        (wrong_at((500, 558, 2)), None),
        (wrong_at((0, 2_000, 5)), None),
        (wrong_at((0, 90, 1), pairs=90), None),
        (wrong_at(), None),
    ],
)
def test_blocks_have_many_wrong_pairs(wrong: np.ndarray, block: tuple[int, int] | None) -> None:
    assert find_block(wrong) == block


def text_of(*spans: tuple[int, int, list[int]]) -> SimpleNamespace:
    """Spans as of a cleaned text: each with its corpus, first pair and the lines of its pairs."""
    return SimpleNamespace(
        spans=[
            SimpleNamespace(
                corpus=corpus,
                first=first,
                pairs=len(lines),
                lines=lambda lines=lines: np.array(lines),
            )
            for corpus, first, lines in spans
        ]
    )


def test_blocks_are_named_by_the_lines_of_their_file() -> None:
    text = text_of(
        (0, 0, list(range(1, 1_001))),
        (1, 1_000, list(range(11, 511))),
        (1, 1_500, list(range(511, 1_011))),
    )
    names = [["a.en", "a.de"], ["b.tsv"]]
    (note,) = wrong_block_notes(text, wrong_at((1_400, 1_600, 2)), names)
    assert note.startswith(
        "`b.tsv`: 100 of the 199 pairs from line 411 to 609 are no translations of each other"
    )
    (note,) = wrong_block_notes(text, wrong_at((0, 100, 1)), names)
    assert note.startswith("`a.en` and `a.de`: 100 of the 100 pairs from line 1 to 100 are no")
    # Wrong pairs at the end of one file and the beginning of another are no block.
    assert wrong_block_notes(text, wrong_at((980, 1_018, 1)), names) == []
    # Where many pairs are wrong everywhere, no part of the text is worse.
    assert wrong_block_notes(text, wrong_at((0, 400, 1)), names) == []
    assert wrong_block_notes(text, wrong_at(), names) == []


def test_prepare_names_a_block_of_lines_of_another_text(tmp_path: Path) -> None:
    pairs = two_languages(4_000, 1)
    # Targets of other lines, so that the block is not shifted.
    targets = [target for _, target in pairs[1_000:1_200]]
    random.Random(5).shuffle(targets)
    pairs[1_000:1_200] = [
        (source, target) for (source, _), target in zip(pairs[1_000:1_200], targets, strict=True)
    ]
    for side, name in enumerate(("a", "b")):
        lines = "".join(f"{pair[side]}\n" for pair in pairs)
        (tmp_path / name).write_text(lines, encoding="utf-8")
    names = (str(tmp_path / "a"), str(tmp_path / "b"))
    config = tiny_config(data_train=[names], data_vocab_size=200)
    result = prepare(config, tmp_path / "corpus", workers=1)
    (note,) = [note for note in result.notes if "perhaps all of this block" in note]
    first, last = re.search(r"from line ([\d,]+) to ([\d,]+)", note).groups()
    assert 980 <= int(first.replace(",", "")) <= 1_020
    assert 1_180 <= int(last.replace(",", "")) <= 1_220
