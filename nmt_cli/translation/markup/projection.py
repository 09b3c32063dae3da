"""From the translation of a carrier's plain text to the translation of the marked text."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nmt_cli.data.lexical.glossary import Match
from nmt_cli.data.markup.emphasis import has_valid_emphasis
from nmt_cli.data.markup.inline import marks_of
from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    raw_text,
)
from nmt_cli.data.markup.pairs import tag_pairs
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelling import source_spellings, target_spellings
from nmt_cli.data.text.splitting import Piece
from nmt_cli.translation.markup.boundaries import TargetWords, tokens_with
from nmt_cli.translation.markup.carrier import (
    Atom,
    Carrier,
    Node,
    Pair,
    replaced_spaces,
    within,
    words_apart,
)
from nmt_cli.translation.markup.gaps import merged
from nmt_cli.translation.markup.kept_stops import without_second_stops
from nmt_cli.translation.markup.number_alignment import are_numbers_moved, same_numbers
from nmt_cli.translation.markup.ordinals import align_ordinals, apart, with_ordinals
from nmt_cli.translation.markup.originals import original_text
from nmt_cli.translation.markup.placement import Placer
from nmt_cli.translation.markup.ranges import has_lost_line, has_mixed_lines, in_order
from nmt_cli.translation.markup.rules import is_link, may_hold
from nmt_cli.translation.markup.segments import IdPair, Segment, copies_in, stand_ins_of
from nmt_cli.translation.markup.separation import separated
from nmt_cli.translation.markup.spans import Aligned
from nmt_cli.translation.markup.stand_ins import Copied
from nmt_cli.translation.markup.term_alignment import align_terms
from nmt_cli.translation.markup.tokens import Matrix, Token, align, token_matrix, token_of_ids

# Returns the attention (target ids, source ids) of each pair of source and target ids.
Attend = Callable[[Sequence[IdPair]], Sequence[Matrix]]


class Job(NamedTuple):
    """One translation of a carrier, segment by segment; terms: of a glossary, in its plain text."""

    source: MarkedText
    carrier: Carrier
    segments: list[Segment]
    terms: Sequence[Match] = ()


class Projected(NamedTuple):
    """A translation with its marks; sentences: (source, translation), with placeholders.

    moved: whether the marks stand at the ends, or one of them not at its own words.
    """

    pieces: MarkedText
    sentences: list[tuple[str, str]]
    moved: bool


class Projector:
    """Projects with one model's subwords."""

    def __init__(self, subwords: Subwords, attend: Attend, words: TargetWords) -> None:
        """words: those of the target language."""
        self._subwords = subwords
        self._attend = attend
        self._words = words
        self._spellings: tuple[list[bytes], list[bytes]] | None = None

    def project(self, jobs: Sequence[Job]) -> list[Projected]:
        """The marked translations of several jobs, whose attention is computed together."""
        wanted: dict[IdPair, None] = {}
        for job in jobs:
            for segment in job.segments:
                if segment.ids and segment.text and _needs_alignment(job.carrier, segment):
                    wanted[segment.ids] = None
        attention = dict(zip(wanted, self._attend(list(wanted)), strict=True)) if wanted else {}
        return [self._project(job, attention) for job in jobs]

    def _project(self, job: Job, attention: dict[IdPair, Matrix]) -> Projected:
        is_valid = False
        for strict in (False, True):
            projected = [
                self._segment(job, segment, attention, strict=strict) for segment in job.segments
            ]
            placed = [without_second_stops(job.source, pieces) for pieces, _ in projected]
            pieces = self._joined(job.carrier, job.segments, placed)
            result = separated(job.source, pieces, spaced=self._words.spaced)
            is_valid = has_valid_emphasis(result) or not has_valid_emphasis(job.source)
            if is_valid:
                break
        sentences = self._sentences(job, placed)
        moved = any(displaced for _, displaced in projected)
        has_text = any(segment.text for segment in job.segments)
        if not (is_valid and is_kept(job.source, pieces) and has_text):
            pieces = at_ends(job.source, words_of(pieces))
            result = separated(job.source, pieces, spaced=self._words.spaced)
            moved = True
        result, is_inverted = in_order(job.source, result)
        moved = moved or is_inverted or has_lost_line(job.source, result)
        moved = moved or has_mixed_lines(job.source, result)
        moved = moved or are_numbers_moved(job.source, result)
        return Projected(result, sentences, moved)

    def _segment(
        self, job: Job, segment: Segment, attention: dict[IdPair, Matrix], *, strict: bool
    ) -> tuple[MarkedText, bool]:
        """The translation of a segment with its marks, and whether one is not at its words."""
        carrier = job.carrier
        stand_ins = stand_ins_of(carrier, segment)
        copies = copies_in(carrier, segment)
        kept = [copy for copy in copies if copy]
        if not _needs_alignment(carrier, segment):
            return _restored(segment.text, kept), False
        source = carrier.text[segment.begin : segment.end]
        # Where the stand-ins are in the segment.
        places = [
            (stand_in.begin - segment.begin, stand_in.begin - segment.begin + len(stand_in.word))
            for stand_in in stand_ins
        ]
        nodes, ordinals = with_ordinals(_nodes_of(carrier, segment), source, segment.text)
        taken = [span for ordinal in ordinals for span in ordinal.source]
        ordinals += [
            number
            for number in same_numbers(nodes, source, segment.text)
            if len(apart(taken, number.source)) > len(taken)
        ]
        copied = [(copy.begin, copy.end) for copy in kept]
        numbers = [span for ordinal in ordinals for span in ordinal.target]
        tgt = self._words.tokens(segment.text, apart(copied, numbers))
        spans = apart(places, [span for ordinal in ordinals for span in ordinal.source])
        src = tgt if segment.ids is None else tokens_with(source, spans)
        matrix = self._matrix(segment, source, src, tgt, attention)
        terms = _terms_of(job, segment)
        forms = align_terms(matrix, terms, segment.text, src, tgt, spaced=self._words.spaced)
        align_ordinals(matrix, ordinals, src, tgt)
        for (begin, _), copy in zip(places, copies, strict=True):
            if copy is not None:
                row = next(i for i, token in enumerate(tgt) if token.begin == copy.begin)
                column = next(i for i, token in enumerate(src) if token.begin == begin)
                align(matrix, row, column)
        aligned = Aligned(source, segment.text, src, tgt, matrix)
        placer = Placer(aligned, forms, strict=strict)
        lost = [
            Atom((Placeholder(stand_in.raw),), place[0], *_spaces(source, *place))
            for place, stand_in, copy in zip(places, stand_ins, copies, strict=True)
            if copy is None
        ]
        translated = placer.replaced(lost, kept)
        nodes = _with_atoms(nodes, [atom for atom in lost if atom.at not in translated])
        pieces = placer.place(nodes, [*kept, *translated.values()])
        return pieces, placer.displaced

    def _matrix(
        self,
        segment: Segment,
        source: str,
        src: Sequence[Token],
        tgt: Sequence[Token],
        attention: dict[IdPair, Matrix],
    ) -> Matrix:
        if segment.ids is None:
            return np.eye(len(tgt), len(src))
        if self._spellings is None:
            self._spellings = source_spellings(self._subwords), target_spellings(self._subwords)
        counts = len(src), len(tgt)
        weights = attention.get(segment.ids)
        if weights is None or not all(counts):
            return np.zeros((counts[1], counts[0]))
        unk_id = self._subwords.unk_id
        src_tokens, tgt_tokens = (
            token_of_ids(ids, spellings, unk_id, text, tokens)
            for ids, spellings, text, tokens in zip(
                segment.ids, self._spellings, (source, segment.text), (src, tgt), strict=True
            )
        )
        return token_matrix(weights, src_tokens, tgt_tokens, counts)

    def _joined(
        self, carrier: Carrier, segments: Sequence[Segment], placed: Sequence[MarkedText]
    ) -> MarkedText:
        replaced = set(replaced_spaces(carrier.nodes))
        result: list[MarkedPiece] = []
        for index, (segment, pieces) in enumerate(zip(segments, placed, strict=True)):
            result += pieces
            if index + 1 < len(segments) and segment.end not in replaced:
                result.append(Text(self._glue(segment.piece)))
        return merged(result)

    def _glue(self, piece: Piece) -> str:
        if not self._words.spaced:
            return ""
        return piece.glue or (" " if piece.ends_sentence else "")

    def _sentences(self, job: Job, placed: Sequence[MarkedText]) -> list[tuple[str, str]]:
        """Each sentence with its translation, with placeholders and without tags."""
        sentences = [("", "")]
        for segment, pieces in zip(job.segments, placed, strict=True):
            source, text = sentences[-1]
            source += original_text(
                job.carrier.text, job.carrier.originals, segment.begin, segment.end, segment.after
            )
            text += words_apart(pieces)
            if segment.piece.ends_sentence:
                sentences[-1] = source.strip(), text.strip()
                sentences.append(("", ""))
            else:
                sentences[-1] = source + segment.piece.glue, text + self._glue(segment.piece)
        return sentences[:-1]


