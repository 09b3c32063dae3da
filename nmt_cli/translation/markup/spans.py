"""Which words of a translation a tag pair goes around: those aligned with its source words.

Pairs are nested as in the source; those that would cross are cut apart between their best words,
nested where they share one, or put side by side where they cannot be nested.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nmt_cli.data.cleaning.numbers.notation import CURRENCY
from nmt_cli.translation.markup.carrier import Node, Pair
from nmt_cli.translation.markup.rules import Places, is_barred, is_link, may_hold
from nmt_cli.translation.markup.tokens import Matrix, Token

# A word that is aligned with words of a pair less than this share of its best source word is that
# of another one.
LEAST_SHARE = 0.5
_ENDS = ".!?…。！？؟।,;:"
_SIGN = re.compile(f"{CURRENCY}|[%٪]")
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
class PairSpan:
    """A pair around the target tokens `low` to `high` (exclusive); core: its best word."""

    pair: Pair
    core: int
    low: int
    high: int
    children: tuple[Node, ...]

    @property
    def is_partial(self) -> bool:
        """Whether a tag of the pair stands in another segment."""
        return None in (self.pair.opening, self.pair.closing)


class Spans:
    """Finds the spans of the pairs of one segment.

    displaced: whether a pair is not at its words, since another one is there.
    """

    def __init__(self, aligned: Aligned, places: Places, placeholders: Mapping[int, str]) -> None:
        """placeholders: by the target tokens that they stand for."""
        self._aligned = aligned
        self._places = places
        self._placeholders = placeholders
        self._words = [index for index, token in enumerate(aligned.tgt) if token.is_word]
        # The best source word of each target token.
        self._of_tgt = best_words(aligned.matrix.T, aligned.src)
        self.displaced = False

    def of_pairs(self, pairs: Sequence[Pair], low: int, high: int) -> list[PairSpan]:
        """Spans within these target tokens, none of which overlap, in the order of the target."""
        spans = sorted(
            (self._span(pair, low, high) for pair in pairs), key=lambda span: (span.core, span.low)
        )
        result: list[PairSpan] = []
        for span in spans:
            if not result or self._are_apart(result[-1], span):
                result.append(span)
                continue
            last = result.pop()
            bounds = (result[-1].high if result else low), high
            result += self._resolved(last, span, bounds)
        return result

    def _are_apart(self, first: PairSpan, second: PairSpan) -> bool:
        if first.high == second.low:
            touching = self._places.may_touch(first.pair, second.pair, first.high)
            return touching or first.low == first.high or second.low == second.high
        return first.high < second.low

    def _resolved(
        self, first: PairSpan, second: PairSpan, bounds: tuple[int, int]
    ) -> list[PairSpan]:
        """Two pairs that overlap, cut apart, the one within the other, or side by side."""
        for ends, begins in ((first, second), (second, first)):
            if ends.pair.opening is None and begins.pair.closing is None:
                # The one comes from the segment before, the other goes on in the next.
                cut = min(ends.core + 1, bounds[1])
                return [replace(ends, high=cut), replace(begins, low=cut)]
        if not (first.is_partial or second.is_partial):
            cut_apart = self._cut_apart(first, second)
            if cut_apart:
                return cut_apart
        orders = [(first, second), (second, first)]
        for outer, inner in orders if _is_outer(first, second) else reversed(orders):
            union = self._union(outer, inner, bounds)
            if not (inner.is_partial and not outer.is_partial) and self._may_hold(union, inner):
                return [union]
        return self._beside(first, second, bounds)

    def _union(self, outer: PairSpan, inner: PairSpan, bounds: tuple[int, int]) -> PairSpan:
        """The outer pair around the words of both."""
        low = max(bounds[0], min(outer.low, inner.low))
        low, high = self._places.fitted(outer.pair, low, max(outer.high, inner.high), bounds)
        return replace(outer, low=low, high=high, children=(*outer.children, inner.pair))

    def _may_hold(self, union: PairSpan, inner: PairSpan) -> bool:
        barred = self._barred(union.pair)
        return may_hold(union.pair, inner.pair) and barred.isdisjoint(range(union.low, union.high))

    def _beside(self, first: PairSpan, second: PairSpan, bounds: tuple[int, int]) -> list[PairSpan]:
        """Two pairs that cannot be nested, each around a word of its own.

        A link for which there is no word is put behind the other one.
        """
        for part, whole in ((first, second), (second, first)):
            if part.is_partial:
                if part.pair.opening is None:
                    return [replace(part, low=bounds[0], high=whole.low), whole]
                return [whole, replace(part, low=whole.high, high=bounds[1])]
        left, right = sorted((first, second), key=lambda span: span.pair.begin)
        spans = self._two_words(left, right, bounds)
        if spans is None:
            self.displaced = True
            if not (is_link(left.pair) and is_link(right.pair)):
                return [self._union(left, right, bounds)]
            low, high = min(left.low, right.low), max(left.high, right.high)
            return [
                replace(left, low=max(low, bounds[0]), high=high),
                replace(right, core=high, low=high, high=high),
            ]
        for before, after in zip((left, right), spans, strict=True):
            self.displaced |= not self._owns(after, before)
        return spans

    def _two_words(
        self, left: PairSpan, right: PairSpan, bounds: tuple[int, int]
    ) -> list[PairSpan] | None:
        """Spans around a word each, as near to their best words as possible; None: there are none.

        The spans go on to the other words that they had outside of both.
        """
        least_cost: tuple[int, int] | None = None
        best: tuple[PairSpan, PairSpan] | None = None
        words = [word for word in self._words if bounds[0] <= word < bounds[1]]
        for word in words:
            one = self._unit(left, word, bounds)
            following = (
                two
                for other in words
                if one is not None and other >= one.high
                if (two := self._unit(right, other, bounds)) and self._are_apart(one, two)
            )
            two = next(following, None)
            if one is None or two is None:
                continue
            cost = abs(word - left.core) + abs(two.core - right.core), -word
            if least_cost is None or cost < least_cost:
                least_cost, best = cost, (one, two)
        if best is None:
            return None
        one, two = best
        low, high = max(bounds[0], min(one.low, left.low)), two.high
        if right.core == two.core:
            high = max(high, right.high)
        barred = self._barred(left.pair), self._barred(right.pair)
        if barred[0].isdisjoint(range(low, one.low)):
            one = replace(one, low=low)
        if barred[1].isdisjoint(range(two.high, high)):
            two = replace(two, high=high)
        return [one, two]

    def _unit(self, span: PairSpan, word: int, bounds: tuple[int, int]) -> PairSpan | None:
        """The smallest span with a word that the pair may go around."""
        low, high = self._places.fitted(span.pair, word, word + 1, bounds)
        if not self._barred(span.pair).isdisjoint(range(low, high)):
            return None
        return replace(span, core=word, low=low, high=high)

    def _owns(self, span: PairSpan, aligned: PairSpan) -> bool:
        """Whether words of the pair are in its span; aligned: the one that was found first."""
        words = range(span.low, span.high)
        return aligned.core in words or any(self._belongs(word, span.pair) for word in words)

    def _barred(self, pair: Pair) -> set[int]:
        """The target tokens that may not get into a pair."""
        return {
            token
            for token, raw in self._placeholders.items()
            if is_barred(pair, raw) and not self._belongs(token, pair)
        }

    def _cut_apart(self, first: PairSpan, second: PairSpan) -> list[PairSpan] | None:
        """Two pairs cut apart: most words stay with the pair that they belong to."""

        def words_of_own_pair(cut: int) -> int:
            words = range(first.core, second.core + 1)
            return sum(
                self._belongs(word, first.pair if word < cut else second.pair) for word in words
            )

        cuts = []
        for cut in range(first.core + 1, second.core + 1):
            left = self._clipped(replace(first, high=cut))
            other = self._clipped(replace(second, low=self._first_word(second, cut)))
            if self._may_end(left, other):
                cuts.append((words_of_own_pair(cut), -cut, [left, other]))
        return max(cuts, key=lambda candidate: candidate[:2])[2] if cuts else None

    def _may_end(self, first: PairSpan, second: PairSpan) -> bool:
        """Whether the first of two pairs may end, and the second begin, where they do."""
        if first.high == second.low:
            return self._places.may_touch(first.pair, second.pair, first.high)
        closes = self._places.may_close(first.pair, first.high)
        return closes and self._places.may_open(second.pair, second.low)

    def _first_word(self, span: PairSpan, cut: int) -> int:
        """Where a pair begins after a cut: not with punctuation that it lacks in the source."""
        src = [token for token in self._aligned.src if is_inside(token, span.pair)]
        own = self._aligned.source[src[0].begin] if src else ""
        while cut < span.core:
            token = self._aligned.tgt[cut]
            if token.is_word or self._is_same_mark(own, self._aligned.target[token.begin]):
                break
            cut += 1
        return cut

    def _belongs(self, word: int, pair: Pair) -> bool:
        source = self._of_tgt[word]
        return source >= 0 and is_inside(self._aligned.src[source], pair)

    def _span(self, pair: Pair, low: int, high: int) -> PairSpan:
        """The smallest span of the target words that are aligned with those of the pair."""
        if low >= high:
            return PairSpan(pair, low, low, low, pair.children)
        src = [index for index, token in enumerate(self._aligned.src) if is_inside(token, pair)]
        src_words = [index for index in src if self._aligned.src[index].is_word] or src
        barred = self._barred(pair)
        inside = set(range(low, high)) - barred
        words = [word for word in self._words if word in inside] or sorted(inside)
        if not words:
            # There is nothing but other links.
            self.displaced = True
            return PairSpan(pair, high, high, high, pair.children)
        strength = self._aligned.matrix[words][:, src_words].sum(1)
        core = words[int(np.argmax(strength))]
        own = set(src_words)
        aligned = {word for word in words if self._of_tgt[word] in own} | {core}
        self.displaced |= aligned == {core} and self._is_of_another(core, src_words)
        begin, end = min(aligned), max(aligned) + 1
        begin, end = self._with_edges(pair, src, begin, end, low, high)
        begin, end = self._with_brackets(begin, end, low, high)
        begin, end = self._places.fitted(pair, begin, end, (low, high))
        return self._clipped(PairSpan(pair, core, begin, end, pair.children))

    def _is_of_another(self, word: int, src_words: Sequence[int]) -> bool:
        """Whether a target word translates another word, as where the translation lacks these.

        Half of a compound is aligned with two words: `Küchentisch` with both of `kitchen table`.
        """
        row = self._aligned.matrix[word]
        best = row[self._of_tgt[word]]
        return bool(row[list(src_words)].max() < LEAST_SHARE * best)

    def _clipped(self, span: PairSpan) -> PairSpan:
        """The span as far as it has nothing in it that may not get into the pair."""
        barred = self._barred(span.pair)
        low = max([span.low, *(token + 1 for token in barred if token < span.core)])
        high = min([span.high, *(token for token in barred if token > span.core)])
        return replace(span, low=low, high=high)

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
        return self._with_sign((first, last), begin, end, low, high)

    def _with_sign(
        self, edges: tuple[str, str], begin: int, end: int, low: int, high: int
    ) -> tuple[int, int]:
        """The span with the sign of its number, which may change sides: `€89` and `89 €`.

        edges: the first and last character of the pair in the source.
        """
        if not (any(map(_SIGN.fullmatch, edges)) and begin < end):
            return begin, end
        inside = range(begin, end)
        if any(_SIGN.search(self._text(token)) for token in inside):
            return begin, end
        if end < high and _SIGN.fullmatch(self._text(end)) and self._text(end - 1)[-1:].isdigit():
            return begin, end + 1
        before = begin - 1
        if before >= low and _SIGN.fullmatch(self._text(before)) and self._text(begin)[0].isdigit():
            return before, end
        return begin, end

    def _text(self, index: int) -> str:
        """The characters of a target token."""
        token = self._aligned.tgt[index]
        return self._aligned.target[token.begin : token.end]

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


def best_words(matrix: Matrix, rows: Sequence[Token]) -> list[int]:
    """The row of each column with the highest value, a word where there are words; -1: no rows."""
    words = [index for index, token in enumerate(rows) if token.is_word] or list(range(len(rows)))
    if not words:
        return [-1] * matrix.shape[1]
    return [words[best] for best in matrix[words].argmax(0).tolist()]


def is_inside(token: Token, pair: Pair) -> bool:
    """Whether a token of the source is in a pair."""
    return token.begin < pair.end and token.end > pair.begin


def _is_outer(first: PairSpan, second: PairSpan) -> bool:
    """Whether the first pair goes around the second one: partial pairs go around whole ones."""

    def order(span: PairSpan) -> tuple[bool, int, int]:
        return not span.is_partial, span.pair.begin, -span.pair.end

    return order(first) <= order(second)
