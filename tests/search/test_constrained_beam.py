"""Terms come: every form, as whole words, at little cost; what has no terms is left alone."""

import math
import random

import pytest
import torch
from tables import EOS, Table, TableDecoder, exhaustive, run

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.constrained_beam import ConstrainedBeamSearch, rows_for
from nmt_cli.search.constraints import NOTHING, ConstraintState, LexicalConstraints, WordIds
from nmt_cli.search.decoder import Source

SOURCE = (5, 4, EOS)
# ids: 4 " a", 5 "b" (goes on with a word), 6 " ab"; all leave a word open.
WORDS = WordIds(frozenset({5}), frozenset({4, 5, 6}))


def search(
    terms: LexicalConstraints, config: SearchConfig, table: Table, slots: int = 1, count: int = 1
):
    rows = max(config.beam, rows_for(terms, config.beam))
    sources = [Source(SOURCE, terms=terms)] * count
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


TERMS = [
    LexicalConstraints((((4,),),)),
    LexicalConstraints((((4, 5), (6,)),)),
    LexicalConstraints((((4, 4),), ((6,),))),
    LexicalConstraints((((4,),),), WORDS),
    LexicalConstraints((((4, 5),), ((6,),)), WORDS),
    LexicalConstraints((((5,),),), WORDS),
    LexicalConstraints((((6, 6, 4, 5), (4, 6)),), WORDS),
]


@pytest.mark.parametrize("terms", TERMS, ids=range(len(TERMS)))
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_of_all_that_hold_the_terms(
    terms: LexicalConstraints, seed: int
) -> None:
    table = Table(7, seed, (-3.0, 0.0, 2.0)[seed])
    config = SearchConfig(beam=90, n_best=8, max_extra_length=2)
    found = search(terms, config, table)[0]
    expected = [
        (score, ids)
        for score, ids in exhaustive(table, SOURCE, config)
        if all(holds(ids, forms, terms.words) for forms in terms.forms)
    ][:8]
    assert expected
    met = [one for one in found if not one.missing]
    assert [one.ids for one in met] == [ids for _, ids in expected]
    assert [one.score for one in met] == pytest.approx([s for s, _ in expected], abs=1e-5)
    # What lacks a term comes last, if it comes.
    assert found[: len(met)] == met


@pytest.mark.parametrize("beam", [1, 4])
def test_terms_that_the_model_does_not_want_come_all_the_same(beam: int) -> None:
    class Unwilling(Table):
        def row(self, source, prefix):
            log_probs = super().row(source, prefix).clone()
            log_probs[[8, 9, 10]] -= 12.0
            return log_probs.log_softmax(0)

    terms = LexicalConstraints((((8, 9), (10, 10, 10)), ((9, 8),)))
    config = SearchConfig(beam=beam, max_extra_length=20)
    (found,) = search(terms, config, Unwilling(11, 1, -1.0))[0]
    assert found.missing == 0
    assert holds(found.ids, terms.forms[0], terms.words)
    assert holds(found.ids, terms.forms[1], terms.words)
    # No more of them than needed: the rest is the model's own.
    assert sum(one in (8, 9, 10) for one in found.ids) == 4


def test_without_room_the_translation_ends_properly_and_what_is_missing_is_told() -> None:
    terms = LexicalConstraints((((4, 4, 4),), ((5,),)))
    config = SearchConfig(beam=4, n_best=4, max_length=2)
    found = search(terms, config, Table(7))[0]
    assert all(one.ids[-1] == EOS and len(one.ids) <= 3 for one in found)
    assert [one.missing for one in found] == sorted(one.missing for one in found)
    assert found[0].missing == 1
    scores = [one.score for one in found if one.missing == 1]
    assert scores == sorted(scores, reverse=True)
    assert all(score > -100 for score in scores)


def test_prefix_and_terms_together() -> None:
    source = Source(SOURCE, prefix=(5, 6), terms=LexicalConstraints((((6,),), ((4, 4),))))
    config = SearchConfig(beam=4, max_extra_length=6)
    rows = rows_for(source.terms, 4)
    (found,) = run(
        TableDecoder(Table(7), 1, rows), [source], config, (), ConstrainedBeamSearch(rows, EOS)
    )[0]
    assert found.ids[:2] == (5, 6)
    assert found.missing == 0
    assert holds(found.ids, ((4, 4),), WordIds())


def test_neighbours_do_not_matter() -> None:
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
        sources.append(Source(ids, terms=LexicalConstraints(forms)))

    def searched(some, slots):
        return run(TableDecoder(table, slots, 8), some, config, (), ConstrainedBeamSearch(8, EOS))

    alone = [searched([one], 1)[0] for one in sources]
    assert all(not one[0].missing for one in alone)
    assert searched(sources, 4) == alone


def test_broken_numbers_come_to_an_end() -> None:
    class Broken(Table):
        def row(self, source, prefix):
            return torch.full((self.vocabulary,), torch.nan)

    assert search(TERMS[0], SearchConfig(beam=2), Broken(8)) == [[]]


