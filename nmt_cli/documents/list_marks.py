"""The marks of list items at the beginning of a text, which are kept: `1.`, `(a)`, bullets."""

import re
from collections.abc import Sequence
from html import unescape
from itertools import pairwise

from nmt_cli.data.languages.word_characters import is_word_character
from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    plain_text,
)
from nmt_cli.data.text.item_labels import SEQUENCES

_ROMAN = r"(?=[ivxIVX])(?:x{0,3}(?:ix|iv|v?i{0,3})|X{0,3}(?:IX|IV|V?I{0,3}))"
# `1`, `a`, `1.1` and `a.1`, `iv`, and `aa`, which follows `z`.
_LABEL = rf"(?:(?:\d{{1,3}}|[A-Za-z])(?:\.\d{{1,3}})?|{_ROMAN}|(?P<letter>[a-z])(?P=letter))"
_MARK = rf"(?:(?:\(?{_LABEL}\))+|\d{{1,3}}\.|[-*+–—•‣◦▪●·])"
_NEXT_MARK = _MARK.replace("letter", "next_letter")
ITEM = re.compile(rf"\s*{_MARK}\s+")
ITEM_ALONE = re.compile(rf"\s*{_MARK}(?:\s+{_NEXT_MARK})*\s*")
# The number of a section before its sentence, which is told from a quantity by its tags.
_NUMBER = re.compile(r"\s*\d{1,3}(?:\.\d{1,3})*\.?\s*")
# A number before the words of a heading, or a capital letter or Roman number with a full stop.
_SECTION = re.compile(r"\s*(?:\d{1,3}(?:\.\d{1,3})*\.?|[A-Z]\.|[IVX]{2,5}\.)\s+")
# A Roman number of several letters, which begins no name.
_ROMAN_NUMBER = re.compile(r"\s*(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3})\.\s+")
# A character as a document may write it: with an entity, escaped twice in XLIFF, with a backslash.
_CHARACTER = re.compile(r"&(?:amp;)?#?\w+;|\\h|\\[!-/:-@\[-`{-~]|(?s:.)")
# The most characters and pieces with which a mark and the space after it are written.
_LONGEST = 500
_MOST_PIECES = 40
# The mark of an item within a line: behind a colon or dash the first one, behind a semicolon, and
# perhaps a word such as `and`, each other one.
_IN_LINE = re.compile(
    r"(?P<before>\A\s*|[:;—–]\s+(?:[^\W\d_]{1,5}\s+)?)"
    r"(?P<bracket>\(?)(?P<label>[a-z]|[ivx]{1,5}|\d{1,2})\)\s+(?=\S)"
)


def split_marks(
    pieces: Sequence[MarkedPiece], *, is_heading: bool = False
) -> tuple[MarkedText, MarkedText]:
    """The marks at the beginning of a text, each with the space after it, and the rest.

    is_heading: a number or letter before a capital letter is that of a section, as a Roman number
    of several letters with a full stop always is.

    >>> split_marks((Text("(a) (i) the name"),))
    ((Text(text='(a) ', raw=None), Text(text='(i) ', raw=None)), (Text(text='the name', raw=None),))
    """
    rest = tuple(pieces)
    marks: list[MarkedPiece] = []
    last = ""
    if section := _section(rest, _SECTION if is_heading else _ROMAN_NUMBER):
        marks, rest = [*section[0]], section[1]
    while first := _first_mark(rest):
        mark, following = first
        written = plain_text(mark).strip()
        # Of `3. 10. 2020` the second number belongs to a date.
        if not following or (last.endswith(".") and written.endswith(".")):
            break
        marks += mark
        rest, last = following, written
    return tuple(marks), rest


