"""Tags around the ending of a number, `3<sup>rd</sup>`, go around that of its translation.

The ending is no word that could be aligned. Where the translation has none, the tags stay empty
beside the number: `le troisième`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from nmt_cli.data.markup.links import is_link_tag
from nmt_cli.data.markup.marked_text import Text
from nmt_cli.translation.markup.carrier import Atom, Node, Pair
from nmt_cli.translation.markup.tokens import Matrix, Token, align

_NUMBER = re.compile(r"(?<![\w.,])\d+\Z")
_ENDINGS = frozenset(
    ("st", "nd", "rd", "th", "er", "re", "ère", "e", "ème", "eme", "nde", "ste", "de", "o", "a")
)
# In formats other than superscripts, these may be anything.
_LETTERS = frozenset("aeo")
# In the translation: `3e`, `3.er`, `3ª`.
_ENDING = r"\.?([^\W\d_]{1,4})(?!\w)"
_LONGEST_NUMBER = 12
Span = tuple[int, int]


class Ordinal(NamedTuple):
    """The spans of a number and its ending in the source and in its translation.

    Where there is no ending, both have the span of the number alone.
    """

    source: tuple[Span, ...]
    target: tuple[Span, ...]


def with_ordinals(
    nodes: Sequence[Node], source: str, target: str
) -> tuple[list[Node], list[Ordinal]]:
    """The nodes of a segment, without pairs around endings that its translation lacks.

    Such a pair is an atom, empty or with a letter that is the mark of a note. The ordinals are
    those whose numbers the translation has.
    """
    ordinals: list[Ordinal] = []
    used: set[int] = set()

    def rewritten(nodes: Sequence[Node]) -> Iterator[Node]:
        for node in nodes:
            if isinstance(node, Atom):
                yield node
                continue
            number = _number_before(node, source)
            if number is None:
                yield replace(node, children=tuple(rewritten(node.children)))
                continue
            match = _number_in(target, source[slice(*number)], used)
            has_ending = match is not None and match[2] is not None
            if match is not None:
                used.add(match.start())
                ending = ((node.begin, node.end), match.span(2)) if has_ending else None
                spans = zip(*filter(None, ((number, match.span(1)), ending)), strict=True)
                ordinals.append(Ordinal(*spans))
            yield node if has_ending else _atom(node, source)

    return list(rewritten(nodes)), ordinals


def _number_in(target: str, digits: str, used: set[int]) -> re.Match[str] | None:
    """Where the translation has a number that is not used yet, rather one with an ending."""
    matches = re.finditer(rf"(?<![\w.,])({digits})(?:{_ENDING})?(?!\w)", target)
    unused = [match for match in matches if match.start() not in used]
    return min(unused, key=lambda match: match[2] is None, default=None)


def _number_before(pair: Pair, source: str) -> Span | None:
    """The number that a pair has the ending of; None if it has something else."""
    tags = pair.opening, pair.closing
    if pair.children or tags[0] is None or tags[1] is None:
        return None
    if not tags[0].raw.startswith("<") or is_link_tag(tags[0]):
        # Emphasis of Markdown and links cannot be empty.
        return None
    ending = source[pair.begin : pair.end]
    is_raised = tags[0].name == "sup"
    if not (ending in _ENDINGS or (is_raised and len(ending) == 1 and ending.isalpha())):
        return None
    if source[pair.end :][:1].isalnum() or (ending in _LETTERS and not is_raised):
        return None
    first = max(0, pair.begin - _LONGEST_NUMBER)
    number = _NUMBER.search(source[first : pair.begin])
    return (first + number.start(), pair.begin) if number else None


def _atom(pair: Pair, source: str) -> Atom:
    assert pair.opening is not None
    assert pair.closing is not None
    letter = source[pair.begin : pair.end]
    content = () if letter in _ENDINGS else (Text(letter),)
    space_after = not source[pair.end :][:1].strip()
    pieces = pair.opening, *content, pair.closing
    return Atom(pieces, pair.begin, space_before=False, space_after=space_after)


def apart(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """The spans and those of `others` that overlap none of them.

    >>> apart([(0, 2)], [(0, 2), (2, 4), (1, 5)])
    [(0, 2), (2, 4)]
    """
    result = list(spans)
    for begin, end in others:
        if all(end <= other[0] or other[1] <= begin for other in result):
            result.append((begin, end))
    return result


def align_ordinals(
    matrix: Matrix, ordinals: Sequence[Ordinal], src: Sequence[Token], tgt: Sequence[Token]
) -> None:
    """Align the number and the ending of each ordinal with those of its translation."""
    rows = {token[:2]: row for row, token in enumerate(tgt)}
    columns = {token[:2]: column for column, token in enumerate(src)}
    for ordinal in ordinals:
        for source, target in zip(*ordinal, strict=True):
            if source in columns and target in rows:
                align(matrix, rows[target], columns[source])
