"""Parses the marks of a plain line: tags, placeholders, addresses, Markdown; and writes them.

`raw_text(parse_line(line))` is always the line itself.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from nmt_cli.data.markup.formulas import with_formulas
from nmt_cli.data.markup.html_tags import ENTITY, Mark, escaped, find_tags, unescaped
from nmt_cli.data.markup.kept import USUAL, Kept, compared
from nmt_cli.data.markup.kept_numbers import find_numbers
from nmt_cli.data.markup.links import with_domains
from nmt_cli.data.markup.markdown import find_code, find_emphasis, find_links
from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    raw_text,
)
from nmt_cli.data.markup.pairs import with_pairs_only
from nmt_cli.data.markup.part_numbers import find_part_numbers
from nmt_cli.data.markup.placeholders import (
    find_addresses,
    find_escapes,
    find_placeholders,
    find_tagged_messages,
    find_typed,
)
from nmt_cli.data.markup.whole_names import with_whole_names
from nmt_cli.data.markup.wrapped_text import split_wrapped

# A line without any of these has no marks, which most lines are found to be by this alone.
_MAY_HAVE_MARKS = re.compile(
    r"[<{%&*_`@~]|\]\(|://|[wW]{3}\.|(?i:mailto|tel):|--[a-z]|\$[a-z_]|\$[A-Z]{2}|v\d+\.\d|\\[ntr]"
    r"|\.[a-z]{2,}(?::\d+)?/[\w~?#]"
)
# Stands for what is already known to be a mark; neither a letter nor white space.
_MASK = "\ufffc"
# What stands right behind a placeholder, as behind a word.
_PUNCTUATION = tuple(".,;:!?)]")
Finder = Callable[[str], Iterator[Mark]]
# Which characters a finder needs.
_Finders = tuple[tuple[str, Finder], ...]


def _text_finders(kept: Kept) -> _Finders:
    """What is found in texts without tags."""

    def placeholders(line: str) -> Iterator[Mark]:
        # Together, so that a name neither splits a placeholder nor ends within it.
        typed = find_typed(line) if kept.typed else ()
        return chain(kept.names.find(line), find_placeholders(line), typed)

    numbers = [("", find_part_numbers), ("", find_numbers)] if kept.numbers else []
    return ("", find_addresses), ("", placeholders), *numbers


def _line_finders(kept: Kept) -> _Finders:
    addresses, placeholders, *numbers = _text_finders(kept)
    return (
        ("{", find_tagged_messages), ("<", find_tags), ("`", find_code), ("](", find_links),
        addresses, placeholders,
        *([("\\", find_escapes)] if kept.typed else []), ("", find_emphasis), *numbers,
    )  # fmt: skip


def parse_line(line: str, kept: Kept = USUAL) -> MarkedText:
    """The pieces of a line; kept: what is kept besides its marks.

    >>> parse_line("The <b>dog</b> of {name}.")
    (Text(text='The ', raw=None), Tag(raw='<b>', kind='open', name='b'), \
Text(text='dog', raw=None), Tag(raw='</b>', kind='close', name='b'), \
Text(text=' of ', raw=None), Placeholder(raw='{name}'), Text(text='.', raw=None))
    """
    if not has_marks(line, kept):
        return (Text(line),) if line else ()
    pieces = with_formulas(tuple(_pieces(line, _marks(line, _line_finders(kept)))))
    paired = with_pairs_only(pieces)
    return with_domains(paired, in_address=True) if kept.typed else paired


def _marks(line: str, finders: _Finders) -> list[Mark]:
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


def mark_spans(line: str, kept: Kept = USUAL) -> list[Mark]:
    """Where a line has marks, in their order; also tags without the other one of their pair.

    >>> [(mark.begin, mark.end) for mark in mark_spans("The <b>dog of {name}.")]
    [(4, 7), (14, 20)]
    """
    return _marks(line, _line_finders(kept)) if has_marks(line, kept) else []


def has_marks(line: str, kept: Kept = USUAL) -> bool:
    """Whether a line may have marks; False for most lines that have none."""
    return bool(_MAY_HAVE_MARKS.search(line)) or kept.may_be_in(line)


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


def with_placeholders(pieces: Sequence[MarkedPiece], kept: Kept = USUAL) -> MarkedText:
    """The pieces with the placeholders and addresses in their texts as pieces of their own.

    kept: numbers and names that are placeholders, too.

    >>> with_placeholders((Text("of {name}"),))
    (Text(text='of ', raw=None), Placeholder(raw='{name}'))
    """
    result: list[MarkedPiece] = []
    known = with_domains(pieces, in_address=False) if kept.typed else pieces
    for piece in with_whole_names(known, kept.names):
        result += _split_text(piece, kept) if isinstance(piece, Text) else [piece]
    return tuple(result)


def split_words(raw: str, make_text: Callable[[str], Text]) -> list[MarkedPiece]:
    """The words, placeholders and addresses of a text without tags; make_text: a piece of words.

    >>> split_words("of {name}", Text)
    [Text(text='of ', raw=None), Placeholder(raw='{name}')]
    """
    if not has_marks(raw):
        return [make_text(raw)] if raw else []
    marks = _marks(raw, _text_finders(USUAL))
    return [
        make_text(piece.text if piece.raw is None else piece.raw)
        if isinstance(piece, Text)
        else piece
        for piece in _pieces(raw, marks)
    ]


def _split_text(piece: Text, kept: Kept) -> list[MarkedPiece]:
    raw = piece.text if piece.raw is None else piece.raw
    if not has_marks(raw, kept):
        return [piece]
    finders = _text_finders(kept)
    found = list(_pieces(raw, _marks(raw, finders)))
    if len(found) == 1 and isinstance(found[0], Text) and piece.raw in (None, found[0].raw):
        return [piece]
    if piece.raw is None:
        return [
            Text(each.text if each.raw is None else each.raw) if isinstance(each, Text) else each
            for each in found
        ]
    texts = [each.text if isinstance(each, Text) else unescaped(each.raw) for each in found]
    if "".join(texts) == piece.text:
        return found
    wrapped = split_wrapped(piece.text, raw, _marks(piece.text, finders))
    return _split_names(piece.text, raw, kept) if wrapped is None else wrapped


def _split_names(text: str, raw: str, kept: Kept) -> list[MarkedPiece]:
    """The names of a text that is written in another way than HTML, such as `5\\$ for NordPad`."""
    of_text, of_raw = (list(kept.names.find(side)) for side in (text, raw))
    if _names_of(of_text) != _names_of(of_raw):
        return [Text(text, raw)]
    pieces: list[MarkedPiece] = []
    ends = 0, 0
    for own, written in zip(of_text, of_raw, strict=True):
        pieces += [Text(text[ends[0] : own.begin], raw[ends[1] : written.begin]), written.piece]
        ends = own.end, written.end
    pieces.append(Text(text[ends[0] :], raw[ends[1] :]))
    return [piece for piece in pieces if not isinstance(piece, Text) or piece.text or piece.raw]


def _names_of(marks: Sequence[Mark]) -> list[str]:
    return [compared(raw_text([mark.piece])) for mark in marks]


def is_marked(pieces: Sequence[MarkedPiece]) -> bool:
    """Whether there is anything besides plain text."""
    return any(not isinstance(piece, Text) or piece.raw is not None for piece in pieces)


def without_marks(line: str, kept: Kept = USUAL) -> str:
    """The words of a line; kept: what is no word besides its marks.

    >>> without_marks("The <b>dog</b> of {name}.")
    'The dog of.'
    """
    return words_alone(parse_line(line, kept)) if has_marks(line, kept) else line


def words_alone(pieces: Sequence[MarkedPiece]) -> str:
    """The words of pieces, without a space before punctuation that follows a placeholder.

    >>> words_alone((Text("Copied to "), Placeholder("%s"), Text(".")))
    'Copied to.'
    """
    words: list[str] = []
    follows = False
    for piece in pieces:
        if isinstance(piece, Text):
            if follows and words and piece.text[:1] in _PUNCTUATION:
                words[-1] = words[-1].rstrip()
            words.append(piece.text)
        follows = isinstance(piece, Placeholder) or (follows and isinstance(piece, Tag))
    return "".join(words)


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
