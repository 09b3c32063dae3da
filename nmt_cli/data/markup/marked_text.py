"""Text with tags and placeholders between its words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# The names of tags that break a line and do not always end a sentence: of HTML, Markdown and Word.
LINE_BREAKS = ("br", "hard", "w:br")


@dataclass(frozen=True)
class Text:
    """Words to translate.

    raw: as the document writes them, where that differs from `text` (`&amp;` for `&`); a
    translation has none.
    """

    text: str
    raw: str | None = None


@dataclass(frozen=True)
class Tag:
    """A tag, which is kept as it is written and may move with the word that it stands at.

    kind: `open` and `close` surround words and are nested; `empty` stands alone (`<br/>`).
    name: what an opening tag and its closing tag have in common.
    """

    raw: str
    kind: Literal["open", "close", "empty"]
    name: str = ""

    @property
    def breaks_line(self) -> bool:
        """Whether it is a break of lines: of HTML, Markdown or Word."""
        return self.kind == "empty" and self.name in LINE_BREAKS

    @property
    def depth_change(self) -> int:
        """By how much it changes the number of tags that are open: 1, -1 or 0.

        >>> [Tag("<b>", kind).depth_change for kind in ("open", "close", "empty")]
        [1, -1, 0]
        """
        return {"open": 1, "close": -1, "empty": 0}[self.kind]


@dataclass(frozen=True)
class Placeholder:
    """A word that is never translated: `{name}`, `%s`, an address. It is kept as it is written."""

    raw: str


MarkedPiece = Text | Tag | Placeholder
MarkedText = tuple[MarkedPiece, ...]


def plain_text(pieces: Sequence[MarkedPiece]) -> str:
    """The words and placeholders of a text, without its tags.

    >>> plain_text((Text("The "), Tag("<b>", "open", "b"), Text("dog"), Tag("</b>", "close", "b")))
    'The dog'
    """
    return "".join(
        piece.text if isinstance(piece, Text) else piece.raw
        for piece in pieces
        if not isinstance(piece, Tag)
    )


def shown_text(pieces: Sequence[MarkedPiece]) -> str:
    """The words of a text, with its tags and placeholders.

    >>> shown_text((Text("Tom & Ann", "Tom &amp; Ann"), Tag("<br/>", "empty", "br")))
    'Tom & Ann<br/>'
    """
    return "".join(piece.text if isinstance(piece, Text) else piece.raw for piece in pieces)


def raw_text(pieces: Sequence[MarkedPiece]) -> str:
    """The text as the document writes it.

    >>> raw_text((Text("Tom & Ann", "Tom &amp; Ann"), Tag("<br/>", "empty", "br")))
    'Tom &amp; Ann<br/>'
    """
    return "".join(
        (piece.text if piece.raw is None else piece.raw) if isinstance(piece, Text) else piece.raw
        for piece in pieces
    )
