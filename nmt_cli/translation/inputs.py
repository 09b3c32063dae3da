"""From lines to sources: cleaned, cut where they are too long, encoded."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.lexical.shortlist import HINT, Shortlist
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.data.text.splitting import Piece, split_line
from nmt_cli.errors import NmtError, NoInputError
from nmt_cli.search.decoder import Source
from nmt_cli.translation.constraints import BoundConstraints


class SourceLine(NamedTuple):
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


def make_source_lines(
    lines: Sequence[str],
    prefixes: Sequence[str],
    subwords: Subwords,
    wording: BoundConstraints,
    longest: int,
    needs: Needs,
) -> list[SourceLine]:
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
        jobs.append(SourceLine([piece for piece, _ in kept], sources))
    return jobs


def _lengths(subwords: Subwords, texts: Sequence[str]) -> list[int]:
    return [len(ids) - 1 for ids in subwords.encode_source(texts)]


def no_shortlist() -> Shortlist:
    """For a model that lies in no directory."""
    raise NoInputError("this model has no shortlist", HINT)


def narrowed(
    sources: Iterable[Source], shortlist: Shortlist, config: SearchConfig, subwords: Subwords
) -> Iterator[Source]:
    """Each source with what it allows: of its own subwords, prefix and terms, never of others."""
    always = [subwords.eos_id, *([subwords.unk_id] if config.replace_unknown else [])]
    for source in sources:
        forms = [form for term in (source.terms.forms if source.terms else ()) for form in term]
        forced = [*source.prefix, *(one for form in forms for one in form)]
        allowed = shortlist.allowed(source.ids, config.shortlist, [*always, *forced])
        yield replace(source, allowed=torch.from_numpy(allowed))


# The first windows are small, so that the first translations come soon; but the end of each, where
# few lines are still at work, costs more than its middle.
FIRST_WINDOW, GROWTH, LARGEST_WINDOW = 64, 4, 2_048
WINDOW_CHARACTERS = 1 << 20


def windows(
    lines: Iterator[str], must_wait: Callable[[], bool] = lambda: False
) -> Iterator[list[str]]:
    """Lines to translate together: more and more, but never waiting for one that does not come.

    What came before an error of `lines` is given before it is raised.
    """
    size = FIRST_WINDOW
    window: list[str] = []
    characters = 0
    try:
        for line in lines:
            window.append(line)
            characters += len(line)
            full = len(window) >= size or characters >= WINDOW_CHARACTERS
            if full or must_wait():
                yield window
                size = min(GROWTH * size, LARGEST_WINDOW) if full else size
                window, characters = [], 0
    except NmtError:
        if window:
            yield window
        raise
    if window:
        yield window
