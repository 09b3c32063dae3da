"""Conversions of printf in entries of catalogues, such as `%s`, which get numbers where they move.

`%s` and `%d` take their values by their order. A translation may have another one: `%2$d ... %1$s`.
They have numbers while an entry is translated, and keep them only where their order has changed.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Text
from nmt_cli.data.markup.placeholders import CONVERSION

# Flags of entries whose programs know numbered conversions. Python has none, and what the flags of
# other languages promise is not true of all their programs.
_FLAGS = frozenset(
    ("c-format", "objc-format", "php-format", "java-printf-format", "perl-format", "ruby-format")
)
# In a source. `%m` takes no value; `%*d` takes two, one of which is its width.
_PER_CENT = re.compile(
    rf"%%|%m(?![A-Za-z0-9])|(?<![\d%])%(?P<conversion>{CONVERSION})|(?P<other>%)"
)
# Numbers make placeholders of conversions that a word follows.
_BEFORE_WORD = re.compile(rf"%{CONVERSION}[A-Za-z0-9]")
_NUMBER = re.compile(rf"%%|%(?P<number>\d+)\$(?={CONVERSION})")


def with_numbers(text: str, flags: Collection[str]) -> str | None:
    """The source of an entry with numbers for its conversions; None if it cannot have them.

    flags: those of the entry. A source whose conversions are numbered, or take two values (`%*d`),
    cannot. A single conversion needs no number, unless a word follows it.

    >>> with_numbers("%s of %d %%", ["c-format"]), with_numbers("%s of %d", ["python-format"])
    ('%1$s of %2$d %%', None)
    """
    marks = list(_PER_CENT.finditer(text))
    conversions = [mark for mark in marks if mark["conversion"]]
    has_others = any(mark["other"] or "*" in (mark["conversion"] or "") for mark in marks)
    if not conversions or has_others or _FLAGS.isdisjoint(flags):
        return None
    if len(conversions) == 1 and not _BEFORE_WORD.search(text):
        return text
    numbers = count(1)
    return _PER_CENT.sub(
        lambda mark: f"%{next(numbers)}${mark['conversion']}" if mark["conversion"] else mark[0],
        text,
    )


def without_numbers(text: str) -> str:
    """The translation of such a source, without its numbers if they are in order.

    >>> without_numbers("%1$s: %2$d %%"), without_numbers("%2$d: %1$s")
    ('%s: %d %%', '%2$d: %1$s')
    """
    numbers = [int(mark["number"]) for mark in _NUMBER.finditer(text) if mark["number"]]
    if numbers != sorted(numbers):
        return text
    return _NUMBER.sub(lambda mark: "%" if mark["number"] else mark[0], text)


def with_literal_signs(pieces: Sequence[MarkedPiece]) -> MarkedText:
    """The translation where each per cent sign of its words is doubled, as printf needs it.

    >>> with_literal_signs((Text("5 % de "),))
    (Text(text='5 %% de ', raw=None),)
    """
    return tuple(
        replace(piece, text=re.sub("%%?", "%%", piece.text)) if isinstance(piece, Text) else piece
        for piece in pieces
    )
