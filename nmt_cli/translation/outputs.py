"""From finished hypotheses of a source to its best ones as text, with what was asked of them.

Coverage, word alignment and unknown words come from one pass of the plain model over hypotheses
that are finished: the engine's kernels tell nothing of attention.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelling import source_spellings, target_spellings, word_numbers
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.data.text.splitting import Piece
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.scoring.consensus import expected_scores
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.ranking import HypothesisRanker
from nmt_cli.translation.result import Alternative, Links
from nmt_cli.translation.word_alignment import align_words, coverage_score, with_words_of


class LinePart(NamedTuple):
    """One translation of one source.

    links: (source word, word); src_words, tgt_words: how many there are; 0 where nobody asked.
    """

    hypothesis: Hypothesis
    text: str
    links: Links = ()
    src_words: int = 0
    tgt_words: int = 0


Found = Mapping[Source, Sequence[Hypothesis]]


class HypothesisSelector:
    """The best hypotheses of each source, as parts of a translation."""

    def __init__(self, model: Callable[[], EncoderDecoder], subwords: Subwords) -> None:
        """`model` gives the plain model, and is asked where it is needed only."""
        self._model = model
        self._subwords = subwords

    @cached_property
    def _spellings(self) -> tuple[list[bytes], list[bytes]]:
        return source_spellings(self._subwords), target_spellings(self._subwords)

    def parts(self, found: Found, config: SearchConfig) -> dict[Source, list[LinePart]]:
        """At most `n_best` of each source, best first.

        Several divisions into subwords spell the same text: only the best of them is given, but
        of samples, which may repeat, all are.
        """
        if config.coverage_penalty:
            found = self._by_coverage(found, config.coverage_penalty)
        if config.mbr != "off":
            found = {source: self._by_consensus(some, config.mbr) for source, some in found.items()}
        if config.sample or config.n_best == 1:
            first = {source: some[: config.n_best] for source, some in found.items()}
            return self._finished(first, config)
        kept = {
            source: [part.hypothesis for part in _different(self._plain(some))[: config.n_best]]
            for source, some in found.items()
        }
        # Words put in the place of unknown ones may make two texts the same.
        parts = self._finished(kept, config)
        return {source: _different(some) for source, some in parts.items()}

    def _finished(self, found: Found, config: SearchConfig) -> dict[Source, list[LinePart]]:
        """Each hypothesis with its text, and with its alignment where that is needed."""
        if config.alignment or config.replace_unknown:
            return self._aligned(found, config)
        return {source: self._plain(some) for source, some in found.items()}

    def _plain(self, hypotheses: Sequence[Hypothesis]) -> list[LinePart]:
        texts = self._subwords.decode_target([one.ids for one in hypotheses])
        return [LinePart(one, text) for one, text in zip(hypotheses, texts, strict=True)]

    def _by_consensus(self, hypotheses: Sequence[Hypothesis], metric: str) -> list[Hypothesis]:
        texts = self._subwords.decode_target([one.ids for one in hypotheses])
        return _sorted(hypotheses, expected_scores(texts, metric))

    def _by_coverage(self, found: Found, beta: float) -> Found:
        """Scores with the coverage penalty added, and the order that they make."""
        attention = iter(self._attention(found))
        changed: dict[Source, list[Hypothesis]] = {}
        for source, some in found.items():
            scored = [
                replace(one, score=one.score + beta * coverage_score(next(attention)))
                for one in some
            ]
            changed[source] = _sorted(scored, [one.score for one in scored])
        return changed

    def _attention(self, found: Found) -> list[Tensor]:
        """Of all hypotheses, source after source."""
        pairs = [(source.ids, one.ids) for source, some in found.items() for one in some]
        forced = force_pairs(self._model(), pairs, attention=True)
        return [one.attention for one in forced if one.attention is not None]

    def _aligned(self, found: Found, config: SearchConfig) -> dict[Source, list[LinePart]]:
        attention = iter(self._attention(found))
        return {
            source: [self._align(source, part, next(attention), config) for part in plain]
            for source, plain in ((source, self._plain(some)) for source, some in found.items())
        }

    def _align(
        self, source: Source, part: LinePart, attention: Tensor, config: SearchConfig
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
                word for word, one in zip(tgt, part.hypothesis.ids, strict=True) if one == unk_id
            }
            text = clean_line(with_words_of(source.text, text, unknown, links))
        counts = max(src, default=-1) + 1, max(tgt, default=-1) + 1
        return LinePart(part.hypothesis, text, links, *counts)


def _different(parts: Sequence[LinePart]) -> list[LinePart]:
    """Without those whose text came before."""
    first = {part.text: part for part in reversed(parts)}
    return [part for part in parts if first[part.text] is part]


def _sorted(hypotheses: Sequence[Hypothesis], keys: Sequence[float]) -> list[Hypothesis]:
    """The greatest key first; of equals the earlier."""
    order = sorted(range(len(keys)), key=lambda one: (hypotheses[one].missing, -keys[one]))
    return [hypotheses[one] for one in order]


def join_segments(
    pieces: Sequence[Piece],
    parts: Sequence[LinePart],
    config: SearchConfig,
    subwords: Subwords,
    *,
    spaced: bool,
) -> Alternative:
    """One translation of a line; `spaced`: whether its language has spaces between words."""
    ends = [piece.glue if spaced else "" for piece in pieces]
    text = "".join(part.text + end for part, end in zip(parts, ends, strict=True)).strip()
    found = [part.hypothesis for part in parts]
    ids = [one for part in found for one in part.ids]
    log_prob = sum(part.log_prob for part in found)
    score = found[0].score
    if len(parts) > 1:
        score = float(
            HypothesisRanker(config).score(torch.tensor(log_prob), torch.tensor(len(ids)))
        )
    links, src_words, tgt_words = [], 0, 0
    for piece, part, end in zip(pieces, parts, ends, strict=True):
        links += [(src_words + src, tgt_words + tgt) for src, tgt in part.links]
        # Without a space between them, the last word and the next first are one.
        src_words += max(0, part.src_words - (not piece.glue))
        tgt_words += max(0, part.tgt_words - (not end))
    return Alternative(
        text,
        score,
        log_prob,
        tuple(subwords.target_pieces(ids)),
        tuple(one for part in found for one in part.token_scores),
        tuple(links),
        tuple(ids),
    )
