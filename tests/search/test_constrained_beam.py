"""Lexically constrained beam search: terms are met as whole words, at little cost in score."""

import math
import random

import pytest
import torch
from tables import EOS, Table, TableDecoder, exhaustive, run

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.constrained_beam import ConstrainedBeamSearch, required_rows
from nmt_cli.search.constraints import NOTHING, ConstraintState, LexicalConstraints, WordIds
from nmt_cli.search.decoder import Source

SOURCE = (5, 4, EOS)
# ids: 4 " a", 5 "b" (goes on with a word), 6 " ab"; all leave a word open.
WORDS = WordIds(frozenset({5}), frozenset({4, 5, 6}))


def search(
    constraints: LexicalConstraints,
    config: SearchConfig,
    table: Table,
    slots: int = 1,
    count: int = 1,
):
    rows = max(config.beam, required_rows(constraints, config.beam))
    sources = [Source(SOURCE, constraints=constraints)] * count
    return run(
        TableDecoder(table, slots, rows), sources, config, (), ConstrainedBeamSearch(rows, EOS)
    )


def holds(ids: tuple[int, ...], forms, words: WordIds) -> bool:
    """Whether one of `forms` stands in `ids`, as whole words."""
    for form in forms:
        for start in range(len(ids) - len(form) + 1):
            end = start + len(form)
            inside = start and ids[start] in words.inner and ids[start - 1] in words.open
            if ids[start:end] == form and not inside and ids[end] not in words.inner:
                return True
    return False


CONSTRAINTS = [
    LexicalConstraints((((4,),),)),
    LexicalConstraints((((4, 5), (6,)),)),
    LexicalConstraints((((4, 4),), ((6,),))),
    LexicalConstraints((((4,),),), WORDS),
    LexicalConstraints((((4, 5),), ((6,),)), WORDS),
    LexicalConstraints((((5,),),), WORDS),
    LexicalConstraints((((6, 6, 4, 5), (4, 6)),), WORDS),
    LexicalConstraints((((4,), (4, 5)), ((6,),)), WORDS),
]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=range(len(CONSTRAINTS)))
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_constrained_hypotheses(
    constraints: LexicalConstraints, seed: int
) -> None:
    table = Table(7, seed, (-3.0, 0.0, 2.0)[seed])
    config = SearchConfig(beam=90, n_best=8, max_extra_length=2)
    hypotheses = search(constraints, config, table)[0]
    expected = [
        (score, ids)
        for score, ids in exhaustive(table, SOURCE, config)
        if all(holds(ids, forms, constraints.words) for forms in constraints.forms)
    ][:8]
    assert expected
    met = [hypothesis for hypothesis in hypotheses if not hypothesis.missing]
    assert [hypothesis.ids for hypothesis in met] == [ids for _, ids in expected]
    assert [hypothesis.score for hypothesis in met] == pytest.approx(
        [s for s, _ in expected], abs=1e-5
    )
    # What lacks a term comes last, if it comes.
    assert hypotheses[: len(met)] == met


@pytest.mark.parametrize("beam", [1, 4])
def test_unlikely_terms_are_produced(beam: int) -> None:
    class Unwilling(Table):
        def row(self, source, prefix):
            log_probs = super().row(source, prefix).clone()
            log_probs[[8, 9, 10]] -= 12.0
            return log_probs.log_softmax(0)

    constraints = LexicalConstraints((((8, 9), (10, 10, 10)), ((9, 8),)))
    config = SearchConfig(beam=beam, max_extra_length=20)
    (hypothesis,) = search(constraints, config, Unwilling(11, 1, -1.0))[0]
    assert hypothesis.missing == 0
    assert holds(hypothesis.ids, constraints.forms[0], constraints.words)
    assert holds(hypothesis.ids, constraints.forms[1], constraints.words)
    # No more of them than needed: the rest is the model's own.
    assert sum(token_id in (8, 9, 10) for token_id in hypothesis.ids) == 4


