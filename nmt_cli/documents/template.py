"""A document as text that is kept and slots for translations between it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    raw_text,
)
from nmt_cli.data.markup.messages import is_choice
from nmt_cli.documents.document import has_words
from nmt_cli.documents.html.tags import BLOCK
from nmt_cli.documents.labels import is_letter, parts_of
from nmt_cli.documents.line_blocks import line_ends
from nmt_cli.documents.list_marks import is_break_before_item, split_marks
from nmt_cli.documents.section_letters import SectionLetters

# Not the no-break space, which separates words on purpose.
WHITE_SPACE = " \t\r\n\f\v"
# Longer texts are no items within a pair of tags, and are not searched for them.
_MOST_PIECES_OF_ITEMS = 500
Write = Callable[[MarkedText], str]


@dataclass(frozen=True)
class Slot:
    """The place of a segment: its index, how it is written, and how the document wrote it."""

    index: int
    write: Write
    raw: str


class Template:
    """The parts of a document in order: text that is kept, and slots.

    It is built by `keep` and `add`; `segments` and `places` grow with it. messages: the places of
    texts with messages of ICU, which are not translated. tags: tags that have slots of their own,
    such as the title of a link, by how they are written.
    """

    def __init__(self) -> None:
        self.parts: list[str | Slot] = []
        self.segments: list[MarkedText] = []
        self.places: list[str] = []
        self.messages: list[str] = []
        self.tags: dict[str, Sequence[str | Slot]] = {}
        self._letters = SectionLetters()
        # What is kept before segments whose marks were found by later ones.
        self._marks: dict[int, Sequence[str | Slot]] = {}

    def keep(self, text: str) -> None:
        """Add text that is not translated."""
        if text:
            self.parts.append(text)

    def add(
        self,
        pieces: Sequence[MarkedPiece],
        place: str,
        write: Write,
        *,
        is_heading: bool = False,
    ) -> None:
        """Add a segment, or keep it as it is if it has no words.

        Each item of a list is a segment, and so is a label before it.
        The white space at its ends, and tags around all of it, are kept outside of it. write:
        makes the document's text of the translation. is_heading: it may begin with the number of
        a section, which is kept, too.
        """
        if any(isinstance(piece, Placeholder) and is_choice(piece.raw) for piece in pieces):
            self.messages.append(place)
        for number, part in enumerate(parts_of(pieces)):
            if not has_words(part) or is_letter(part):
                self._keep_pieces(part)
                continue
            before, inner, after = trimmed(part, is_heading=is_heading and number == 0)
            self._keep_pieces(before)
            self.parts.append(self.slot(inner, place, write))
            self._keep_pieces(after)
            if number == 0:
                self._keep_letters(before)

    def add_sentences(
        self, pieces: MarkedText, place: str, write: Write, *, is_heading: bool = False
    ) -> None:
        """Add a segment, or several if tags that end a sentence are among the pieces.

        So a paragraph is never put around words that stand outside of it.
        """
        for part in parts_between_blocks(pieces):
            self.add(part, place, write, is_heading=is_heading)

    def slot(self, pieces: MarkedText, place: str, write: Write) -> Slot:
        """A slot for a new segment, which the caller puts somewhere."""
        self.segments.append(pieces)
        self.places.append(place)
        return Slot(len(self.segments) - 1, write, raw_text(pieces))

    def add_tag(
        self,
        raw: str,
        opening: str,
        content: MarkedText,
        closing: str,
        place: str,
        write: Write,
    ) -> None:
        """Let a tag have a slot for its content, which stands between `opening` and `closing`.

        A tag without words is kept as it is.
        """
        before, inner, after = trimmed(content)
        if has_words(inner):
            self.tags[raw] = [
                opening,
                *self._kept(before),
                self.slot(inner, place, write),
                *self._kept(after),
                closing,
            ]

    def fill(self, translated: Sequence[MarkedText]) -> str:
        """The text of the document with these translations, one for each segment."""
        if len(translated) != len(self.segments):
            raise ValueError(f"{len(translated)} translations of {len(self.segments)} segments")
        return self._joined(self.parts, translated)

    def _keep_letters(self, before: MarkedText) -> None:
        """Keep the letters of paragraphs that the last segment shows to be marks."""
        index = len(self.segments) - 1
        for segment in self._letters.found_by(index, before, self.segments[index]):
            marks, self.segments[segment] = split_marks(self.segments[segment], is_heading=True)
            self._marks[segment] = list(self._kept(marks))

    def _keep_pieces(self, pieces: Sequence[MarkedPiece]) -> None:
        self.parts += self._kept(pieces)

    def _kept(self, pieces: Sequence[MarkedPiece]) -> Iterator[str | Slot]:
        for piece in pieces:
            yield from self.tags.get(raw_text((piece,)), (raw_text((piece,)),))

    def _joined(self, parts: Sequence[str | Slot], translated: Sequence[MarkedText]) -> str:
        return "".join(
            part if isinstance(part, str) else self._written(part, translated) for part in parts
        )

    def _written(self, slot: Slot, translated: Sequence[MarkedText]) -> str:
        if slot.index in self._marks:
            marks = self._joined(self._marks[slot.index], translated)
            raw = raw_text(self.segments[slot.index])
            return marks + self._words(replace(slot, raw=raw), translated)
        return self._words(slot, translated)

    def _words(self, slot: Slot, translated: Sequence[MarkedText]) -> str:
        pieces, source = translated[slot.index], self.segments[slot.index]
        has_slots = any(isinstance(piece, Tag) and piece.raw in self.tags for piece in pieces)
        if pieces == source and not has_slots:
            return slot.raw
        expanded = tuple(
            replace(piece, raw=self._joined(self.tags[piece.raw], translated))
            if isinstance(piece, Tag) and piece.raw in self.tags
            else piece
            for piece in pieces
        )
        return raw_text(expanded) if pieces == source else slot.write(expanded)


def parts_between_blocks(pieces: MarkedText) -> Iterator[MarkedText]:
    """The pieces, cut at the tags that end a sentence; each such tag is a part.

    These are tags of HTML, and breaks of lines before an item of a list or between two lines that
    are no parts of one sentence, also within tags that are around all of the pieces.

    >>> parts = parts_between_blocks((Text("A dog"), Tag("<br>", "empty", "br"), Text("sleeps")))
    >>> list(map(raw_text, parts))
    ['A dog', '<br>', 'sleeps']
    """
    if _are_lines_in_tags(pieces):
        yield pieces[:1]
        yield from parts_between_blocks(pieces[1:-1])
        yield pieces[-1:]
        return
    depth = 0
    ends = line_ends(pieces)
    part: list[MarkedPiece] = []
    for index, piece in enumerate(pieces):
        is_block = isinstance(piece, Tag) and piece.raw.startswith("<") and piece.name in BLOCK
        is_block = is_block or index in ends
        is_block = is_block or (depth == 0 and is_break_before_item(pieces, index))
        if isinstance(piece, Tag) and not is_block:
            depth += piece.depth_change
        if is_block and depth == 0:
            yield from ((*part,), (piece,))
            part = []
        else:
            part.append(piece)
    yield (*part,)


def _are_lines_in_tags(pieces: MarkedText) -> bool:
    """Whether one pair of tags is around several lines that are segments of their own."""
    is_short = len(pieces) <= _MOST_PIECES_OF_ITEMS
    return (
        is_short
        and _is_surrounded(pieces)
        and (
            any(is_break_before_item(pieces, index) for index in range(len(pieces)))
            or bool(line_ends(pieces[1:-1]))
        )
    )


def trimmed(
    pieces: Sequence[MarkedPiece], *, is_heading: bool = False
) -> tuple[MarkedText, MarkedText, MarkedText]:
    """What stands before the words, the words, and what stands after them.

    White space, tags that stand alone, pairs of tags around all words, and the marks of list items
    before them are not among the words; nor is the number of a section before those of a heading.

    >>> before, inner, after = trimmed((Tag("<b>", "open", "b"), Text(" A dog. "),
    ...                                 Tag("</b>", "close", "b")))
    >>> raw_text(before), inner, raw_text(after)
    ('<b> ', (Text(text='A dog.', raw=None),), ' </b>')
    """
    before: list[MarkedPiece] = []
    after: list[MarkedPiece] = []
    inner = list(pieces)
    count = -1
    while inner and count != len(inner):
        count = len(inner)
        _strip(inner, before, 0, str.lstrip)
        _strip(inner, after, -1, str.rstrip)
        if _is_surrounded(inner):
            before.append(inner.pop(0))
            after.append(inner.pop())
    marks, words = split_marks(inner, is_heading=is_heading)
    return (*before, *marks), words, tuple(reversed(after))


def _strip(
    inner: list[MarkedPiece], stripped: list[MarkedPiece], end: int, strip: Callable[..., str]
) -> None:
    """Move white space and tags that stand alone from one end of `inner` to `stripped`."""
    while inner:
        piece = inner[end]
        if isinstance(piece, Text):
            raw = piece.text if piece.raw is None else piece.raw
            rest = strip(raw, WHITE_SPACE)
            if rest != raw:
                space = raw[: len(raw) - len(rest)] if end == 0 else raw[len(rest) :]
                stripped.append(Text(space))
            if rest:
                inner[end] = source_text(strip(piece.text, WHITE_SPACE), rest)
                return
        elif isinstance(piece, Tag) and piece.kind == "empty":
            stripped.append(piece)
        else:
            return
        del inner[end]


def _is_surrounded(pieces: Sequence[MarkedPiece]) -> bool:
    """Whether the first piece is a tag that the last one closes."""
    depth = 0
    for index, piece in enumerate(pieces):
        if isinstance(piece, Tag):
            depth += piece.depth_change
        if depth == 0:
            return index > 0 and index == len(pieces) - 1
    return False


def source_text(text: str, raw: str) -> Text:
    """A Text of the source, which keeps `raw` only where it differs."""
    return Text(text, None if text == raw else raw)


def write_text(pieces: Sequence[MarkedPiece], escape: Callable[[str], str]) -> str:
    """Pieces as a document writes them; escape: for words that have no form of their own."""
    return "".join(
        (escape(piece.text) if piece.raw is None else piece.raw)
        if isinstance(piece, Text)
        else piece.raw
        for piece in pieces
    )
