"""The gaps between the words of a translation: the marks that stand there, and white space."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from nmt_cli.data.languages.word_characters import is_word_character
from nmt_cli.data.markup.links import is_link_tag
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text
from nmt_cli.data.markup.reference_marks import is_note
from nmt_cli.translation.markup.tokens import Token

# No space stands before these, and none after those.
_CLOSING, _OPENING = ".,;:!?…)]}。，、；：！？", "([{¿¡"
# In the place of a neighbouring character: there is another element.
_ELEMENT = "\ufffc"


class Space(IntEnum):
    """Where the white space of a gap stands beside an element; -BEFORE is AFTER."""

    BEFORE = -1
    WHERE_IT_FITS = 0
    AFTER = 1
    BOTH = 2
    NONE = 3


@dataclass(frozen=True)
class Element:
    """Pieces at a gap between two target tokens.

    kind: "atom", or "open" or "close" for a tag of a pair, which is seen as no character;
    mark_after: whether punctuation stood behind the pieces in the source.
    """

    pieces: MarkedText
    space: Space = Space.WHERE_IT_FITS
    kind: str = "atom"
    mark_after: bool = False

    @property
    def is_note(self) -> bool:
        """Whether it is raised, as the mark of a footnote is, or a link with such a mark."""
        first = self.pieces[0]
        if not isinstance(first, Tag):
            return False
        if first.name == "note":
            return first.raw[:2] in ("[^", "^[")
        texts = [piece.text for piece in self.pieces if isinstance(piece, Text)]
        return first.name == "sup" or (is_link_tag(first) and is_note("".join(texts), apart=True))

    @property
    def is_word(self) -> bool:
        """Whether it must not stand against a word, as the mark of a footnote may."""
        return not self.is_note and any(isinstance(piece, Placeholder) for piece in self.pieces)


def joined(
    target: str,
    tokens: Sequence[Token],
    gaps: Sequence[Sequence[Element]],
    texts: Mapping[int, MarkedText],
) -> MarkedText:
    """The target text with the elements of each gap.

    gaps: one more than tokens; texts: the pieces of tokens that are not plain text, by the
    character that they begin with.
    """
    pieces: list[MarkedPiece] = []
    end = 0
    for index, elements in enumerate(gaps):
        begin = tokens[index].begin if index < len(tokens) else len(target)
        around = target[end - 1 : end] if end else "", target[begin : begin + 1]
        pieces += _gap(target[end:begin], elements, around)
        if index < len(tokens):
            end = tokens[index].end
            pieces += texts.get(begin, (Text(target[begin:end]),))
    return merged(pieces)


def _gap(space: str, elements: Sequence[Element], around: tuple[str, str]) -> list[MarkedPiece]:
    """The white space of a gap and its elements, each on the side of the space that it had.

    around: the characters of the target text before and after the gap, "" at its ends.
    """
    if not elements:
        return [Text(space)]
    if any(element.space == Space.NONE for element in elements):
        space = ""
    best = min(range(len(elements) + 1), key=lambda index: _wrong_sides(elements, index))
    atoms = [index for index, element in enumerate(elements) if element.kind == "atom"]
    result: list[MarkedPiece] = []
    for index, element in enumerate(elements):
        if index == best:
            result.append(Text(space))
        # Between tags that belong to the words around them, no space is seen.
        previous = max((atom for atom in atoms if atom < index), default=-1)
        following = min((atom for atom in atoms if atom > index), default=len(elements))
        before = around[0] if previous < 0 else _ELEMENT
        is_last = following == len(elements)
        after = around[1] if is_last else _ELEMENT
        if (
            not is_last
            and element.space == Space.AFTER
            and elements[following].space in (Space.WHERE_IT_FITS, Space.AFTER)
        ):
            # Both belong to the word before them.
            after = ""
        if _needs_space(element, Space.BEFORE, before) and not _ends_with_space(result):
            result.append(Text(" "))
        result += element.pieces
        # Where the punctuation behind it is gone, its space is between the element and the word.
        is_lost = element.mark_after and bool(space) and is_word_character(after)
        if (is_lost or _needs_space(element, Space.AFTER, after)) and not (
            space and index < best <= following
        ):
            result.append(Text(" "))
    if best == len(elements):
        result.append(Text(space))
    return result


def _ends_with_space(pieces: Sequence[MarkedPiece]) -> bool:
    """Whether the last of the pieces that are no tags is white space."""
    last = next((piece for piece in reversed(pieces) if not isinstance(piece, Tag)), None)
    return isinstance(last, Text) and last.text[-1:].isspace()


def _needs_space(element: Element, side: Space, neighbour: str) -> bool:
    """Whether an element needs a space on a side, BEFORE or AFTER, from this character there."""
    if element.kind != "atom" or not neighbour:
        return False
    if element.space in (side, Space.BOTH):
        return neighbour not in (_OPENING if side == Space.BEFORE else _CLOSING)
    is_word = is_word_character(neighbour) or neighbour == _ELEMENT
    return element.is_word and element.space in (Space.WHERE_IT_FITS, -side) and is_word


def _wrong_sides(elements: Sequence[Element], space_index: int) -> int:
    """How many elements are on the wrong side of a space before the element `space_index`."""
    return sum(
        (element.space == Space.BEFORE and index < space_index)
        or (_belongs_before_space(element) and index >= space_index)
        for index, element in enumerate(elements)
    )


def _belongs_before_space(element: Element) -> bool:
    """Whether the space of a gap stands after it; a raised mark belongs to the word before it."""
    is_raised = element.space == Space.WHERE_IT_FITS and element.is_note
    return element.space == Space.AFTER or is_raised


def merged(pieces: Sequence[MarkedPiece]) -> MarkedText:
    """The pieces with neighbouring texts joined, and without empty ones."""
    result: list[MarkedPiece] = []
    for piece in pieces:
        if isinstance(piece, Text):
            if not piece.text:
                continue
            if result and isinstance(result[-1], Text):
                result[-1] = Text(result[-1].text + piece.text)
                continue
        result.append(piece)
    return tuple(result)
