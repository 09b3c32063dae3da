"""Puts the terms of a glossary where the words that they replace stand.

A search that must contain a term puts it anywhere: at the end, or beside the usual translation. So
the source is also translated without its terms, and the words that translate a term are replaced by
one of its forms. Which words these are follows from three signals: they attend to the source term,
they become unlikely when it is left out of the source, and they are likely translations of the term
alone. The draft that results is preferred to
the translations of the search, unless the model finds one of them nearly as likely as the
translation without terms: then it knows the term, and has adapted the rest of the sentence to it.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import WITHOUT_SPACES, target_spellings
from nmt_cli.inference.teacher_forcing import ForcedPair, Pair
from nmt_cli.search.constraints import NOTHING, Form, LexicalConstraints, Place
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.ranking import HypothesisRanker, max_target_length
from nmt_cli.translation.term_alone import ReplacedWord, TermsAlone, WordScores

# A word with less weight does not translate a term: the translation has left it out.
FORGOTTEN = 5e-5
# A neighbour of the word that translates a term is replaced too if its weight is nearly as great.
NEIGHBOUR = 0.75
# The exponent of the probability of a word for the term alone, by which its weight is multiplied.
ALONE = 0.5
# A glossary names the base form first: it scores this many nats more. A model that has never seen
# a word can hardly tell which form is right.
FIRST_FORM = 32.0
# A translation of the search may be so much less likely, in nats, for each of its terms.
LIKELY = 5.0


class TermSpan(NamedTuple):
    """The ids of a translation, from `begin` to `end`, that translate a term.

    Nothing translates a term that the translation has left out; it belongs before `begin` then.
    """

    begin: int
    end: int
    term: int


class Draft(NamedTuple):
    """A translation whose words were replaced by terms.

    ids: without EOS; replaced: each replaced word; log_prob: before words were replaced.
    """

    ids: tuple[int, ...]
    replaced: Counter[str]
    log_prob: float


class TermPlacer:
    """Finds translations whose terms stand in their places."""

    def __init__(
        self,
        force: Callable[[Sequence[Pair]], Sequence[ForcedPair]],
        subwords: Subwords,
        tgt_language: str,
    ) -> None:
        """force: the scores and the attention of pairs of ids."""
        self._force = force
        self._alone = TermsAlone(force, subwords)
        self._subwords = subwords
        self._spaced = tgt_language not in WITHOUT_SPACES

    @cached_property
    def _spellings(self) -> list[bytes]:
        return target_spellings(self._subwords)

    def place(
        self,
        plain: Mapping[Source, Sequence[Hypothesis]],
        constrained: Mapping[Source, Sequence[Hypothesis]],
        config: SearchConfig,
    ) -> dict[Source, list[Hypothesis]]:
        """The hypotheses of each source, those with the terms in their places first.

        plain: those that a search without terms found; constrained: those of a search with them.
        """
        drafts = {
            source: draft
            for source, draft in self._drafts(
                {source: each[0] for source, each in plain.items() if each}
            ).items()
            if len(draft.ids) <= max_target_length(source, config)
        }
        ends = (self._subwords.eos_id,)
        forced = self._force([(source.ids, draft.ids + ends) for source, draft in drafts.items()])
        ranker = HypothesisRanker(config)
        of_drafts = {}
        for (source, draft), pair in zip(drafts.items(), forced, strict=True):
            log_prob = sum(pair.token_scores)
            lengths = torch.tensor(len(pair.token_scores))
            score = float(ranker.score(torch.tensor(log_prob), lengths))
            of_drafts[source] = Hypothesis(
                draft.ids + ends, log_prob, score, tuple(pair.token_scores)
            )
        result = {}
        for source, hypotheses in constrained.items():
            own = [of_drafts[source]] if source in of_drafts else []
            merged = [*plain[source], *hypotheses, *own]
            result[source] = self._ranked(source, merged, drafts.get(source))
        return result

    def _drafts(self, plain: Mapping[Source, Hypothesis]) -> dict[Source, Draft]:
        """The draft of each source whose terms have places."""
        words = {
            source: [
                word for word in self._words(hypothesis.ids[:-1]) if word[0] >= len(source.prefix)
            ]
            for source, hypothesis in plain.items()
        }
        scores = self._alone.word_scores(plain, words, _places)
        spans = {
            source: found
            for source, weights in self._weights(plain).items()
            if (found := _spans(source, words[source], weights, scores[source]))
        }
        chosen = iter(self._chosen_forms(spans, plain))
        return {
            source: self._draft(plain[source], [(span, next(chosen)) for span in of_source])
            for source, of_source in spans.items()
        }

    def _weights(self, plain: Mapping[Source, Hypothesis]) -> dict[Source, list[Tensor]]:
        """How much each id of a translation depends on each place of a term in its source."""
        whole: list[Pair] = []
        without: list[Pair] = []
        for source, hypothesis in plain.items():
            whole.append((source.ids, hypothesis.ids))
            for place in _places(source):
                rest = [
                    token_id
                    for position, token_id in enumerate(source.ids)
                    if position not in place.positions
                ]
                without.append((rest, hypothesis.ids))
        changed = iter(self._force(without))
        result: dict[Source, list[Tensor]] = {}
        for source, pair in zip(plain, self._force(whole), strict=True):
            assert pair.attention is not None
            scores = torch.tensor(pair.token_scores)
            result[source] = [
                pair.attention[:, list(place.positions)].sum(dim=1)
                * (scores - torch.tensor(next(changed).token_scores)).clamp(min=0)
                for place in _places(source)
            ]
        return result

    def _words(self, ids: Sequence[int]) -> list[tuple[int, ...]]:
        if not self._spaced:
            return [(position,) for position in range(len(ids))]
        return SpelledIds(ids, self._spellings).words()

    def _chosen_forms(
        self, spans: Mapping[Source, Sequence[TermSpan]], plain: Mapping[Source, Hypothesis]
    ) -> list[Form]:
        """For each span the form that ends like the replaced word, or else is the likeliest."""
        pairs: list[Pair] = []
        options: list[tuple[tuple[Form, ...], list[int]]] = []
        endings = iter(self._endings(spans, plain))
        for source, of_source in spans.items():
            assert source.constraints is not None
            ids = plain[source].ids
            for span in of_source:
                forms = source.constraints.forms[span.term]
                options.append((forms, next(endings)))
                pairs += [
                    (source.ids, (*ids[: span.begin], *form, *ids[span.end :])) for form in forms
                ]
        forced = iter(self._force(pairs))
        chosen = []
        for forms, lengths in options:
            keys = [
                (length, sum(next(forced).token_scores) + FIRST_FORM * (form == forms[0]))
                for form, length in zip(forms, lengths, strict=True)
            ]
            chosen.append(forms[keys.index(max(keys))])
        return chosen

    def _endings(
        self, spans: Mapping[Source, Sequence[TermSpan]], plain: Mapping[Source, Hypothesis]
    ) -> list[list[int]]:
        """For each span how much of the ending of each form the replaced word has too.

        All are 0 where no form ends like the replaced word, and where this word has no ending:
        `Haus` is no genitive.
        """
        result, replaced, indices = [], [], []
        for source, of_source in spans.items():
            assert source.constraints is not None
            for span in of_source:
                word, *forms = (
                    SpelledIds(ids, self._spellings).text
                    for ids in (
                        plain[source].ids[span.begin : span.end],
                        *source.constraints.forms[span.term],
                    )
                )
                endings = endings_of(forms) if self._spaced else []
                lengths = [len(common_suffix(ending, word)) for ending in endings]
                result.append(lengths or [0] * len(forms))
                if any(lengths):
                    indices.append(len(result) - 1)
                    shared = word[len(word) - max(lengths) :]
                    place = next(each for each in _places(source) if each.term == span.term)
                    ids = self._alone.ids(source, place)
                    replaced.append(ReplacedWord(ids, word, shared, tuple(endings)))
        for index, inflected in zip(indices, self._alone.inflected(replaced), strict=True):
            if not inflected:
                result[index] = [0] * len(result[index])
        return result

    def _draft(self, plain: Hypothesis, chosen: Sequence[tuple[TermSpan, Form]]) -> Draft:
        """The translation with the form of each span in its place."""
        ids = plain.ids[:-1]
        draft: list[int] = []
        replaced: Counter[str] = Counter()
        done = 0
        for span, form in chosen:
            draft += [*ids[done : span.begin], *form]
            replaced.update(self._spelled_words(ids[span.begin : span.end]))
            done = span.end
        return Draft((*draft, *ids[done:]), replaced, plain.log_prob)

    def _ranked(
        self, source: Source, hypotheses: Iterable[Hypothesis], draft: Draft | None
    ) -> list[Hypothesis]:
        """Different hypotheses by the terms that are missing, by faults, then by score."""
        assert source.constraints is not None
        checked = []
        for hypothesis in {hypothesis.ids: hypothesis for hypothesis in hypotheses}.values():
            missing = source.constraints.missing_in(hypothesis.ids[:-1])
            faults = self._faults(source.constraints, hypothesis, draft) if draft else 0
            checked.append(replace(hypothesis, missing=missing, term_faults=faults))
        return sorted(checked, key=lambda each: (each.missing, each.term_faults, -each.score))

    def _faults(self, constraints: LexicalConstraints, hypothesis: Hypothesis, draft: Draft) -> int:
        """The faults of a hypothesis beside the draft.

        These are replaced words that it has after all, terms between other words, and an unlikely
        whole.
        """
        if hypothesis.ids[:-1] == draft.ids:
            return 0
        expected, words = (
            Counter(self._spelled_words(ids)) for ids in (draft.ids, hypothesis.ids[:-1])
        )
        doubled = sum(words[word] > expected[word] for word in draft.replaced)
        detached = sum(
            not _neighbours(hypothesis.ids, forms)
            & _neighbours((*draft.ids, self._subwords.eos_id), forms)
            for forms in constraints.forms
        )
        lowest = draft.log_prob - LIKELY * len(constraints.forms)
        return doubled + detached + (hypothesis.log_prob < lowest)

    def _spelled_words(self, ids: Sequence[int]) -> list[str]:
        text = SpelledIds(ids, self._spellings).text
        return re.findall(r"\w+", text) if self._spaced else list(text)


def _places(source: Source) -> tuple[Place, ...]:
    return source.constraints.places if source.constraints else ()


def _neighbours(ids: Sequence[int], forms: Sequence[Form]) -> set[tuple[int, int]]:
    """The ids before (0) and after (1) any of these forms."""
    found = set()
    for form in forms:
        for begin in range(len(ids) - len(form)):
            if tuple(ids[begin : begin + len(form)]) == form:
                found.add((0, ids[begin - 1] if begin else NOTHING))
                found.add((1, ids[begin + len(form)]))
    return found


def _spans(
    source: Source,
    words: Sequence[tuple[int, ...]],
    weights: Sequence[Tensor],
    scores: Sequence[WordScores],
) -> list[TermSpan]:
    """What each place of a term is translated by, in the order of the translation."""
    spans: list[TermSpan] = []
    for place, of_place, alone in zip(_places(source), weights, scores, strict=True):
        span = span_of(place.term, words, of_place, alone)
        if span is not None and not any(
            span.begin < other.end and other.begin < span.end for other in spans
        ):
            spans.append(span)
    return sorted(spans)


def span_of(
    term: int, words: Sequence[Sequence[int]], weights: Tensor, alone: WordScores
) -> TermSpan | None:
    """The words of a translation that translate a term; None where there are no words.

    weights: how much each id depends on the term; alone: how likely each word is without the rest
    of the sentence.
    """
    if not words:
        return None
    in_sentence = [float(weights[list(word)].mean()) for word in words]
    of_words = [
        weight * math.exp(ALONE * log_prob)
        for weight, log_prob in zip(in_sentence, alone.first, strict=True)
    ]
    first = last = max(range(len(words)), key=of_words.__getitem__)
    if of_words[first] < FORGOTTEN:
        return TermSpan(words[first][0], words[first][0], term)
    threshold = NEIGHBOUR * of_words[first]
    while first and of_words[first - 1] > threshold:
        first -= 1
    while last + 1 < len(words):
        log_prob = max(alone.first[last + 1], alone.next[last + 1])
        if in_sentence[last + 1] * math.exp(ALONE * log_prob) <= threshold:
            break
        last += 1
    return TermSpan(words[first][0], words[last][-1] + 1, term)


def endings_of(forms: Sequence[str]) -> list[str]:
    """What follows the beginning that all forms share.

    >>> endings_of(["winzig", "winzige", "winzigen"])
    ['', 'e', 'en']
    """
    stem = len(list(takewhile(lambda letters: len(set(letters)) == 1, zip(*forms, strict=False))))
    return [form[stem:] for form in forms]


def common_suffix(text: str, other: str) -> str:
    """The last letters that both have.

    >>> common_suffix("es", "Bruders"), common_suffix("e", "Bruders")
    ('s', '')
    """
    pairs = zip(reversed(text), reversed(other), strict=False)
    length = len(list(takewhile(lambda letters: letters[0] == letters[1], pairs)))
    return text[len(text) - length :]