def parts_at_items(pieces: Sequence[MarkedPiece]) -> list[MarkedText]:
    """The pieces, cut before the marks of items that one line has; one part if it has none.

    The marks are a sequence from its first one on, which begins the text or follows a colon or
    dash; before each other one stands a semicolon.

    >>> parts = parts_at_items((Text("(a) the court; and (b) the judge"),))
    >>> [plain_text(part) for part in parts]
    ['(a) the court; and ', '(b) the judge']
    """
    # The index of the piece with each mark, and the mark.
    marks: list[tuple[int, re.Match[str]]] = []
    depth = 0
    is_start = True
    for index, piece in enumerate(pieces):
        if isinstance(piece, Tag):
            depth += piece.depth_change
            continue
        if isinstance(piece, Text) and depth == 0 and ")" in piece.text:
            marks += [
                (index, match)
                for match in _IN_LINE.finditer(piece.text)
                if match["before"].strip() or is_start
            ]
        is_start = is_start and not plain_text((piece,)).strip()
    if len(marks) < 2 or not _are_items([match for _, match in marks]):
        return [tuple(pieces)]
    parts: list[MarkedText] = []
    rest = list(pieces)
    for index, match in reversed(marks):
        piece = rest[index]
        assert isinstance(piece, Text)
        at = match.end("before")
        raw = piece.text if piece.raw is None else piece.raw
        end = at if piece.raw is None else _end_in(raw, piece.text[:at])
        if at and not end:
            return [tuple(pieces)]
        parts.append((_text(piece.text[at:], raw[end:]), *rest[index + 1 :]))
        rest[index:] = [_text(piece.text[:at], raw[:end])] if at else []
    return [*([tuple(rest)] if rest else []), *reversed(parts)]


def _are_items(marks: Sequence[re.Match[str]]) -> bool:
    labels = tuple(mark["label"] for mark in marks)
    is_begun = ";" not in marks[0]["before"]
    is_continued = all(";" in mark["before"] for mark in marks[1:])
    is_alike = len({mark["bracket"] for mark in marks}) == 1
    return (
        is_begun
        and is_continued
        and is_alike
        and any(sequence[: len(labels)] == labels for sequence in SEQUENCES)
    )


def _text(text: str, raw: str) -> Text:
    return Text(text, None if text == raw else raw)


def begins_with_mark(pieces: Sequence[MarkedPiece]) -> bool:
    """Whether a text begins with the mark of a list item, behind which it goes on.

    >>> begins_with_mark((Text("(b) the judge"),)), begins_with_mark((Text("(b)"),))
    (True, False)
    """
    return bool(first_mark(pieces))


def first_mark(pieces: Sequence[MarkedPiece]) -> str:
    """The mark of a list item at the beginning of a text; "": there is none, or nothing behind it.

    >>> first_mark((Text("(b) the judge"),))
    '(b)'
    """
    mark, following = _first_mark(tuple(pieces[:_MOST_PIECES])) or ((), ())
    return plain_text(mark).strip() if following else ""


def items_behind(words: str, marks: Sequence[str]) -> list[int]:
    """Which of the marks at the beginnings of lines behind these words are those of a list.

    Each is the first one of a sequence or follows another one. Without a colon behind the words,
    one mark is no list.

    >>> items_behind("You shall:", ("(a)", "(3)", "(b)")), items_behind("a dog of", ("(a)", "(3)"))
    ([0, 2], [])
    """
    indices: list[int] = []
    awaited = {sequence[0] for sequence in SEQUENCES}
    for index, mark in enumerate(marks):
        label = mark.strip("().").lower()
        if label in awaited or not label[:1].isalnum():
            indices.append(index)
            awaited.update(
                following
                for sequence in SEQUENCES
                for previous, following in pairwise(sequence)
                if previous == label
            )
    return indices if len(indices) > 1 or words.rstrip().endswith((":", "—", "–")) else []


def is_break_before_item(pieces: Sequence[MarkedPiece], index: int) -> bool:
    """Whether a piece breaks the line, and an item of a list follows."""
    piece = pieces[index]
    if not (isinstance(piece, Tag) and piece.breaks_line):
        return False
    following = pieces[index + 1 : index + 1 + _MOST_PIECES]
    # Tags may also be around all of the item.
    start = next((at for at, other in enumerate(following) if not isinstance(other, Tag)), 0)
    return begins_with_mark(following) or begins_with_mark(following[start:])


def _first_mark(pieces: MarkedText) -> tuple[MarkedText, MarkedText] | None:
    """The first mark with the space after it, and what follows; None: there is no mark."""
    before = _count_of_invisible(pieces)
    length = _count_of_tagged_mark(pieces[before:])
    if not length:
        return _cut(pieces, ITEM)
    length += before
    space, following = _cut_space(pieces[length:])
    mark = pieces[:length]
    if ITEM_ALONE.fullmatch(plain_text(mark)):
        return (*mark, *space), following
    if space and _begins_sentence(following):
        return (*mark, *space), following
    # Behind the number there may be a dot: `<b>2</b>. The court`.
    return _cut(pieces, ITEM)


def _section(pieces: MarkedText, number: re.Pattern[str]) -> tuple[MarkedText, MarkedText] | None:
    """The number of a section before its first sentence, and this; None: there is none."""
    parts = _cut(pieces, number)
    return parts if parts and _begins_sentence(parts[1]) else None


