"""From lines to sources: cleaned, cut where they are too long, encoded."""

from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.lines import clean_line
from nmt_cli.data.pieces import Piece, split_line
from nmt_cli.data.subwords import Subwords
from nmt_cli.search.decoder import Source
from nmt_cli.translating.wording import BoundWording


class Job(NamedTuple):
    """A line's pieces and the source of each."""

    pieces: list[Piece]
    sources: list[Source]


class Needs(NamedTuple):
    """What a source tells the search beyond its ids.

    draws: whether translations are drawn, by the number of the line, which counts from `first`;
    text: whether words are taken from it.
    """

    first: int = 0
    draws: bool = False
    text: bool = False


def make_jobs(
    lines: Sequence[str],
    prefixes: Sequence[str],
    subwords: Subwords,
    wording: BoundWording,
    longest: int,
    needs: Needs,
) -> list[Job]:
    """What there is to translate of each line, nothing of a blank one.

    A line of more than `longest` subwords comes in pieces; a prefix belongs to the first of them.
    """
    texts = [clean_line(line).strip() for line in lines]
    forced = [one[:-1] for one in subwords.encode_target(prefixes)]
    jobs = []
    for number, (text, ids) in enumerate(zip(texts, subwords.encode_source(texts), strict=True)):
        pieces, encoded = [Piece(text, "")], [ids]
        if len(ids) - 1 > longest:
            pieces = split_line(text, lambda some: _lengths(subwords, some), longest)
            encoded = subwords.encode_source([piece.text for piece in pieces])
        kept = [one for one in zip(pieces, encoded, strict=True) if len(one[1]) > 1]
        prefix = tuple(forced[number]) if forced else ()
        sources = [
            Source(
                tuple(one),
                () if place else prefix,
                wording.terms(piece.text),
                (needs.first + number, place) if needs.draws else (),
                piece.text if needs.text else "",
            )
            for place, (piece, one) in enumerate(kept)
        ]
        jobs.append(Job([piece for piece, _ in kept], sources))
    return jobs


def _lengths(subwords: Subwords, texts: Sequence[str]) -> list[int]:
    return [len(ids) - 1 for ids in subwords.encode_source(texts)]