def _terms_of(job: Job, segment: Segment) -> list[Match]:
    """The terms of a segment, at their places in it."""
    begin, end = segment.begin, segment.end
    return [
        Match(term.entry, term.begin - begin, term.end - begin)
        for term in job.terms
        if begin <= term.begin and term.end <= end
    ]


def _needs_alignment(carrier: Carrier, segment: Segment) -> bool:
    """Whether a segment has marks whose places the stand-ins do not tell."""
    return None in copies_in(carrier, segment) or bool(_nodes_of(carrier, segment))


def _spaces(text: str, begin: int, end: int) -> tuple[bool, bool]:
    """Whether white space, or an end of the text, is before and after these characters."""
    return not text[:begin][-1:].strip(), not text[end:][:1].strip()


def _with_atoms(nodes: Sequence[Node], atoms: Sequence[Atom]) -> list[Node]:
    """The nodes with the atoms, each within the pairs that are around it."""
    result: list[Node] = []
    rest = list(atoms)
    for node in nodes:
        if isinstance(node, Pair):
            inside = [atom for atom in rest if node.begin <= atom.at < node.end]
            rest = [atom for atom in rest if atom not in inside]
            node = replace(node, children=tuple(_with_atoms(node.children, inside)))
        result.append(node)
    return sorted([*result, *rest], key=_begin)