def test_unmet_constraints_are_counted_at_the_maximum_length() -> None:
    constraints = LexicalConstraints((((4, 4, 4),), ((5,),)))
    config = SearchConfig(beam=4, n_best=4, max_length=2)
    hypotheses = search(constraints, config, Table(7))[0]
    assert all(hypothesis.ids[-1] == EOS and len(hypothesis.ids) <= 3 for hypothesis in hypotheses)
    assert [hypothesis.missing for hypothesis in hypotheses] == sorted(
        hypothesis.missing for hypothesis in hypotheses
    )
    assert hypotheses[0].missing == 1
    scores = [hypothesis.score for hypothesis in hypotheses if hypothesis.missing == 1]
    assert scores == sorted(scores, reverse=True)
    assert all(score > -100 for score in scores)


def test_prefix_and_constraints_work_together() -> None:
    source = Source(SOURCE, prefix=(5, 6), constraints=LexicalConstraints((((6,),), ((4, 4),))))
    config = SearchConfig(beam=4, max_extra_length=6)
    rows = required_rows(source.constraints, 4)
    (hypothesis,) = run(
        TableDecoder(Table(7), 1, rows), [source], config, (), ConstrainedBeamSearch(rows, EOS)
    )[0]
    assert hypothesis.ids[:2] == (5, 6)
    assert hypothesis.missing == 0
    assert holds(hypothesis.ids, ((4, 4),), WordIds())


def test_constrained_hypotheses_do_not_depend_on_the_batch() -> None:
    chooser = random.Random(4)
    table = Table(12, 2, -0.5)
    config = SearchConfig(beam=4, n_best=2, max_extra_length=6, batch_tokens=100)
    sources = []
    for _ in range(9):
        forms = tuple(
            (tuple(chooser.choices(range(4, 12), k=chooser.randint(1, 3))),)
            for _ in range(chooser.randint(1, 2))
        )
        ids = (*chooser.choices(range(4, 12), k=chooser.randint(1, 5)), EOS)
        sources.append(Source(ids, constraints=LexicalConstraints(forms)))

    def searched(some, slots):
        return run(TableDecoder(table, slots, 8), some, config, (), ConstrainedBeamSearch(8, EOS))

    alone = [searched([source], 1)[0] for source in sources]
    assert all(not result[0].missing for result in alone)
    assert searched(sources, 4) == alone


def test_search_ends_where_the_model_gives_nan() -> None:
    class Broken(Table):
        def row(self, source, prefix):
            return torch.full((self.vocabulary,), torch.nan)

    assert search(CONSTRAINTS[0], SearchConfig(beam=2), Broken(8)) == [[]]


def test_required_rows_are_enough_for_every_bank() -> None:
    assert required_rows(LexicalConstraints((((1,),),)), 1) == 4
    assert required_rows(LexicalConstraints((((1, 2), (1,)), ((3, 4, 5),))), 4) == 8
    assert required_rows(CONSTRAINTS[0], 5) == 8
    assert required_rows(LexicalConstraints((((1,) * 500,),)), 4) == 64
    assert required_rows(CONSTRAINTS[0], 90) == 90


