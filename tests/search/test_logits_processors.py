"""Rankers, rules and prefixes: beam search finds what exhaustive search finds under each."""

import itertools
import math
import random
from dataclasses import replace

import pytest
import torch
from tables import BOS, EOS, PAD, SYMBOLS, UNK, Table, TableDecoder, exhaustive, run

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.banned_phrases import BannedPhrases
from nmt_cli.search.decoder import Source
from nmt_cli.search.logits_processors import LiveHypotheses, NoRepeat, RepetitionPenalty
from nmt_cli.search.ranking import HypothesisRanker

SOURCE = (5, 4, EOS)
# So wide that nothing is pruned: seven ids, three of them words, up to four of them.
WIDE = SearchConfig(beam=85, n_best=20, max_extra_length=2)
SPELT = [b"", b"", b"", b"", b" a", b"b", b" ab"]


def assert_exhaustive(table, config, *, bias=lambda written, one: 0.0, rules=(), limit=None):
    found = run(TableDecoder(table, 2, config.beam), [SOURCE], config, rules)[0]
    expected = exhaustive(table, SOURCE, config, bias=bias, limit=limit)[: config.n_best]
    assert expected, "there must be something to find"
    assert [one.ids for one in found] == [ids for _, ids in expected]
    assert [one.score for one in found] == pytest.approx([s for s, _ in expected], abs=1e-5)
    for one in found:
        assert one.log_prob == pytest.approx(sum(one.token_scores), abs=1e-5)


def tables() -> list[Table]:
    return [Table(7, seed, (-3.0, 0.0, 2.0)[seed % 3]) for seed in range(3)]


@pytest.mark.parametrize("table", tables(), ids=range(3))
class TestAgainstAllThereIs:
    @pytest.mark.parametrize("kind", ["gnmt", "power", "none"])
    @pytest.mark.parametrize("reward", [0.0, 0.7, -0.4])
    def test_length_penalties_and_rewards(self, table: Table, kind: str, reward: float) -> None:
        config = replace(WIDE, length_penalty=kind, alpha=1.3, word_reward=reward)
        assert_exhaustive(table, config)
        # With one hypothesis wanted the search stops early: still at the best.
        assert_exhaustive(table, replace(config, n_best=1))

    @pytest.mark.parametrize("least", [1, 3, 4, 9])
    def test_minimum_length(self, table: Table, least: int) -> None:
        def bias(written, one):
            # Where the limit is less there is nothing but to end.
            return None if one == EOS and len(written) < min(least, 4) else 0.0

        assert_exhaustive(table, replace(WIDE, min_length=least), bias=bias)

    @pytest.mark.parametrize(("most", "limit"), [(1, 1), (3, 3), (9, 4)])
    def test_maximum_length(self, table: Table, most: int, limit: int) -> None:
        assert_exhaustive(table, replace(WIDE, max_length=most), limit=limit)

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_no_repeated_ngrams(self, table: Table, size: int) -> None:
        def bias(written, one):
            ids = (*written, one)
            runs = [ids[n : n + size] for n in range(len(ids) - size + 1)]
            return None if len(set(runs)) < len(runs) else 0.0

        assert_exhaustive(table, replace(WIDE, no_repeat_ngram=size), bias=bias)

    def test_repetition_penalty(self, table: Table) -> None:
        def bias(written, one):
            return -math.log(3.0) if one in written else 0.0

        assert_exhaustive(table, replace(WIDE, repetition_penalty=3.0), bias=bias)

    @pytest.mark.parametrize("texts", [["a"], ["b"], ["ab"], ["ab", "a b"], ["b a"], ["aba", "bb"]])
    @pytest.mark.parametrize("whole_words", [True, False])
    def test_banned_texts(self, table: Table, texts: list[str], whole_words: bool) -> None:
        def bias(written, one):
            if one == EOS:
                return 0.0
            text = b"".join(SPELT[i] for i in (*written, one)).decode()
            for banned in texts:
                before = text[: len(text) - len(banned)]
                completes = text.endswith(banned) and f" {banned}".endswith(SPELT[one].decode())
                if completes and not (whole_words and before[-1:].isalnum()):
                    return None
            return 0.0

        rules = [BannedPhrases(texts, SPELT, whole_words=whole_words)]
        assert_exhaustive(table, WIDE, bias=bias, rules=rules)

    @pytest.mark.parametrize("prefix", [(4,), (4, 4, 5), (6, 5, 4, 4), (UNK,), (5, BOS, 5)])
    def test_a_prefix(self, table: Table, prefix: tuple[int, ...]) -> None:
        found = run(TableDecoder(table, 1, 85), [Source(SOURCE, prefix=prefix)], WIDE)[0]
        free = replace(SYMBOLS, banned_ids=(PAD,))
        expected = [
            (score, ids)
            for score, ids in exhaustive(table, SOURCE, WIDE, free)
            if ids[: len(prefix)] == prefix and not set(ids[len(prefix) :]) & {UNK, BOS}
        ]
        assert [one.ids for one in found] == [ids for _, ids in expected[:20]]
        assert found[0].score == pytest.approx(expected[0][0], abs=1e-5)

    def test_all_at_once(self, table: Table) -> None:
        def bias(written, one):
            if one == EOS:
                return None if len(written) < 2 else 0.0
            text = b"".join(SPELT[i] for i in (*written, one))
            pairs = list(itertools.pairwise((*written, one)))
            if len(set(pairs)) < len(pairs) or text.endswith(b" ab"):
                return None
            return -math.log(2.0) if one in written else 0.0

        config = replace(
            WIDE, min_length=2, no_repeat_ngram=2, repetition_penalty=2.0, word_reward=0.3,
            length_penalty="power",
        )  # fmt: skip
        assert_exhaustive(table, config, bias=bias, rules=[BannedPhrases(["ab"], SPELT)])


