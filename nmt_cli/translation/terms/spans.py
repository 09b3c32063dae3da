"""Which words of a translation translate a term of a glossary.

This follows from three signals: the words attend to the source term, they become unlikely when it
is left out of the source, and they are likely translations of the term alone. A neighbour of the
word that fits best belongs to it if it fits nearly as well, unless the source has another word for
it: an article depends on its noun, but it translates an article. A model that translates the term
alone with an article may find that the article fits best; it stays if it begins the translations of
other words as well.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from nmt_cli.inference.forced_pairs import ForcedPair, Pair
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.constraints import Place
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.terms.alone import TermsAlone, WordScores
from nmt_cli.translation.terms.forced_together import Answer, Force, ForcedTogether

# A word with less weight does not translate a term: the translation has left it out.
FORGOTTEN = 5e-5
# A neighbour of the word that translates a term is replaced too if its weight is nearly as great.
NEIGHBOUR = 0.75
# The exponent of the probability of a word for the term alone, by which its weight is multiplied.
ALONE = 0.5
# Words with this share of the greatest weight are compared with the other words of the source.
DOUBTFUL = 0.4
# An article begins the translation of the term alone with less than ten times the probability, in
# nats, with which it begins that of another word of the source, or of an empty text.
ARTICLE = math.log(10.0)
# At most so many words behind an article is its noun, with adjectives between them.
NOUN_DISTANCE = 4
# A word that translates another word of the source depends on it at least so much, relative to how
# much it depends on the term.
OTHER_WORD = 0.05
# A word that translates a part of a term depends on the term this much, relative to the word that
# depends on it most.
PART = 0.1


class TermSpan(NamedTuple):
    """The ids of a translation, from `begin` to `end`, that translate a term.

    Nothing translates a term that the translation has left out; it belongs before `begin` then.
    """

    begin: int
    end: int
    term: int


class TermWeights(NamedTuple):
    """How well each word of a translation fits a term.

    in_sentence: how much it depends on the term; as_first: also how likely it is as the first
    translation of the term alone; as_next: the same as its first word or as the next one;
    articles: the words that belong to the term, but do not translate it.
    """

    in_sentence: list[float]
    as_first: list[float]
    as_next: list[float]
    articles: frozenset[int] = frozenset()

    def candidates(self) -> list[int]:
        """The word that fits best, and those beside it that might be mistaken for it."""
        best = max(range(len(self.as_first)), key=self.as_first.__getitem__)
        limit = max(FORGOTTEN, DOUBTFUL * self.as_first[best])
        before = [index for index in (best - 1,) if index >= 0 and self.as_first[index] > limit]
        after = [index for index in (best + 1,) if self.as_next[index : index + 1] > [limit]]
        return [*before, best, *after]

    def likely_articles(self, joined: Collection[int]) -> list[int]:
        """The words that fit well and have a word behind them that may be the translation.

        This word fits as the next one, for example `femme` behind `Une`. joined: words that a
        hyphen joins with the next one, which are no articles.
        """
        return [
            index
            for index in self.candidates()
            if index not in joined and self._has_noun(index, self.as_next)
        ]

    def _has_noun(self, article: int, as_next: Sequence[float]) -> bool:
        """Whether a word behind an article fits, by these weights."""
        behind = as_next[article + 1 : article + 1 + NOUN_DISTANCE]
        return max(behind, default=0.0) > max(FORGOTTEN, DOUBTFUL * self.as_first[article])

    def without(self, articles: Collection[int]) -> "TermWeights":
        """The weights where these words are articles; other words may be the next ones then.

        Where all words that fit are said to be articles, none is one.
        """
        rest = [0.0 if index in articles else weight for index, weight in enumerate(self.as_next)]
        if not articles or not all(self._has_noun(index, rest) for index in articles):
            return self
        return TermWeights(self.in_sentence, rest, rest, frozenset(articles))

    def is_doubtful(self, joined: Collection[int]) -> bool:
        """Whether the other words of the source decide which words translate the term."""
        first, *others = self.candidates()
        return bool(others) or first in joined or first - 1 in joined


class TermSpans:
    """Finds the words that translate terms, with scores and attention of forced translations."""

    def __init__(self, force: Force, alone: TermsAlone) -> None:
        self._force = force
        self._alone = alone

    def find(
        self,
        plain: Mapping[Source, Hypothesis],
        words: Mapping[Source, Sequence[tuple[int, ...]]],
        joined: Mapping[Source, Collection[int]],
    ) -> dict[Source, list[TermSpan]]:
        """The spans of the terms of each source that have a place, in the order of the translation.

        words: the positions of each word in the ids of the translation that may be replaced.
        joined: the indices of those that a hyphen joins with the next one.
        """
        filled = {source: plain[source] for source, positions in words.items() if positions}
        together = ForcedTogether(self._force, attention=True)
        whole = together.ask(
            [(source.ids, hypothesis.ids) for source, hypothesis in filled.items()]
        )
        left_out = [(source, place.positions) for source in filled for place in places_of(source)]
        changed = together.ask(_without(left_out, filled))
        scores = self._alone.word_scores(
            together, filled, {source: words[source] for source in filled}, places_of
        )()
        wholes = dict(zip(filled, whole(), strict=True))
        dependences = iter(_dependence(left_out, wholes, changed))
        weights = {
            source: [
                weights_of(words[source], next(dependences), place_scores)
                for place_scores in scores[source]
            ]
            for source in filled
        }
        weights = self._without_articles(filled, words, weights, joined)
        doubtful = {
            source: filled[source]
            for source, source_weights in weights.items()
            if any(place_weights.is_doubtful(joined[source]) for place_weights in source_weights)
            or any(len(place.positions) > 1 for place in places_of(source))
        }
        others = self._other_weights(doubtful, wholes, words)
        return {
            source: spans
            for source, source_weights in weights.items()
            if (
                spans := _spans(
                    source, words[source], source_weights, others.get(source, {}), joined[source]
                )
            )
        }

    def _without_articles(
        self,
        plain: Mapping[Source, Hypothesis],
        words: Mapping[Source, Sequence[tuple[int, ...]]],
        weights: Mapping[Source, Sequence[TermWeights]],
        joined: Mapping[Source, Collection[int]],
    ) -> dict[Source, list[TermWeights]]:
        """The weights of the words for each place of a term, with the articles marked."""
        together = ForcedTogether(self._force)
        lifts = {
            (source, place, index): self._alone.lift(
                together, source, place, [plain[source].ids[i] for i in words[source][index]]
            )
            for source, source_weights in weights.items()
            for place, place_weights in zip(places_of(source), source_weights, strict=True)
            for index in place_weights.likely_articles(joined[source])
        }
        articles = {key for key, lift in lifts.items() if lift() < ARTICLE}
        return {
            source: [
                place_weights.without(
                    [i for i in place_weights.candidates() if (source, place, i) in articles]
                )
                for place, place_weights in zip(places_of(source), source_weights, strict=True)
            ]
            for source, source_weights in weights.items()
        }

    def _other_weights(
        self,
        plain: Mapping[Source, Hypothesis],
        wholes: Mapping[Source, ForcedPair],
        words: Mapping[Source, Sequence[tuple[int, ...]]],
    ) -> dict[Source, dict[int, list[float]]]:
        """How much each word of a translation depends on each id of its source but EOS."""
        left_out = [
            (source, (position,)) for source in plain for position in range(len(source.ids) - 1)
        ]
        result: dict[Source, dict[int, list[float]]] = {source: {} for source in plain}
        changed = ForcedTogether(self._force).ask(_without(left_out, plain))
        dependences = _dependence(left_out, wholes, changed)
        for (source, (position,)), weights in zip(left_out, dependences, strict=True):
            result[source][position] = _means(weights, words[source])
        return result


def _without(
    left_out: Sequence[tuple[Source, tuple[int, ...]]], plain: Mapping[Source, Hypothesis]
) -> list[Pair]:
    """Each source without these positions, and its translation."""
    return [
        (
            [token_id for index, token_id in enumerate(source.ids) if index not in positions],
            plain[source].ids,
        )
        for source, positions in left_out
    ]


def _dependence(
    left_out: Sequence[tuple[Source, tuple[int, ...]]],
    wholes: Mapping[Source, ForcedPair],
    changed: Answer,
) -> list[Array]:
    """How much each id of a translation depends on these positions of its source.

    This is its attention to them, times the nats that it loses when they are left out.
    """
    result = []
    for (source, positions), without in zip(left_out, changed(), strict=True):
        attention, scores = wholes[source].attention, wholes[source].token_scores
        assert attention is not None
        arrays = arrays_of(attention)
        lost = arrays.floats(scores) - arrays.floats(without.token_scores)
        result.append(attention[:, list(positions)].sum(1) * arrays.at_least(lost, 0))
    return result


def places_of(source: Source) -> tuple[Place, ...]:
    """Where the terms of a source occur in it."""
    return source.constraints.places if source.constraints else ()


def _spans(
    source: Source,
    words: Sequence[tuple[int, ...]],
    weights: Sequence[TermWeights],
    others: Mapping[int, Sequence[float]],
    joined: Collection[int],
) -> list[TermSpan]:
    """What each place of a term is translated by, in the order of the translation."""
    spans: list[TermSpan] = []
    for place, place_weights in zip(places_of(source), weights, strict=True):
        rest = [
            id_weights for position, id_weights in others.items() if position not in place.positions
        ]
        own = parts(place_weights, [others[position] for position in place.positions if others])
        claimed = claims(place_weights, rest)
        span = span_of(place.term, words, place_weights, claimed, own, joined)
        if not any(span.begin < other.end and other.begin < span.end for other in spans):
            spans.append(span)
    return sorted(spans)


def weights_of(words: Sequence[Sequence[int]], weights: Array, alone: WordScores) -> TermWeights:
    """How well words fit a term.

    weights: how much each id depends on the term; alone: how likely each word is without the rest
    of the sentence.
    """
    in_sentence = _means(weights, words)

    def times_alone(log_probs: Sequence[float]) -> list[float]:
        return [
            weight * math.exp(ALONE * log_prob)
            for weight, log_prob in zip(in_sentence, log_probs, strict=True)
        ]

    either = list(map(max, alone.first, alone.next))
    return TermWeights(in_sentence, times_alone(alone.first), times_alone(either))


def _means(weights: Array, words: Sequence[Sequence[int]]) -> list[float]:
    """The mean weight of the ids of each word."""
    values = weights.tolist()
    return [sum(values[position] for position in word) / len(word) for word in words]


def claims(weights: TermWeights, others: Sequence[Sequence[float]]) -> dict[int, float]:
    """The words that translate other words of the source than the term.

    others: how much each word depends on each id of the source outside the term. An id is
    translated by the word that depends on it most, if it does so clearly. The result is how much,
    relative to how much the word depends on the term; infinite for articles.
    """
    result: dict[int, float] = dict.fromkeys(weights.articles, math.inf)
    for id_weights in others:
        word = max(range(len(id_weights)), key=id_weights.__getitem__)
        claim = id_weights[word] / max(FORGOTTEN, weights.in_sentence[word])
        if claim > OTHER_WORD:
            result[word] = max(claim, result.get(word, 0.0))
    return result


def parts(weights: TermWeights, own: Sequence[Sequence[float]]) -> set[int]:
    """The words that translate parts of a term, as `kleine` and `Hund` do for `small dog`.

    own: how much each word depends on each id of the term. Alone, a part may be translated by
    another form of the word, so that the word is no likely translation of the term.
    """
    least = max(FORGOTTEN, PART * max(weights.in_sentence))
    words = (max(range(len(id_weights)), key=id_weights.__getitem__) for id_weights in own)
    return {word for word in words if weights.in_sentence[word] > least}


def span_of(
    term: int,
    words: Sequence[Sequence[int]],
    weights: TermWeights,
    claimed: Mapping[int, float] | None = None,
    own: Collection[int] = (),
    joined: Collection[int] = (),
) -> TermSpan:
    """The words of a translation that translate a term.

    claimed: words that translate other words of the source, and how much; they stay. Where all that
    fit are claimed, the one that is least so is replaced: `'s` changes the ending of its noun. own:
    words that translate parts of the term. joined: words that a hyphen joins with the next one: of
    `T-shirt`, both are replaced, but of `donne-moi` not the one that translates another word.
    """
    claimed = claimed or {}
    candidates = weights.candidates()
    first = last = min(
        candidates, key=lambda index: (claimed.get(index, 0.0), -weights.as_first[index])
    )
    if max(weights.as_first[index] for index in candidates) < FORGOTTEN:
        return TermSpan(words[first][0], words[first][0], term)
    threshold = NEIGHBOUR * weights.as_first[first]
    while (
        first
        and first - 1 not in claimed
        and (first - 1 in own or weights.as_first[first - 1] > threshold)
    ):
        first -= 1
    while (
        last + 1 < len(words)
        and last + 1 not in claimed
        and (last + 1 in own or weights.as_next[last + 1] > threshold)
    ):
        last += 1
    while first - 1 in joined and first - 1 not in claimed:
        first -= 1
    while last in joined and last + 1 not in claimed:
        last += 1
    return TermSpan(words[first][0], words[last][-1] + 1, term)
