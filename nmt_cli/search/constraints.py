"""Lexical constraints: terms a translation must contain, and which of them a hypothesis has met."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

Form = tuple[int, ...]
# The id before the first one, and the term that an id completes where it completes none.
NOTHING = -1


@dataclass(frozen=True)
class WordIds:
    """Which ids continue a word, so that the ends of words are known.

    inner: ids that continue the word before them; open: ids whose word may be continued.
    """

    inner: frozenset[int] = frozenset()
    open: frozenset[int] = frozenset()


class Place(NamedTuple):
    """An occurrence of a term in the source: its index, and the positions of its source ids."""

    term: int
    positions: tuple[int, ...]


class ConstraintState(NamedTuple):
    """The constraints that a hypothesis has met, and the one that it has begun.

    met: indices of the terms it contains; partial: the beginning of a form that it ends with;
    last_met: the term that its last id completed, or NOTHING; last_id: its last id.
    """

    met: frozenset[int] = frozenset()
    partial: Form = ()
    last_met: int = NOTHING
    last_id: int = NOTHING


@dataclass(frozen=True)
class LexicalConstraints:
    """The forms of each term as ids; a term is met by any one of its forms as whole words.

    places: where the terms occur in the source, as far as that is known.
    """

    forms: tuple[tuple[Form, ...], ...]
    words: WordIds = WordIds()
    places: tuple[Place, ...] = ()

    @property
    def tokens(self) -> int:
        """The number of ids of all terms, each in its longest form."""
        return sum(max(map(len, forms)) for forms in self.forms)

    def matched_tokens(self, state: ConstraintState) -> int:
        """The number of `tokens` that a hypothesis has, which is the index of its bank."""
        met = sum(max(map(len, self.forms[term])) for term in state.met)
        # What may become a longer form of a term that is met counts once.
        return met + (len(state.partial) if self._continue(state.partial, state.met) else 0)

    def missing(self, state: ConstraintState) -> int:
        """The number of terms that are not met."""
        return len(self.forms) - len(state.met)

    def missing_in(self, ids: Iterable[int]) -> int:
        """The number of terms that are not met by these ids."""
        state = ConstraintState()
        for token_id in ids:
            state = self.advance(state, token_id)
        return self.missing(state)

    def next_ids(self, state: ConstraintState) -> list[int]:
        """The ids that begin a form of an unmet term, or continue the one that has begun."""
        matched = len(state.partial)
        ids = [
            form[matched]
            for form in self._unmet_forms(state.met - {state.last_met})
            if matched and len(form) > matched and form[:matched] == state.partial
        ]
        if not self._continue(state.partial, state.met):
            ids += [
                form[0]
                for form in self._unmet_forms(state.met)
                if self._may_begin(state.last_id, form[0])
            ]
        return list(dict.fromkeys(ids))

    def advance(self, state: ConstraintState, token_id: int) -> ConstraintState:
        """The state once `token_id` is added."""
        met = state.met
        if state.last_met != NOTHING and token_id in self.words.inner:
            # The word continues, so it is not the term.
            met = met - {state.last_met}
        candidate = (*state.partial, token_id)
        for start in range(len(candidate)):
            previous = candidate[start - 1] if start else state.last_id
            suffix = candidate[start:]
            if not (start == 0 and state.partial) and not self._may_begin(previous, suffix[0]):
                continue
            completed = self._completed_term(met, suffix)
            now_met = met if completed == NOTHING else met | {completed}
            # A longer form of the term that is completed may follow, such as `dogs` after `dog`.
            continues = self._continue(suffix, met)
            if continues or completed != NOTHING:
                partial = suffix if continues else ()
                return ConstraintState(now_met, partial, completed, token_id)
        return ConstraintState(met, (), NOTHING, token_id)

    def _continue(self, partial: Form, met: frozenset[int]) -> bool:
        """Whether a form of an unmet term begins with `partial` and is longer."""
        return bool(partial) and any(
            len(form) > len(partial) and form[: len(partial)] == partial
            for form in self._unmet_forms(met)
        )

    def _unmet_forms(self, met: frozenset[int]) -> Iterator[Form]:
        for term, forms in enumerate(self.forms):
            if term not in met:
                yield from forms

    def _completed_term(self, met: frozenset[int], suffix: Form) -> int:
        """The first unmet term that has this form, or NOTHING."""
        for term, forms in enumerate(self.forms):
            if term not in met and suffix in forms:
                return term
        return NOTHING

    def _may_begin(self, previous: int, token_id: int) -> bool:
        """Whether a term may begin with `token_id`: not in the middle of a word."""
        return not (previous in self.words.open and token_id in self.words.inner)
