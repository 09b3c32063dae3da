"""What a run of `*`, `_` or `~` in a paragraph of Markdown begins and ends."""

from collections.abc import Iterator, Sequence

from nmt_cli.data.markup.emphasis import EMPHASIS
from nmt_cli.data.markup.marked_text import MarkedPiece, Tag

# Longer runs are no emphasis.
_LONGEST = 4


def tags_of_run(raw: str, before: str, after: str, pieces: Sequence[MarkedPiece]) -> Iterator[Tag]:
    """The tags of a run; none if it is text. before, after: the characters around it.

    Between two punctuation marks it may do both: it ends what is open, as in `**(a)**.`. pieces:
    those before it.

    >>> bold = Tag("**", "open", "**")
    >>> [(tag.raw, tag.kind) for tag in tags_of_run("***", "r", "s", [bold])]
    [('**', 'close'), ('*', 'open')]
    """
    opens = bool(after) and not after.isspace() and (after.isalnum() or not before.isalnum())
    closes = bool(before) and not before.isspace() and (before.isalnum() or not after.isalnum())
    if raw[0] == "_" and before.isalnum() and after.isalnum():
        return
    if len(raw) > _LONGEST or not (opens or closes):
        return
    ended = _ended(raw, _opened(raw[0], pieces), may_open=opens) if closes else []
    for mark in ended:
        yield Tag(mark, "close", mark)
    rest = raw[sum(map(len, ended)) :]
    parts = [rest[:2], rest[2:]] if len(rest) == 3 else [rest] if rest else []
    for part in parts if opens else reversed(parts):
        yield Tag(part, "open" if opens else "close", part)


def _opened(letter: str, pieces: Sequence[MarkedPiece]) -> list[str]:
    """The marks of this letter whose emphasis goes on behind the pieces, outermost first."""
    opened: list[str] = []
    for piece in pieces:
        if not isinstance(piece, Tag) or piece.raw not in EMPHASIS or piece.raw[0] != letter:
            continue
        if piece.kind == "open":
            opened.append(piece.raw)
        elif piece.raw in opened:
            while opened.pop() != piece.raw:
                pass
    return opened


def _ended(raw: str, opened: Sequence[str], *, may_open: bool) -> list[str]:
    """The marks that a run ends, innermost first."""
    if raw in opened:
        return [raw]
    ended: list[str] = []
    left = len(raw)
    for mark in reversed(opened):
        # A run that may also open is no end if the lengths add up to 3 or 6 (CommonMark).
        if len(mark) > left or (may_open and (len(mark) + len(raw)) % 3 == 0):
            break
        ended.append(mark)
        left -= len(mark)
    return ended
