"""The article of a noun that a glossary term replaces is not replaced."""

from collections.abc import Sequence

import pytest
import torch

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.inference.teacher_forcing import ForcedPair, Pair
from nmt_cli.search.constraints import LexicalConstraints, Place
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.terms.alone import TermsAlone, WordScores
from nmt_cli.translation.terms.spans import TermSpan, TermSpans, claims, span_of, weights_of

SRC, TGT = "the old dog sleeps", "der alte Hund schläft"
OTHER = -12.0


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    """Every word is one subword."""
    counts = {word: 10 + n for n, word in enumerate([*SRC.split(), *TGT.split()])}
    subwords = learn_subwords(DataConfig(subwords="bpe", vocab_size=80), counts, counts)
    assert len(subwords.encode_source([SRC])[0]) == len(subwords.encode_target([TGT])[0]) == 5
    return subwords


def ids_of(subwords: Subwords, text: str) -> tuple[int, ...]:
    return tuple(subwords.encode_target([text])[0])


class Article:
    """A model whose first two words depend on the noun, the first one also on the article.

    elsewhere: how likely each word begins the translation of every other text than the noun alone;
    noun: how likely `Hund` begins that of the noun, behind its article if it has one.
    """

    def __init__(
        self, subwords: Subwords, article: float, *, elsewhere: float = OTHER, noun: float = -1.0
    ) -> None:
        self._whole = tuple(subwords.encode_source([SRC])[0])
        self._article, self._elsewhere, self._noun = article, elsewhere, noun
        self._hund = ids_of(subwords, "Hund")[0]

    def __call__(self, pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        results = []
        for source, target in pairs:
            scores = [-1.0] * len(target)
            if len(source) <= 2 and self._whole[2] not in source:
                scores = [self._elsewhere] * len(target)
            elif len(source) <= 2 and target[0] == self._hund:
                scores[0] = self._noun
            if len(source) > 2 and self._whole[0] not in source:
                scores[0] -= self._article
            if len(source) > 2 and self._whole[2] not in source:
                scores[:2] = [-9.0, -9.0]
            weights = torch.full((len(target), len(source)), 0.5)
            results.append(ForcedPair(scores, weights if attention else None))
        return results


def spans_in(subwords: Subwords, text: str, model: Article) -> list[TermSpan]:
    """What `dog` is translated by in a translation of SRC whose words are one id each."""
    term = ((ids_of(subwords, "Hund")[:-1],),)
    constraints = LexicalConstraints(term, places=(Place(0, (2,)),))
    source = Source(tuple(subwords.encode_source([SRC])[0]), (), constraints)
    plain = {source: Hypothesis(ids_of(subwords, text), -1.0, -1.0, ())}
    words = {source: [(position,) for position in range(len(text.split()))]}
    return TermSpans(model, TermsAlone(subwords)).find(plain, words, {source: ()})[source]


@pytest.mark.parametrize(("article", "begin"), [(4.0, 1), (0.0, 0)])
def test_neighbours_are_compared_with_the_other_words(
    subwords: Subwords, article: float, begin: int
) -> None:
    assert spans_in(subwords, TGT, Article(subwords, article)) == [TermSpan(begin, 2, 0)]


@pytest.mark.parametrize("noun", [-1.0, -9.0])
@pytest.mark.parametrize(("elsewhere", "begin"), [(-3.0, 1), (-4.0, 0)])
def test_article_that_begins_translations_of_other_words_stays(
    subwords: Subwords, noun: float, elsewhere: float, begin: int
) -> None:
    """A model may translate `dog` alone as `der Hund`, so that the article fits better."""
    model = Article(subwords, 0.0, elsewhere=elsewhere, noun=noun)
    assert spans_in(subwords, "der Hund schläft", model)[0].begin == begin


def test_noun_behind_its_adjective_is_replaced_instead_of_the_article() -> None:
    """Nothing but `Une` of `Une jeune fille` fits as the first word: this is not replaced."""
    words = [(0,), (1,), (2,)]
    scores = WordScores([-0.2, -9.0, -9.0], [-9.0, -9.0, -0.2])
    weights = weights_of(words, torch.tensor([1.4, 0.0, 2.0]), scores)
    assert weights.likely_articles(()) == [0]
    assert span_of(0, words, weights) == TermSpan(0, 1, 0)
    without = weights.without([0])
    assert span_of(0, words, without, claims(without, [])) == TermSpan(2, 3, 0)
    assert weights.without([0, 2]) == weights
    # Nor is an article that depends on a part of the term.
    near = weights_of(words[:2], torch.tensor([1.4, 2.0]), WordScores([-0.2, -9.0], [-9.0, -0.2]))
    without = near.without([0])
    assert span_of(0, words[:2], without, claims(without, []), {0, 1}) == TermSpan(1, 2, 0)


def test_article_has_its_noun_near_behind_it_and_no_hyphen() -> None:
    for distance, joined, expected in ((4, (), [0]), (5, (), []), (1, (0,), [])):
        behind = [-9.0] * distance
        scores = WordScores([-0.2, *behind], [-9.0, *behind[1:], -0.2])
        words = [(position,) for position in range(distance + 1)]
        weights = weights_of(words, torch.tensor([1.0] * (distance + 1)), scores)
        assert weights.likely_articles(joined) == expected


def test_article_of_a_noun_that_the_translation_has_left_out_is_none() -> None:
    scores = WordScores([-0.2, -9.0], [-9.0, -0.2])
    for dependence, expected in ((1e-3, [0]), (1e-5, [])):
        weights = weights_of([(0,), (1,)], torch.tensor([dependence] * 2), scores)
        assert weights.likely_articles(()) == expected
