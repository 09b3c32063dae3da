"""Terms beside an apostrophe: `l'avis` is two words without a space between them.

The ids of a form begin with a space, and a translation is cut into words at apostrophes. So the
text is put together again where a form would stand behind `l'` or in place of `l`.
"""

import re
from collections import Counter
from collections.abc import Sequence

from nmt_cli.data.languages.elision import APOSTROPHES, begins_with_vowel, elided_word
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.search.constraints import Form, LexicalConstraints
from nmt_cli.translation.terms.forms import PlacedForm

_APOSTROPHES = tuple(APOSTROPHES)


def elided_draft(
    ids: Sequence[int],
    chosen: Sequence[PlacedForm],
    spellings: Sequence[bytes],
    subwords: Subwords,
) -> tuple[int, ...] | None:
    """A translation with its terms in their places; None where no apostrophe is beside any.

    ids: of the translation without terms, without EOS.
    """
    text, done, is_elided = "", 0, False
    for span, form, *_ in chosen:
        text += _text(ids[done : span.begin], spellings)
        word = _text(ids[span.begin : span.end], spellings)
        rest = _text(ids[span.end :], spellings)
        term = _text(form, spellings).strip()
        done = span.end
        article = elided_word(word)
        if article and word[len(article) :][:1].isalpha() and begins_with_vowel(term):
            # The words that are replaced begin with an article, which stays.
            text, is_elided = text + article + term, True
        elif rest.startswith(_APOSTROPHES) and rest[1:2].isalpha():
            # The word is an article: its noun stays, and so does the article.
            text, is_elided = f"{text} {term}{_spaced(word)}", True
        elif text.endswith(_APOSTROPHES) and not word and rest[:1].isalpha():
            begin = text.rfind(" ") + 1
            text, is_elided = f"{text[:begin]}{term} {text[begin:]}", True
        elif text.endswith(_APOSTROPHES) and word[:1].isalpha() and begins_with_vowel(term):
            text, is_elided = text + term, True
        else:
            text += _text(form, spellings)
    if not is_elided:
        return None
    return tuple(subwords.encode_target([(text + _text(ids[done:], spellings)).strip()])[0][:-1])


def missing_terms(
    constraints: LexicalConstraints, ids: Sequence[int], spellings: Sequence[bytes]
) -> int:
    """As `LexicalConstraints.missing_in`, where forms behind an apostrophe are whole words too."""
    missing = constraints.missing_in(ids)
    text = _text(ids, spellings)
    if not missing or not any(sign in text for sign in _APOSTROPHES):
        return missing
    demanded = Counter(constraints.forms)
    return sum(max(0, times - _count(forms, text, spellings)) for forms, times in demanded.items())


def _count(forms: Sequence[Form], text: str, spellings: Sequence[bytes]) -> int:
    """How often a text has any of these forms as whole words."""
    spelled = sorted((_text(form, spellings).strip() for form in forms), key=len, reverse=True)
    return len(re.findall(rf"(?<!\w)(?:{'|'.join(map(re.escape, spelled))})(?!\w)", text))


def _text(ids: Sequence[int], spellings: Sequence[bytes]) -> str:
    return SpelledIds(ids, spellings).text


def _spaced(word: str) -> str:
    return word if word.startswith(" ") else f" {word}"
