"""Word documents (.docx): paragraphs are segments, formatting and objects are tags in them."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText
from nmt_cli.documents.document import ReadOptions, has_words
from nmt_cli.documents.libraries import require_library
from nmt_cli.documents.template import trimmed
from nmt_cli.documents.word.package import Element, WordPackage, is_main
from nmt_cli.documents.word.paragraph import Paragraph, field_depth, paragraphs_of
from nmt_cli.errors import DataError


class WordDocument:
    """A .docx file: body, tables, text boxes, headers, footers, footnotes and endnotes."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError for a refused file, UnavailableError without lxml."""
        require_library("lxml", "Word documents")
        self._data, self._options = data, options
        self._package = WordPackage(data, options.name)
        self.segments: list[MarkedText] = []
        self.places: list[str] = []
        for name, part in self._package.parts().items():
            self._find(name, part)

    def _find(self, name: str, part: Element) -> list[Paragraph]:
        """Add the segments of a part; returns its paragraphs that have segments."""
        with_segments = []
        depth = 0
        title = "" if is_main(name) else f"{PurePosixPath(name).stem}, "
        paragraphs = paragraphs_of(part)
        if is_main(name) and not paragraphs:
            raise DataError(
                f"`{self._options.name}` has no paragraphs that can be read",
                "save it as .docx again, not as `Strict Open XML`",
            )
        for number, element in enumerate(paragraphs, 1):
            before, depth = depth, field_depth(element, depth)
            if before or depth:
                # A table of contents, which Word writes itself.
                continue
            paragraph = Paragraph(element)
            # Amounts between tabs are no words.
            columns = list(filter(has_words, paragraph.columns()))
            if columns:
                with_segments.append(paragraph)
            for column in columns:
                self.segments.append(trimmed(column, is_heading=paragraph.is_heading)[1])
                self.places.append(f"{title}paragraph {number}")
        return with_segments

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The document with a translation for each segment; unchanged parts keep their bytes."""
        if len(translated) != len(self.segments):
            raise ValueError(f"{len(translated)} translations of {len(self.segments)} segments")
        copy = WordDocument.__new__(WordDocument)
        copy._options = self._options
        copy.segments, copy.places = [], []
        changed: dict[str, Element] = {}
        following = iter(translated)
        # Parsed anew, so that a document can be rendered again.
        for name, part in self._package.parts().items():
            for paragraph in copy._find(name, part):
                pieces = _translated(paragraph, following)
                if pieces is not None:
                    paragraph.write(pieces)
                    changed[name] = part
        return self._package.written(changed) if changed else self._data


def _translated(paragraph: Paragraph, following: Iterator[MarkedText]) -> MarkedText | None:
    """The pieces of a paragraph with the translations that follow; None if it stays as it is."""
    pieces: list[MarkedPiece] = []
    is_changed = False
    for column in paragraph.columns():
        before, inner, after = trimmed(column, is_heading=paragraph.is_heading)
        if has_words(column):
            source, inner = inner, next(following)
            is_changed |= inner != source
        pieces += (*before, *inner, *after)
    return tuple(pieces) if is_changed else None
