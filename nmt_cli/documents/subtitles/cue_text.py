"""The text of a cue: its marks, its lines, and how a translation is cut into cues and lines."""

import re
from collections.abc import Callable, Sequence
from html import unescape
from itertools import accumulate

from nmt_cli.data.markup.inline import split_words
from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    plain_text,
)
from nmt_cli.documents.subtitles.elided_words import (
    cuts_before_elided_words,
    ends_with_elided_word,
)
from nmt_cli.documents.template import source_text

# Lines of subtitles have at most this many characters, where that is possible.
LINE_LENGTH = 42
# Stands between the cues of one sentence.
CUT = Tag("\n\n", "empty", "cut")
# The space between the last word of a cue and the first of the next, which no file has.
SPACE = Text(" ", "")
_MARKS = {
    ".srt": re.compile(r"</?[A-Za-z][^<>]*>|\{\\[^{}]*\}"),
    ".vtt": re.compile(r"</?[A-Za-z][^<>]*>|<\d[\d:.]*>"),
    ".ass": re.compile(r"\{[^{}]*\}"),
}
_BREAKS = {".srt": re.compile(r"[ \t]*(?:\r\n|\r|\n)[ \t]*"), ".ass": re.compile(r" *\\[Nn] *")}
_TIME = re.compile(r"(?:\d+:)?\d+:\d+[.,]\d+")
_NAME = re.compile(r"</?([A-Za-z]+)")


