"""What a run of `*`, `_` or `~` in a paragraph of Markdown begins and ends."""

from collections.abc import Iterator, Sequence

from nmt_cli.data.markup.emphasis import EMPHASIS
from nmt_cli.data.markup.marked_text import MarkedPiece, Tag, raw_text
from nmt_cli.data.text.letters import is_wordlike

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
    word_before, word_after = map(is_wordlike, (before, after))
    opens = bool(after) and not after.isspace() and (word_after or not word_before)
    closes = bool(before) and not before.isspace() and (word_before or not word_after)
    if raw[0] == "_" and word_before and word_after:
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


def order_openings(pieces: list[MarkedPiece], closing: Sequence[MarkedPiece]) -> None:
    """Let the inner mark of a run that begins two be the one that is closed first.

    pieces: those before the tags `closing`.

    >>> pieces = [Tag("**", "open", "**"), Tag("*", "open", "*")]
    >>> order_openings(pieces, [Tag("**", "close", "**")])
    >>> [piece.raw for piece in pieces]
    ['*', '**']
    """
    first = closing[0] if closing else None
    if not isinstance(first, Tag) or first.kind != "close" or first.raw not in ("**", "__"):
        return
    places = _opened_at(first.raw[0], pieces)[-2:]
    if len(places) == 2 and places[1] == places[0] + 1:
        outer, inner = (pieces[place] for place in places)
        if raw_text((outer,)) == first.raw and raw_text((inner,)) == first.raw[0]:
            pieces[places[0]], pieces[places[1]] = inner, outer


def _opened(letter: str, pieces: Sequence[MarkedPiece]) -> list[str]:
    """The marks of this letter whose emphasis goes on behind the pieces, outermost first."""
    return [raw_text((pieces[place],)) for place in _opened_at(letter, pieces)]


def _opened_at(letter: str, pieces: Sequence[MarkedPiece]) -> list[int]:
    """Where the marks stand whose emphasis goes on behind the pieces."""
    opened: list[tuple[int, str]] = []
    for index, piece in enumerate(pieces):
        if not isinstance(piece, Tag) or piece.raw not in EMPHASIS or piece.raw[0] != letter:
            continue
        if piece.kind == "open":
            opened.append((index, piece.raw))
        elif piece.raw in [raw for _, raw in opened]:
            while opened.pop()[1] != piece.raw:
                pass
    return [index for index, _ in opened]


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
