"""BPE-dropout: equal to sentencepiece without dropout, and to the paper's algorithm with it."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.subwords.bpe_dropout import MAX_CACHED, BpeDropout, merge_pieces
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import Bytes, learn_sentence_pieces

WORDS = ["lower", "lowest", "newer", "newest", "wide", "widest", "ﬁne", "new", "low", "est"]


def make_subwords(byte_fallback: bool) -> Subwords:
    counts = [(word, 3 + index) for index, word in enumerate(sorted(WORDS))]
    size = 290 if byte_fallback else 34
    return Subwords(learn_sentence_pieces("bpe", counts, size, byte_fallback=byte_fallback))


SUBWORDS = {byte_fallback: make_subwords(byte_fallback) for byte_fallback in (False, True)}
ODD = ["日本", "x", "<s>", "<unk>", "<0x41>", "é", "😀", ""]
TEXTS = st.one_of(
    st.text(max_size=30), st.lists(st.sampled_from([*WORDS, *ODD]), max_size=9).map(" ".join)
)


@given(st.lists(TEXTS, max_size=5), st.booleans())
def test_no_dropout_gives_the_segmentation_of_sentencepiece(lines, byte_fallback):
    subwords = SUBWORDS[byte_fallback]
    source, target = subwords.with_dropout(0.0)
    assert source.encode(lines, "1", "2") == subwords.encode_source(lines)
    assert target.encode(lines, "1", "2") == subwords.encode_target(lines)


@given(st.lists(TEXTS, max_size=5), st.booleans(), st.sampled_from([0.1, 0.5, 0.99]))
def test_dropout_keeps_the_text(lines, byte_fallback, share):
    subwords = SUBWORDS[byte_fallback]
    ids = subwords.with_dropout(share)[0].encode(lines, "1", "2")
    assert subwords.decode_source(ids) == subwords.decode_source(subwords.encode_source(lines))


def reference_merge(word: str, merges: dict[str, float], share: float, chance) -> list[str]:
    """Algorithm 1: drop some of all possible merges, apply the best of the others, and repeat."""
    pieces = list(word)
    while True:
        possible = [
            (merges[pieces[i] + pieces[i + 1]], i)
            for i in range(len(pieces) - 1)
            if pieces[i] + pieces[i + 1] in merges
        ]
        kept = [merge for merge in possible if chance() >= share]
        if not kept:
            return pieces
        _, left = min(kept)
        pieces[left : left + 2] = [pieces[left] + pieces[left + 1]]


MERGES = {"ab": 1.0, "bc": 2.0, "abc": 3.0, "cab": 4.0, "aa": 5.0, "abab": 6.0, "caba": 7.0}


@given(st.text("abc", max_size=12))
def test_merge_pieces_applies_merges_in_order(word):
    assert merge_pieces(word, MERGES, 0.0, lambda: 0.0) == reference_merge(
        word, MERGES, 0.0, lambda: 1.0
    )


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_segmentations_are_as_frequent_as_in_the_paper(share):
    """Frequencies in 6,000 draws differ by less than five standard deviations (0.032)."""
    draws = 6_000
    chance = random.Random(1).random
    ours, expected = (
        Counter(tuple(function("abcabab", MERGES, share, chance)) for _ in range(draws))
        for function in (merge_pieces, reference_merge)
    )
    assert len(expected) > 5
    for pieces in ours.keys() | expected.keys():
        assert abs(ours[pieces] - expected[pieces]) / draws < 0.032, pieces


def test_skipping_all_merges_gives_characters():
    assert merge_pieces("abcabc", MERGES, 0.99, lambda: 0.0) == list("abcabc")


def test_segmentation_is_the_same_in_every_process_and_order():
    lines = ["lowest newer widest"] * 3 + ["wide newest"]
    program = (
        "from test_bpe_dropout import SUBWORDS; "
        f"print(SUBWORDS[False].with_dropout(0.5)[0].encode({lines}, '1/0', 'src/0'))"
    )
    here = SUBWORDS[False].with_dropout(0.5)[0]
    here.encode(["newest lowest", *lines], "1/1", "src/0")
    ours = here.encode(lines, "1/0", "src/0")
    there = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    assert there.stdout.strip() == str(ours)
    assert here.encode(lines, "1/0", "src/1") != ours
    assert here.encode(lines, "1/1", "src/0") != ours


def test_full_cache_does_not_change_segmentations(monkeypatch):
    lines = ["lowest newer widest wide newest lower new low"] * 5
    reference = SUBWORDS[False].with_dropout(0.5)[0].encode(lines, "1", "2")
    monkeypatch.setattr("nmt_cli.data.subwords.bpe_dropout.MAX_CACHED", 3)
    small_cache = SUBWORDS[False].with_dropout(0.5)[0]
    assert small_cache.encode(lines, "1", "2") == reference
    assert len(small_cache._cache) <= 3 < MAX_CACHED


def test_segmenters_without_merges_are_refused():
    with pytest.raises(ValueError, match="of the kind bytes have no merges"):
        BpeDropout(Bytes(), {}, 1, 3, 0.1)
