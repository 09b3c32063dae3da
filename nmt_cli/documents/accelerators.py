"""Accelerators of labels, `&File` and `_Open`: the sign is taken out before translating.

A model would lose it. It is put before the first letter of the translation.
"""

import re
from typing import NamedTuple

from nmt_cli.data.markup.html_tags import ENTITY, resolved, unescaped
from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Text, raw_text

# At the beginning of a word, and no entity without its semicolon. `AT&T` and `&&` have none.
_AMPERSAND = re.compile(r"(?:^|(?<=[\s>]))&(?=[^\W\d_])(?!(?:amp|apos|copy|gt|lt|nbsp|quot|reg)\b)")
# Within a word, `E&xit`. What follows is no value of an address (`?a=b&c=d`).
_WITHIN = re.compile(r"(?P<begin>[^\W\d_]+)&(?P<rest>[^\W\d_]+)(?![\w=;&/])")
# In GTK, in a word with a capital letter: `file_name` is a variable.
_UNDERSCORE_WITHIN = re.compile(
    r"(?<![\w(.$])(?P<begin>[^\W\d_]+)_(?P<rest>[^\W\d_]+)(?![\w(.=]\w|[\w(=])"
)
_SHORTEST_WORD = 3
# Two words with `and` between them, which some write without spaces.
_TWO_WORDS = frozenset(
    ("black&white", "copy&paste", "cut&paste", "drag&drop", "find&replace", "pick&place",
     "plug&play", "point&click", "push&pull", "rock&roll", "search&replace")
)  # fmt: skip
# In GTK. What looks like the name of a variable is none: `_init()`, `_name.txt`.
_UNDERSCORE = re.compile(r"(?:^|(?<=[\s>]))_(?=[^\W\d_]+(?![\w(.=]\w|[\w(=]))")
_SENTENCE = re.compile(r"(?<!\.)[.!?]\s*\Z")
_LONGEST_LABEL = 60
# In scripts without cases, the letter is added in brackets: `文件(&F)`.
_FIRST_OF_EAST_ASIA = "\u2e80"
_LABEL_END = re.compile(r"\s*(?:\.\.\.|…|[:：])*\s*\Z")


class Accelerator(NamedTuple):
    """The accelerator of a label. letter: the one behind the sign; text: without the sign."""

    sign: str
    letter: str
    text: str


def find_accelerator(label: str, *, gtk: bool = False) -> Accelerator | None:
    """The accelerator of a text of one line; None if there is none, or it is not clear.

    gtk: whether the sign may be an underscore, too.

    >>> find_accelerator("Cancel the &notice")
    Accelerator(sign='&', letter='n', text='Cancel the notice')
    >>> [find_accelerator(text) for text in ("AT&T", "Fish && Chips", "Tom &amp; Ann", "&A, &B")]
    [None, None, None, None]
    >>> find_accelerator("Save _as...", gtk=True), find_accelerator("E&xit").text
    (Accelerator(sign='_', letter='a', text='Save as...'), 'Exit')
    """
    if "\n" in label or ENTITY.search(label):
        return None
    positions = [match.start() for match in _AMPERSAND.finditer(label)]
    if _is_label(label):
        positions += _within_words(label)
    if gtk and not positions and label.count("_") == 1 and _is_label(label):
        positions = [match.start() for match in _UNDERSCORE.finditer(label)]
        positions = positions or _underscores_within_words(label)
    if len(positions) != 1:
        return None
    position = positions[0]
    text = label[:position] + label[position + 1 :]
    return Accelerator(label[position], label[position + 1], text)


def _is_label(text: str) -> bool:
    return len(text) <= _LONGEST_LABEL and not _SENTENCE.search(text)


def _within_words(label: str) -> list[int]:
    """Where `&` stands within words; behind it is a small letter, unlike in `AT&T` and `R&D`."""
    return [
        match.end("begin")
        for match in _WITHIN.finditer(label)
        if len(match[0]) > _SHORTEST_WORD
        and match["rest"].islower()
        and match[0].lower() not in _TWO_WORDS
    ]


def _underscores_within_words(label: str) -> list[int]:
    return [
        match.end("begin")
        for match in _UNDERSCORE_WITHIN.finditer(label)
        if match["begin"][0].isupper() and match["rest"].islower()
    ]


def with_accelerator(pieces: MarkedText, accelerator: Accelerator | None) -> MarkedText:
    """A translation with the sign before its first letter.

    >>> accelerator = Accelerator("&", "n", "Cancel the notice")
    >>> [raw_text(with_accelerator((Text(text),), accelerator)) for text in ("Annuler", "取消...")]
    ['&Annuler', '取消(&N)...']
    """
    if accelerator is None:
        return pieces
    for index, piece in enumerate(pieces):
        if not isinstance(piece, Text):
            continue
        # Letters of entities are none.
        text, places = resolved(piece.text if piece.raw is None else piece.raw)
        at = next((place for place, letter in enumerate(text) if letter.isalpha()), None)
        if at is None:
            continue
        if text[at] >= _FIRST_OF_EAST_ASIA:
            return _with_letter_in_brackets(pieces, accelerator)
        signed = _inserted(piece, places[at], accelerator.sign)
        return (*pieces[:index], signed, *pieces[index + 1 :])
    return pieces


def _with_letter_in_brackets(pieces: MarkedText, accelerator: Accelerator) -> MarkedText:
    added = f"({accelerator.sign}{accelerator.letter.upper()})"
    last = pieces[-1]
    if not isinstance(last, Text):
        return (*pieces, Text(added))
    raw = last.text if last.raw is None else last.raw
    end = _LABEL_END.search(raw)
    assert end is not None
    return (*pieces[:-1], _inserted(last, end.start(), added))


def _inserted(piece: Text, at: int, added: str) -> MarkedPiece:
    raw = piece.text if piece.raw is None else piece.raw
    raw = raw[:at] + added + raw[at:]
    return Text(raw) if piece.raw is None else Text(unescaped(raw), raw)


def label_with(text: str, accelerator: Accelerator | None) -> str:
    """A translated label with the sign before its first letter.

    >>> label_with("<b>Annuler</b>", Accelerator("&", "n", "Cancel the <b>notice</b>"))
    '<b>&Annuler</b>'
    """
    if accelerator is None:
        return text
    return raw_text(with_accelerator(parse_line(text), accelerator))
