"""Takes out words that stand beside a placed term and that the term has, too.

The term `Oyo State` may replace the translation of `Oyo` alone. The word for `State` then stands
there twice: before the term, and as its first word.
"""

import re
from collections.abc import Sequence

from nmt_cli.data.languages.elision import APOSTROPHES
from nmt_cli.data.languages.word_characters import borders, is_word_character
from nmt_cli.data.lexical.glossary import capitalised
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.search.constraints import Form, LexicalConstraints
from nmt_cli.search.decoder import Source
from nmt_cli.translation.markup.boundaries import HYPHENS
from nmt_cli.translation.terms.forms import PlacedForm, begins_sentence
from nmt_cli.translation.terms.replaceable import Word
from nmt_cli.translation.terms.spans import places_of

# A word of the term that is in the source once more, at most so many words apart from the term,
# may be what the repeated word translates: `the state of Oyo State`.
_NEAR = 3
# A short word behind a comma may be a pronoun before an article: `Leute, die die Bahn`.
_PRONOUN = re.compile(r",\s*\w{1,3}\s*\Z")
_JOINING = HYPHENS + APOSTROPHES
_BEGIN, _END = borders()


class RepeatedWords:
    """Widens the spans that terms replace, so that no word beside them repeats one of the term."""

    def __init__(
        self, source: Source, source_spellings: Sequence[bytes], spellings: Sequence[bytes]
    ) -> None:
        """spellings: of every target id."""
        self._source = source
        self._source_spellings = source_spellings
        self._spellings = spellings

    def widened(
        self, ids: Sequence[int], words: Sequence[Word], chosen: Sequence[PlacedForm]
    ) -> list[PlacedForm]:
        """The forms with their spans, which contain the repeated words beside them.

        ids: of the translation without terms; words: the positions of those that may be replaced.
        """
        result: list[PlacedForm] = []
        for index, placed in enumerate(chosen):
            first = result[-1].span.end if result else 0
            last = chosen[index + 1].span.begin if index + 1 < len(chosen) else len(ids)
            free = [word for word in words if first <= word[0] and word[-1] < last]
            result.append(self._widened(ids, free, placed))
        return result

    def _widened(self, ids: Sequence[int], words: Sequence[Word], placed: PlacedForm) -> PlacedForm:
        span, form, *_ = placed
        parts = self._text(form).casefold().split()
        if len(parts) < 2 or self._has_word_twice(span.term):
            return placed
        firsts = {" ".join(parts[:count]) for count in range(1, len(parts) + 1)}
        lasts = {" ".join(parts[count:]) for count in range(len(parts))}
        # A hyphen divides words, but no parts of the term.
        most = 2 * len(parts)
        before = [word[0] for word in words if word[-1] < span.begin][-most:]
        behind = [word[-1] + 1 for word in words if word[0] >= span.end][:most]
        begins = (at for at in before if self._spelled(ids, at, span.begin) in firsts)
        ends = (at for at in behind if self._spelled(ids, span.end, at) in lasts)
        begin, end = next(begins, span.begin), next(ends, span.end)
        if begin < span.begin:
            form = self._capitalised(ids, begin, span.term, form)
        return placed._replace(span=span._replace(begin=begin, end=end), form=form)

    def _spelled(self, ids: Sequence[int], begin: int, end: int) -> str:
        """The words of these ids in small letters; "" if they are no whole words or a pronoun."""
        text, before = self._text(ids[begin:end]), self._text(ids[:begin])
        after = self._text(ids[end:])[:1]
        goes_on = after != "" and (is_word_character(after) or after in _JOINING)
        if goes_on or not text[:1].isspace() or _PRONOUN.search(before + text):
            return ""
        return " ".join(text.casefold().split())

    def _has_word_twice(self, term: int) -> bool:
        """Whether a word of the term is in the source near the term, too."""
        spelled = SpelledIds(self._source.ids[:-1], self._source_spellings)
        words = spelled.words()
        texts = [self._source_text(word) for word in words]
        for place in places_of(self._source):
            own = [i for i, word in enumerate(words) if {*word} & {*place.positions}]
            if place.term != term or not own:
                continue
            near = texts[max(0, own[0] - _NEAR) : own[0]] + texts[own[-1] + 1 :][:_NEAR]
            if {texts[i] for i in own} & {*near}:
                return True
        return False

    def _capitalised(self, ids: Sequence[int], begin: int, term: int, form: Form) -> Form:
        """The form that begins with a capital where the repeated word began a sentence with one."""
        assert self._source.constraints is not None
        if not begins_sentence(self._text(ids[:begin]), self._text(ids[begin:])):
            return form
        wanted = capitalised(self._text(form).strip())
        forms = self._source.constraints.forms[term]
        return next((each for each in forms if self._text(each).strip() == wanted), form)

    def _text(self, ids: Sequence[int]) -> str:
        return SpelledIds(ids, self._spellings).text

    def _source_text(self, word: Word) -> str:
        ids = [self._source.ids[position] for position in word]
        return SpelledIds(ids, self._source_spellings).text.strip().casefold()


def repeats(ids: Sequence[int], constraints: LexicalConstraints, spellings: Sequence[bytes]) -> int:
    """How many terms of several words have their first or last word beside them once more."""
    text = SpelledIds(ids, spellings).text.casefold()
    spelled = [
        {" ".join(SpelledIds(form, spellings).text.casefold().split()) for form in forms}
        for forms in constraints.forms
    ]
    return sum(any(_is_repeated(form, text) for form in forms) for forms in spelled)


def _is_repeated(form: str, text: str) -> bool:
    """Whether the first or last word of a form of several words stands beside it.

    >>> [_is_repeated("state oyo", text) for text in ("a state state oyo", "state oyo, oyo")]
    [True, False]
    """
    first, *rest = form.split()
    if not rest:
        return False
    pair = f"{first} {form}", f"{form} {rest[-1]}"
    return any(re.search(f"{_BEGIN}{re.escape(each)}{_END}", text) for each in pair)
