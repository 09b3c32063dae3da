"""A text with its marks taken out: what the model translates, and where each mark stood.

Tags are taken out. A placeholder is replaced by a stand-in, a word that the model copies; without
one it is taken out like a tag that stands alone.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from nmt_cli.data.languages.word_characters import is_word_character
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text
from nmt_cli.data.markup.pairs import tag_pairs
from nmt_cli.data.text.letters import is_wordlike
from nmt_cli.data.text.sanitize import clean_source
from nmt_cli.translation.markup.originals import Original, clipped
from nmt_cli.translation.markup.wordless import is_wordless

# Elements that begin on a new line, and a hard break of Markdown: the words on both sides are
# different ones.
_BLOCKS = frozenset(
    ("br", "p", "div", "li", "ul", "ol", "dl", "dt", "dd", "tr", "td", "th", "table", "hr",
     "blockquote", "section", "article", "header", "footer", "option", "h1", "h2", "h3", "h4", "h5",
     "h6", "w:br", "w:p", "text:p", "hard")
)  # fmt: skip
# Punctuation that has no space before it in any language.
_NEVER_SPACED = (",", ".", ")", "]")
# Their placeholders stand for no word of the sentence.
_WORDLESS = ("<script", "<style", "<pre", "<svg", "<math")


@dataclass(frozen=True)
class Atom:
    """Pieces that stand alone at a place between words, which are not in the plain text.

    at: the character of the plain text that it stands before; space_before, space_after: whether
    white space is next to it (or the end of the text); replaces_space: whether it stands between
    two words in the place of a space; mark_after: whether punctuation or space is behind it.
    """

    pieces: MarkedText
    at: int
    space_before: bool = False
    space_after: bool = False
    replaces_space: bool = False
    mark_after: bool = False


@dataclass(frozen=True)
class Pair:
    """A tag pair around the characters `begin` to `end` of the plain text.

    opening, closing: None where the tag stands in another segment of the line. space_inside: at
    its beginning and its end, where the words next to the tags are those outside.
    """

    opening: Tag | None
    closing: Tag | None
    begin: int
    end: int
    children: "tuple[Node, ...]"
    space_inside: tuple[bool, bool] = (False, False)


Node = Atom | Pair


@dataclass(frozen=True)
class StandIn:
    """A word of the plain text, `text[begin:end]`, in the place of a placeholder."""

    begin: int
    end: int
    word: str
    raw: str


@dataclass(frozen=True)
class Carrier:
    """The plain text, and what is put back into its translation.

    originals: where the text with placeholders differs from the plain text.
    """

    text: str
    nodes: tuple[Node, ...]
    stand_ins: tuple[StandIn, ...] = ()
    originals: tuple[Original, ...] = ()


def carry(
    pieces: Sequence[MarkedPiece],
    words: Sequence[str | None] = (),
    last: Collection[int] = (),
) -> Carrier:
    """The carrier of a text; words: the stand-in of each placeholder, None to take it out.

    last: the indices of placeholders whose last character ends a sentence; their stand-ins have it
    behind them.

    >>> carry((Text("The "), Tag("<b>", "open", "b"), Text("dog"), Tag("</b>", "close", "b"))).text
    'The dog'
    """
    builder = _Builder(pieces, words, last)
    nodes = tuple(builder.nodes(0, len(pieces)))
    spaced = "".join(builder.parts)
    text = spaced.rstrip()
    originals = clipped(spaced, builder.originals)
    return Carrier(
        text, tuple(_clipped(nodes, len(text))), tuple(builder.stand_ins), tuple(originals)
    )


def placeholders_of(pieces: Sequence[MarkedPiece]) -> list[Placeholder]:
    """The placeholders that may have a stand-in, in their order."""
    return [piece for piece in pieces if isinstance(piece, Placeholder) and _is_word(piece)]


def _is_word(piece: Placeholder) -> bool:
    return not piece.raw.lower().startswith(_WORDLESS)


@dataclass
class _Builder:
    """Builds the plain text of marked pieces from left to right, and the nodes in it.

    parts, length: the plain text so far, and its length; used: how many of `words` were used.
    """

    pieces: Sequence[MarkedPiece]
    words: Sequence[str | None]
    last: Collection[int]
    parts: list[str] = field(default_factory=list)
    length: int = 0
    stand_ins: list[StandIn] = field(default_factory=list)
    originals: list[Original] = field(default_factory=list)
    used: int = 0
    # Where the last mark of a footnote stood.
    noted: int = -1

    def __post_init__(self) -> None:
        self.pairs = tag_pairs(self.pieces)

    def nodes(self, begin: int, end: int) -> Iterator[Node]:
        """The nodes of the pieces `begin` to `end`, whose text is added to the plain text."""
        index = begin
        while index < end:
            piece = self.pieces[index]
            if isinstance(piece, Text):
                self._add_text(clean_source(piece.text))
            elif isinstance(piece, Placeholder) and (word := self._stand_in(piece)):
                at = self.length
                self._add(word)
                self.stand_ins.append(StandIn(at, self.length, word, piece.raw))
                self._add(piece.raw[-1] if index in self.last else "")
                self.originals.append(Original(at, self.length, piece.raw))
            elif index in self.pairs:
                yield self._pair(index, self.pairs[index])
                index = self.pairs[index]
            else:
                yield self._atom((piece,), index, index)
            index += 1

    def _stand_in(self, piece: Placeholder) -> str | None:
        if not _is_word(piece):
            return None
        self.used += 1
        return self.words[self.used - 1] if self.used <= len(self.words) else None

    def _pair(self, begin: int, end: int) -> Node:
        """The pair with these tags; one without words is a single atom."""
        opening, closing = self.pieces[begin], self.pieces[end]
        assert isinstance(opening, Tag)
        assert isinstance(closing, Tag)
        is_block = opening.name in _BLOCKS
        parts, length = len(self.parts), self.length
        originals, stand_ins = len(self.originals), len(self.stand_ins)
        if is_block:
            self._separate(begin - 1, begin + 1)
        at = self.length
        first = len(self.parts)
        children = tuple(self.nodes(begin + 1, end))
        is_note = is_wordless(self.pieces, begin, end)
        if not "".join(self.parts[first:]).strip() or is_note:
            # Nothing of it is in the plain text.
            del self.parts[parts:]
            self.length = length
            del self.originals[originals:]
            del self.stand_ins[stand_ins:]
            pieces = tuple(self.pieces[begin : end + 1])
            self.noted = self.length if is_note else self.noted
            return self._atom(pieces, begin, end, is_word=False if is_note else None)
        inside = (
            self._space_after(begin) and not self._space_before(begin),
            self._space_before(end) and not self._space_after(end),
        )
        node = Pair(opening, closing, at, self.length, children, inside)
        if is_block:
            self._separate(end - 1, end + 1)
        return node

    def _atom(
        self, pieces: MarkedText, first: int, last: int, *, is_word: bool | None = None
    ) -> Atom:
        """The atom of the pieces from `first` to `last`, which stand between words.

        is_word: whether it stands for a word; None: if there is a placeholder in it.
        """
        before, after = self._space_before(first), self._space_after(last)
        if before != after:
            # At an end of a pair, the space on that side stands behind the tag: `Act <img></a> is`.
            before |= self._space_before(self._past_tags(first, -1, "open"))
            after |= self._space_after(self._past_tags(last, 1, "close"))
        at = self.length
        is_block = any(isinstance(piece, Tag) and piece.name in _BLOCKS for piece in pieces)
        if is_word is None:
            is_word = any(isinstance(piece, Placeholder) for piece in pieces)
        if is_word:
            words = words_apart(pieces)
            ends_with_space = self.parts and self.parts[-1][-1:].isspace()
            self.originals.append(Original(at, at, words.lstrip() if ends_with_space else words))
        glued = (is_block or is_word) and self._separate(first - 1, last + 1)
        if glued and not is_block:
            self.originals.append(Original(at, self.length, ""))
        following = self.pieces[last + 1] if last + 1 < len(self.pieces) else None
        character = following.text[:1] if isinstance(following, Text) else ""
        mark_after = bool(character) and not is_word_character(character)
        return Atom(pieces, at, before, after, replaces_space=glued, mark_after=mark_after)

    def _separate(self, before: int, after: int) -> bool:
        """Add a space where the text before and the text after would become one word."""
        if before < 0 or not self.parts or self.parts[-1][-1:].isspace():
            return False
        if after >= len(self.pieces) or self._space_before(after):
            return False
        following = self.pieces[after]
        if isinstance(following, Text) and following.text[:1].isspace():
            return False
        if isinstance(following, Text) and following.text[:1] in ".,;:!?)]}'\"”’…":
            return False
        self._add(" ")
        return True

    def _add_text(self, text: str) -> None:
        if not self.parts or self.parts[-1][-1:].isspace():
            # What stood between two spaces is taken out.
            stripped = text.lstrip()
            space = text[: len(text) - len(stripped)]
            if space and self.originals and self.originals[-1].begin == self.length:
                self._keep_space(space)
            text = stripped
        elif self.noted == self.length and text.lstrip()[:1] in _NEVER_SPACED:
            # The space between a mark and a comma stands between the word and the comma here.
            text = text.lstrip()
        self._add(text)

    def _keep_space(self, space: str) -> None:
        """Note the space after a placeholder that was taken out."""
        at = self.length
        if not self.originals[-1].raw[-1:].isspace():
            self.originals.append(Original(at, at, space))

    def _add(self, text: str) -> None:
        if text:
            self.parts.append(text)
            self.length += len(text)

    def _past_tags(self, index: int, step: int, kind: str) -> int:
        """The last of the tags of this kind side by side with the piece `index`, or the piece."""
        for neighbour in self.pieces[index + step :: step] if index + step >= 0 else ():
            if not isinstance(neighbour, Tag) or neighbour.kind != kind:
                break
            index += step
        return index

    def _space_before(self, index: int) -> bool:
        if index == 0:
            return True
        piece = self.pieces[index - 1]
        return isinstance(piece, Text) and piece.text[-1:].isspace()

    def _space_after(self, index: int) -> bool:
        if index + 1 >= len(self.pieces):
            return True
        piece = self.pieces[index + 1]
        return isinstance(piece, Text) and piece.text[:1].isspace()


def _clipped(nodes: Sequence[Node], last: int) -> Iterator[Node]:
    """The nodes within the first `last` characters: white space at the end is no text."""
    for node in nodes:
        if isinstance(node, Atom):
            yield replace(node, at=min(node.at, last))
        else:
            begin, end = min(node.begin, last), min(node.end, last)
            yield replace(node, begin=begin, end=end, children=tuple(_clipped(node.children, last)))


def within(nodes: Sequence[Node], begin: int, end: int, after: int, text: str) -> list[Node]:
    """The nodes of a segment, the characters `begin` to `end`, counted from its beginning.

    after: where the segment before it ends, -1 for the first one; `end` of the last one is that of
    the text. text: the plain text of the whole line. A pair that goes on in other segments lacks a
    tag here.
    """
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Atom):
            if after < node.at <= end:
                result.append(replace(node, at=max(node.at - begin, 0)))
            continue
        children = within(node.children, begin, end, after, text)
        inner = max(node.begin, begin), min(node.end, end)
        is_first, is_last = (
            not text[slice(*span)].strip() for span in ((node.begin, begin), (end, node.end))
        )
        if not text[inner[0] : inner[1]].strip() or not (is_first or is_last):
            result += children
            continue
        pair = replace(
            node,
            opening=node.opening if is_first else None,
            closing=node.closing if is_last else None,
            begin=inner[0] - begin,
            end=inner[1] - begin,
            children=tuple(children),
        )
        result.append(pair)
    return result


def replaced_spaces(nodes: Sequence[Node]) -> Iterator[int]:
    """The spaces of the plain text in whose place something else stands, such as a line break."""
    for node in nodes:
        if isinstance(node, Pair):
            yield from replaced_spaces(node.children)
        elif node.replaces_space:
            yield node.at


def with_repaired_words(pieces: MarkedText, repair: Callable[[str], str]) -> MarkedText:
    """The text with a repair of its words, which may go on behind a tag; no mark is changed.

    repair: of the letters of cleaned text, which leaves right words as they are.

    >>> with_repaired_words((Text("a"), Tag("<b>", "open", "b"), Text("b1")), str.upper)
    (Text(text='A', raw=None), Tag(raw='<b>', kind='open', name='b'), Text(text='B1', raw=None))
    """
    texts = [_searched_text(piece) for piece in pieces]
    text = "".join(texts)
    repaired = repair(text)
    if repaired == text:
        return pieces
    if len(repaired) == len(text):
        ends = list(accumulate(map(len, texts)))
        parts = [repaired[end - len(part) : end] for part, end in zip(texts, ends, strict=True)]
    else:
        parts = list(map(repair, texts))
    return tuple(
        Text(part) if isinstance(piece, Text) and part != before else piece
        for piece, before, part in zip(pieces, texts, parts, strict=True)
    )


def _searched_text(piece: MarkedPiece) -> str:
    """The text of a piece where words are repaired: a placeholder and a line break end a word."""
    if isinstance(piece, Text):
        return clean_source(piece.text)
    return "" if isinstance(piece, Tag) and piece.name not in _BLOCKS else " "


def words_apart(pieces: Sequence[MarkedPiece]) -> str:
    """The words without tags; a space is between those that only a line break separates.

    >>> words_apart((Text("One"), Tag("<br>", "empty", "br"), Text("two")))
    'One two'
    >>> words_apart((Text("हिन्दी"), Tag("<br>", "empty", "br"), Text("में")))
    'हिन्दी में'
    """
    words = ""
    is_apart = False
    for piece in pieces:
        if isinstance(piece, Tag):
            is_apart |= piece.name in _BLOCKS
            continue
        text = piece.text if isinstance(piece, Text) else piece.raw
        if is_apart and is_wordlike(words[-1:]) and text[:1].isalnum():
            words += " "
        words += text
        is_apart = is_apart and not text
    return words
