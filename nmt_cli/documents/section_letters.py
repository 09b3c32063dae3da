"""Letters and Roman numbers before paragraphs, `A.`, `B.`, ..., which are told from initials."""

import re
from collections.abc import Sequence

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, plain_text
from nmt_cli.data.text.item_labels import LETTERS, ROMANS
from nmt_cli.documents.document import has_words
from nmt_cli.documents.list_marks import split_marks

_LABEL = re.compile(r"\s*([A-Z]|[IVX]{2,5})\.\s*")
_LETTERS, _ROMANS = (tuple(map(str.upper, labels)) for labels in (LETTERS, ROMANS))


class SectionLetters:
    """Follows the paragraphs of a document, in order.

    A single letter may be the initial of a name, `A. Smith`. It is a mark where it continues a
    sequence, or where a later paragraph does.
    """

    def __init__(self) -> None:
        # The labels that would continue a sequence, with it and with the paragraph before, if the
        # mark of that one is still among its words.
        self._awaited: dict[str, tuple[Sequence[str], int | None]] = {}

    def found_by(self, index: int, before: Sequence[MarkedPiece], words: MarkedText) -> list[int]:
        """The paragraphs that a further one shows to begin with marks among their words.

        index: of the paragraph; before: the marks that are kept anyway.

        >>> from nmt_cli.data.markup.marked_text import Text
        >>> letters = SectionLetters()
        >>> [letters.found_by(index, (), (Text(text),))
        ...     for index, text in enumerate(["A. Scope", "M. Smith", "It is.", "B. Terms"])]
        [[], [], [], [0, 3]]
        """
        kept = _LABEL.fullmatch(plain_text(before))
        marks, rest = ((), words) if kept else split_marks(words, is_heading=True)
        match = kept or _LABEL.fullmatch(plain_text(marks))
        if not match or not has_words(rest):
            return []
        label = match[1]
        awaited = self._awaited.pop(label, None)
        if awaited is None and not kept and label not in ("A", "I"):
            return []
        usual = _ROMANS if label[1:] or label == "I" else _LETTERS
        sequence, previous = awaited or (usual, None)
        # A mark that is kept anyway need not be found.
        current = None if kept else index
        if label in sequence:
            undecided = current if awaited is None else None
            following = sequence[sequence.index(label) + 1 :][:1]
            self._awaited.update(dict.fromkeys(following, (sequence, undecided)))
        if awaited is None:
            return []
        return [paragraph for paragraph in (previous, current) if paragraph is not None]
