"""A glossary term takes the place of the word that it replaces."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from nmt_cli.config.schema import DataConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.inference.teacher_forcing import ForcedPair, Pair
from nmt_cli.search.constraints import LexicalConstraints, Place
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.terms.alone import ReplacedWord, TermsAlone, WordScores
from nmt_cli.translation.terms.forced_together import ForcedTogether
from nmt_cli.translation.terms.placement import TermPlacer
from nmt_cli.translation.terms.spans import TermSpan, claims, parts, span_of, weights_of

DEFAULTS = SearchConfig()
SRC, TGT = "the old dog sleeps", "der alte Hund schläft"
WORDS = "der alte Hund Hundes Köter Köters schläft die Katze Haus Hau hund hundes köter ."
# The log-probabilities of translations of a term that stands alone; all others have OTHER.
ALONE = {"Hund": -0.1, "Hundes": -2.0, "Haus": -0.1, "Köter": -1.0}
OTHER = -12.0


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    """Every word is one subword."""
    counts = {word: 10 + n for n, word in enumerate([*SRC.split(), *WORDS.split()])}
    return learn_subwords(DataConfig(subwords="bpe", vocab_size=117), counts, counts)


def ids_of(subwords: Subwords, text: str) -> tuple[int, ...]:
    return tuple(subwords.encode_target([text])[0])


def text_of(subwords: Subwords, ids: Sequence[int]) -> str:
    return subwords.decode_target([ids])[0]


class Diagonal:
    """A model whose n-th target word attends to the n-th source word, and is due to it alone.

    likely: a word that is likelier than all others, by `nats`. alone: the log-probabilities of
    words where the source is a term without its sentence.
    """

    def __init__(
        self,
        subwords: Subwords,
        likely: str,
        nats: float,
        alone: Mapping[str, float] = ALONE,
        attention: float = 1.0,
    ) -> None:
        self.nats = nats
        self.attention = attention
        self.alone = {ids_of(subwords, word)[0]: nats for word, nats in alone.items()}
        self.whole = subwords.encode_source([SRC])[0]
        self.likely = ids_of(subwords, likely)[0]

    def __call__(self, pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        results = []
        for source, target in pairs:
            if len(source) == 2:
                results.append(ForcedPair([self.alone.get(i, OTHER) for i in target], None))
                continue
            scores = [self.nats * (token_id == self.likely) - 6.0 for token_id in target]
            for position in range(min(len(target), len(self.whole))):
                if self.whole[position] not in source:
                    scores[position] -= 9.0
            weights = (torch.eye(len(target), len(source)) + 0.1) * self.attention
            results.append(ForcedPair(scores, weights if attention else None))
        return results


def demanded(
    subwords: Subwords, forms: Sequence[str] = ("Köter",), *, prefix: str = "", place: int = 2
) -> Source:
    """SRC, whose word `place` has these forms as its translations."""
    ids = tuple(ids_of(subwords, form)[:-1] for form in forms)
    return Source(
        tuple(subwords.encode_source([SRC])[0]),
        ids_of(subwords, prefix)[:-1],
        LexicalConstraints((ids,), places=(Place(0, (place,)),)),
    )


def placed(subwords: Subwords, *found: Sequence[tuple[str, float]], **given: Any) -> list[str]:
    """The texts of `ranked`."""
    return [text_of(subwords, each.ids) for each in ranked(subwords, *found, **given)]


def ranked(
    subwords: Subwords,
    found: Sequence[tuple[str, float]] = (),
    *,
    plain: str = TGT,
    forms: Sequence[str] = ("Köter", "Köters"),
    likely: str = "schläft",
    nats: float = 5.0,
    config: SearchConfig = DEFAULTS,
    prefix: str = "",
    alone: Mapping[str, float] = ALONE,
    place: int = 2,
    attention: float = 1.0,
) -> list[Hypothesis]:
    """The translations of SRC where `forms` are demanded for `dog`, best first.

    found: translations of the search with the term, and their log-probabilities.
    """
    source = demanded(subwords, forms, prefix=prefix, place=place)
    placer = TermPlacer(Diagonal(subwords, likely, nats, alone, attention), subwords, "de")
    hypotheses = [
        Hypothesis(ids_of(subwords, text), log_prob, log_prob, ())
        for text, log_prob in ((plain, -1.0), *found)
    ]
    return placer.place(
        {source: hypotheses[:1]}, lambda sources: dict.fromkeys(sources, hypotheses[1:]), config
    )[source]


PLACED = "der alte Köter schläft"


def test_the_fixture_has_one_subword_for_each_word(subwords: Subwords) -> None:
    assert len(ids_of(subwords, TGT)) == 5


@pytest.mark.parametrize(
    "found",
    [
        ("der alte Köter Hund schläft", -0.01),  # doubled
        ("die Katze Köter die", -0.01),  # detached
        ("die alte Köter schläft", -9.0),  # unlikely as a whole
    ],
)
def test_faulty_translations_rank_behind_the_draft(subwords: Subwords, found) -> None:
    assert placed(subwords, [found]) == [PLACED, found[0], TGT]


def test_a_word_of_the_term_beside_it_is_not_doubled(subwords: Subwords) -> None:
    forms = ("alte Katze",)
    [best, *_] = ranked(subwords, forms=forms, alone={"Hund": -0.1})
    assert text_of(subwords, best.ids) == "der alte Katze schläft"
    # The score is that of the translation without the doubled word.
    assert len(best.token_scores) == len(best.ids)
    # Nor is a translation of the search taken that doubles it.
    plain, found = "der Hund Haus schläft", ("der alte alte Katze Haus schläft", -0.01)
    options = {"plain": plain, "forms": forms, "place": 1, "likely": "alte", "nats": 20.0}
    texts = placed(subwords, [found], **options)
    assert texts == ["der alte Katze Haus schläft", found[0], plain]


def test_a_term_that_is_there_stays_where_it_is(subwords: Subwords) -> None:
    """The model has no better place for `alte` than that of the dog, where the other term goes."""
    forms = tuple((ids_of(subwords, form)[:-1],) for form in ("alte", "Köter"))
    source = Source(
        tuple(subwords.encode_source([SRC])[0]),
        (),
        LexicalConstraints(forms, places=(Place(0, (2,)), Place(1, (2,)))),
    )
    placer = TermPlacer(Diagonal(subwords, "schläft", 5.0), subwords, "de")
    plain = Hypothesis(ids_of(subwords, TGT), -1.0, -1.0, ())
    found = placer.place({source: [plain]}, lambda _: {}, DEFAULTS)[source]
    assert [text_of(subwords, each.ids) for each in found] == [PLACED, TGT]
    assert [each.missing for each in found] == [0, 1]


def test_a_likely_translation_of_the_search_is_preferred(subwords: Subwords) -> None:
    """It has adapted the article to the term."""
    assert placed(subwords, [("die alte Köter schläft", -0.01)])[0] == "die alte Köter schläft"


def test_the_form_that_ends_like_the_replaced_word_is_chosen(subwords: Subwords) -> None:
    assert placed(subwords, plain="der alte Hundes schläft")[0] == "der alte Köters schläft"
    assert placed(subwords)[0] == PLACED


def test_a_part_of_an_ending_is_enough(subwords: Subwords) -> None:
    """`Hundes` is a genitive as `Katzers`, though it does not end in `ers`."""
    forms = ("Katze", "Katzers")
    assert placed(subwords, plain="der alte Hundes schläft", forms=forms)[0] == (
        "der alte Katzers schläft"
    )


def test_the_likeliest_of_forms_with_the_same_ending_is_chosen(subwords: Subwords) -> None:
    """The first form is preferred, but not by more than a clear difference."""
    forms = ("Katze", "die", "alte")
    for nats, expected in ((33.0, "die"), (31.0, "Katze")):
        chosen = placed(subwords, forms=forms, likely="die", nats=nats)[0].split()[2]
        assert chosen == expected


@pytest.mark.parametrize(
    ("plain", "forms", "expected"),
    [
        ("Köter schläft", ("hund", "Hund"), "Hund schläft"),
        ("Köter schläft", ("Hund", "hund"), "Hund schläft"),
        ("köter schläft", ("hund", "Hund"), "hund schläft"),
        ("Köters schläft", ("hund", "hundes", "Hund", "Hundes"), "Hundes schläft"),
        # Without a form that fits, the other one is taken.
        ("Köter schläft", ("hund",), "hund schläft"),
        ("schläft Köter", ("hund", "Hund"), "schläft hund"),
        ("schläft. Köter", ("hund", "Hund"), "schläft. Hund"),
        ("schläft. köter", ("hund", "Hund"), "schläft. hund"),
        ("schläft Köter", ("Hund",), "schläft Hund"),
    ],
)
def test_forms_begin_with_a_capital_where_a_sentence_does(
    subwords: Subwords, plain: str, forms: Sequence[str], expected: str
) -> None:
    place = len(ids_of(subwords, plain)) - 2 if plain.startswith("schläft") else 0
    alone = {"Köter": -0.1, "Köters": -2.0, "köter": -0.1}
    assert placed(subwords, plain=plain, forms=forms, place=place, alone=alone)[0] == expected


def test_words_of_a_prefix_are_not_replaced(subwords: Subwords) -> None:
    found = ("der alte Hund Köter", -3.0)
    assert "Hund" in placed(subwords, [found], prefix="der alte Hund")[0]


def test_a_translation_that_is_all_prefix_stays(subwords: Subwords) -> None:
    assert placed(subwords, prefix=TGT) == [TGT]


def test_a_draft_that_is_too_long_is_not_taken(subwords: Subwords) -> None:
    forms = ("Köter Katze",)
    short = dataclasses.replace(SearchConfig(), max_length=4)
    assert placed(subwords, forms=forms)[0] == "der alte Köter Katze schläft"
    assert placed(subwords, forms=forms, config=short) == [TGT]


def test_a_word_that_only_ends_like_a_form_keeps_the_first_form(subwords: Subwords) -> None:
    """`Haus` is no genitive of `Hau`, which does not translate the term."""
    assert placed(subwords, plain="der alte Haus schläft")[0] == PLACED
    known = {**ALONE, "Hau": -3.0}
    assert placed(subwords, plain="der alte Haus schläft", alone=known)[0] == (
        "der alte Köters schläft"
    )


def test_word_that_translates_the_term_alone_is_replaced(subwords: Subwords) -> None:
    """The sentence needs both words for the term, the adjective even more."""
    alone = {"alte": -9.0, "Hund": -0.1}
    ids, words = ids_of(subwords, TGT), [(0,), (1,), (2,), (3,)]
    source = Source(tuple(subwords.encode_source([SRC])[0]))
    [scores] = TermsAlone(subwords).word_scores(
        ForcedTogether(Diagonal(subwords, "die", 0.0, alone)),
        {source: Hypothesis(ids, -1.0, -1.0, ())},
        {source: words},
        lambda _: [Place(0, (2,))],
    )()[source]
    for weights, expected in (([0.0, 2.0, 1.5, 0.0], "Hund"), ([0.0, 2.0, 0.01, 0.0], "alte")):
        span = span_of(0, words, weights_of(words, torch.tensor(weights), scores))
        assert text_of(subwords, ids[span.begin : span.end]) == expected


def test_other_forms_of_a_word() -> None:
    assert ReplacedWord((), " neues", "es", ("", "e", "es")).other_forms == [" neu", " neue", " ne"]
    assert ReplacedWord((), " es", "es", ("",)).other_forms == []


def equal(words: int, log_prob: float = -1.0) -> WordScores:
    """Every word is as likely for the term alone."""
    return WordScores([log_prob] * words, [log_prob] * words)


def test_neighbours_are_replaced_where_they_depend_on_the_term_too() -> None:
    words = [(0,), (1, 2), (3,)]
    for weights, expected in (
        ([0.1, 0.9, 0.9, 0.1], TermSpan(1, 3, 0)),
        ([0.1, 0.9, 0.9, 0.8], TermSpan(1, 4, 0)),
        ([0.8, 0.9, 0.9, 0.1], TermSpan(0, 3, 0)),
    ):
        assert span_of(0, words, weights_of(words, torch.tensor(weights), equal(3))) == expected


def test_words_that_translate_parts_of_a_term_are_replaced_together() -> None:
    """`small dog`: alone it is `kleiner Hund`, so that `kleine` is no likely translation of it."""
    words = [(0,), (1,), (2,), (3,)]
    scores = WordScores([-9.0, -9.0, -1.0, -9.0], [-9.0] * 4)
    weights = weights_of(words, torch.tensor([0.1, 0.5, 0.9, 0.0]), scores)
    of_small, of_dog = [0.0, 0.4, 0.1, 0.0], [0.1, 0.1, 0.9, 0.0]
    assert span_of(0, words, weights) == TermSpan(2, 3, 0)
    own = parts(weights, [of_small, of_dog])
    assert own == {1, 2}
    assert span_of(0, words, weights, {}, own) == TermSpan(1, 3, 0)
    # Not where the word translates another word, or hardly depends on the term.
    assert span_of(0, words, weights, {1: 1.0}, own) == TermSpan(2, 3, 0)
    assert parts(weights, [[0.2, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.1]]) == {0}


def test_words_that_a_hyphen_joins_are_replaced_together_unless_they_translate_others() -> None:
    """`T-shirt` as a whole, of `donne-moi` the verb alone."""
    words, scores = [(0,), (2,), (4,), (5,)], equal(4)
    for weights, joined, claimed, expected in (
        ([0.9, 0.0, 0.1, 0.0, 0.0, 0.1], {0}, {}, TermSpan(0, 3, 0)),
        ([0.1, 0.0, 0.0, 0.0, 0.9, 0.1], {0, 1}, {}, TermSpan(0, 5, 0)),
        ([0.1, 0.0, 0.0, 0.0, 0.9, 0.1], {1}, {}, TermSpan(2, 5, 0)),
        ([0.9, 0.0, 0.1, 0.0, 0.0, 0.1], {0}, {1: 1.0}, TermSpan(0, 1, 0)),
        ([0.1, 0.0, 0.0, 0.0, 0.9, 0.1], {0, 1}, {1: 1.0}, TermSpan(4, 5, 0)),
        ([0.9, 0.0, 0.1, 0.0, 0.0, 0.1], (), {}, TermSpan(0, 1, 0)),
    ):
        each = weights_of(words, torch.tensor(weights), scores)
        assert span_of(0, words, each, claimed, (), joined) == expected


def test_parts_of_a_word_are_compared_with_the_other_words_of_the_source() -> None:
    words = [(0,), (2,), (4,), (6,)]
    weights = weights_of(words, torch.tensor([0.0, 0, 0.9, 0, 0.0, 0, 0.0]), equal(4))
    doubtful = {joined: weights.is_doubtful({joined}) for joined in range(4)}
    assert doubtful == {0: True, 1: True, 2: False, 3: False}
    assert not weights.is_doubtful(())


class TwoParts:
    """A model for `dog cat`: `Haus` is due to `dog`, and what follows it less so.

    of_cat: the nats that this loses without `cat`.
    """

    def __init__(self, subwords: Subwords, of_cat: float) -> None:
        _, self._dog, _, _, _, self._cat, *_ = subwords.encode_source(["dog cat"])[0]
        self._of_cat = of_cat

    def __call__(self, pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        results = []
        for source, target in pairs:
            scores = np.full(len(target), -1.0)
            if self._dog not in source:
                scores -= np.where(np.arange(len(target)) < len(" Haus"), 8.0, 2.0)
            elif len(source) == len(" dog") + 1:
                scores[:] = np.where(np.arange(len(target)) < len(" Haus"), -0.1, OTHER)
            elif self._cat not in source:
                scores[len(" Haus") :] -= self._of_cat
            weights = torch.full((len(target), len(source)), 0.5)
            results.append(ForcedPair(scores.tolist(), weights if attention else None))
        return results


@pytest.mark.parametrize(
    ("text", "of_cat", "expected"),
    [
        ("Haus-Boot", 0.0, "Katze"),
        ("Haus‑Boot", 0.0, "Katze"),
        ("Haus-Boot", 5.0, "Katze-Boot"),
        ("Haus Boot", 0.0, "Katze Boot"),
    ],
)
def test_hyphens_of_a_translation_join_its_words(text: str, of_cat: float, expected: str) -> None:
    """Those between words, if no other word of the source is translated behind them."""
    counts = dict.fromkeys(("Haus-Boot", "Haus‑Boot", "Katze", "dog", "cat"), 10)
    letters = learn_subwords(DataConfig(subwords="chars", vocab_size=117), counts, counts)
    forms = LexicalConstraints(
        ((ids_of(letters, "Katze")[:-1],),), places=(Place(0, tuple(range(len(" dog")))),)
    )
    source = Source(tuple(letters.encode_source(["dog cat"])[0]), (), forms)
    plain = Hypothesis(ids_of(letters, text), -1.0, -1.0, ())
    placer = TermPlacer(TwoParts(letters, of_cat), letters, "de")
    [best, *_] = placer.place({source: [plain]}, lambda _: {}, DEFAULTS)[source]
    assert text_of(letters, best.ids) == expected


def test_space_that_is_an_id_by_itself_is_replaced_with_its_word(subwords: Subwords) -> None:
    assert len(ids_of(subwords, "z")) == 3  # the space, the letter, EOS
    texts = placed(subwords, plain="der alte z schläft", place=3, alone={"z": -0.1})
    assert texts[0] == "der alte Köter schläft"


def test_term_that_the_translation_has_left_out_replaces_nothing(subwords: Subwords) -> None:
    words, weights = [(0,), (1,)], torch.tensor([1e-5, 4e-5])
    assert span_of(0, words, weights_of(words, weights, equal(2))) == TermSpan(1, 1, 0)
    found = ranked(subwords, plain="der alte schläft die", place=0, attention=1e-5)
    assert [each.term_inserted for each in found] == [True, False]
    assert not any(each.term_inserted for each in ranked(subwords))
    assert text_of(subwords, found[0].ids) == "Köter der alte schläft die"


def test_next_word_belongs_to_the_term_where_it_is_likely_behind_it() -> None:
    """`bibliothèque publique`: the second word cannot begin the translation of the term."""
    words, weights = [(0,), (1,)], torch.tensor([0.9, 0.9])
    for second, expected in ((-0.5, TermSpan(0, 2, 0)), (-9.0, TermSpan(0, 1, 0))):
        scores = WordScores([-1.0, -9.0], [-9.0, second])
        assert span_of(0, words, weights_of(words, weights, scores)) == expected


def test_word_that_translates_another_word_of_the_source_stays() -> None:
    """An article that depends on its noun is no part of the translation of the noun."""
    words = [(0,), (1,), (2,)]
    weights = weights_of(words, torch.tensor([0.9, 0.9, 0.0]), equal(3))
    assert span_of(0, words, weights) == TermSpan(0, 2, 0)
    # The article depends on itself, `'s` on the noun, less so; the last word on the mark.
    of_article, of_mark = [0.6, 0.0, 0.0], [0.0, 0.1, 0.5]
    article = claims(weights, [of_article, of_mark])
    assert span_of(0, words, weights, article) == TermSpan(1, 2, 0)
    of_genitive = [0.0, 0.4, 0.0]
    both = claims(weights, [of_article, of_genitive])
    assert span_of(0, words, weights, both) == TermSpan(1, 2, 0)
    assert span_of(0, words, weights, claims(weights, [[0.04, 0.0, 0.0]])) == TermSpan(0, 2, 0)


UNKNOWN = {"Hund": -0.1}


@pytest.mark.parametrize(
    ("options", "searched"),
    [
        ({"alone": UNKNOWN}, False),
        ({}, True),  # likely alone
        ({"alone": UNKNOWN, "likely": "Köter"}, True),  # likely in its place
        ({"alone": UNKNOWN, "attention": 1e-6}, True),  # the translation has left out the term
        ({"alone": UNKNOWN, "prefix": TGT}, True),  # no word may be replaced
        ({"alone": UNKNOWN, "config": SearchConfig(n_best=2)}, True),
        ({"alone": UNKNOWN, "config": SearchConfig(max_length=4), "forms": ["Haus die"]}, True),
    ],
)
def test_the_search_runs_only_where_it_may_find_a_better_translation(
    subwords: Subwords, options, searched: bool
) -> None:
    found = ("die die alte Köter schläft", -20.0)
    assert (found[0] in placed(subwords, [found], **options)) == searched


def test_equal_pairs_are_forced_once_and_together() -> None:
    calls = []

    def force(pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        calls.append((pairs, attention))
        return [ForcedPair([float(sum(target))], None) for _, target in pairs]

    together = ForcedTogether(force, attention=True)
    first = together.ask([([1], [2]), ([1], [3])])
    second = together.ask([([1], (3,)), ([4], [5])])
    assert [each.token_scores for each in first()] == [[2.0], [3.0]]
    assert [each.token_scores for each in second()] == [[3.0], [5.0]]
    assert calls == [([((1,), (2,)), ((1,), (3,)), ((4,), (5,))], True)]
