"""Terms beside an apostrophe or a hyphen: `l'avis` is two words without a space between them.

The ids of a form begin with a space, and a translation is cut into words at apostrophes. So the
text is put together again where a form would stand behind `l'` or in place of `l`, and where it
ends with what a hyphen joins to the word that it replaces.
"""

import re
from collections import Counter
from collections.abc import Sequence

from nmt_cli.data.languages.elision import APOSTROPHES, begins_with_vowel, elided_word
from nmt_cli.data.languages.word_characters import WORD, borders
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.search.constraints import Form, LexicalConstraints
from nmt_cli.translation.markup.boundaries import HYPHENS
from nmt_cli.translation.terms.forms import PlacedForm

_APOSTROPHES = tuple(APOSTROPHES)
_BEGIN, _END = borders()
_SUFFIX = re.compile(rf"(?:{WORD})[{HYPHENS}]({WORD})\Z")
_JOINERS = (*APOSTROPHES, *HYPHENS)


def joined_draft(
    ids: Sequence[int],
    chosen: Sequence[PlacedForm],
    spellings: Sequence[bytes],
    subwords: Subwords,
) -> tuple[int, ...] | None:
    """A translation with its terms in their places; None where nothing is joined with any.

    ids: of the translation without terms, without EOS.
    """
    text, done, is_joined, dropped = "", 0, False, 0
    for span, form, *_ in chosen:
        text += _text(ids[done : span.begin], spellings)[dropped:]
        dropped = 0
        word = _text(ids[span.begin : span.end], spellings)
        rest = _text(ids[span.end :], spellings)
        term = _text(form, spellings).strip()
        done = span.end
        article = elided_word(word)
        if article and word[len(article) :][:1].isalpha() and begins_with_vowel(term):
            # The words that are replaced begin with an article, which stays.
            text, is_joined = text + article + term, True
        elif suffix := _shared_suffix(term, rest):
            # The form has what follows the word: `soko-inĩ` for `thoko`, before `-inĩ`.
            text, is_joined, dropped = f"{text}{_spaced_like(word, term)}", True, len(suffix)
        elif elided_word(word + rest[:1]) == word + rest[:1] and rest[1:2].isalpha():
            # The word is an article: its noun stays, and so does the article.
            text, is_joined = f"{text} {term}{_spaced(word)}", True
        elif text.endswith(_APOSTROPHES) and not word and rest[:1].isalpha():
            begin = text.rfind(" ") + 1
            text, is_joined = f"{text[:begin]}{term} {text[begin:]}", True
        elif text.endswith(_APOSTROPHES) and word[:1].isalpha() and begins_with_vowel(term):
            text, is_joined = text + term, True
        else:
            text += _text(form, spellings)
    if not is_joined:
        return None
    text = (text + _text(ids[done:], spellings)[dropped:]).strip()
    return tuple(subwords.encode_target([text])[0][:-1])


def _shared_suffix(term: str, rest: str) -> str:
    """The suffix behind a hyphen that a term ends with and the rest of a text begins with; or "".

    >>> _shared_suffix("soko-inĩ", "-inĩ gwa"), _shared_suffix("soko-inĩ", "-inĩra")
    ('-inĩ', '')
    """
    suffix = _SUFFIX.search(term)
    if suffix is None:
        return ""
    match = re.match(rf"[{HYPHENS}]{re.escape(suffix[1])}{_END}", rest, re.IGNORECASE)
    return match[0] if match else ""


def _spaced_like(word: str, term: str) -> str:
    """The term, with a space before it if the word has one."""
    return f" {term}" if word.startswith(" ") else term


def missing_terms(
    constraints: LexicalConstraints, ids: Sequence[int], spellings: Sequence[bytes]
) -> int:
    """As `LexicalConstraints.missing_in`, where forms beside such signs are whole words too."""
    missing = constraints.missing_in(ids)
    text = _text(ids, spellings)
    if not missing or not any(sign in text for sign in _JOINERS):
        return missing
    demanded = Counter(constraints.forms)
    return sum(max(0, times - _count(forms, text, spellings)) for forms, times in demanded.items())


def _count(forms: Sequence[Form], text: str, spellings: Sequence[bytes]) -> int:
    """How often a text has any of these forms as whole words."""
    spelled = sorted((_text(form, spellings).strip() for form in forms), key=len, reverse=True)
    return len(re.findall(rf"{_BEGIN}(?:{'|'.join(map(re.escape, spelled))}){_END}", text))


def _text(ids: Sequence[int], spellings: Sequence[bytes]) -> str:
    return SpelledIds(ids, spellings).text


def _spaced(word: str) -> str:
    return word if word.startswith(" ") else f" {word}"
