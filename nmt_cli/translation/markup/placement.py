"""Puts tags back at the words of a translation that are aligned with theirs.

A tag pair goes around the target words of its source words, a tag that stands alone to the word
that it stood at.
"""

import re
from collections.abc import Mapping, Sequence

from nmt_cli.data.languages.elision import APOSTROPHES
from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text, raw_text
from nmt_cli.translation.markup.boundaries import (
    HYPHENS,
    compound_of,
    is_elided,
    is_in_brackets,
)
from nmt_cli.translation.markup.carrier import Atom, Node, Pair
from nmt_cli.translation.markup.gaps import Element, Space, joined
from nmt_cli.translation.markup.rules import Places, is_link
from nmt_cli.translation.markup.spans import Aligned, PairSpan, Spans, best_words
from nmt_cli.translation.markup.stand_ins import Copied
from nmt_cli.translation.markup.term_alignment import TermPlace

# Where a placeholder replaces `Peter's`, it gets the ending.
_POSSESSIVE = re.compile("['’]s$", re.IGNORECASE)


class Placer:
    """Places the nodes of one segment.

    displaced: whether a pair is not at its words, since another one is there.
    """

    def __init__(
        self, aligned: Aligned, forms: Sequence[TermPlace] = (), *, strict: bool = False
    ) -> None:
        """forms: where the terms of the glossary are.

        strict: whether emphasis of Markdown never begins or ends between two letters.
        """
        self._aligned = aligned
        self._forms = forms
        self._strict = strict
        self.displaced = False
        self._gaps: list[list[Element]] = [[] for _ in range(len(aligned.tgt) + 1)]
        self._words = [index for index, token in enumerate(aligned.tgt) if token.is_word]
        # The best target word of each source token, the best source word of each target token.
        matrix = aligned.matrix
        self._of_src = best_words(matrix, aligned.tgt)
        self._of_tgt = best_words(matrix.T, aligned.src)
        # Where source words begin that have no part in the translation.
        self._lost: set[int] = set()

    def place(self, nodes: Sequence[Node], copies: Sequence[Copied] = ()) -> MarkedText:
        """The translation with the nodes, and with placeholders in the place of their copies."""
        texts = {copy.begin: (Placeholder(copy.raw), Text(copy.ending)) for copy in copies}
        spans = self._spans(texts)
        self._emit(nodes, (0, len(self._aligned.tgt)), spans)
        self.displaced = spans.displaced
        return joined(self._aligned.target, self._aligned.tgt, self._gaps, texts)

    def _spans(self, texts: Mapping[int, MarkedText]) -> Spans:
        """What finds the spans; texts: as of `gaps.joined`."""
        target, tgt = self._aligned.target, self._aligned.tgt
        words = [
            raw_text(texts.get(token.begin, (Text(target[token.begin : token.end]),)))
            for token in tgt
        ]
        spaces = [target[token.begin - 1 : token.begin].isspace() for token in tgt]
        placeholders = {
            index: words[index] for index, token in enumerate(tgt) if token.begin in texts
        }
        places = Places(words, spaces, strict=self._strict)
        return Spans(self._aligned, places, placeholders)

    def replaced(self, lost: Sequence[Atom], kept: Sequence[Copied]) -> dict[int, Copied]:
        """The words that translate lost stand-ins, by the places of these in the source.

        A word counts if it is aligned best with the stand-in, the stand-in with it, and if it is no
        part of a larger word. kept: the copies of the other stand-ins.
        """
        taken = {copy.begin for copy in kept}
        result = {}
        self._lost = {atom.at for atom in lost}
        for atom in lost:
            column = next(i for i, token in enumerate(self._aligned.src) if token.begin == atom.at)
            best = self._of_src[column]
            if best < 0 or self._of_tgt[best] != column:
                continue
            begin, end, is_word = self._aligned.tgt[best]
            [piece] = atom.pieces
            assert isinstance(piece, Placeholder)
            if is_word and begin not in taken and not self._splits_word(atom, piece, best):
                taken.add(begin)
                ending = _POSSESSIVE.search(self._aligned.target[begin:end])
                result[atom.at] = Copied(begin, end, piece.raw, ending[0] if ending else "")
        self._lost -= {*result}
        return result

    def _splits_word(self, atom: Atom, piece: Placeholder, word: int) -> bool:
        """Whether only a part of a word with hyphens or apostrophes would be replaced: `au-dessus`.

        After an apostrophe a name may stand, but no number: `d'Anna`.
        """
        target, tgt = self._aligned.target, self._aligned.tgt
        first, last = compound_of(target, tgt, word)
        if last - first == 1 or self._is_joined(atom):
            return False
        is_number = piece.raw.lstrip("+-−")[:1].isdigit()
        follows_apostrophe = word == last - 1 and target[tgt[word].begin - 1] in APOSTROPHES
        return is_number or not follows_apostrophe

    def _is_joined(self, atom: Atom) -> bool:
        """Whether a hyphen or apostrophe joins it to a word of the source, as in `5-year-old`."""
        source, src = self._aligned.source, self._aligned.src
        end = next((token.end for token in src if token.begin == atom.at), atom.at)
        if atom.at not in self._lost:
            end = atom.at
        signs = tuple(HYPHENS + APOSTROPHES)
        return source[: atom.at].endswith(signs) or source[end:].startswith(signs)

    def _emit(self, nodes: Sequence[Node], bounds: tuple[int, int], spans: Spans) -> None:
        """Put the nodes into the gaps around and between the target tokens within the bounds."""
        low, high = bounds
        placed = spans.of_pairs([node for node in nodes if isinstance(node, Pair)], low, high)
        moved = {id(child) for span in placed for child in span.children}
        atoms: dict[int, list[Atom]] = {}
        for node in nodes:
            if isinstance(node, Atom) and id(node) not in moved:
                gap = min(max(self._between_words(node, self._gap_of(node)), low), high)
                gap = self._beside_elision(node, _outside(gap, node, placed), bounds, placed)
                atoms.setdefault(gap, []).append(node)
        gap = low
        for span in [*placed, None]:
            until = span.low if span else high
            for at in sorted(at for at in atoms if gap <= at <= until):
                self._gaps[at] += [_atom_element(atom) for atom in atoms.pop(at)]
            if span is None:
                break
            self._open(span)
            self._emit(span.children, (span.low, span.high), spans)
            self._close(span)
            gap = span.high

    def _open(self, placed: PairSpan) -> None:
        tag = placed.pair.opening
        if tag is not None:
            space = Space.AFTER if placed.pair.space_inside[0] else Space.BEFORE
            pieces: MarkedText = (tag,)
            if placed.low == placed.high and placed.pair.closing and is_link(placed.pair):
                # A link without a word shows a space.
                pieces, space = (tag, Text(" ")), Space.AFTER
            self._gaps[placed.low].append(Element(pieces, space, "open"))

    def _close(self, placed: PairSpan) -> None:
        tag = placed.pair.closing
        if tag is not None:
            space = Space.BEFORE if placed.pair.space_inside[1] else Space.AFTER
            self._gaps[placed.high].append(Element((tag,), space, "close"))

    def _between_words(self, atom: Atom, gap: int) -> int:
        """The gap, for a placeholder the nearer end of a word with hyphens that it is within.

        It goes before such brackets as of `2(1)`, with the number that they belong to, and to the
        end of a term that it stands at in the source.
        """
        tgt = self._aligned.tgt
        is_tag = all(isinstance(piece, Tag) for piece in atom.pieces)
        if is_tag or not 0 < gap < len(tgt) or self._is_joined(atom):
            return gap
        if is_in_brackets(self._aligned.target, tgt, gap):
            return gap - 2 if gap > 1 and tgt[gap - 2].end == tgt[gap - 1].begin else gap - 1
        for form in self._forms:
            if form.low < gap < form.high:
                return form.low if atom.at <= form.at else form.high
        first, last = compound_of(self._aligned.target, tgt, gap)
        if first == gap:
            return gap
        return first if gap - first < last - gap else last

    def _beside_elision(
        self, atom: Atom, gap: int, bounds: tuple[int, int], placed: Sequence[PairSpan]
    ) -> int:
        """The gap, or one beside the two words if it is between an elided word and the next one.

        What stands at the end of a word goes behind both, other marks before the elided word.
        """
        target, tgt = self._aligned.target, self._aligned.tgt
        has_words = any(isinstance(piece, Placeholder) for piece in atom.pieces)
        if has_words or not is_elided(target, tgt, gap):
            return gap
        before, after = gap - 1, gap + 1
        while is_elided(target, tgt, before):
            before -= 1
        while is_elided(target, tgt, after):
            after += 1
        # Behind the pairs that begin with the second word.
        after = max([after, *(span.high for span in placed if span.low < after < span.high)])
        is_at_end = atom.space_after and not atom.space_before
        for place in (after, before) if is_at_end else (before, after):
            within = any(span.low < place < span.high for span in placed)
            if bounds[0] <= place <= bounds[1] and not within:
                return place
        return gap

    def _gap_of(self, atom: Atom) -> int:
        """The gap between target tokens for what stands between source tokens."""
        src, tgt = self._aligned.src, self._aligned.tgt
        known = [index for index, token in enumerate(src) if token.begin not in self._lost]
        before = [index for index in known if src[index].begin < atom.at]
        after = [index for index in known if src[index].begin >= atom.at]
        if not before:
            return 0
        if not after:
            return len(tgt)
        previous, following = before[-1], after[0]
        if not src[following].is_word:
            mark = self._same_mark(previous)
            if mark >= 0:
                return mark + 1
            if not any(src[index].is_word for index in after):
                # Before the punctuation at the end.
                return self._words[-1] + 1 if self._words else 0
            words = [index for index in before if src[index].is_word]
            return self._of_src[words[-1]] + 1 if words else 0
        glued = not atom.space_before and atom.space_after
        is_tag = all(isinstance(piece, Tag) for piece in atom.pieces)
        spaced_word = atom.space_before and atom.space_after and not is_tag
        if src[previous].is_word and (glued or spaced_word):
            return self._of_src[previous] + 1
        return self._of_src[following]

    def _same_mark(self, column: int) -> int:
        """The target token for a punctuation mark of the source: the same mark; -1: none.

        Of several it is the one with the most attention, or else the nearest.
        """
        src, tgt = self._aligned.src, self._aligned.tgt
        mark = self._aligned.source[src[column].begin]
        places = [i for i, token in enumerate(tgt) if self._aligned.target[token.begin] == mark]
        if src[column].is_word or not places:
            return -1
        weights = self._aligned.matrix[:, column].round(3).tolist()
        expected = column * len(tgt) / len(src)
        return max(places, key=lambda place: (weights[place], -abs(place - expected)))


def _outside(gap: int, atom: Atom, placed: Sequence[PairSpan]) -> int:
    """The gap, or the end of the pair that it would be inside of."""
    for span in placed:
        if span.low < gap < span.high:
            return span.low if atom.at <= span.pair.begin else span.high
    return gap


def _atom_element(atom: Atom) -> Element:
    space = {
        (True, False): Space.BEFORE,
        (False, True): Space.AFTER,
        (True, True): Space.BOTH,
        (False, False): Space.WHERE_IT_FITS,
    }[atom.space_before, atom.space_after]
    if atom.replaces_space:
        space = Space.NONE
    return Element(atom.pieces, space, mark_after=atom.mark_after)
