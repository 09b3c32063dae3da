"""Puts the terms of a glossary where the words that they replace stand.

A search that must contain a term puts it anywhere: at the end, or beside the usual translation. So
the source is also translated without its terms, and the words that translate a term are replaced by
one of its forms. This draft is preferred to the translations of the search, unless the model finds
one of them nearly as likely as the translation without terms: then it knows the term, and has
adapted the rest of the sentence to it. The search takes long; it is left out where the model does
not know the terms, so that the draft would be taken anyway.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.word_characters import WORD
from nmt_cli.data.languages.words import WORDS
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import WITHOUT_SPACES, source_spellings, target_spellings
from nmt_cli.inference.forced_pairs import ForcedPair
from nmt_cli.search.constraints import NOTHING, Form, LexicalConstraints
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.ranking import HypothesisRanker, max_target_length
from nmt_cli.translation.terms.alone import TermsAlone
from nmt_cli.translation.terms.compounds import Compounds, without_terms
from nmt_cli.translation.terms.elision import joined_draft, missing_terms
from nmt_cli.translation.terms.forced_together import Force
from nmt_cli.translation.terms.forms import PlacedForm, TermForms, unfit_forms
from nmt_cli.translation.terms.repeated_words import RepeatedWords, repeats
from nmt_cli.translation.terms.replaceable import Word, joined_words, words_of
from nmt_cli.translation.terms.spans import TermSpans, places_of

# A translation of the search may be so much less likely, in nats, for each of its terms.
LIKELY = 5.0

# The hypotheses of a search that demands the terms of these sources.
TermSearch = Callable[[set[Source]], Mapping[Source, Sequence[Hypothesis]]]


class Draft(NamedTuple):
    """A translation whose words were replaced by terms.

    ids: without EOS; replaced: each replaced word; log_prob: before words were replaced; settled:
    whether no search can find a translation that is preferred; forced: its own scores, if known;
    inserted: whether a term replaces no word.
    """

    ids: tuple[int, ...]
    replaced: Counter[str]
    log_prob: float
    settled: bool
    forced: ForcedPair | None
    inserted: bool = False


class TermPlacer:
    """Finds translations whose terms stand in their places."""

    def __init__(self, force: Force, subwords: Subwords, tgt_language: str) -> None:
        """force: the scores and the attention of pairs of ids."""
        self._force = force
        self._alone = TermsAlone(subwords)
        self._spans = TermSpans(force, self._alone)
        self._subwords = subwords
        self._spaced = tgt_language not in WITHOUT_SPACES
        self._function_words = WORDS.get(base_code(tgt_language), frozenset())

    @cached_property
    def _spellings(self) -> list[bytes]:
        return target_spellings(self._subwords)

    @cached_property
    def _source_spellings(self) -> list[bytes]:
        return source_spellings(self._subwords)

    @cached_property
    def _forms(self) -> TermForms:
        return TermForms(
            self._force, self._alone, self._spellings, self._function_words, spaced=self._spaced
        )

    def place(
        self,
        plain: Mapping[Source, Sequence[Hypothesis]],
        search: TermSearch,
        config: SearchConfig,
    ) -> dict[Source, list[Hypothesis]]:
        """The hypotheses of each source, those with the terms in their places first.

        plain: those that a search without terms found; search: finds those with them, where the
        draft does not settle the translation.
        """
        result = self._of_whole_terms(plain, config)
        sentences = {
            source: hypotheses for source, hypotheses in plain.items() if source not in result
        }
        reduced = self._without_compounds(sentences)
        lacking = {
            source: self._without_present(reduced[source], hypotheses)
            if config.n_best == 1
            else reduced[source]
            for source, hypotheses in sentences.items()
        }
        constrained = {
            lacking[source]: hypotheses
            for source, hypotheses in sentences.items()
            if lacking[source].constraints
        }
        placed = self._place(constrained, search, config)
        # Where a term that was there has been lost, all terms are placed.
        lost = {
            reduced[source]: hypotheses
            for source, hypotheses in sentences.items()
            if lacking[source] != reduced[source]
            and self._lacks(reduced[source], placed[lacking[source]][0])
        }
        placed |= self._place(lost, search, config) if lost else {}
        for source, hypotheses in sentences.items():
            found = placed.get(reduced[source], placed.get(lacking[source], list(hypotheses)))
            result[source] = self._by_missing(reduced[source], found)
        return result

    def _without_present(self, source: Source, hypotheses: Sequence[Hypothesis]) -> Source:
        """The source without the terms that the best translation has, which stay where they are."""
        constraints = source.constraints
        if constraints is None or not hypotheses:
            return source
        ids = hypotheses[0].ids[:-1]
        missing = self.missing(constraints, ids)
        present = set()
        for term in range(len(constraints.forms)) if missing else ():
            others = without_terms(source, {term}).constraints
            # A term that occurs twice is lacking if the translation has it once.
            if others is not None and self.missing(others, ids) == missing:
                present.add(term)
        return without_terms(source, present) if present else source

    def _lacks(self, source: Source, hypothesis: Hypothesis) -> bool:
        assert source.constraints is not None
        return bool(self.missing(source.constraints, hypothesis.ids[:-1]))

    def _by_missing(self, source: Source, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses with the number of terms that they lack, those with fewer first."""
        if source.constraints is None:
            return list(hypotheses)
        counted = [
            replace(hypothesis, missing=self.missing(source.constraints, hypothesis.ids[:-1]))
            for hypothesis in hypotheses
        ]
        return sorted(counted, key=lambda hypothesis: hypothesis.missing)

    def _of_whole_terms(
        self, plain: Mapping[Source, Sequence[Hypothesis]], config: SearchConfig
    ) -> dict[Source, list[Hypothesis]]:
        """The sources that are a term and nothing else, such as labels: a form, then the others.

        The form is the first one, with a capital letter where the source has one.
        """
        drafts = {}
        for source, best in _best_of(plain).items():
            if not is_whole_term(source):
                continue
            assert source.constraints is not None
            forms = source.constraints.forms[source.constraints.places[0].term]
            texts = {form: SpelledIds(form, self._spellings).text.strip() for form in forms}
            text = SpelledIds(source.ids[:-1], self._source_spellings).text
            capital = not text.strip()[:1].islower()
            unfit = unfit_forms(list(texts.values()), capital=capital)
            form = next(form for form in forms if texts[form] not in unfit)
            drafts[source] = Draft(form, Counter(), best.log_prob, settled=True, forced=None)
        return {
            source: [form, *(other for other in plain[source] if other.ids != form.ids)]
            for source, form in self._hypotheses(drafts, config).items()
        }

    def missing(self, constraints: LexicalConstraints, ids: Sequence[int]) -> int:
        """The number of terms that a translation lacks."""
        if not self._spaced:
            return constraints.missing_in(ids)
        return missing_terms(constraints, ids, self._spellings)

    def _without_compounds(
        self, plain: Mapping[Source, Sequence[Hypothesis]]
    ) -> dict[Source, Source]:
        """Each source without the terms that its best translation has in compounds."""
        best = _best_of(plain)
        result = {source: source for source in plain}
        if self._spaced:
            compounds = Compounds(self._force, self._alone, self._spellings, self._subwords.eos_id)
            words = {
                source: self._words(hypothesis.ids[:-1]) for source, hypothesis in best.items()
            }
            result |= compounds.leave(best, words)
        return result

    def _place(
        self,
        plain: Mapping[Source, Sequence[Hypothesis]],
        search: TermSearch,
        config: SearchConfig,
    ) -> dict[Source, list[Hypothesis]]:
        """As `place`, of terms that are in no compound."""
        drafts = {
            source: draft
            for source, draft in self._drafts(_best_of(plain)).items()
            if len(draft.ids) <= max_target_length(source, config)
        }
        settled = {
            source for source, draft in drafts.items() if draft.settled and config.n_best == 1
        }
        drafted = self._hypotheses(drafts, config)
        unsettled = plain.keys() - settled
        searched = search(unsettled) if unsettled else {}
        result = {}
        for source, hypotheses in plain.items():
            own = [drafted[source]] if source in drafted else []
            merged = [*hypotheses, *searched.get(source, ()), *own]
            result[source] = self._ranked(source, merged, drafts.get(source))
        return result

    def _hypotheses(
        self, drafts: Mapping[Source, Draft], config: SearchConfig
    ) -> dict[Source, Hypothesis]:
        """The drafts as hypotheses of a search."""
        ends = (self._subwords.eos_id,)
        unknown = [source for source, draft in drafts.items() if draft.forced is None]
        pairs = [(source.ids, drafts[source].ids + ends) for source in unknown]
        forced = dict(zip(unknown, self._force(pairs) if pairs else (), strict=True))
        ranker = HypothesisRanker(config)
        result = {}
        for source, draft in drafts.items():
            scores = (draft.forced or forced[source]).token_scores
            log_prob = sum(scores)
            score = ranker.score_of(log_prob, len(scores))
            result[source] = Hypothesis(
                draft.ids + ends, log_prob, score, tuple(scores), term_inserted=draft.inserted
            )
        return result

    def _drafts(self, plain: Mapping[Source, Hypothesis]) -> dict[Source, Draft]:
        """The draft of each source whose terms have places."""
        words = {
            source: [
                word for word in self._words(hypothesis.ids[:-1]) if word[0] >= len(source.prefix)
            ]
            for source, hypothesis in plain.items()
        }
        joined = {
            source: joined_words(hypothesis.ids[:-1], words[source], self._spellings)
            if self._spaced
            else set()
            for source, hypothesis in plain.items()
        }
        spans = self._spans.find(plain, words, joined)
        return {
            source: self._draft(source, plain[source], chosen, words[source])
            for source, chosen in self._forms.choose(spans, plain).items()
        }

    def _words(self, ids: Sequence[int]) -> list[Word]:
        return words_of(ids, self._spellings, spaced=self._spaced)

    def _draft(
        self,
        source: Source,
        plain: Hypothesis,
        found: Sequence[PlacedForm],
        words: Sequence[Word],
    ) -> Draft:
        """The translation with the form of each span in its place."""
        constraints = source.constraints
        assert constraints is not None
        ids = plain.ids[:-1]
        chosen = list(found)
        if self._spaced:
            repeated = RepeatedWords(source, self._source_spellings, self._spellings)
            chosen = repeated.widened(ids, words, found)
        draft: list[int] = []
        replaced: Counter[str] = Counter()
        done = 0
        for span, form, *_ in chosen:
            draft += [*ids[done : span.begin], *form]
            replaced.update(self._spelled_words(ids[span.begin : span.end]))
            done = span.end
        draft += ids[done:]
        joined = None
        if self._spaced:
            joined = joined_draft(ids, chosen, self._spellings, self._subwords)
        draft = draft if joined is None else list(joined)
        inserted = any(placed.span.begin == placed.span.end for placed in found)
        settled = (
            not inserted
            and sum(placed.likeliest for placed in chosen) < -LIKELY * len(chosen)
            and not self.missing(constraints, draft)
        )
        is_known = len(chosen) == 1 and joined is None and chosen == list(found)
        forced = chosen[0].forced if is_known else None
        return Draft(tuple(draft), replaced, plain.log_prob, settled, forced, inserted)

    def _ranked(
        self, source: Source, hypotheses: Iterable[Hypothesis], draft: Draft | None
    ) -> list[Hypothesis]:
        """Different hypotheses by the terms that are missing, by faults, then by score."""
        assert source.constraints is not None
        checked = []
        for hypothesis in {hypothesis.ids: hypothesis for hypothesis in hypotheses}.values():
            missing = self.missing(source.constraints, hypothesis.ids[:-1])
            faults = self._faults(source.constraints, hypothesis, draft) if draft else 0
            checked.append(replace(hypothesis, missing=missing, term_faults=faults))
        return sorted(
            checked,
            key=lambda hypothesis: (hypothesis.missing, hypothesis.term_faults, -hypothesis.score),
        )

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
        if self._spaced:
            own, other = (
                repeats(ids, constraints, self._spellings) for ids in (draft.ids, hypothesis.ids)
            )
            doubled += max(0, other - own)
        detached = sum(
            not _neighbours(hypothesis.ids, forms)
            & _neighbours((*draft.ids, self._subwords.eos_id), forms)
            for forms in constraints.forms
        )
        lowest = draft.log_prob - LIKELY * len(constraints.forms)
        return doubled + detached + (hypothesis.log_prob < lowest)

    def _spelled_words(self, ids: Sequence[int]) -> list[str]:
        text = SpelledIds(ids, self._spellings).text
        return re.findall(WORD, text) if self._spaced else list(text)


def is_whole_term(source: Source) -> bool:
    """Whether a source is one term of the glossary, without any other word or mark, or prefix."""
    places = () if source.prefix else places_of(source)
    return len(places) == 1 and len(places[0].positions) == len(source.ids) - 1


def _best_of(hypotheses: Mapping[Source, Sequence[Hypothesis]]) -> dict[Source, Hypothesis]:
    """The first hypothesis of each source that has any."""
    return {source: group[0] for source, group in hypotheses.items() if group}


def _neighbours(ids: Sequence[int], forms: Sequence[Form]) -> set[tuple[int, int]]:
    """The ids next to any of these forms, each with its side: 0 before the form, 1 after it."""
    neighbours = set()
    for form in forms:
        for begin in range(len(ids) - len(form)):
            if tuple(ids[begin : begin + len(form)]) == form:
                neighbours.add((0, ids[begin - 1] if begin else NOTHING))
                neighbours.add((1, ids[begin + len(form)]))
    return neighbours
