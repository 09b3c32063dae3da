"""What a model says of a term of a glossary that stands alone, without its sentence.

The sentence decides which words a translation needs in a place; the term alone, which of these
words translate the term, and what their base form is.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from nmt_cli.data.subwords.model import Subwords
from nmt_cli.inference.forced_pairs import ForcedPair
from nmt_cli.search.constraints import Form, Place
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.terms.forced_together import ForcedTogether

# A word is in its base form if its other forms are so many nats less likely: a hundred times.
UNLIKELY = math.log(100.0)


class WordScores(NamedTuple):
    """The log-probabilities of each word of a translation, given only the term.

    first: at the beginning of the translation of the term; next: behind the word before it.
    """

    first: list[float]
    next: list[float]


class ReplacedWord(NamedTuple):
    """A word of a translation that a term replaces.

    term: the ids of the term in the source; text: the word; ending: what it has in common with a
    form of the term; endings: those of the other forms.
    """

    term: tuple[int, ...]
    text: str
    ending: str
    endings: tuple[str, ...]

    @property
    def other_forms(self) -> list[str]:
        """The other forms that the word may have, if what it has in common is an ending.

        >>> ReplacedWord((), "Hauses", "s", ("",)).other_forms
        ['Hause', 'Haus']
        """
        stem = self.text[: len(self.text) - len(self.ending)]
        forms = [stem + ending for ending in self.endings]
        # The forms of this word may have a letter more in their endings than those of the term.
        forms += [stem, stem[:-1]]
        return [form for form in dict.fromkeys(forms) if form.strip() and form != self.text]


class TermsAlone:
    """Forces translations of terms that stand alone."""

    def __init__(self, subwords: Subwords) -> None:
        self._subwords = subwords

    def word_scores(
        self,
        together: ForcedTogether,
        plain: Mapping[Source, Hypothesis],
        words: Mapping[Source, Sequence[tuple[int, ...]]],
        places: Callable[[Source], Sequence[Place]],
    ) -> Callable[[], dict[Source, list[WordScores]]]:
        """The scores of the words of each translation, for each place of a term in its source.

        words: the positions of each word in the ids of the translation.
        """
        answer = together.ask(
            [
                (self.ids(source, place), (*word, *after, self._subwords.eos_id))
                for source, positions in words.items()
                for place in places(source)
                for word, after in _with_next(plain[source].ids, positions)
            ]
        )

        def scores() -> dict[Source, list[WordScores]]:
            forced = iter(answer())
            return {
                source: [_word_scores(positions, forced) for _ in places(source)]
                for source, positions in words.items()
            }

        return scores

    def form_scores(
        self, together: ForcedTogether, forms: Sequence[tuple[tuple[int, ...], Form]]
    ) -> Callable[[], list[float]]:
        """The log-probability of each form as the translation of a term alone.

        forms: the ids of the term, as `ids` gives them, and of its form.
        """
        answer = together.ask([(term, (*form, self._subwords.eos_id)) for term, form in forms])
        return lambda: [sum(forced.token_scores[:-1]) for forced in answer()]

    def lift(
        self, together: ForcedTogether, source: Source, place: Place, word: Sequence[int]
    ) -> Callable[[], float]:
        """How many nats likelier a word begins the translation of a term than of anything else.

        Anything else is each other id of the source, alone, and an empty text. word: its ids.
        """
        term = self.ids(source, place)
        end = term[len(place.positions) :]
        others = [(token_id, *end) for token_id in source.ids if token_id not in term]
        # A model without EOS in its sources cannot translate an empty text.
        texts = [term, *filter(None, [end, *others])]
        answer = together.ask([(text, (*word, self._subwords.eos_id)) for text in texts])

        def nats() -> float:
            of_term, *of_others = (sum(forced.token_scores[:-1]) for forced in answer())
            return of_term - max(of_others, default=-math.inf)

        return nats

    def inflected(
        self, together: ForcedTogether, words: Sequence[ReplacedWord]
    ) -> Callable[[], list[bool]]:
        """Whether each word is an inflected form: another form translates the term alone as well.

        A word that only ends like a form, such as `Haus` like `Hundes`, has no such other form.
        """
        answer = together.ask(
            [
                (word.term, self._subwords.encode_target([text.strip()])[0])
                for word in words
                for text in (word.text, *word.other_forms)
            ]
        )

        def are_inflected() -> list[bool]:
            forced = iter(answer())
            result = []
            for word in words:
                own, *others = (sum(next(forced).token_scores) for _ in (word, *word.other_forms))
                result.append(max(others, default=-math.inf) > own - UNLIKELY)
            return result

        return are_inflected

    def ids(self, source: Source, place: Place) -> tuple[int, ...]:
        """The ids of the term as a source by itself."""
        end = (self._subwords.eos_id,) if self._subwords.source_eos else ()
        return (*(source.ids[position] for position in place.positions), *end)


def _with_next(
    ids: Sequence[int], words: Sequence[tuple[int, ...]]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The ids of each word, and those of the word behind it."""
    for word, after in zip_longest(words, words[1:], fillvalue=()):
        yield tuple(ids[i] for i in word), tuple(ids[i] for i in after)


def _word_scores(words: Sequence[tuple[int, ...]], forced: Iterator[ForcedPair]) -> WordScores:
    """The scores of words, each of which was forced together with the next one."""
    scores = [next(forced).token_scores[:-1] for _ in words]
    first, following = [], [-math.inf]
    for word, token_scores in zip(words, scores, strict=True):
        first.append(sum(token_scores[: len(word)]))
        following.append(sum(token_scores[len(word) :]))
    return WordScores(first, following[:-1])
