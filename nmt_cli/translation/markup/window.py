"""Translates lines with marks: takes the marks out, searches, and puts them back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nmt_cli.data.markup.inline import is_marked, parse_line
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text, raw_text, shown_text
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.sanitize import clean_marked
from nmt_cli.inference.forced_pairs import Forcer
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.translation.lines.line_search import Request, SearchedLine
from nmt_cli.translation.markup.boundaries import TargetWords
from nmt_cli.translation.markup.carrier import Carrier, carry, placeholders_of
from nmt_cli.translation.markup.kept_stops import sentence_final
from nmt_cli.translation.markup.marked_search import MarkedSearch
from nmt_cli.translation.markup.projection import Job, Projected, Projector, words_of
from nmt_cli.translation.markup.results import MarkedResult, MarkedTranslation, as_line, as_marked
from nmt_cli.translation.markup.segments import (
    Ending,
    IdPair,
    Segment,
    copies_in,
    endings_of,
    joined_copies,
    locate,
)
from nmt_cli.translation.markup.stand_ins import TRIED, TRIED_AGAIN, StandIns, Translate
from nmt_cli.translation.markup.tokens import Matrix
from nmt_cli.translation.markup.value_order import are_values_swapped
from nmt_cli.translation.quality.flags import in_order
from nmt_cli.translation.result import SentenceTranslation, Translation, copied_translation

# Words are aligned by the mean of this many last layers.
ALIGNMENT_LAYERS = 2


class _Item(NamedTuple):
    """A marked text, and the choices of stand-ins that are tried; none: nothing to translate.

    last: the placeholders that end a sentence within the text.
    """

    source: MarkedText
    choices: Sequence[Sequence[str | None]]
    last: frozenset[int] = frozenset()

    def carrier(self, choice: int) -> Carrier:
        return carry(self.source, self.choices[choice], self.last)


class _Searched:
    """A carrier and its translation; tried: those with each choice of stand-ins, with this one."""

    def __init__(
        self, carrier: Carrier, line: SearchedLine, tried: "list[_Searched] | None" = None
    ) -> None:
        self.carrier = carrier
        self.line = line
        self.tried = [self] if tried is None else tried

    @cached_property
    def lost(self) -> int:
        """How many stand-ins the translation lacks, or has several times."""
        return _lost(self.carrier, self.line)

    @cached_property
    def joined(self) -> int:
        """How many stand-ins have become a part of a word with a hyphen."""
        segments = _segments(self.line, self.carrier, 0)
        return sum(joined_copies(self.carrier, segment) for segment in segments)

    @cached_property
    def endings(self) -> list[Ending]:
        """The endings that the stand-ins have in the translation."""
        segments = _segments(self.line, self.carrier, 0)
        return [ending for segment in segments for ending in endings_of(self.carrier, segment)]

    @property
    def strange(self) -> int:
        """How many stand-ins have an ending that no other word has in their place.

        The model may have made another word of them: `Pariser`.
        """
        others = [ending for searched in self.tried for ending in searched.endings]
        return sum(not any(map(ending.is_that_of, others)) for ending in self.endings)

    @property
    def is_swapped(self) -> bool:
        """Whether placeholders would get the values of others where their words are."""
        return are_values_swapped(self.carrier, _segments(self.line, self.carrier, 0))


class MarkupTranslator:
    """Translates marked texts with the search, the stand-ins and the projector of one model."""

    def __init__(self, projector: Projector, stand_ins: StandIns) -> None:
        self._projector = projector
        self._stand_ins = stand_ins

    def lines(self, requests: Sequence[Request], search: MarkedSearch) -> list[Translation]:
        """The translations of plain lines; those without marks are searched as they are."""
        texts: list[MarkedText | None] = []
        for request in requests:
            # Marks are written as they are, and must not bring back what lines are cleaned of.
            pieces = parse_line(clean_marked(request.text), search.kept)
            texts.append(pieces if is_marked(pieces) else None)
        requests = [
            request._replace(prefix=_plain_prefix(request.prefix, {}, search.kept))
            if text is None and any(isinstance(piece, Tag) for piece in parse_line(request.prefix))
            else request
            for request, text in zip(requests, texts, strict=True)
        ]
        if not any(texts):
            return [searched.translation for searched in search.full(requests)]
        results = self._translate(requests, texts, search)
        return [
            result
            if isinstance(result, Translation)
            else as_line(request.text, text, result, search.kept, search.languages)
            for request, text, result in zip(requests, texts, results, strict=True)
        ]

    def texts(
        self, texts: Sequence[MarkedText], indices: Sequence[int], search: MarkedSearch
    ) -> list[MarkedTranslation]:
        """The translations of marked texts, which have these indices in the whole text."""
        requests = [
            Request(shown_text(text), index) for text, index in zip(texts, indices, strict=True)
        ]
        results = self._translate(requests, texts, search)
        return [
            as_marked(request.text, text, result, search.kept, search.languages)
            for request, text, result in zip(requests, texts, results, strict=True)
            if isinstance(result, MarkedResult)
        ]

    def _translate(
        self, requests: Sequence[Request], texts: Sequence[MarkedText | None], search: MarkedSearch
    ) -> "list[Translation | MarkedResult]":
        """The results of marked texts, and the translations of requests that have none."""
        items = [None if text is None else self._item(text, search) for text in texts]
        chosen = self._first(requests, items, search)
        changed = self._compare(requests, items, chosen, search)
        if changed and not search.quick_is_final:
            # The quick search only chose the stand-ins.
            asked = [
                replace_text(requests[index], other.carrier, search.kept)
                for index, other in changed.items()
            ]
            for (index, other), line in zip(changed.items(), search.full(asked), strict=True):
                full = _Searched(other.carrier, line, other.tried)
                chosen[index] = _best([full, other], ranked=True)
        return self._projected(items, chosen, search)

    def _first(
        self, requests: Sequence[Request], items: Sequence[_Item | None], search: MarkedSearch
    ) -> "list[_Searched | Translation | None]":
        """The translations of plain requests, and of items with their first stand-ins."""
        carriers = [item.carrier(0) if item and item.choices else None for item in items]
        asked = [
            replace_text(request, carrier, search.kept) if carrier else request
            for request, item, carrier in zip(requests, items, carriers, strict=True)
            if item is None or carrier
        ]
        searched = iter(search.full(asked))
        return [
            next(searched).translation
            if item is None
            else _Searched(carrier, next(searched))
            if carrier
            else None
            for item, carrier in zip(items, carriers, strict=True)
        ]

    def _compare(
        self,
        requests: Sequence[Request],
        items: Sequence[_Item | None],
        chosen: "list[_Searched | Translation | None]",
        search: MarkedSearch,
    ) -> dict[int, _Searched]:
        """Compare with other stand-ins by quick searches; those that are better, by their index.

        Some are tried for each item, and more only where these lose a stand-in. The better ones are
        put into `chosen`.
        """
        changed: dict[int, _Searched] = {}
        for tried in (slice(1, TRIED), slice(TRIED, TRIED + TRIED_AGAIN)):
            asked = [
                (index, carrier)
                for index, item in enumerate(items)
                if item is not None and isinstance(best := chosen[index], _Searched)
                if tried.start < TRIED or best.lost or best.joined or best.strange
                for carrier in map(item.carrier, range(len(item.choices))[tried])
            ]
            if asked:
                lines = search.quick(
                    [
                        replace_text(requests[index], carrier, search.kept)
                        for index, carrier in asked
                    ]
                )
                for (index, carrier), line in zip(asked, lines, strict=True):
                    best = chosen[index]
                    assert isinstance(best, _Searched)
                    best.tried.append(_Searched(carrier, line, best.tried))
                for index in dict.fromkeys(index for index, _ in asked):
                    best = chosen[index]
                    assert isinstance(best, _Searched)
                    other = _best(best.tried)
                    if other is not best:
                        chosen[index] = changed[index] = other
        return changed

    def _item(self, text: MarkedText, search: MarkedSearch) -> _Item:
        text = search.repaired(text)
        words = words_of(text)
        # The marks of notes are no words.
        if not any(map(str.isalnum, carry(text).text)) or search.copies(words):
            return _Item(text, [])
        placeholders = placeholders_of(text)
        if not placeholders:
            return _Item(text, [[]])
        # A term of the glossary would be taken for a stand-in that is the same word.
        forms = [form for term in search.terms_in(words) for form in term.entry.forms]
        choices = self._stand_ins.choices(placeholders, " ".join([words, *forms]))
        return _Item(text, choices, sentence_final(text, search.sentence_ends))

    def _projected(
        self,
        items: Sequence[_Item | None],
        chosen: "Sequence[_Searched | Translation | None]",
        search: MarkedSearch,
    ) -> "list[Translation | MarkedResult]":
        """Put the marks back into the chosen translations; what has no item stays as it is."""
        jobs: list[Job] = []
        ranks: list[list[int]] = []
        for item, searched in zip(items, chosen, strict=True):
            ranks.append([])
            if item is None or not isinstance(searched, _Searched):
                continue
            terms = search.terms_in(searched.carrier.text)
            for rank in _ranks(searched):
                segments = _segments(searched.line, searched.carrier, rank)
                jobs.append(Job(item.source, searched.carrier, segments, terms))
                ranks[-1].append(rank)
        projected = iter(self._projector.project(jobs))
        results: list[Translation | MarkedResult] = []
        for item, searched, item_ranks in zip(items, chosen, ranks, strict=True):
            if isinstance(searched, Translation):
                results.append(searched)
                continue
            assert item is not None
            if searched is None:
                results.append(_copied(item.source))
                continue
            item_projected = [next(projected) for _ in item_ranks]
            results.append(_result(item, searched, item_ranks, item_projected))
        return results


def replace_text(request: Request, carrier: Carrier, kept: Kept) -> Request:
    """The request for the plain text of a carrier, with the prefix in the same terms.

    Of its placeholders only names may be others than those of the line.
    """
    words = {stand_in.raw: stand_in.word for stand_in in carrier.stand_ins}
    prefix = _plain_prefix(request.prefix, words, kept)
    # Beside a stand-in, letters might be taken for look-alikes.
    return Request(carrier.text, request.line, prefix, is_repaired=True)


def _plain_prefix(prefix: str, words: Mapping[str, str], kept: Kept) -> str:
    """A prefix without tags; words: the stand-ins of the placeholders of its line."""
    if not prefix:
        return prefix
    return "".join(
        piece.text
        if isinstance(piece, Text)
        else words.get(piece.raw, piece.raw if piece.raw in kept.names else "")
        if isinstance(piece, Placeholder)
        else ""
        for piece in parse_line(prefix, Kept(names=kept.names))
    )


def _best(tried: "Sequence[_Searched]", *, ranked: bool = False) -> "_Searched":
    """The translation that lost the fewest stand-ins; of those the one with the best score.

    Those that have become a part of a word or another word count as well. ranked: the first of
    those instead.
    """
    return max(
        tried,
        key=lambda searched: (
            -searched.lost,
            -searched.joined,
            -searched.strange,
            0.0 if ranked else searched.line.score,
        ),
    )


def _ranks(searched: _Searched) -> list[int]:
    """The alternatives that have their stand-ins; always the first one."""
    carrier, line = searched.carrier, searched.line
    count = max(map(len, line.parts), default=1)
    return [0, *(rank for rank in range(1, count) if not _lost(carrier, line, rank))]


def _lost(carrier: Carrier, searched: SearchedLine, rank: int = 0) -> int:
    """How many stand-ins an alternative lacks, or has several times."""
    if not carrier.stand_ins:
        return 0
    return len(carrier.stand_ins) - sum(
        copy is not None
        for segment in _segments(searched, carrier, rank)
        for copy in copies_in(carrier, segment)
    )


def _segments(searched: SearchedLine, carrier: Carrier, rank: int) -> list[Segment]:
    pieces, sources = searched.source_line.pieces, searched.source_line.sources
    if not all(searched.parts):
        return []
    parts = [alternatives[min(rank, len(alternatives) - 1)] for alternatives in searched.parts]
    segments = []
    spans = locate(carrier.text, pieces)
    for piece, source, part, span in zip(pieces, sources, parts, spans, strict=True):
        ids = (tuple(source.ids), part.hypothesis.ids) if source else None
        segments.append(Segment(piece, *span, ids, part.text.strip(), searched.languages))
    return segments


def _copied(source: MarkedText) -> MarkedResult:
    """The result of a text that has nothing to translate: the text itself."""
    line = raw_text(source)
    return MarkedResult([source], copied_translation(line, line))


def _result(
    item: _Item, searched: _Searched, ranks: Sequence[int], projected: Sequence[Projected]
) -> MarkedResult:
    translation = searched.line.translation
    hypotheses = [translation.hypotheses[rank] for rank in ranks]
    best = projected[0]
    taken_out = len(placeholders_of(item.source)) > len(searched.carrier.stand_ins)
    has_lost = searched.lost > 0 or searched.joined > 0 or searched.strange > 0
    is_moved = best.moved or taken_out or has_lost or searched.is_swapped
    flags = {*translation.flags, *(["markup_moved"] if is_moved else [])}
    if not _has_words(best.pieces):
        # Beside a stand-in, which is a word, the search has not missed them.
        flags.add("sentences_lost")
    sentences = tuple(SentenceTranslation(*sentence) for sentence in best.sentences)
    marked = replace(
        translation,
        hypotheses=tuple(hypotheses),
        flags=in_order(flags),
        sentences=sentences or translation.sentences,
    )
    return MarkedResult([alternative.pieces for alternative in projected], marked)


def _has_words(pieces: MarkedText) -> bool:
    return any(isinstance(piece, Text) and has_letters(piece.text) for piece in pieces)


def markup_translator(
    forcer: Callable[[], Forcer], subwords: Subwords, language: str, translate: Translate
) -> MarkupTranslator:
    """The translator of marked texts into a language.

    forcer: returns the reference model; translate: translates lines with some settings.
    """

    def attend(pairs: Sequence[IdPair]) -> list[Matrix]:
        attentions = forcer().cross_attentions(pairs, ALIGNMENT_LAYERS)
        return [
            arrays_of(attention).to_numpy(attention).astype(np.float64) for attention in attentions
        ]

    projector = Projector(subwords, attend, TargetWords(language))
    return MarkupTranslator(projector, StandIns(translate, subwords))
