"""The alignment of terms of a glossary, whose places in both texts are known.

A model has never written many of these terms, so that its attention says little about them.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from nmt_cli.data.lexical.glossary import Match
from nmt_cli.translation.markup.tokens import Matrix, Token


def align_terms(
    matrix: Matrix, terms: Sequence[Match], text: str, src: Sequence[Token], tgt: Sequence[Token]
) -> None:
    """Align the words of each term with those of its form, and with nothing else, in place.

    matrix: (target tokens, source tokens); terms: those of the source; text: the translation.
    Terms that do not occur as often in the one as in the other are left as they are; those that
    occur several times are taken in their order.
    """
    by_forms: dict[tuple[str, ...], list[Match]] = defaultdict(list)
    for term in terms:
        by_forms[term.entry.forms].append(term)
    for forms, matches in by_forms.items():
        found = _occurrences(forms, text, tgt)
        if len(found) != len(matches):
            continue
        for (begin, end), match in zip(found, matches, strict=True):
            rows, columns = _inside(tgt, begin, end), _inside(src, match.begin, match.end)
            matrix[rows], matrix[:, columns] = 0.0, 0.0
            matrix[np.ix_(rows, columns)] = 1.0


def _occurrences(forms: Sequence[str], text: str, tgt: Sequence[Token]) -> list[tuple[int, int]]:
    """Where the forms are in a translation, as whole words."""
    begins, ends = {token.begin for token in tgt}, {token.end for token in tgt}
    longest_first = sorted(forms, key=len, reverse=True)
    spans = [match.span() for match in re.finditer("|".join(map(re.escape, longest_first)), text)]
    return [(begin, end) for begin, end in spans if begin in begins and end in ends]


def _inside(tokens: Sequence[Token], begin: int, end: int) -> list[int]:
    return [i for i, token in enumerate(tokens) if begin <= token.begin and token.end <= end]