def test_a_prefix_longer_than_the_limit_is_kept_whole() -> None:
    config = SearchConfig(beam=2, n_best=2, max_extra_length=0, max_length=1)
    source = Source((4, EOS), prefix=(4, 5, 6))
    for found in run(TableDecoder(Table(7), 1, 2), [source], config)[0]:
        assert found.ids == (4, 5, 6, EOS)


def test_a_prefix_wins_over_every_rule() -> None:
    config = SearchConfig(
        beam=2, max_extra_length=9, no_repeat_ngram=1, repetition_penalty=5.0, min_length=3
    )
    table = Table(7)
    rules = [BannedPhrases(["a"], SPELT)]
    found = run(TableDecoder(table, 1, 2), [Source((4, EOS), prefix=(4, 4, 5))], config, rules)[0]
    assert found[0].ids[:3] == (4, 4, 5)
    expected = [table.row((4, EOS), (4, 4, 5)[:n])[one].item() for n, one in enumerate((4, 4, 5))]
    assert found[0].token_scores[:3] == pytest.approx(expected, abs=1e-5)
    assert not set(found[0].ids[3:]) & {4, 5}


@pytest.mark.parametrize("beam", [1, 3])
def test_rules_and_prefixes_of_a_line_are_blind_to_its_neighbours(beam: int) -> None:
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
    alone = [run(TableDecoder(table, 1, beam), [one], config)[0] for one in sources]
    assert len({len(one[0].ids) for one in alone}) > 3, "the lengths must vary"
    for slots in (2, 7):
        assert run(TableDecoder(table, slots, beam), sources, config) == alone


def test_greedy_search_keeps_the_rules() -> None:
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
    written = torch.tensor([row + [7] * (width - len(row)) for row in rows])
    return LiveHypotheses(written, lengths)


def test_no_repeat_looks_at_what_counts_only() -> None:
    found = NoRepeat(2)(live([[4, 5, 6, 4], [7], [4, 4, 4, 4], [5, 6, 7, 7, 5]]))
    assert sorted(zip(found.rows.tolist(), found.ids.tolist(), strict=True)) == [
        (0, 5), (2, 4), (2, 4), (2, 4), (3, 6),
    ]  # fmt: skip


def test_the_repetition_penalty_counts_an_id_once() -> None:
    found = RepetitionPenalty(2.0)(live([[4, 5, 4], [6]]))
    assert sorted(zip(found.rows.tolist(), found.ids.tolist(), strict=True)) == [
        (0, 4), (0, 5), (1, 6),
    ]  # fmt: skip
    assert found.bias.tolist() == pytest.approx([-math.log(2)] * 3)


def test_a_bound_is_kept_by_all_that_can_come() -> None:
    chooser = random.Random(1)
    for _ in range(300):
        config = SearchConfig(
            alpha=chooser.choice([0.0, 0.6, 2.0]), word_reward=chooser.uniform(-2, 2),
            length_penalty=chooser.choice(["gnmt", "power", "none"]),
        )  # fmt: skip
        ranker, fewest, most = (
            HypothesisRanker(config),
            torch.tensor(chooser.randint(1, 9)),
            torch.tensor(12),
        )
        log_prob = torch.tensor(-chooser.uniform(0, 30))
        bound = ranker.bound(log_prob, fewest, most)
        for length in range(int(fewest), 13):
            later = log_prob - chooser.choice([0.0, chooser.uniform(0, 5)])
            assert ranker.score(later, torch.tensor(length)) <= bound + 1e-4


class TestBannedTexts:
    """`ids` of what would complete a text, after a text."""

    PIECES = ("", " N", "ew", " New", " York", "Y", "ork", "(", "ü", " ü", " o")
    SPELLINGS = (*(one.encode() for one in PIECES), "ü".encode()[:1], "ü".encode()[1:])

    def forbidden(self, texts: list[str], written: str, *, whole_words: bool = True) -> set[str]:
        rule = BannedPhrases(texts, self.SPELLINGS, whole_words=whole_words)
        ids = [self.PIECES.index(one) for one in written.split("|")] if written else []
        found = rule(live([ids or [0]]) if ids else live([[]]))
        return {self.SPELLINGS[one].decode("latin-1") for one in found.ids.tolist()}

    def test_however_it_is_cut(self) -> None:
        assert self.forbidden(["New"], "") == {" New"}
        assert self.forbidden(["New"], " N") == {" New", "ew"}
        assert self.forbidden(["New York"], " New") == {" York"}
        assert self.forbidden(["New York"], " N|ew") == {" York"}
        assert self.forbidden(["York"], " New") == {" York"}
        assert self.forbidden(["New York"], " New| o") == set()

    def test_without_a_space_where_a_word_begins_all_the_same(self) -> None:
        assert self.forbidden(["York"], "(|Y") == {" York", "ork"}
        assert self.forbidden(["York"], " N|Y") == {" York"}
        assert self.forbidden(["York"], "ü|Y") == {" York"}
        assert self.forbidden(["York"], "ü|Y", whole_words=False) == {" York", "ork"}

    def test_bytes(self) -> None:
        two = "ü".encode().decode("latin-1")
        assert self.forbidden(["ü"], "") == {" " + two, two}
        rule = BannedPhrases(["ü"], self.SPELLINGS)
        assert sorted(rule(live([[11]])).ids.tolist()) == [8, 9, 12]

    def test_nothing_can_be_spelt(self) -> None:
        assert self.forbidden(["xyz"], " New") == set()