def test_rows_are_enough_for_the_banks() -> None:
    assert rows_for(LexicalConstraints((((1,),),)), 1) == 4
    assert rows_for(LexicalConstraints((((1, 2), (1,)), ((3, 4, 5),))), 4) == 8
    assert rows_for(TERMS[0], 5) == 8
    assert rows_for(LexicalConstraints((((1,) * 500,),)), 4) == 64
    assert rows_for(TERMS[0], 90) == 90


class TestProgress:
    def after(self, terms: LexicalConstraints, *ids: int) -> ConstraintState:
        progress = ConstraintState()
        for one in ids:
            progress = terms.after(progress, one)
        return progress

    def test_a_form_is_met_and_begun(self) -> None:
        terms = LexicalConstraints((((7, 8), (9,)), ((7, 7, 6),)))
        assert self.after(terms, 7).current == (7,)
        assert self.after(terms, 7, 8).met == {0}
        assert self.after(terms, 9).met == {0}
        assert self.after(terms, 7, 7, 6).met == {1}
        # The beginning was no beginning, but its end is one.
        assert self.after(terms, 7, 7, 8).met == {0}
        assert self.after(terms, 7, 7, 7, 6).met == {1}
        assert self.after(terms, 7, 5) == ConstraintState(before=5)

    def test_a_form_that_begins_another(self) -> None:
        terms = LexicalConstraints((((7,),), ((7, 8),)))
        assert self.after(terms, 7).met == {0}
        assert self.after(terms, 7, 8).met == {0, 1}
        assert self.after(terms, 7, 5).met == {0}

    def test_a_word_that_goes_on_is_another_word(self) -> None:
        terms = LexicalConstraints((((4,),),), WORDS)
        assert self.after(terms, 4).met == {0}
        assert self.after(terms, 4, 5).met == frozenset()
        assert self.after(terms, 4, 5, 4).met == {0}
        assert self.after(terms, 4, 6).met == {0}
        assert self.after(terms, 4, 6, 5).met == {0}

    def test_no_form_begins_inside_a_word(self) -> None:
        terms = LexicalConstraints((((5, 4),),), WORDS)
        assert terms.next_ids(ConstraintState()) == [5]
        assert terms.next_ids(self.after(terms, 6)) == []
        assert self.after(terms, 6, 5, 4).met == frozenset()
        assert self.after(terms, 5, 4).met == {0}

    def test_what_is_next(self) -> None:
        terms = LexicalConstraints((((7, 8), (9,)), ((7, 5, 6),)))
        assert terms.next_ids(ConstraintState()) == [7, 9]
        assert terms.next_ids(self.after(terms, 7)) == [8, 5]
        assert terms.next_ids(self.after(terms, 7, 5)) == [6]
        assert terms.next_ids(self.after(terms, 9)) == [7]
        assert terms.next_ids(self.after(terms, 9, 7, 5, 6)) == []
        assert self.after(terms, 9).last == 0
        assert self.after(terms, 9, 4).last == NOTHING

    def test_how_far_it_has_come(self) -> None:
        terms = LexicalConstraints((((7, 8), (9,)), ((7, 5, 6),)))
        assert terms.tokens == 5
        reached = [terms.reached(self.after(terms, *ids)) for ids in ((), (7,), (9,), (9, 7, 5))]
        assert reached == [0, 1, 2, 4]
        assert terms.missing(self.after(terms, 9)) == 1


def test_unwanted_terms_cost_as_little_as_they_can() -> None:
    """The place of a term is searched for: it goes where it is likely."""

    class Late(Table):
        def row(self, source, prefix):
            logits = torch.full((10,), -9.0)
            logits[5] = 0.0
            # After three ids there is a place where the term is not so bad.
            logits[8] = -1.0 if len(prefix) == 3 else -8.0
            logits[EOS] = 0.5 if len(prefix) >= 5 else -9.0
            return logits.log_softmax(0)

    (found,) = search(LexicalConstraints((((8,),),)), SearchConfig(beam=4), Late(10))[0]
    assert found.ids == (5, 5, 5, 8, 5, EOS)
    assert not math.isinf(found.score)


def test_a_word_ends_behind_a_term_though_the_model_would_go_on() -> None:
    class Eager(Table):
        def row(self, source, prefix):
            logits = torch.full((12,), -9.0)
            # Ids from 6 go on with a word: far likelier than any that does not.
            logits[6:] = 3.0
            return logits.log_softmax(0)

    words = WordIds(frozenset(range(6, 12)), frozenset(range(4, 12)))
    for beam in (1, 4):
        config = SearchConfig(beam=beam, max_extra_length=6)
        (found,) = search(LexicalConstraints((((5,),),), words), config, Eager(12))[0]
        assert found.missing == 0
        assert holds(found.ids, ((5,),), words)