class TestConstraintState:
    def advance(self, constraints: LexicalConstraints, *ids: int) -> ConstraintState:
        state = ConstraintState()
        for token_id in ids:
            state = constraints.advance(state, token_id)
        return state

    def test_constraint_form_is_met_or_partially_matched(self) -> None:
        constraints = LexicalConstraints((((7, 8), (9,)), ((7, 7, 6),)))
        assert self.advance(constraints, 7).partial == (7,)
        assert self.advance(constraints, 7, 8).met == {0}
        assert self.advance(constraints, 9).met == {0}
        assert self.advance(constraints, 7, 7, 6).met == {1}
        # The beginning was no beginning, but its end is one.
        assert self.advance(constraints, 7, 7, 8).met == {0}
        assert self.advance(constraints, 7, 7, 7, 6).met == {1}
        assert self.advance(constraints, 7, 5) == ConstraintState(last_id=5)

    def test_constraint_form_that_is_a_prefix_of_another(self) -> None:
        constraints = LexicalConstraints((((7,),), ((7, 8),)))
        assert self.advance(constraints, 7).met == {0}
        assert self.advance(constraints, 7, 8).met == {0, 1}
        assert self.advance(constraints, 7, 5).met == {0}

    def test_form_that_is_longer_than_another_of_the_same_term(self) -> None:
        constraints = LexicalConstraints((((4,), (4, 5)), ((6,),)), WORDS)
        assert self.advance(constraints, 4, 5).met == {0}
        assert constraints.next_ids(self.advance(constraints, 4)) == [5, 6]
        assert constraints.next_ids(self.advance(constraints, 4, 6)) == []
        assert constraints.matched_tokens(self.advance(constraints, 4)) == 2
        assert constraints.missing_in((6, 4, 5)) == 0

    def test_continued_word_no_longer_meets_its_constraint(self) -> None:
        constraints = LexicalConstraints((((4,),),), WORDS)
        assert self.advance(constraints, 4).met == {0}
        assert self.advance(constraints, 4, 5).met == frozenset()
        assert self.advance(constraints, 4, 5, 4).met == {0}
        assert self.advance(constraints, 4, 6).met == {0}
        assert self.advance(constraints, 4, 6, 5).met == {0}

    def test_constraint_form_does_not_begin_inside_a_word(self) -> None:
        constraints = LexicalConstraints((((5, 4),),), WORDS)
        assert constraints.next_ids(ConstraintState()) == [5]
        assert constraints.next_ids(self.advance(constraints, 6)) == []
        assert self.advance(constraints, 6, 5, 4).met == frozenset()
        assert self.advance(constraints, 5, 4).met == {0}

    def test_next_ids_begin_or_continue_constraint_forms(self) -> None:
        constraints = LexicalConstraints((((7, 8), (9,)), ((7, 5, 6),)))
        assert constraints.next_ids(ConstraintState()) == [7, 9]
        assert constraints.next_ids(self.advance(constraints, 7)) == [8, 5]
        assert constraints.next_ids(self.advance(constraints, 7, 5)) == [6]
        assert constraints.next_ids(self.advance(constraints, 9)) == [7]
        assert constraints.next_ids(self.advance(constraints, 9, 7, 5, 6)) == []
        assert self.advance(constraints, 9).last_met == 0
        assert self.advance(constraints, 9, 4).last_met == NOTHING

    def test_matched_tokens_and_missing_terms_are_counted(self) -> None:
        constraints = LexicalConstraints((((7, 8), (9,)), ((7, 5, 6),)))
        assert constraints.tokens == 5
        matched = [
            constraints.matched_tokens(self.advance(constraints, *ids))
            for ids in ((), (7,), (9,), (9, 7, 5))
        ]
        assert matched == [0, 1, 2, 4]
        assert constraints.missing(self.advance(constraints, 9)) == 1


def test_unlikely_terms_are_placed_where_they_cost_least() -> None:
    """The place of a term is searched for: it goes where it is likely."""

    class Late(Table):
        def row(self, source, prefix):
            logits = torch.full((10,), -9.0)
            logits[5] = 0.0
            # After three ids there is a place where the term is not so bad.
            logits[8] = -1.0 if len(prefix) == 3 else -8.0
            logits[EOS] = 0.5 if len(prefix) >= 5 else -9.0
            return logits.log_softmax(0)

    (hypothesis,) = search(LexicalConstraints((((8,),),)), SearchConfig(beam=4), Late(10))[0]
    assert hypothesis.ids == (5, 5, 5, 8, 5, EOS)
    assert not math.isinf(hypothesis.score)


def test_a_word_ends_after_a_term_even_if_continuing_is_likelier() -> None:
    class Eager(Table):
        def row(self, source, prefix):
            logits = torch.full((12,), -9.0)
            # Ids from 6 go on with a word: far likelier than any that does not.
            logits[6:] = 3.0
            return logits.log_softmax(0)

    words = WordIds(frozenset(range(6, 12)), frozenset(range(4, 12)))
    for beam in (1, 4):
        config = SearchConfig(beam=beam, max_extra_length=6)
        (hypothesis,) = search(LexicalConstraints((((5,),),), words), config, Eager(12))[0]
        assert hypothesis.missing == 0
        assert holds(hypothesis.ids, ((5,),), words)
