"""The segments of a carrier with their translations, and where their stand-ins are in these."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.cleaning.numbers.words import cardinals_in_words
from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.text.splitting import Piece
from nmt_cli.translation.markup.boundaries import HYPHENS
from nmt_cli.translation.markup.carrier import Carrier, StandIn
from nmt_cli.translation.markup.stand_ins import Copied, find_copies

IdPair = tuple[tuple[int, ...], tuple[int, ...]]

# Languages in which each name has this genitive: `Annas Hund`.
_GENITIVES_IN_S = frozenset(["da", "de", "fo", "is", "nb", "nl", "nn", "no", "sv"])
# Letters that do not follow an apostrophe.
_LETTERS = re.compile("[^'’]*")


class Ending(NamedTuple):
    """The letters that a translation has behind a stand-in: `n` in `Annan`.

    placeholder: its index among those of the text.
    """

    placeholder: int
    word: str
    letters: str

    def is_that_of(self, other: "Ending") -> bool:
        """Whether another word has the same ending in the place of the same placeholder."""
        return self.word != other.word and self[::2] == other[::2]


class Segment(NamedTuple):
    """A segment of a line with one of its translations.

    begin, end: its characters in the plain text; after: where the segment before it ends, or -1;
    ids: None if the segment is copied; languages: those of source and translation.
    """

    piece: Piece
    begin: int
    end: int
    after: int
    ids: IdPair | None
    text: str
    languages: tuple[str, str] = ("", "")


def locate(text: str, pieces: Sequence[Piece]) -> list[tuple[int, int, int]]:
    """The characters of each segment in its line: begin, end, and the end of the one before.

    The last one goes on to the end of the line.
    """
    spans = []
    end = 0
    for index, piece in enumerate(pieces):
        begin = text.find(piece.text, end)
        begin = end if begin < 0 else begin
        after = end if index else -1
        end = max(begin, min(begin + len(piece.text), len(text)))
        spans.append((begin, len(text) if index == len(pieces) - 1 else end, after))
    return spans


def stand_ins_of(carrier: Carrier, segment: Segment) -> list[StandIn]:
    """The stand-ins of a segment."""
    begin, end = segment.begin, segment.end
    return [stand_in for stand_in in carrier.stand_ins if begin <= stand_in.begin < end]


def copies_in(carrier: Carrier, segment: Segment) -> list[Copied | None]:
    """Where the stand-ins of a segment are in its translation."""
    stand_ins = stand_ins_of(carrier, segment)
    if segment.ids is None:
        return [
            Copied(stand_in.begin - segment.begin, stand_in.end - segment.begin, stand_in.raw)
            for stand_in in stand_ins
        ]
    copies = find_copies(segment.text, stand_ins, carrier.text)
    return _with_numbers_in_words(copies, stand_ins, carrier, segment) if None in copies else copies


def joined_copies(carrier: Carrier, segment: Segment) -> int:
    """How many stand-ins a hyphen joins to a word behind them, as in `30-hoses`, only here.

    A capital letter behind the hyphen is right in compounds: `{name}-Effekt`.
    """
    return sum(
        copy is not None
        and stand_in.raw != stand_in.word
        and _is_joined(segment.text, copy.end)
        and not _is_joined(carrier.text, stand_in.end)
        for copy, stand_in in zip(
            copies_in(carrier, segment), stand_ins_of(carrier, segment), strict=True
        )
    )


def endings_of(carrier: Carrier, segment: Segment) -> list[Ending]:
    """The endings that the stand-ins of a segment have in its translation.

    Numbers have none, nor is what follows an apostrophe one, or the `s` of a genitive.
    """
    endings = []
    has_genitive = base_code(segment.languages[1]) in _GENITIVES_IN_S
    for copy, stand_in in zip(
        copies_in(carrier, segment), stand_ins_of(carrier, segment), strict=True
    ):
        word = stand_in.word
        if copy is None or word == stand_in.raw or not segment.text.startswith(word, copy.begin):
            continue
        letters = _LETTERS.match(segment.text[: copy.end], copy.begin + len(word))
        if letters and letters[0] and not (has_genitive and letters[0] == "s"):
            endings.append(Ending(carrier.stand_ins.index(stand_in), word, letters[0]))
    return endings


def _is_joined(text: str, end: int) -> bool:
    return text[end : end + 1] in (*HYPHENS,) and text[end + 1 : end + 2].islower()


def _with_numbers_in_words(
    copies: Sequence[Copied | None],
    stand_ins: Sequence[StandIn],
    carrier: Carrier,
    segment: Segment,
) -> list[Copied | None]:
    """The copies, with numbers that the translation has in words instead: `Zwei Hunde`.

    A number counts if the translation has its words as often as it lacks the number, and the source
    has no such words; not 1, whose word may be the article.
    """
    source, target = (
        cardinals_in_words(text, language)
        for text, language in zip(
            (carrier.text[segment.begin : segment.end], segment.text),
            segment.languages,
            strict=True,
        )
    )
    said = {number.value for number in source}
    result = list(copies)
    for value in {number.value for number in target} - said - {1}:
        lost = [
            index
            for index, (copy, stand_in) in enumerate(zip(copies, stand_ins, strict=True))
            if copy is None and stand_in.raw == stand_in.word == str(value)
        ]
        spans = [(number.begin, number.end) for number in target if number.value == value]
        if len(spans) == len(lost):
            for index, span in zip(lost, spans, strict=True):
                result[index] = Copied(*span, stand_ins[index].raw)
    return result
