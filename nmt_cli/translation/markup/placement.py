"""Puts tags back at the words of a translation that are aligned with theirs.

A tag pair goes around the target words of its source words. Pairs are nested as in the source;
those that would cross are cut apart between their best words, or nested where they share one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text
from nmt_cli.translation.markup.boundaries import APOSTROPHES, HYPHENS, compound_of, is_in_brackets
from nmt_cli.translation.markup.carrier import Atom, Node, Pair
from nmt_cli.translation.markup.gaps import Element, joined
from nmt_cli.translation.markup.stand_ins import Copied
from nmt_cli.translation.markup.tokens import Matrix, Token

# The names of links in HTML and in Markdown.
_LINKS = ("a", "link")
_ENDS = ".!?…。！？؟।,;:"
# Where a placeholder replaces `Peter's`, it gets the ending.
_POSSESSIVE = re.compile("['’]s$", re.IGNORECASE)
_QUOTES = "\"'«»“”„‚‘’‹›()[]"


@dataclass(frozen=True)
class Aligned:
    """A segment and its translation as tokens; matrix: (target, source) tokens."""

    source: str
    target: str
    src: Sequence[Token]
    tgt: Sequence[Token]
    matrix: Matrix


@dataclass(frozen=True)
class _Placed:
    """A pair around the target tokens `low` to `high` (exclusive)."""

    pair: Pair
    core: int
    low: int
    high: int
    children: tuple[Node, ...]


class Placer:
    """Places the nodes of one segment."""

    def __init__(self, aligned: Aligned) -> None:
        self._aligned = aligned
        self._gaps: list[list[Element]] = [[] for _ in range(len(aligned.tgt) + 1)]
        self._words = [index for index, token in enumerate(aligned.tgt) if token.is_word]
        # The best target word of each source token, the best source word of each target token.
        matrix = aligned.matrix
        self._of_src = _best_words(matrix, aligned.tgt)
        self._of_tgt = _best_words(matrix.T, aligned.src)
        # Where source words begin that have no part in the translation.
        self._lost: set[int] = set()

    def place(self, nodes: Sequence[Node], copies: Sequence[Copied] = ()) -> MarkedText:
        """The translation with the nodes, and with placeholders in the place of their copies."""
        self._emit(nodes, 0, len(self._aligned.tgt))
        texts = {copy.begin: (Placeholder(copy.raw), Text(copy.ending)) for copy in copies}
        return joined(self._aligned.target, self._aligned.tgt, self._gaps, texts)

    def replaced(self, lost: Sequence[Atom], kept: Sequence[Copied]) -> dict[int, Copied]:
        """The words that stand for lost stand-ins, by the place of these: each is the other one's
        best word, and no part of a larger one.
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

    def _emit(self, nodes: Sequence[Node], low: int, high: int) -> None:
        """Put the nodes into the gaps around and between the target tokens `low` to `high`."""
        placed = self._placed([node for node in nodes if isinstance(node, Pair)], low, high)
        moved = {id(child) for each in placed for child in each.children}
        atoms: dict[int, list[Atom]] = {}
        for node in nodes:
            if isinstance(node, Atom) and id(node) not in moved:
                gap = min(max(self._between_words(node, self._gap_of(node)), low), high)
                atoms.setdefault(_outside(gap, node, placed), []).append(node)
        gap = low
        for each in [*placed, None]:
            until = each.low if each else high
            for at in sorted(at for at in atoms if gap <= at <= until):
                self._gaps[at] += [_atom_element(atom) for atom in atoms.pop(at)]
            if each is None:
                break
            self._open(each)
            self._emit(each.children, each.low, each.high)
            self._close(each)
            gap = each.high

    def _open(self, placed: _Placed) -> None:
        tag = placed.pair.opening
        if tag is not None:
            space = 1 if placed.pair.space_inside[0] else -1
            self._gaps[placed.low].append(Element((tag,), space, "open"))

    def _close(self, placed: _Placed) -> None:
        tag = placed.pair.closing
        if tag is not None:
            space = -1 if placed.pair.space_inside[1] else 1
            self._gaps[placed.high].append(Element((tag,), space, "close"))

    def _placed(self, pairs: Sequence[Pair], low: int, high: int) -> list[_Placed]:
        """Pairs with target tokens, none of which overlap, in the order of the target."""
        spans = sorted(
            (self._span(pair, low, high) for pair in pairs), key=lambda span: (span.core, span.low)
        )
        result: list[_Placed] = []
        for span in spans:
            if not result or result[-1].high <= span.low:
                result.append(span)
                continue
            last = result.pop()
            begin = result[-1].high if result else low
            beside = self._beside(last, span, begin, high) if _are_links(last, span) else []
            result += beside or self._apart(last, span, high)
        return result

    def _beside(self, first: _Placed, second: _Placed, low: int, high: int) -> list[_Placed]:
        """Two links with the same best word, each around a word of its own; none if there is none.

        One link within the other would be invalid.
        """
        words = [word for word in self._words if low <= word < high]
        if first.core != second.core or len(words) < 2:
            return []
        left, right = sorted((first, second), key=lambda placed: placed.pair.begin)
        at = min(words.index(first.core), len(words) - 2)
        return [
            replace(
                left, core=words[at], low=min(words[at], max(low, left.low)), high=words[at] + 1
            ),
            replace(right, core=words[at + 1], low=words[at] + 1, high=words[at + 1] + 1),
        ]

    def _apart(self, first: _Placed, second: _Placed, high: int) -> list[_Placed]:
        """Two pairs that overlap, cut apart or the one within the other."""
        for ends, begins in ((first, second), (second, first)):
            if ends.pair.opening is None and begins.pair.closing is None:
                # The one comes from the segment before, the other goes on in the next.
                cut = min(ends.core + 1, high)
                return [replace(ends, high=cut), replace(begins, low=cut)]
        partial = any(None in (each.pair.opening, each.pair.closing) for each in (first, second))
        if first.core != second.core and not partial:
            cut = self._cut(first, second)
            return [replace(first, high=cut), replace(second, low=self._first_word(second, cut))]
        outer, inner = (first, second) if _is_outer(first, second) else (second, first)
        union = replace(
            outer, low=min(first.low, second.low), high=max(first.high, second.high),
            children=(*outer.children, inner.pair),
        )  # fmt: skip
        return [union]

    def _cut(self, first: _Placed, second: _Placed) -> int:
        """Where to cut two pairs apart: most words stay with the pair that they belong to."""

        def right(cut: int) -> int:
            words = range(first.core, second.core + 1)
            return sum(
                self._belongs(word, first.pair if word < cut else second.pair) for word in words
            )

        cuts = range(first.core + 1, second.core + 1)
        return max(cuts, key=lambda cut: (right(cut), -cut))

    def _first_word(self, placed: _Placed, cut: int) -> int:
        """Where a pair begins after a cut: not with punctuation that it lacks in the source."""
        src = [token for token in self._aligned.src if _is_inside(token, placed.pair)]
        own = self._aligned.source[src[0].begin] if src else ""
        while cut < placed.core:
            token = self._aligned.tgt[cut]
            if token.is_word or self._is_same_mark(own, self._aligned.target[token.begin]):
                break
            cut += 1
        return cut

    def _belongs(self, word: int, pair: Pair) -> bool:
        source = self._of_tgt[word]
        return source >= 0 and _is_inside(self._aligned.src[source], pair)

    def _span(self, pair: Pair, low: int, high: int) -> _Placed:
        """The smallest span of the target words that are aligned with those of the pair."""
        if low >= high:
            return _Placed(pair, low, low, low, pair.children)
        src = [index for index, token in enumerate(self._aligned.src) if _is_inside(token, pair)]
        src_words = [index for index in src if self._aligned.src[index].is_word] or src
        words = [word for word in self._words if low <= word < high] or list(range(low, high))
        strength = self._aligned.matrix[words][:, src_words].sum(1)
        core = words[int(np.argmax(strength))]
        inside = set(src_words)
        found = {word for word in words if self._of_tgt[word] in inside} | {core}
        begin, end = min(found), max(found) + 1
        begin, end = self._with_edges(pair, src, begin, end, low, high)
        begin, end = self._with_brackets(begin, end, low, high)
        return _Placed(pair, core, begin, end, pair.children)

    def _with_edges(
        self, pair: Pair, src: Sequence[int], begin: int, end: int, low: int, high: int
    ) -> tuple[int, int]:
        """The span with the punctuation at its ends that the pair has in the source, too."""
        source = self._aligned.src
        words = [index for index, token in enumerate(source) if token.is_word]
        if words and set(words) <= set(src):
            # All words, and the punctuation around them unless that is outside in the source.
            inside = [word for word in self._words if low <= word < high] or [low, high - 1]
            begin = low if src[0] == 0 else inside[0]
            end = high if src[-1] == len(source) - 1 else inside[-1] + 1
        if pair.opening is None:
            begin = low
        if pair.closing is None:
            end = high
        first, last = (self._aligned.source[source[index].begin] for index in (src[0], src[-1]))
        begin -= self._count_marks(first, range(begin - 1, low - 1, -1))
        end += self._count_marks(last, range(end, high))
        return begin, end

    def _with_brackets(self, begin: int, end: int, low: int, high: int) -> tuple[int, int]:
        """The span with the rest of `2(1)` if it would end within its brackets, or begin there."""
        target, tgt = self._aligned.target, self._aligned.tgt

        def depth(until: int) -> int:
            text = target[tgt[begin].begin : tgt[until - 1].end]
            return text.count("(") - text.count(")")

        if end > begin and depth(end) > 0:
            last = end
            while last < high and tgt[last].begin == tgt[last - 1].end and depth(last) > 0:
                last += 1
            end = last if depth(last) == 0 else end
        while end > begin > low and depth(end) < 0 and tgt[begin - 1].end == tgt[begin].begin:
            begin -= 1
        return begin, end

    def _count_marks(self, mark: str, places: Sequence[int]) -> int:
        """How many of the first target tokens at these places are such marks, side by side."""
        count = 0
        for place in places:
            begin, end, _ = self._aligned.tgt[place]
            if not self._is_same_mark(mark, self._aligned.target[begin]):
                break
            if count and {begin, end}.isdisjoint(self._aligned.tgt[places[count - 1]][:2]):
                break
            count += 1
        return count

    def _is_same_mark(self, source: str, target: str) -> bool:
        return not source.isalnum() and any(
            source in marks and target in marks for marks in (_ENDS, _QUOTES, source)
        )

    def _between_words(self, atom: Atom, gap: int) -> int:
        """The gap, for a placeholder the nearer end of a word with hyphens that it is within.

        It goes before such brackets as of `2(1)`, with the number that they belong to.
        """
        tgt = self._aligned.tgt
        is_tag = all(isinstance(piece, Tag) for piece in atom.pieces)
        if is_tag or not 0 < gap < len(tgt) or self._is_joined(atom):
            return gap
        if is_in_brackets(self._aligned.target, tgt, gap):
            return gap - 2 if gap > 1 and tgt[gap - 2].end == tgt[gap - 1].begin else gap - 1
        first, last = compound_of(self._aligned.target, tgt, gap)
        if first == gap:
            return gap
        return first if gap - first < last - gap else last

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


