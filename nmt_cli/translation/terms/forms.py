"""Which form of a term takes the place of a word: the one that ends like it, or the likeliest."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from typing import NamedTuple

from nmt_cli.data.lexical.glossary import capitalised
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.inference.forced_pairs import ForcedPair, Pair
from nmt_cli.search.constraints import Form
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.terms.alone import ReplacedWord, TermsAlone
from nmt_cli.translation.terms.forced_together import Force, ForcedTogether
from nmt_cli.translation.terms.spans import TermSpan, places_of

# A glossary names the base form first: it scores this many nats more. A model that has never seen
# a word can hardly tell which form is right.
FIRST_FORM = 32.0
_BEFORE_SENTENCE = re.compile(r"(^|[.!?…])\W*$")


class PlacedForm(NamedTuple):
    """A form in the place of a span.

    forced: the translation with this form only; likeliest: the log-probability of the likeliest
    form of the term, in this place or alone.
    """

    span: TermSpan
    form: Form
    forced: ForcedPair
    likeliest: float


class TermForms:
    """Chooses forms of terms, with the scores of forced translations."""

    def __init__(
        self,
        force: Force,
        alone: TermsAlone,
        spellings: Sequence[bytes],
        function_words: Collection[str],
        *,
        spaced: bool,
    ) -> None:
        """spellings: of every target id; spaced: whether spaces separate words.

        function_words: the commonest ones of the target language, in small letters.
        """
        self._force = force
        self._alone = alone
        self._spellings = spellings
        self._function_words = function_words
        self._spaced = spaced

    def choose(
        self, spans: Mapping[Source, Sequence[TermSpan]], plain: Mapping[Source, Hypothesis]
    ) -> dict[Source, list[PlacedForm]]:
        """For each span the form that ends like the replaced word, or else is the likeliest."""
        fitting = {
            source: [self._fitting(source, span, plain[source]) for span in source_spans]
            for source, source_spans in spans.items()
        }
        pairs: list[Pair] = []
        alone: list[tuple[tuple[int, ...], Form]] = []
        for source, source_spans in spans.items():
            ids = plain[source].ids
            for span, forms in zip(source_spans, fitting[source], strict=True):
                term = self._term(source, span)
                for form in forms:
                    pairs.append((source.ids, (*ids[: span.begin], *form, *ids[span.end :])))
                    alone.append((term, form))
        together = ForcedTogether(self._force)
        placed, by_itself = together.ask(pairs), self._alone.form_scores(together, alone)
        endings = self._endings(together, spans, fitting, plain)
        results = zip(placed(), by_itself(), strict=True)
        chosen: dict[Source, list[PlacedForm]] = {source: [] for source in spans}
        for source, source_spans in spans.items():
            for span, forms in zip(source_spans, fitting[source], strict=True):
                options = []
                likeliest = []
                for form, length in zip(forms, next(endings), strict=True):
                    forced, log_prob = next(results)
                    in_place = forced.token_scores[span.begin : span.begin + len(form)]
                    likeliest.append(max(sum(in_place), log_prob))
                    score = sum(forced.token_scores) + FIRST_FORM * (form == forms[0])
                    options.append((length, score, form, forced))
                *_, form, forced = max(options, key=lambda option: option[:2])
                chosen[source].append(PlacedForm(span, form, forced, max(likeliest)))
        return self._behind_function_words(chosen, plain)

    def _behind_function_words(
        self, chosen: Mapping[Source, Sequence[PlacedForm]], plain: Mapping[Source, Hypothesis]
    ) -> dict[Source, list[PlacedForm]]:
        """The forms behind function words that their spans begin with, where that is likelier.

        Of `lunettes de protection`, the translation of `safety` may be the last two words; the
        preposition stays before another noun.
        """
        narrower = {
            (source, index): span
            for source, all_placed in chosen.items()
            for index, placed in enumerate(all_placed)
            if (span := self._without_function_words(placed, plain[source])) != placed.span
        }
        pairs = []
        for (source, index), span in narrower.items():
            ids, form = plain[source].ids, chosen[source][index].form
            pairs.append((source.ids, (*ids[: span.begin], *form, *ids[span.end :])))
        result = {source: list(all_placed) for source, all_placed in chosen.items()}
        forced_pairs = self._force(pairs) if pairs else ()
        for ((source, index), span), forced in zip(narrower.items(), forced_pairs, strict=True):
            placed = result[source][index]
            if sum(forced.token_scores) > sum(placed.forced.token_scores):
                result[source][index] = placed._replace(span=span, forced=forced)
        return result

    def _without_function_words(self, placed: PlacedForm, plain: Hypothesis) -> TermSpan:
        """The span without the function words that it begins with; the same if the form has one.

        Nor is a span changed that begins a sentence, or that has no other word.
        """
        span = placed.span
        before, text = self._text(plain.ids[: span.begin]), self._text(plain.ids[span.begin :])
        if begins_sentence(before, text) or self._begins_with_function_word(placed.form):
            return span
        words = SpelledIds(plain.ids[span.begin : span.end], self._spellings).words()
        texts = [self._text([plain.ids[span.begin + i] for i in word]).strip() for word in words]
        others = dropwhile(
            lambda pair: pair[1].lower() in self._function_words, zip(words, texts, strict=True)
        )
        word, _ = next(others, ((0,), ""))
        return span._replace(begin=span.begin + word[0])

    def _begins_with_function_word(self, form: Form) -> bool:
        first, *_ = [*self._text(form).lower().split(), ""]
        return first in self._function_words

    def _fitting(self, source: Source, span: TermSpan, plain: Hypothesis) -> list[Form]:
        """The forms of a term, without those that are capitalised otherwise than the place is."""
        assert source.constraints is not None
        forms = source.constraints.forms[span.term]
        texts = {form: self._text(form).strip() for form in forms}
        before, word = self._text(plain.ids[: span.begin]), self._text(plain.ids[span.begin :])
        unfit = unfit_forms(list(texts.values()), capital=begins_sentence(before, word))
        return [form for form in forms if texts[form] not in unfit]

    def _text(self, ids: Sequence[int]) -> str:
        return SpelledIds(ids, self._spellings).text

    def _term(self, source: Source, span: TermSpan) -> tuple[int, ...]:
        """The ids of the term as a source by itself."""
        place = next(place for place in places_of(source) if place.term == span.term)
        return self._alone.ids(source, place)

    def _endings(
        self,
        together: ForcedTogether,
        spans: Mapping[Source, Sequence[TermSpan]],
        fitting: Mapping[Source, Sequence[Sequence[Form]]],
        plain: Mapping[Source, Hypothesis],
    ) -> Iterator[list[int]]:
        """For each span how much of the ending of each fitting form the replaced word has too.

        All are 0 where no form ends like the replaced word, and where this word has no ending:
        `Haus` is no genitive.
        """
        result, replaced, indices = [], [], []
        for source, source_spans in spans.items():
            for span, form_ids in zip(source_spans, fitting[source], strict=True):
                word, *forms = (
                    self._text(ids) for ids in (plain[source].ids[span.begin : span.end], *form_ids)
                )
                endings = endings_of(forms) if self._spaced else []
                lengths = [len(common_suffix(ending, word)) for ending in endings]
                result.append(lengths or [0] * len(forms))
                if any(lengths):
                    indices.append(len(result) - 1)
                    shared = word[len(word) - max(lengths) :]
                    ids = self._term(source, span)
                    replaced.append(ReplacedWord(ids, word, shared, tuple(endings)))
        answer = self._alone.inflected(together, replaced)

        def checked() -> Iterator[list[int]]:
            inflected = dict(zip(indices, answer(), strict=True))
            for index, lengths in enumerate(result):
                yield lengths if inflected.get(index, True) else [0] * len(lengths)

        return checked()


def begins_sentence(before: str, word: str) -> bool:
    """Whether a word begins a sentence, and not with a small letter; before: the text before it."""
    return bool(_BEFORE_SENTENCE.search(before)) and not word.strip()[:1].islower()


def unfit_forms(texts: Sequence[str], *, capital: bool) -> set[str]:
    """The forms that do not fit a place, since another one, with the first letter as there, does.

    texts: all forms of a term; capital: whether words begin with a capital in this place.

    >>> forms = ["maillot", "Maillot", "tee-shirt"]
    >>> unfit_forms(forms, capital=True), unfit_forms(forms, capital=False)
    ({'maillot'}, {'Maillot'})
    """
    capitals = {text: capitalised(text) for text in texts}
    pairs = [
        (text, with_capital)
        for text, with_capital in capitals.items()
        if text != with_capital and with_capital in capitals
    ]
    return {text if capital else with_capital for text, with_capital in pairs}


def endings_of(forms: Sequence[str]) -> list[str]:
    """What follows the beginning that all forms share.

    >>> endings_of(["winzig", "winzige", "winzigen"])
    ['', 'e', 'en']
    """
    stem = len(list(takewhile(lambda letters: len(set(letters)) == 1, zip(*forms, strict=False))))
    return [form[stem:] for form in forms]


def common_suffix(text: str, other: str) -> str:
    """The last letters that both have.

    >>> common_suffix("es", "Bruders"), common_suffix("e", "Bruders")
    ('s', '')
    """
    pairs = zip(reversed(text), reversed(other), strict=False)
    length = len(list(takewhile(lambda letters: letters[0] == letters[1], pairs)))
    return text[len(text) - length :]
