"""Parses the marks of a plain line: tags, placeholders, addresses, Markdown; and writes them.

`raw_text(parse_line(line))` is always the line itself.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from nmt_cli.data.markup.html_tags import ENTITY, Mark, escaped, find_tags, unescaped
from nmt_cli.data.markup.markdown import find_code, find_emphasis, find_links
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text
from nmt_cli.data.markup.pairs import with_pairs_only
from nmt_cli.data.markup.placeholders import find_addresses, find_numbers, find_placeholders

# A line without any of these has no marks, which most lines are found to be by this alone.
_MAY_HAVE_MARKS = re.compile(r"[<{%&*_`@~]|\]\(|://|[wW]{3}\.|(?i:mailto|tel):")
_DIGIT = re.compile(r"\d")
# Stands for what is already known to be a mark; neither a letter nor white space.
_MASK = "\ufffc"
Finder = Callable[[str], Iterator[Mark]]
# Which characters a finder needs.
_FINDERS: tuple[tuple[str, Finder], ...] = (
    ("<", find_tags),
    ("`", find_code),
    ("](", find_links),
    ("", find_addresses),
    ("", find_placeholders),
    ("", find_emphasis),
)


def parse_line(line: str, *, numbers: bool = False) -> MarkedText:
    """The pieces of a line; numbers: whether numbers in digits are placeholders, too.

    >>> parse_line("The <b>dog</b> of {name}.")
    (Text(text='The ', raw=None), Tag(raw='<b>', kind='open', name='b'), \
Text(text='dog', raw=None), Tag(raw='</b>', kind='close', name='b'), \
Text(text=' of ', raw=None), Placeholder(raw='{name}'), Text(text='.', raw=None))
    """
    if not has_marks(line, numbers=numbers):
        return (Text(line),) if line else ()
    finders = (*_FINDERS, *([("", find_numbers)] if numbers else []))
    return with_pairs_only(tuple(_pieces(line, _marks(line, finders))))


def _marks(line: str, finders: Sequence[tuple[str, Finder]]) -> list[Mark]:
    """The marks in their order; earlier finders have precedence."""
    masked = line
    marks: list[Mark] = []
    for needed, find in finders:
        if needed not in masked:
            continue
        found = [mark for mark in find(masked) if _MASK not in masked[mark.begin : mark.end]]
        found = list(_without_overlap(found))
        masked = _with_mask(masked, found)
        marks += found
    return sorted(marks, key=lambda mark: mark.begin)


def has_marks(line: str, *, numbers: bool = False) -> bool:
    """Whether a line may have marks; False for most lines that have none."""
    return bool(_MAY_HAVE_MARKS.search(line)) or (numbers and bool(_DIGIT.search(line)))


def _with_mask(line: str, marks: Sequence[Mark]) -> str:
    parts = []
    end = 0
    for mark in marks:
        parts += [line[end : mark.begin], _MASK * (mark.end - mark.begin)]
        end = mark.end
    return "".join([*parts, line[end:]])


def _without_overlap(marks: Sequence[Mark]) -> Iterator[Mark]:
    end = 0
    for mark in sorted(marks, key=lambda mark: (mark.begin, -mark.end)):
        if mark.begin >= end:
            end = mark.end
            yield mark


def _pieces(line: str, marks: Sequence[Mark]) -> Iterator[MarkedPiece]:
    end = 0
    for mark in marks:
        if mark.begin > end:
            yield _text(line[end : mark.begin])
        yield mark.piece
        end = mark.end
    if end < len(line):
        yield _text(line[end:])


def _text(raw: str) -> Text:
    text = unescaped(raw) if "&" in raw else raw
    return Text(text) if text == raw else Text(text, raw)


def with_placeholders(pieces: Sequence[MarkedPiece], numbers: bool = False) -> MarkedText:
    """The pieces with the placeholders and addresses in their texts as pieces of their own.

    >>> with_placeholders((Text("of {name}"),))
    (Text(text='of ', raw=None), Placeholder(raw='{name}'))
    """
    result: list[MarkedPiece] = []
    for piece in pieces:
        result += _split_text(piece, numbers) if isinstance(piece, Text) else [piece]
    return tuple(result)


def split_words(raw: str, make_text: Callable[[str], Text]) -> list[MarkedPiece]:
    """The words, placeholders and addresses of a text without tags; make_text: a piece of words.

    >>> split_words("of {name}", Text)
    [Text(text='of ', raw=None), Placeholder(raw='{name}')]
    """
    if not has_marks(raw):
        return [make_text(raw)] if raw else []
    marks = _marks(raw, [("", find_addresses), ("", find_placeholders)])
    return [
        make_text(piece.text if piece.raw is None else piece.raw)
        if isinstance(piece, Text)
        else piece
        for piece in _pieces(raw, marks)
    ]


def _split_text(piece: Text, numbers: bool) -> list[MarkedPiece]:
    raw = piece.text if piece.raw is None else piece.raw
    if not has_marks(raw, numbers=numbers):
        return [piece]
    finders = (find_addresses, find_placeholders, *([find_numbers] if numbers else []))
    marks = _marks(raw, [("", find) for find in finders])
    if not marks:
        return [piece]
    if piece.raw is None:
        return [
            Text(each.text if each.raw is None else each.raw) if isinstance(each, Text) else each
            for each in _pieces(raw, marks)
        ]
    found = list(_pieces(raw, marks))
    texts = [each.text if isinstance(each, Text) else unescaped(each.raw) for each in found]
    return found if "".join(texts) == piece.text else [piece]


def is_marked(pieces: Sequence[MarkedPiece]) -> bool:
    """Whether there is anything besides plain text."""
    return any(not isinstance(piece, Text) or piece.raw is not None for piece in pieces)


def without_marks(line: str) -> str:
    """The words of a line.

    >>> without_marks("The <b>dog</b> of {name}.")
    'The dog of .'
    """
    if not has_marks(line):
        return line
    return "".join(piece.text for piece in parse_line(line) if isinstance(piece, Text))


def marks_of(pieces: Sequence[MarkedPiece]) -> Counter[str]:
    """How often each tag and each placeholder occurs, as it is written."""
    return Counter(piece.raw for piece in pieces if isinstance(piece, Tag | Placeholder))


def written_line(pieces: Sequence[MarkedPiece], source: Sequence[MarkedPiece]) -> str:
    """A translation as a line: its text has entities if that of the source has them."""
    entities = any(
        isinstance(piece, Text) and piece.raw is not None and ENTITY.search(piece.raw)
        for piece in source
    )
    return "".join(
        (escaped(piece.text) if entities else piece.text) if isinstance(piece, Text) else piece.raw
        for piece in pieces
    )
