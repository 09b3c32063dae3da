"""Puts the terms of a glossary where the words that they replace stand.

A search that must contain a term puts it anywhere: at the end, or beside the usual translation. So
the source is also translated without its terms, and the words that translate a term are replaced by
one of its forms. Which words these are follows from two signals: they attend to the source term,
and they become unlikely when it is left out of the source. The draft that results is preferred to
the translations of the search, unless the model finds one of them nearly as likely as the
translation without terms: then it knows the term, and has adapted the rest of the sentence to it.
"""

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

# A neighbour of the word that translates a term is replaced too if its weight is nearly as great.
NEIGHBOUR = 0.75
# A glossary names the base form first: it scores this many nats more. A model that has never seen
# a word can hardly tell which form is right.
FIRST_FORM = 32.0
# A translation of the search may be so much less likely, in nats, for each of its terms.
LIKELY = 5.0


class TermSpan(NamedTuple):
    """The ids of a translation, from `begin` to `end`, that translate a term."""

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
        spans = {
            source: found
            for source, weights in self._weights(plain).items()
            if (found := self._spans(source, plain[source].ids, weights))
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

    def _spans(
        self, source: Source, ids: Sequence[int], weights: Sequence[Tensor]
    ) -> list[TermSpan]:
        """What each place of a term is translated by, in the order of the translation."""
        words = [word for word in self._words(ids[:-1]) if word[0] >= len(source.prefix)]
        spans: list[TermSpan] = []
        for place, of_place in zip(_places(source), weights, strict=True):
            span = span_of(place.term, words, of_place)
            if span is not None and not any(
                span.begin < other.end and other.begin < span.end for other in spans
            ):
                spans.append(span)
        return sorted(spans)

    def _words(self, ids: Sequence[int]) -> list[tuple[int, ...]]:
        if not self._spaced:
            return [(position,) for position in range(len(ids))]
        return SpelledIds(ids, self._spellings).words()

    def _chosen_forms(
        self, spans: Mapping[Source, Sequence[TermSpan]], plain: Mapping[Source, Hypothesis]
    ) -> list[Form]:
        """For each span the form that ends like the replaced word, or else is the likeliest."""
        pairs: list[Pair] = []
        options: list[tuple[tuple[Form, ...], tuple[int, ...]]] = []
        for source, of_source in spans.items():
            assert source.constraints is not None
            ids = plain[source].ids
            for span in of_source:
                forms = source.constraints.forms[span.term]
                options.append((forms, ids[span.begin : span.end]))
                pairs += [
                    (source.ids, (*ids[: span.begin], *form, *ids[span.end :])) for form in forms
                ]
        forced = iter(self._force(pairs))
        chosen = []
        for forms, replaced in options:
            endings = self._same_endings(forms, replaced)
            keys = [
                (ending, sum(next(forced).token_scores) + FIRST_FORM * (form == forms[0]))
                for form, ending in zip(forms, endings, strict=True)
            ]
            chosen.append(forms[keys.index(max(keys))])
        return chosen

    def _same_endings(self, forms: Sequence[Form], replaced: Sequence[int]) -> list[int]:
        """The length of the ending of each form, if the replaced word has it too, else 0.

        Inflected words that agree end alike. The ending of a form is what follows the beginning
        that all forms share.
        """
        if not self._spaced:
            return [0] * len(forms)
        word, *texts = (SpelledIds(ids, self._spellings).text for ids in (replaced, *forms))
        stem = len(
            list(takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False)))
        )
        return [len(text) - stem if word.endswith(text[stem:]) else 0 for text in texts]

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


def span_of(term: int, words: Sequence[Sequence[int]], weights: Tensor) -> TermSpan | None:
    """The words of a translation that translate a term; None where there are no words.

    weights: how much each id depends on the term.
    """
    if not words:
        return None
    of_words = [float(weights[list(word)].mean()) for word in words]
    first = last = max(range(len(words)), key=of_words.__getitem__)
    threshold = NEIGHBOUR * of_words[first]
    while first and of_words[first - 1] > threshold:
        first -= 1
    while last + 1 < len(words) and of_words[last + 1] > threshold:
        last += 1
    return TermSpan(words[first][0], words[last][-1] + 1, term)