def _best_words(matrix: Matrix, rows: Sequence[Token]) -> list[int]:
    """The row of each column with the highest value, a word where there are words; -1: no rows."""
    words = [index for index, token in enumerate(rows) if token.is_word] or list(range(len(rows)))
    if not words:
        return [-1] * matrix.shape[1]
    return [words[best] for best in matrix[words].argmax(0).tolist()]


def _is_inside(token: Token, pair: Pair) -> bool:
    return token.begin < pair.end and token.end > pair.begin


def _are_links(*placed: _Placed) -> bool:
    """Whether all pairs are whole links of HTML or Markdown."""
    return all(
        tag is not None and tag.name in _LINKS
        for each in placed
        for tag in (each.pair.opening, each.pair.closing)
    )


def _is_outer(first: _Placed, second: _Placed) -> bool:
    """Whether the first pair goes around the second one: partial pairs go around whole ones."""

    def order(placed: _Placed) -> tuple[bool, int, int]:
        pair = placed.pair
        return None not in (pair.opening, pair.closing), pair.begin, -pair.end

    return order(first) <= order(second)


def _outside(gap: int, atom: Atom, placed: Sequence[_Placed]) -> int:
    """The gap, or the end of the pair that it would be inside of."""
    for each in placed:
        if each.low < gap < each.high:
            return each.low if atom.at <= each.pair.begin else each.high
    return gap


def _atom_element(atom: Atom) -> Element:
    space = {(True, False): -1, (False, True): 1, (True, True): 2, (False, False): 0}[
        atom.space_before, atom.space_after
    ]
    return Element(atom.pieces, 3 if atom.replaces_space else space, mark_after=atom.mark_after)
