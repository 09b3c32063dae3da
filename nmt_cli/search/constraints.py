"""Terms that a translation must hold, each in one of several forms, and how far one has come."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

Form = tuple[int, ...]
# There is nothing before the first id.
NOTHING = -1


@dataclass(frozen=True)
class WordIds:
    """Where words end, as far as ids tell.

    inner: ids that go on with the word before them; open: ids that a word may go on after.
    """

    inner: frozenset[int] = frozenset()
    open: frozenset[int] = frozenset()


class ConstraintState(NamedTuple):
    """What a hypothesis holds of its terms.

    met: terms that it holds; current: the part of a form that it ends with; last: the term that
    its last id completed, or NOTHING; before: its last id.
    """

    met: frozenset[int] = frozenset()
    current: Form = ()
    last: int = NOTHING
    before: int = NOTHING


@dataclass(frozen=True)
class LexicalConstraints:
    """The forms of each term, as ids; a term is met by one of them as whole words."""

    forms: tuple[tuple[Form, ...], ...]
    words: WordIds = WordIds()

    @property
    def tokens(self) -> int:
        """Ids of all terms, each in its longest form."""
        return sum(max(map(len, forms)) for forms in self.forms)

    def reached(self, progress: ConstraintState) -> int:
        """How many of `tokens` a hypothesis has."""
        met = sum(max(map(len, self.forms[term])) for term in progress.met)
        return met + len(progress.current)

    def missing(self, progress: ConstraintState) -> int:
        """Terms that are not met."""
        return len(self.forms) - len(progress.met)

    def next_ids(self, progress: ConstraintState) -> list[int]:
        """Ids that begin a form of a term that is not met, or go on with the one begun."""
        place = len(progress.current)
        ids = [
            form[place]
            for form in self._unmet(progress.met)
            if len(form) > place and form[:place] == progress.current
            if place or self._may_begin(progress.before, form[0])
        ]
        return list(dict.fromkeys(ids))

    def after(self, progress: ConstraintState, one: int) -> ConstraintState:
        """What it holds once id `one` is added."""
        met = progress.met
        if progress.last != NOTHING and one in self.words.inner:
            # The word goes on: it was another word than the term.
            met = met - {progress.last}
        begun = (*progress.current, one)
        for start in range(len(begun)):
            before = begun[start - 1] if start else progress.before
            part = begun[start:]
            if not (start == 0 and progress.current) and not self._may_begin(before, part[0]):
                continue
            last = self._completed(met, part)
            now = met if last == NOTHING else met | {last}
            goes_on = any(len(f) > len(part) and f[: len(part)] == part for f in self._unmet(now))
            if goes_on or last != NOTHING:
                return ConstraintState(now, part if goes_on else (), last, one)
        return ConstraintState(met, (), NOTHING, one)

    def _unmet(self, met: frozenset[int]) -> Iterator[Form]:
        for term, forms in enumerate(self.forms):
            if term not in met:
                yield from forms

    def _completed(self, met: frozenset[int], part: Form) -> int:
        """The first term not met that has this form."""
        for term, forms in enumerate(self.forms):
            if term not in met and part in forms:
                return term
        return NOTHING

    def _may_begin(self, before: int, one: int) -> bool:
        return not (before in self.words.open and one in self.words.inner)
