"""The alignment of numbers that stand once in a text and once in its translation.

Their digits say more than the attention of a model, which may be weak for amounts.
"""

import re
from collections.abc import Iterator, Sequence

from nmt_cli.data.cleaning.numbers.notation import CURRENCY, DIGITS, GAP, with_ascii_digits
from nmt_cli.data.markup.marked_text import MarkedPiece, Tag, raw_text
from nmt_cli.data.markup.pairs import tag_pairs
from nmt_cli.translation.markup.carrier import Node, Pair
from nmt_cli.translation.markup.ordinals import Ordinal, Span

_SPACE = "[ \u00a0\u202f\u2009]"
# Groups of three digits apart by spaces, or digits with other signs between them.
_NUMBER = re.compile(
    rf"(?<![\w.,])(?:\d{{1,3}}(?:{_SPACE}\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’٫٬]\d+)*)(?!\w)"
)
_SIGN = f"(?:{CURRENCY}|[%٪])"
_BEFORE, _BEHIND = re.compile(f"{_SIGN}{GAP}\\Z"), re.compile(f"{GAP}{_SIGN}")


def same_numbers(nodes: Sequence[Node], source: str, target: str) -> list[Ordinal]:
    """The numbers of a segment that its translation has, too, in its own notation.

    The sign of an amount (`$500`, `500 $`) is a part of its number, unless a tag of the nodes
    stands between them. Numbers that occur several times are left out.
    """
    in_source, in_target = _numbers(source), _numbers(target)
    cuts = set(_places(nodes))
    result = []
    for digits, src_span in in_source.items():
        tgt_span = in_target.get(digits)
        if src_span is None or tgt_span is None:
            continue
        if not cuts.isdisjoint(range(src_span[0] + 1, src_span[1])):
            continue
        amount = _with_sign(source, src_span)
        if amount != src_span and cuts.isdisjoint(range(amount[0] + 1, amount[1])):
            src_span, tgt_span = amount, _with_sign(target, tgt_span)
        result.append(Ordinal((src_span,), (tgt_span,)))
    return result


def are_numbers_moved(source: Sequence[MarkedPiece], target: Sequence[MarkedPiece]) -> bool:
    """Whether a tag pair is around a number in one of the two texts, and not in the other.

    Only numbers count that occur once in each.
    """
    sides = [_numbers(_text_of(pieces)) for pieces in (source, target)]
    shared = {digits for digits, span in sides[0].items() if span and sides[1].get(digits)}
    return bool(shared) and _in_pairs(source, shared) != _in_pairs(target, shared)


def _in_pairs(pieces: Sequence[MarkedPiece], numbers: set[str]) -> set[tuple[str, str]]:
    """The opening tags with the numbers that their pairs go around."""
    spans = {digits: span for digits, span in _numbers(_text_of(pieces)).items() if span}
    begins = [0]
    for piece in pieces:
        begins.append(begins[-1] + len(_text_of([piece])))
    return {
        (raw_text(pieces[first : first + 1]), digits)
        for first, last in tag_pairs(pieces).items()
        for digits in numbers
        if begins[first] <= spans[digits][0] and spans[digits][1] <= begins[last]
    }


def _text_of(pieces: Sequence[MarkedPiece]) -> str:
    return raw_text([piece for piece in pieces if not isinstance(piece, Tag)])


def _numbers(text: str) -> dict[str, Span | None]:
    """Where each number is, by its digits; None if it is there several times."""
    text = with_ascii_digits(text)
    result: dict[str, Span | None] = {}
    for match in _NUMBER.finditer(text):
        digits = "".join(DIGITS.findall(match[0]))
        result[digits] = None if digits in result else match.span()
    return result


def _with_sign(text: str, number: Span) -> Span:
    """The number with the sign of a currency or of percent that stands before or behind it."""
    begin, end = number
    if match := _BEFORE.search(text, max(0, begin - 2), begin):
        return match.start(), end
    match = _BEHIND.match(text, end)
    return begin, match.end() if match else end


def _places(nodes: Sequence[Node]) -> Iterator[int]:
    """The characters of the plain text that tags stand before."""
    for node in nodes:
        if isinstance(node, Pair):
            yield from (node.begin, node.end)
            yield from _places(node.children)
        else:
            yield node.at
