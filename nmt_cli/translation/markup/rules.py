"""Which tag pairs may stand within which, and between which words of a translation."""

import re
from collections.abc import Iterator, Sequence

from nmt_cli.data.markup.emphasis import EMPHASIS, are_one_run, clash, may_stand
from nmt_cli.data.markup.links import is_link_tag
from nmt_cli.data.markup.marked_text import Placeholder
from nmt_cli.translation.markup.carrier import Node, Pair

# What stands for a format in a paragraph of Word.
_FORMAT = re.compile(r"</?f\d+>")
# A link by its label, an address in angle brackets, and an element with a link in it.
_LINKED = re.compile(r"\[|<[\w.+-]+[:@]|(?s:.)*<a[\s>]")


def is_link(pair: Pair) -> bool:
    """Whether a pair is a link or an image."""
    return any(tag is not None and is_link_tag(tag) for tag in (pair.opening, pair.closing))


def is_barred(pair: Pair, placeholder: str) -> bool:
    """Whether a placeholder, as it is written, may not get into a pair."""
    is_image = pair.opening is not None and pair.opening.raw == "!["
    return is_image or (is_link(pair) and bool(_LINKED.match(placeholder)))


def may_hold(outer: Pair, inner: Pair) -> bool:
    """Whether a pair may get into another one that is beside it in the source.

    No link stands within a link, nor emphasis of Markdown within the same emphasis, nor a format of
    Word within another one, of which the words would have the inner one alone.
    """
    if outer.opening is not None and outer.opening.raw == "![":
        return False
    for node in _all_nodes(inner):
        if isinstance(node, Pair):
            if clash(mark_of(outer), mark_of(node)) or (is_link(outer) and is_link(node)):
                return False
            if _is_format(outer) and _is_format(node):
                return False
        elif any(isinstance(piece, Placeholder) and is_barred(outer, piece.raw)
                 for piece in node.pieces):  # fmt: skip
            return False
    return True


def _is_format(pair: Pair) -> bool:
    tag = pair.opening or pair.closing
    return tag is not None and bool(_FORMAT.fullmatch(tag.raw))


def _all_nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children if isinstance(node, Pair) else ():
        yield from _all_nodes(child)


def mark_of(pair: Pair) -> str:
    """The mark of a pair that is emphasis of Markdown, "" for others."""
    tag = pair.opening or pair.closing
    return tag.raw if tag is not None and tag.raw in EMPHASIS else ""


class Places:
    """The gaps between the words of a translation in which the tags of a pair may stand."""

    def __init__(self, words: Sequence[str], spaces: Sequence[bool], *, strict: bool) -> None:
        """words: as they are written; spaces: whether white space is before each of them.

        strict: whether emphasis never begins or ends between two letters.
        """
        self._words = words
        self._spaces = spaces
        self._strict = strict

    def may_open(self, pair: Pair, gap: int) -> bool:
        """Whether a pair may begin before the word `gap`."""
        outside = " " if self._has_space(gap) else self._words[gap - 1][-1:]
        inside = self._words[gap][:1] if gap < len(self._words) else ""
        return self._may_stand(pair, outside, inside)

    def may_close(self, pair: Pair, gap: int) -> bool:
        """Whether a pair may end before the word `gap`."""
        outside = " " if self._has_space(gap) else self._words[gap][:1]
        return self._may_stand(pair, outside, self._words[gap - 1][-1:] if gap else "")

    def may_touch(self, left: Pair, right: Pair, gap: int) -> bool:
        """Whether the one may end where the other begins."""
        if self._has_space(gap):
            return self.may_close(left, gap) and self.may_open(right, gap)
        # Each tag is punctuation for the other one.
        return not are_one_run(mark_of(left), mark_of(right))

    def fitted(self, pair: Pair, begin: int, end: int, bounds: tuple[int, int]) -> tuple[int, int]:
        """The smallest span with these words, within the bounds, that the pair may go around."""
        low, high = bounds
        while begin > low and not self.may_open(pair, begin):
            begin -= 1
        while end < high and not self.may_close(pair, end):
            end += 1
        return begin, end

    def _may_stand(self, pair: Pair, outside: str, inside: str) -> bool:
        mark = mark_of(pair)
        # `_` may never stand between two letters.
        return not mark or may_stand("_" if self._strict else mark, outside, inside)

    def _has_space(self, gap: int) -> bool:
        return gap in (0, len(self._words)) or self._spaces[gap]
