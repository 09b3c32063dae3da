"""The alignment of terms of a glossary, whose places in both texts are known.

A model has never written many of these terms, so that its attention says little about them.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.data.lexical.glossary import Entry, Glossary, Match
from nmt_cli.translation.markup.tokens import Matrix, Token


class TermPlace(NamedTuple):
    """The form of a term: its target tokens, from and to; at: where the term is in the source."""

    low: int
    high: int
    at: int


def align_terms(
    matrix: Matrix, terms: Sequence[Match], text: str, src: Sequence[Token], tgt: Sequence[Token],
    *, spaced: bool = True,
) -> list[TermPlace]:  # fmt: skip
    """Align the words of each term with those of its form, and with nothing else, in place.

    Returns where each form is.

    matrix: (target tokens, source tokens); terms: those of the source; text: the translation;
    spaced: whether the target language puts spaces between words. Terms that do not occur as often
    in the one as in the other are left as they are; those that occur several times are taken in
    their order.
    """
    placed = []
    by_forms: dict[tuple[str, ...], list[Match]] = defaultdict(list)
    for term in terms:
        by_forms[term.entry.forms].append(term)
    for forms, matches in by_forms.items():
        # The forms are found in the translation as terms are in the source.
        glossary = Glossary((Entry(form, (), 0) for form in forms), spaced=spaced)
        form_matches = list(glossary.matches(text))
        if len(form_matches) != len(matches):
            continue
        for form, term in zip(form_matches, matches, strict=True):
            rows, columns = _inside(tgt, form), _inside(src, term)
            matrix[rows], matrix[:, columns] = 0.0, 0.0
            matrix[np.ix_(rows, columns)] = 1.0
            if rows:
                placed.append(TermPlace(rows[0], rows[-1] + 1, term.begin))
    return placed


def _inside(tokens: Sequence[Token], match: Match) -> list[int]:
    return [
        index
        for index, token in enumerate(tokens)
        if match.begin <= token.begin and token.end <= match.end
    ]
