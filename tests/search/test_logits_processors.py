"""Beam search equals exhaustive search under rankings, logits processors and prefixes."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from tables import BOS, EOS, PAD, SYMBOLS, UNK, Table, TableDecoder, exhaustive, run

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.banned_phrases import BannedPhrases
from nmt_cli.search.decoder import Source
from nmt_cli.search.logits_processors import LiveHypotheses, NoRepeat, RepetitionPenalty
from nmt_cli.search.ranking import HypothesisRanker

SOURCE = (5, 4, EOS)
# So wide that nothing is pruned: seven ids, three of them words, up to four of them.
WIDE = SearchConfig(beam=85, n_best=20, max_extra_length=2)
SPELT = [b"", b"", b"", b"", b" a", b"b", b" ab"]


def assert_exhaustive(
    table, config, *, bias=lambda ids_so_far, token: 0.0, processors=(), limit=None
):
    hypotheses = run(TableDecoder(table, 2, config.beam), [SOURCE], config, processors)[0]
    expected = exhaustive(table, SOURCE, config, bias=bias, limit=limit)[: config.n_best]
    assert expected, "there must be something to find"
    assert [hypothesis.ids for hypothesis in hypotheses] == [ids for _, ids in expected]
    assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
        [s for s, _ in expected], abs=1e-5
    )
    for hypothesis in hypotheses:
        assert hypothesis.log_prob == pytest.approx(sum(hypothesis.token_scores), abs=1e-5)


def tables() -> list[Table]:
    return [Table(7, seed, (-3.0, 0.0, 2.0)[seed % 3]) for seed in range(3)]


@pytest.mark.parametrize("table", tables(), ids=range(3))
class TestAgainstExhaustiveSearch:
    @pytest.mark.parametrize("kind", ["gnmt", "power", "none"])
    @pytest.mark.parametrize("reward", [0.0, 0.7, -0.4])
    def test_length_penalties_and_rewards_equal_exhaustive_search(
        self, table: Table, kind: str, reward: float
    ) -> None:
        config = replace(WIDE, length_penalty=kind, alpha=1.3, word_reward=reward)
        assert_exhaustive(table, config)
        # With one hypothesis wanted the search stops early: still at the best.
        assert_exhaustive(table, replace(config, n_best=1))

    @pytest.mark.parametrize("least", [1, 3, 4, 9])
    def test_minimum_length_equals_exhaustive_search(self, table: Table, least: int) -> None:
        def bias(ids_so_far, token):
            # Where the limit is less there is nothing but to end.
            return None if token == EOS and len(ids_so_far) < min(least, 4) else 0.0

        assert_exhaustive(table, replace(WIDE, min_length=least), bias=bias)

    @pytest.mark.parametrize(("most", "limit"), [(1, 1), (3, 3), (9, 4)])
    def test_maximum_length_equals_exhaustive_search(
        self, table: Table, most: int, limit: int
    ) -> None:
        assert_exhaustive(table, replace(WIDE, max_length=most), limit=limit)

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_no_repeat_ngram_equals_exhaustive_search(self, table: Table, size: int) -> None:
        def bias(ids_so_far, token):
            ids = (*ids_so_far, token)
            runs = [ids[n : n + size] for n in range(len(ids) - size + 1)]
            return None if len(set(runs)) < len(runs) else 0.0

        assert_exhaustive(table, replace(WIDE, no_repeat_ngram=size), bias=bias)

    def test_repetition_penalty_equals_exhaustive_search(self, table: Table) -> None:
        def bias(ids_so_far, token):
            return -math.log(3.0) if token in ids_so_far else 0.0

        assert_exhaustive(table, replace(WIDE, repetition_penalty=3.0), bias=bias)

    @pytest.mark.parametrize("texts", [["a"], ["b"], ["ab"], ["ab", "a b"], ["b a"], ["aba", "bb"]])
    @pytest.mark.parametrize("whole_words", [True, False])
    def test_banned_phrases_equal_exhaustive_search(
        self, table: Table, texts: list[str], whole_words: bool
    ) -> None:
        def bias(ids_so_far, token):
            if token == EOS:
                return 0.0
            text = b"".join(SPELT[i] for i in (*ids_so_far, token)).decode()
            for banned in texts:
                before = text[: len(text) - len(banned)]
                completes = text.endswith(banned) and f" {banned}".endswith(SPELT[token].decode())
                if completes and not (whole_words and before[-1:].isalnum()):
                    return None
            return 0.0

        processors = [BannedPhrases(texts, SPELT, whole_words=whole_words)]
        assert_exhaustive(table, WIDE, bias=bias, processors=processors)

    @pytest.mark.parametrize("prefix", [(4,), (4, 4, 5), (6, 5, 4, 4), (UNK,), (5, BOS, 5)])
    def test_forced_prefix_equals_exhaustive_search(
        self, table: Table, prefix: tuple[int, ...]
    ) -> None:
        hypotheses = run(TableDecoder(table, 1, 85), [Source(SOURCE, prefix=prefix)], WIDE)[0]
        free = replace(SYMBOLS, banned_ids=(PAD,))
        expected = [
            (score, ids)
            for score, ids in exhaustive(table, SOURCE, WIDE, free)
            if ids[: len(prefix)] == prefix and not set(ids[len(prefix) :]) & {UNK, BOS}
        ]
        assert [hypothesis.ids for hypothesis in hypotheses] == [ids for _, ids in expected[:20]]
        assert hypotheses[0].score == pytest.approx(expected[0][0], abs=1e-5)

    def test_all_logits_processors_together_equal_exhaustive_search(self, table: Table) -> None:
        def bias(ids_so_far, token):
            if token == EOS:
                return None if len(ids_so_far) < 2 else 0.0
            text = b"".join(SPELT[i] for i in (*ids_so_far, token))
            pairs = list(itertools.pairwise((*ids_so_far, token)))
            if len(set(pairs)) < len(pairs) or text.endswith(b" ab"):
                return None
            return -math.log(2.0) if token in ids_so_far else 0.0

        config = replace(
            WIDE, min_length=2, no_repeat_ngram=2, repetition_penalty=2.0, word_reward=0.3,
            length_penalty="power",
        )  # fmt: skip
        assert_exhaustive(table, config, bias=bias, processors=[BannedPhrases(["ab"], SPELT)])


@pytest.mark.parametrize("inside", ["ि", "न्", "\u200d", "a"])
def test_a_banned_phrase_does_not_begin_behind_a_mark_of_a_word(inside: str) -> None:
    spelt = [b"", inside.encode(), "न्त".encode(), b"-"]
    banned = BannedPhrases(["न्त"], spelt)
    assert not list(banned._completing_ids(f" क{inside}".encode()))
    assert list(banned._completing_ids(f" क{inside}-".encode())) == [2]


def test_a_prefix_longer_than_the_maximum_length_is_kept() -> None:
    config = SearchConfig(beam=2, n_best=2, max_extra_length=0, max_length=1)
    source = Source((4, EOS), prefix=(4, 5, 6))
    for result in run(TableDecoder(Table(7), 1, 2), [source], config)[0]:
        assert result.ids == (4, 5, 6, EOS)


def test_a_prefix_takes_precedence_over_logits_processors() -> None:
    config = SearchConfig(
        beam=2, max_extra_length=9, no_repeat_ngram=1, repetition_penalty=5.0, min_length=3
    )
    table = Table(7)
    processors = [BannedPhrases(["a"], SPELT)]
    hypotheses = run(
        TableDecoder(table, 1, 2), [Source((4, EOS), prefix=(4, 4, 5))], config, processors
    )[0]
    assert hypotheses[0].ids[:3] == (4, 4, 5)
    expected = [
        table.row((4, EOS), (4, 4, 5)[:n])[token].item() for n, token in enumerate((4, 4, 5))
    ]
    assert hypotheses[0].token_scores[:3] == pytest.approx(expected, abs=1e-5)
    assert not set(hypotheses[0].ids[3:]) & {4, 5}


@pytest.mark.parametrize("beam", [1, 3])
def test_processors_and_prefixes_do_not_depend_on_the_batch(beam: int) -> None:
    table = Table(vocabulary=10, seed=5, end=-1.5)
    chooser = random.Random(3)
    sources = [
        Source(
            (*chooser.choices(range(4, 10), k=chooser.randrange(6)), EOS),
            tuple(chooser.choices(range(4, 10), k=chooser.choice([0, 0, 1, 4]))),
        )
        for _ in range(23)
    ]
    config = SearchConfig(
        beam=beam, n_best=beam, max_extra_length=7, min_length=3, no_repeat_ngram=2,
        repetition_penalty=1.5, batch_tokens=60,
    )  # fmt: skip
    alone = [run(TableDecoder(table, 1, beam), [source], config)[0] for source in sources]
    assert len({len(result[0].ids) for result in alone}) > 3, "the lengths must vary"
    for slots in (2, 7):
        assert run(TableDecoder(table, slots, beam), sources, config) == alone


def test_greedy_search_applies_logits_processors() -> None:
    table = Table(vocabulary=6, end=-3.0)
    plain = run(TableDecoder(table, 1, 1), [SOURCE], SearchConfig(beam=1, max_extra_length=9))[0][0]
    config = SearchConfig(beam=1, max_extra_length=9, no_repeat_ngram=2)
    ids = run(TableDecoder(table, 1, 1), [SOURCE], config)[0][0].ids
    pairs = list(itertools.pairwise(ids))
    assert len(set(pairs)) == len(pairs)
    assert ids != plain.ids


def live(rows: list[list[int]]) -> LiveHypotheses:
    lengths = torch.tensor([len(row) for row in rows])
    width = max(map(len, rows))
    # What lies beyond the length of a row is rubbish.
    ids_so_far = torch.tensor([row + [7] * (width - len(row)) for row in rows])
    return LiveHypotheses(ids_so_far, lengths)


def test_no_repeat_ngram_ignores_ids_beyond_the_length() -> None:
    result = NoRepeat(2)(live([[4, 5, 6, 4], [7], [4, 4, 4, 4], [5, 6, 7, 7, 5]]))
    assert sorted(zip(result.rows.tolist(), result.ids.tolist(), strict=True)) == [
        (0, 5), (2, 4), (2, 4), (2, 4), (3, 6),
    ]  # fmt: skip


def test_repetition_penalty_counts_an_id_once() -> None:
    result = RepetitionPenalty(2.0)(live([[4, 5, 4], [6]]))
    assert sorted(zip(result.rows.tolist(), result.ids.tolist(), strict=True)) == [
        (0, 4), (0, 5), (1, 6),
    ]  # fmt: skip
    assert result.bias.tolist() == pytest.approx([-math.log(2)] * 3)


def test_score_upper_bound_holds_for_every_continuation() -> None:
    chooser = random.Random(1)
    for _ in range(300):
        config = SearchConfig(
            alpha=chooser.choice([0.0, 0.6, 2.0]), word_reward=chooser.uniform(-2, 2),
            length_penalty=chooser.choice(["gnmt", "power", "none"]),
        )  # fmt: skip
        ranker, shortest = HypothesisRanker(config), chooser.randint(1, 9)
        ranker.reserve(12, NUMPY)
        log_prob = -chooser.uniform(0, 30)
        bound = ranker.upper_bound(NUMPY.floats([log_prob]), np.array([shortest]), np.array([12]))
        for length in range(shortest, 13):
            later = log_prob - chooser.choice([0.0, chooser.uniform(0, 5)])
            assert ranker.score_of(later, length) <= bound + 1e-4


class TestBannedPhrases:
    """`ids` of what would complete a text, after a text."""

    PIECES = ("", " N", "ew", " New", " York", "Y", "ork", "(", "ü", " ü", " o")
    SPELLINGS = (*(piece.encode() for piece in PIECES), "ü".encode()[:1], "ü".encode()[1:])

    def forbidden(self, texts: list[str], ids_so_far: str, *, whole_words: bool = True) -> set[str]:
        processor = BannedPhrases(texts, self.SPELLINGS, whole_words=whole_words)
        ids = [self.PIECES.index(word) for word in ids_so_far.split("|")] if ids_so_far else []
        result = processor(live([ids or [0]]) if ids else live([[]]))
        return {self.SPELLINGS[token_id].decode("latin-1") for token_id in result.ids.tolist()}

    def test_phrases_are_banned_in_every_segmentation(self) -> None:
        assert self.forbidden(["New"], "") == {" New"}
        assert self.forbidden(["New"], " N") == {" New", "ew"}
        assert self.forbidden(["New York"], " New") == {" York"}
        assert self.forbidden(["New York"], " N|ew") == {" York"}
        assert self.forbidden(["York"], " New") == {" York"}
        assert self.forbidden(["New York"], " New| o") == set()

    def test_phrases_without_leading_space_are_banned(self) -> None:
        assert self.forbidden(["York"], "(|Y") == {" York", "ork"}
        assert self.forbidden(["York"], " N|Y") == {" York"}
        assert self.forbidden(["York"], "ü|Y") == {" York"}
        assert self.forbidden(["York"], "ü|Y", whole_words=False) == {" York", "ork"}

    def test_phrases_of_byte_subwords_are_banned(self) -> None:
        two = "ü".encode().decode("latin-1")
        assert self.forbidden(["ü"], "") == {" " + two, two}
        processor = BannedPhrases(["ü"], self.SPELLINGS)
        assert sorted(processor(live([[11]])).ids.tolist()) == [8, 9, 12]

    def test_phrase_that_cannot_be_spelt_bans_nothing(self) -> None:
        assert self.forbidden(["xyz"], " New") == set()
