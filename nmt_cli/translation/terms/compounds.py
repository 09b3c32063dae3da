"""Terms that a translation has as a part of a longer word, as `Küchentisch` has `Küche`.

The form of the glossary in the place of this word would lose its other part. The word may stay if
it is no translation of the term itself: `Netzwerk` is to be replaced by `Netz`, if the glossary
says so.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from nmt_cli.data.languages.word_characters import is_word
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.inference.forced_pairs import Pair
from nmt_cli.search.constraints import Form, LexicalConstraints
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.terms.alone import TermsAlone
from nmt_cli.translation.terms.forced_together import Force, ForcedTogether
from nmt_cli.translation.terms.spans import places_of

# Shorter forms are the beginning of many other words.
LEAST_FORM = 4
# Less than this is an ending.
LEAST_REST = 3
# A form translates a term if it is so many nats likelier than the longer word: ten times.
LIKELIER = math.log(10.0)


class _Compound(NamedTuple):
    """A word of a translation that has a form of a term; alone: the term as a source by itself."""

    term: int
    alone: tuple[int, ...]
    form: Form
    word: tuple[int, ...]


class Compounds:
    """Finds terms in compounds, with the scores of forced translations."""

    def __init__(
        self, force: Force, alone: TermsAlone, spellings: Sequence[bytes], eos_id: int
    ) -> None:
        """spellings: of every target id."""
        self._force = force
        self._alone = alone
        self._spellings = spellings
        self._eos_id = eos_id

    def leave(
        self,
        plain: Mapping[Source, Hypothesis],
        words: Mapping[Source, Sequence[tuple[int, ...]]],
    ) -> dict[Source, Source]:
        """Each source without the terms that its translation has in compounds.

        words: the positions of each word in the ids of the translation.
        """
        compounds = {
            source: list(self._compounds_in(source, hypothesis, words[source]))
            for source, hypothesis in plain.items()
        }
        together = ForcedTogether(self._force)
        answers = {source: together.ask(list(self._pairs(compounds[source]))) for source in plain}
        result = {}
        for source in plain:
            scores = [sum(forced.token_scores) for forced in answers[source]()]
            terms = {
                compound.term
                for compound, form_score, word_score in zip(
                    compounds[source], scores[::2], scores[1::2], strict=True
                )
                if form_score > word_score + LIKELIER
            }
            result[source] = without_terms(source, terms) if terms else source
        return result

    def _compounds_in(
        self, source: Source, hypothesis: Hypothesis, words: Sequence[tuple[int, ...]]
    ) -> Iterator[_Compound]:
        """The compounds of a translation that its terms may be left in."""
        constraints = source.constraints
        assert constraints is not None
        spelled = [tuple(hypothesis.ids[position] for position in word) for word in words]
        for place in places_of(source):
            for form in constraints.forms[place.term]:
                for word in spelled:
                    if has_part(self._text(word), self._text(form)):
                        yield _Compound(place.term, self._alone.ids(source, place), form, word)

    def _pairs(self, compounds: Sequence[_Compound]) -> Iterator[Pair]:
        for compound in compounds:
            for ids in (compound.form, compound.word):
                yield compound.alone, (*ids, self._eos_id)

    def _text(self, ids: Sequence[int]) -> str:
        return SpelledIds(ids, self._spellings).text.strip()


def has_part(word: str, form: str) -> bool:
    """Whether a longer word begins or ends with a form.

    >>> [has_part(word, "Tisch") for word in ("Küchentisch", "Tischdecke", "Tisches")]
    [True, True, False]
    """
    word, form = word.lower(), form.lower()
    return (
        len(form) >= LEAST_FORM
        and len(word) >= len(form) + LEAST_REST
        and is_word(form)
        and (word.startswith(form) or word.endswith(form))
    )


def without_terms(source: Source, terms: set[int]) -> Source:
    """The source without these of its terms; without constraints if none is left."""
    constraints = source.constraints
    assert constraints is not None
    kept = [term for term in range(len(constraints.forms)) if term not in terms]
    if not kept:
        return replace(source, constraints=None)
    places = tuple(
        place._replace(term=kept.index(place.term))
        for place in constraints.places
        if place.term in kept
    )
    forms = tuple(constraints.forms[term] for term in kept)
    return replace(source, constraints=LexicalConstraints(forms, constraints.words, places))
