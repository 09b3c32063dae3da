"""Breaks of lines that stand between two lines, as in an address, and not within a sentence."""

import re
from collections.abc import Sequence
from itertools import pairwise

from nmt_cli.data.markup.marked_text import MarkedPiece, Tag, plain_text

# The most characters of a line of an address or a form.
_SHORT = 60
# Paragraphs with more pieces are not looked at.
_MOST_PIECES = 5000
_QUOTES = "\"'”’»)]*_"
_SENTENCE_END = re.compile(rf"[.!?…:;。！？：；؟।][{re.escape(_QUOTES)}]*\Z")
# A title or number with a full stop, behind which its name or digits follow: `Mr.`, `St.`, `No.`
_ABBREVIATION = re.compile(r"(?:\A|[\s(])(?:[A-Z][a-z]?|Mrs|Prof)\.\Z")
# What ends no line of a block: signs that join two parts, and short words such as `of` and `der`.
_GOES_ON = re.compile(r"(?:[,(\[/&–—-]|(?:\A|\s)[^\W\d_A-Z]{1,3})\Z")
_LAST_WORD = re.compile(r"(?:\A|\s)(?=[^\W\d_])(?P<word>\S+)\Z")
# What no line of a title has: a comma, digits at its beginning, or a number or letter at its end,
# as `Place de Ville, Tower C`, `10 Main Street` and `Schedule A` have.
_NO_TITLE = re.compile(r"[,،，、@]|\A\d|(?:\A|\s)(?:\d+|[A-Z]|[IVX]+)\Z")


def line_ends(
    pieces: Sequence[MarkedPiece], *, is_heading: bool = False, lines_of_title: int = 0
) -> frozenset[int]:
    """Where the pieces have breaks between two lines that are no parts of one sentence.

    Where a line ends with a full stop or colon, the next one begins with a capital letter or digit.
    In a block of lines, such as an address, that holds for most of its lines, which are short and
    need no mark at their ends. In a heading there are none, since its words go on. lines_of_title:
    so many short lines are no block, but one title, unless they look like those of an address.

    >>> from nmt_cli.data.markup.marked_text import Text
    >>> lines = Text("Jane Smith"), Tag("<br/>", "empty", "w:br"), Text("Place de Ville, Tower C")
    >>> list(line_ends(lines))
    [1]
    """
    breaks = [] if is_heading or len(pieces) > _MOST_PIECES else _breaks(pieces)
    if not breaks:
        return frozenset()
    bounds = [-1, *breaks, len(pieces)]
    lines = [plain_text(pieces[first + 1 : last]).strip() for first, last in pairwise(bounds)]
    if not any(lines):
        return frozenset()
    is_block = _is_block(lines) and not _is_title(lines, lines_of_title)
    return frozenset(
        at
        for at, (line, following) in zip(breaks, pairwise(lines), strict=True)
        if not (line and following)
        or _ends_sentence(line, following)
        or (is_block and _ends_line(line, following))
    )


def _breaks(pieces: Sequence[MarkedPiece]) -> list[int]:
    """The breaks of lines that stand in no pair of tags."""
    result = []
    depth = 0
    for index, piece in enumerate(pieces):
        if isinstance(piece, Tag):
            depth += piece.depth_change
            if depth == 0 and piece.breaks_line:
                result.append(index)
    return result


def _is_block(lines: Sequence[str]) -> bool:
    """Whether most lines are short and end where no sentence goes on.

    Where the last line alone ends with a full stop, they are the lines of one sentence.
    """
    shown = [line for line in lines if line]
    ends = [_ends_line(line, following) for line, following in pairwise(shown)]
    short = sum(len(line) <= _SHORT for line in shown)
    is_sentence = (
        shown[-1:] != []
        and shown[-1][-1] in ".!?"
        and not any(_SENTENCE_END.search(line) for line in shown[:-1])
    )
    return 2 * sum(ends) > len(ends) and 2 * short > len(shown) and not is_sentence


def _is_title(lines: Sequence[str], most: int) -> bool:
    shown = [line for line in lines if line]
    return len(shown) <= most and not any(map(_NO_TITLE.search, shown))


def _ends_sentence(line: str, following: str) -> bool:
    first = following.lstrip("\"'“‘«([*_¿¡")[:1]
    begins = first.isdigit() or (first.isalpha() and not first.islower())
    return begins and bool(_SENTENCE_END.search(line)) and not _ABBREVIATION.search(line)


def _ends_line(line: str, following: str) -> bool:
    if _ends_sentence(line, following):
        return True
    first = following.lstrip("\"'“‘«([*_")[:1]
    if _GOES_ON.search(line) or _ABBREVIATION.search(line):
        return False
    if not (first.isupper() or first.isdigit()):
        return False
    last = _LAST_WORD.search(line)
    # Of `section` and `5` on the next line, the number belongs to the word.
    return not (first.isdigit() and last and last["word"].islower())
