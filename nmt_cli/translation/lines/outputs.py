"""Converts the finished hypotheses of a source to its best translations as text.

Coverage, word alignment and the replacement of unknown words come from one pass of the reference
model over finished hypotheses, because the kernels of the engines do not return attention.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelling import source_spellings, target_spellings, word_numbers
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.inference.forced_pairs import Forcer
from nmt_cli.scoring.consensus import expected_scores
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.result import Links
from nmt_cli.translation.word_alignment import align_words, copy_source_words, coverage_score


class LinePart(NamedTuple):
    """One translation of one source.

    links: (source word, target word); src_words, tgt_words: their numbers, 0 without alignment.
    """

    hypothesis: Hypothesis
    text: str
    links: Links = ()
    src_words: int = 0
    tgt_words: int = 0


def copied_part(text: str, config: SearchConfig) -> LinePart:
    """A text that is its own translation, as the translation of a segment."""
    hypothesis = Hypothesis((), 0.0, 0.0, ())
    if not _needs_links(config):
        return LinePart(hypothesis, text)
    words = len(text.split())
    return LinePart(hypothesis, text, tuple((i, i) for i in range(words)), words, words)


def _needs_links(config: SearchConfig) -> bool:
    return config.alignment or config.replace_unknown


HypothesesBySource = Mapping[Source, Sequence[Hypothesis]]


class HypothesisSelector:
    """Selects, reranks and detokenises the best hypotheses of each source."""

    def __init__(self, forcer: Callable[[str], Forcer], subwords: Subwords) -> None:
        """forcer: returns the reference model for a feature that needs attention, by its name."""
        self._forcer = forcer
        self._subwords = subwords

    @cached_property
    def _spellings(self) -> tuple[list[bytes], list[bytes]]:
        return source_spellings(self._subwords), target_spellings(self._subwords)

    def parts(
        self, hypotheses: HypothesesBySource, config: SearchConfig
    ) -> dict[Source, list[LinePart]]:
        """At most `n_best` translations of each source, best first.

        Different segmentations may spell the same text; only the best of them is returned, except
        for samples, which may repeat.
        """
        if config.coverage_penalty:
            hypotheses = self._by_coverage(hypotheses, config.coverage_penalty)
        if config.mbr != "off":
            hypotheses = {
                source: self._by_consensus(candidates, config.mbr)
                for source, candidates in hypotheses.items()
            }
        if config.sample or config.n_best == 1:
            best = {
                source: candidates[: config.n_best] for source, candidates in hypotheses.items()
            }
            return self._detokenised(best, config)
        without_repeats = {
            source: [part.hypothesis for part in distinct(self._plain(candidates))[: config.n_best]]
            for source, candidates in hypotheses.items()
        }
        # Replacing unknown words may make two texts the same.
        parts = self._detokenised(without_repeats, config)
        return {source: distinct(own_parts) for source, own_parts in parts.items()}

    def _detokenised(
        self, hypotheses: HypothesesBySource, config: SearchConfig
    ) -> dict[Source, list[LinePart]]:
        """Each hypothesis with its text, and with its word alignment where that is needed."""
        if _needs_links(config):
            return self._aligned(hypotheses, config)
        return {source: self._plain(candidates) for source, candidates in hypotheses.items()}

    def _plain(self, hypotheses: Sequence[Hypothesis]) -> list[LinePart]:
        """Each hypothesis with its text alone."""
        texts = self._subwords.decode_target([hypothesis.ids for hypothesis in hypotheses])
        return [
            LinePart(hypothesis, text) for hypothesis, text in zip(hypotheses, texts, strict=True)
        ]

    def _by_consensus(self, hypotheses: Sequence[Hypothesis], metric: str) -> list[Hypothesis]:
        texts = self._subwords.decode_target([hypothesis.ids for hypothesis in hypotheses])
        return _reranked(hypotheses, expected_scores(texts, metric))

    def _by_coverage(self, hypotheses: HypothesesBySource, beta: float) -> HypothesesBySource:
        """The hypotheses with the coverage penalty added to their scores, sorted again."""
        attention = iter(self._attention(hypotheses, "search.coverage_penalty"))
        result: dict[Source, list[Hypothesis]] = {}
        for source, candidates in hypotheses.items():
            scored = [
                replace(hypothesis, score=hypothesis.score + beta * coverage_score(next(attention)))
                for hypothesis in candidates
            ]
            result[source] = _reranked(scored, [hypothesis.score for hypothesis in scored])
        return result

    def _attention(self, hypotheses: HypothesesBySource, feature: str) -> list[Array]:
        """(target ids, source ids) of all hypotheses, source after source."""
        pairs = [
            (source.ids, hypothesis.ids)
            for source, candidates in hypotheses.items()
            for hypothesis in candidates
        ]
        forced = self._forcer(feature).force(pairs, attention=True)
        return [pair.attention for pair in forced if pair.attention is not None]

    def _aligned(
        self, hypotheses: HypothesesBySource, config: SearchConfig
    ) -> dict[Source, list[LinePart]]:
        feature = "search.alignment" if config.alignment else "search.replace_unknown"
        attention = iter(self._attention(hypotheses, feature))
        return {
            source: [
                self._align(source, part, next(attention), config)
                for part in self._plain(candidates)
            ]
            for source, candidates in hypotheses.items()
        }

    def _align(
        self, source: Source, part: LinePart, attention: Array, config: SearchConfig
    ) -> LinePart:
        unk_id = self._subwords.unk_id
        src, tgt = (
            word_numbers(ids, spellings, unk_id)
            for ids, spellings in zip(
                (source.ids, part.hypothesis.ids), self._spellings, strict=True
            )
        )
        links = align_words(attention, src, tgt)
        text = part.text
        if config.replace_unknown and unk_id in part.hypothesis.ids:
            unknown = {
                word
                for word, token_id in zip(tgt, part.hypothesis.ids, strict=True)
                if token_id == unk_id
            }
            text = clean_line(copy_source_words(source.text, text, unknown, links))
        counts = max(src, default=-1) + 1, max(tgt, default=-1) + 1
        return LinePart(part.hypothesis, text, links, *counts)


def distinct(parts: Sequence[LinePart]) -> list[LinePart]:
    """The parts without those whose text an earlier one has."""
    first = {part.text: part for part in reversed(parts)}
    return [part for part in parts if first[part.text] is part]


def _reranked(hypotheses: Sequence[Hypothesis], keys: Sequence[float]) -> list[Hypothesis]:
    """Hypotheses by the constraints they miss, by faults of terms, then by key, the greatest first.

    keys: of each hypothesis. The sort is stable.
    """
    order = sorted(
        range(len(keys)),
        key=lambda index: (hypotheses[index].missing, hypotheses[index].term_faults, -keys[index]),
    )
    return [hypotheses[index] for index in order]