def _begins_sentence(pieces: MarkedText) -> bool:
    start = plain_text(pieces)
    return start[:1].isupper() or bool(ITEM.match(start))


def _count_of_invisible(pieces: MarkedText) -> int:
    """How many pieces at the beginning show nothing: spaces, lone tags and empty pairs of tags."""
    length = 0
    while length < len(pieces):
        piece = pieces[length]
        if _is_tag(piece, "open") and any(
            _is_tag(following, "close") for following in pieces[length + 1 : length + 2]
        ):
            length += 2
        elif _is_tag(piece, "empty") or (isinstance(piece, Text) and not piece.text.strip()):
            length += 1
        else:
            break
    return length


def _count_of_tagged_mark(pieces: MarkedText) -> int:
    """How many pieces a mark or number with tags around it has at the beginning; 0: none."""
    depth = 0
    while depth < len(pieces) and _is_tag(pieces[depth], "open"):
        depth += 1
    length = 2 * depth + 1
    if not depth or length > len(pieces):
        return 0
    text = plain_text(pieces[depth : depth + 1])
    is_closed = all(_is_tag(piece, "close") for piece in pieces[depth + 1 : length])
    is_mark = ITEM_ALONE.fullmatch(text) or _NUMBER.fullmatch(text)
    return length if is_closed and is_mark else 0


def _is_tag(piece: MarkedPiece, kind: str) -> bool:
    return isinstance(piece, Tag) and piece.kind == kind


def _cut(pieces: MarkedText, pattern: re.Pattern[str]) -> tuple[MarkedText, MarkedText] | None:
    """The pieces, cut behind what a pattern finds at the beginning of their text.

    Tags may stand within it if they are closed there. None: it finds nothing there.
    """
    match = pattern.match(_beginning(pieces))
    if not match:
        return None
    left, depth = match.end(), 0
    for index, piece in enumerate(pieces):
        if isinstance(piece, Text) and left < len(piece.text):
            parts = _divided(piece, left) if depth == 0 else None
            if parts is None:
                return None
            return (*pieces[:index], parts[0]), (parts[1], *pieces[index + 1 :])
        if isinstance(piece, Text):
            left -= len(piece.text)
        elif isinstance(piece, Tag):
            depth += piece.depth_change
        if left == 0 and depth == 0:
            return pieces[: index + 1], pieces[index + 1 :]
    return None


def _beginning(pieces: MarkedText) -> str:
    """The text up to the first placeholder, and to a tag within a word: 5<sup>1)</sup>."""
    text = ""
    for piece in pieces[:_MOST_PIECES]:
        if isinstance(piece, Placeholder) or len(text) > _LONGEST:
            break
        if isinstance(piece, Text):
            if all(map(is_word_character, (text[-1:], piece.text[:1]))):
                break
            text += piece.text
    return text


def _cut_space(pieces: MarkedText) -> tuple[MarkedText, MarkedText]:
    """The white space at the beginning of the first piece, and the rest."""
    first = pieces[0] if pieces else None
    if not isinstance(first, Text):
        return (), pieces
    length = len(first.text) - len(first.text.lstrip())
    if length == len(first.text):
        return pieces[:1], pieces[1:]
    parts = _divided(first, length) if length else None
    return ((parts[0],), (parts[1], *pieces[1:])) if parts else ((), pieces)


def _divided(piece: Text, length: int) -> tuple[Text, Text] | None:
    """A text, divided behind so many of its characters; None: it is not written so."""
    raw = piece.text if piece.raw is None else piece.raw
    end = length if piece.raw is None else _end_in(raw, piece.text[:length])
    text, raw_rest = piece.text[length:], raw[end:]
    if not end or not raw_rest:
        return None
    return Text(raw[:end]), Text(text, None if text == raw_rest else raw_rest)


def _end_in(raw: str, beginning: str) -> int:
    """Where the beginning of a text and the space after it end as it is written; 0: it differs."""
    letters = "".join(beginning.split())
    text = ""
    for match in _CHARACTER.finditer(raw[:_LONGEST]):
        written = match[0]
        if written == "\\h":
            character = "\u00a0"
        elif written[0] == "\\":
            character = written[-1]
        else:
            character = unescape(written.replace("&amp;", "&", 1) if written[1:] else written)
        if len(text) == len(letters) and not character.isspace():
            return match.start() if text == letters else 0
        text += character.strip()
    return 0