class CueFormat:
    """How the texts of cues are written in a kind of file: `.srt`, `.vtt` or `.ass`."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._marks = _MARKS[kind]
        self._break = _BREAKS.get(kind, _BREAKS[".srt"])

    def parse(self, raw: str) -> list[MarkedPiece]:
        """The pieces of a cue; the breaks of its lines are spaces of its text."""
        pieces: list[MarkedPiece] = []
        end = 0
        for match in [*self._marks.finditer(raw), None]:
            begin = len(raw) if match is None else match.start()
            if begin > end:
                pieces += split_words(raw[end:begin], self._text)
            if match is not None:
                pieces.append(_tag(match[0]))
                end = match.end()
        return pieces

    def _text(self, raw: str) -> Text:
        text = self._break.sub(" ", raw)
        if self._kind == ".vtt":
            text = unescape(text)
        return source_text(text.replace("\\h", "\u00a0") if self._kind == ".ass" else text, raw)

    def breaks(self, raw: str) -> list[str]:
        """The breaks of the lines of a cue."""
        return self._break.findall(raw)

    def write(self, pieces: Sequence[MarkedPiece], raw: str) -> str:
        """A translation, in as many lines as the cue `raw` has where there are words for them."""
        breaks = self.breaks(raw)
        words = _spaced(pieces, self._escape)
        gaps = _break_positions(words, len(breaks) + 1)
        written = []
        for index, (_, word) in enumerate(words):
            if index:
                written.append(breaks[gaps.index(index)].strip(" \t") if index in gaps else " ")
            written.append(word)
        return "".join(written)

    def _escape(self, text: str) -> str:
        # An arrow would make a line of times.
        text = text.replace("-->", "\u2192")
        # So would two times, to some programs.
        text = _TIME.sub(lambda match: match[0].replace(":", "\u2236"), text)
        if self._kind == ".vtt":
            return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        if self._kind == ".ass":
            text = text.replace("\u00a0", "\\h").replace("{", "(").replace("}", ")")
        return text


def _tag(raw: str) -> Tag:
    match = _NAME.match(raw)
    if match is None:
        return Tag(raw, "empty")
    return Tag(raw, "close" if raw.startswith("</") else "open", match[1].lower())


def _spaced(pieces: Sequence[MarkedPiece], escape: Callable[[str], str]) -> list[tuple[int, str]]:
    """The words with the marks at them: how long each is on the screen, and how it is written."""
    words: list[tuple[int, str]] = []
    shown, written = "", ""
    for piece in pieces:
        if not isinstance(piece, Text):
            written += piece.raw
            shown += piece.raw if isinstance(piece, Placeholder) else ""
            continue
        parts = re.split(r"[ \t\r\n]+", piece.text)
        for index, part in enumerate(parts):
            if index and ends_with_elided_word(shown):
                # No line ends here.
                shown, written = shown + " ", written + " "
            elif index and written:
                words.append((len(shown), written))
                shown, written = "", ""
            shown, written = shown + part, written + escape(part)
    return [*words, (len(shown), written)] if written else words


def _break_positions(words: Sequence[tuple[int, str]], count: int) -> list[int]:
    """Before which words to begin a new line, so that `count` lines are about equally long."""
    lengths = [length for length, _ in words]
    if count < 2 or len(words) < 2:
        return []
    count = min(count, len(words))
    if count == 2:
        positions = range(1, len(words))
        return [min(positions, key=lambda at: _cost(lengths[:at], lengths[at:]))]
    ends = list(accumulate(length + 1 for length in lengths))
    breaks = [0]
    for line in range(1, count):
        wanted = ends[-1] * line / count
        free = range(breaks[-1] + 1, len(words) - (count - line) + 1)
        breaks.append(min(free, key=lambda at: abs(ends[at - 1] - wanted)))
    return breaks[1:]


def _cost(*lines: Sequence[int]) -> tuple[int, int]:
    """How unbalanced lines of words with these lengths are; too long ones are worst."""
    lengths = [sum(line) + len(line) - 1 for line in lines]
    return sum(max(0, length - LINE_LENGTH) for length in lengths), max(lengths) - min(lengths)


def cut(pieces: MarkedText, shares: Sequence[float]) -> list[list[MarkedPiece]]:
    """A translation cut into its cues, none of which is empty if there are enough words.

    It is cut where the translator put the marks `CUT`, unless a cue would then get no words or
    less than a third of its share; then by `shares`, the length of each cue in the source, at the
    nearest space. An elided word such as `l’` is never the last one of a cue.
    """
    moved = cuts_before_elided_words(pieces, CUT)
    parts: list[list[MarkedPiece]] = [[]]
    for piece in moved:
        if piece == CUT:
            parts.append([])
        else:
            parts[-1].append(piece)
    lengths = [len(plain_text(part).strip()) for part in parts]
    total = max(1, sum(lengths))
    if len(parts) == len(shares) and all(
        length and length / total >= share / 3
        for length, share in zip(lengths, shares, strict=True)
    ):
        return parts
    return _cut_by_share([piece for piece in moved if piece != CUT], shares)


def _cut_by_share(
    pieces: Sequence[MarkedPiece], shares: Sequence[float]
) -> list[list[MarkedPiece]]:
    text = plain_text(pieces)
    total, share_before = len(text), 0.0
    # Only spaces within text are places to cut at.
    spaces, position = [], 0
    for piece in pieces:
        if isinstance(piece, Text):
            spaces += [
                position + match.start()
                for match in re.finditer(r"(?<=\S) +(?=\S)", piece.text)
                if not ends_with_elided_word(piece.text[: match.start()])
            ]
            position += len(piece.text)
        elif isinstance(piece, Placeholder):
            position += len(piece.raw)
    cuts: list[int] = []
    for index, share in enumerate(shares[:-1]):
        share_before += share
        later = len(shares) - 2 - index
        free = [space for space in spaces if not cuts or space > cuts[-1]]
        free = free[: len(free) - later] if later else free
        if free:
            cuts.append(min(free, key=lambda space: abs(space - share_before * total)))
    parts = _cut_at(pieces, cuts)
    return [*parts, *([] for _ in range(len(shares) - len(parts)))]


def _cut_at(pieces: Sequence[MarkedPiece], cuts: Sequence[int]) -> list[list[MarkedPiece]]:
    """The pieces cut at these positions of their plain text."""
    parts: list[list[MarkedPiece]] = [[]]
    position, left = 0, list(cuts)
    for piece in pieces:
        if not isinstance(piece, Text):
            parts[-1].append(piece)
            position += len(piece.raw) if isinstance(piece, Placeholder) else 0
            continue
        text = piece.text
        while left and position <= left[0] < position + len(text):
            at = left.pop(0) - position
            parts[-1].append(Text(text[:at].rstrip()))
            parts.append([])
            position += at
            text = text[at:]
        position += len(text)
        if len(parts) > 1 and not parts[-1]:
            text = text.lstrip()
        if text:
            parts[-1].append(Text(text))
    return parts


def with_own_tags(parts: Sequence[Sequence[MarkedPiece]]) -> list[list[MarkedPiece]]:
    """The cues with the tags that are still open at the end of one closed and opened again."""
    result: list[list[MarkedPiece]] = []
    opened: list[Tag] = []
    for part in parts:
        pieces: list[MarkedPiece] = list(opened)
        for piece in _without_end_spaces(part):
            pieces.append(piece)
            if isinstance(piece, Tag) and piece.kind == "open":
                opened.append(piece)
            elif isinstance(piece, Tag) and piece.kind == "close":
                opened = [tag for tag in opened if tag.name != piece.name]
        pieces += [Tag(f"</{_name_of(tag)}>", "close", tag.name) for tag in reversed(opened)]
        result.append(pieces)
    return result


def _without_end_spaces(pieces: Sequence[MarkedPiece]) -> list[MarkedPiece]:
    """The pieces without white space at the end of the last text and the start of the first."""
    result = list(pieces)
    while result and isinstance(result[-1], Text):
        text = result.pop().text.rstrip()  # type: ignore[union-attr]
        if text:
            result.append(Text(text))
            break
    while result and isinstance(result[0], Text):
        text = result.pop(0).text.lstrip()  # type: ignore[union-attr]
        if text:
            result.insert(0, Text(text))
            break
    return result


def _name_of(tag: Tag) -> str:
    match = _NAME.match(tag.raw)
    return match[1] if match else tag.name