def _begin(node: Node) -> int:
    return node.at if isinstance(node, Atom) else node.begin


def _nodes_of(carrier: Carrier, segment: Segment) -> list[Node]:
    return within(carrier.nodes, segment.begin, segment.end, segment.after, carrier.text)


def _restored(text: str, copies: Sequence[Copied]) -> MarkedText:
    """A text with placeholders instead of their stand-ins."""
    pieces: list[MarkedPiece] = []
    end = 0
    for copy in sorted(copies):
        pieces += [Text(text[end : copy.begin]), Placeholder(copy.raw), Text(copy.ending)]
        end = copy.end
    return merged([*pieces, Text(text[end:])])


def is_kept(source: Sequence[MarkedPiece], target: Sequence[MarkedPiece]) -> bool:
    """Whether a translation has the tags, placeholders and tag pairs of its source."""
    return marks_of(source) == marks_of(target) and _pairs(source) == _pairs(target)


def _pairs(pieces: Sequence[MarkedPiece]) -> Counter[tuple[str, str]]:
    return Counter(
        (raw_text(pieces[first : first + 1]), raw_text(pieces[last : last + 1]))
        for first, last in tag_pairs(pieces).items()
    )


def words_of(pieces: Sequence[MarkedPiece]) -> str:
    """The text between the marks."""
    return "".join(piece.text for piece in pieces if isinstance(piece, Text))


def at_ends(source: Sequence[MarkedPiece], text: str) -> MarkedText:
    """A translation whose tag pairs go around all of its words; other marks are at its ends.

    Pairs that cannot be nested, such as links, go around one of the last words each.
    """
    pairs = tag_pairs(source)
    paired = {*pairs, *pairs.values()}
    words = [index for index, piece in enumerate(source) if _is_text(piece)]
    first = words[0] if words else len(source)
    before: list[MarkedPiece] = []
    after: list[MarkedPiece] = []
    for index, piece in enumerate(source):
        if index in paired or isinstance(piece, Text):
            continue
        space = [Text(" ")] if isinstance(piece, Placeholder) else []
        if index < first:
            before += [piece, *space]
        else:
            after += [*space, piece]
    return merged([*before, *_surrounded(source, pairs, text.split()), *after])


def _surrounded(
    source: Sequence[MarkedPiece], pairs: Mapping[int, int], words: Sequence[str]
) -> Iterator[MarkedPiece]:
    """The words within these pairs of tags, those that can be nested around the same words."""
    nests: list[list[Pair]] = []
    for first, last in pairs.items():
        pair = Pair(_tag(source[first]), _tag(source[last]), first, last, ())
        fitting = (
            nest
            for nest in nests
            if all(pair.end < outer.end or may_hold(outer, pair) for outer in nest)
        )
        nest = next(fitting, None)
        if nest is None and nests and len(words) <= len(nests) and not is_link(pair):
            nest = nests[0]
        nests += [] if nest is not None else [[]]
        (nests[-1] if nest is None else nest).append(pair)
    count = max(1, len(words) - len(nests) + 1)
    texts = [" ".join(words[:count]), *words[count:]]
    for index, nest in enumerate(nests or [[]]):
        has_words = index < len(texts)
        if not has_words:
            # A link without a word shows a space, around which there is no emphasis.
            nest.sort(key=is_link)
        yield from (Text(" "),) if has_words and index else ()
        yield from (pair.opening for pair in nest if pair.opening)
        yield Text(texts[index] if has_words else " ")
        yield from (pair.closing for pair in reversed(nest) if pair.closing)


def _tag(piece: MarkedPiece) -> Tag:
    assert isinstance(piece, Tag)
    return piece


def _is_text(piece: MarkedPiece) -> bool:
    return isinstance(piece, Text) and bool(piece.text.strip())
