"""Terms beside an apostrophe: no space behind `l'`, no term in the place of an article.

And words with an apostrophe or a hyphen in them, which are replaced as a whole.
"""

import pytest

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import target_spellings
from nmt_cli.search.constraints import LexicalConstraints
from nmt_cli.translation.terms.elision import joined_draft, missing_terms
from nmt_cli.translation.terms.forms import PlacedForm
from nmt_cli.translation.terms.replaceable import joined_words, words_of
from nmt_cli.translation.terms.spans import TermSpan


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return learn_subwords(DataConfig(subwords="chars", vocab_size=64), LETTERS, LETTERS)


TEXT = "le greffier de l’avis d’appel d’une part permis objet ici ng'ombe thoko-inĩ soko dog's कि"
TEXT += " su*nú 10:30 EU:ssa l·l"
LETTERS = dict.fromkeys(TEXT.split(" "), 9)


def ids_of(subwords: Subwords, text: str) -> tuple[int, ...]:
    return tuple(subwords.encode_target([text])[0][:-1])


def draft(subwords: Subwords, text: str, term: str) -> str | None:
    """The text with a term in the place of what stands in brackets."""
    before, word, after = text.replace("]", "[").split("[")
    ids = ids_of(subwords, before + word + after)
    spellings = target_spellings(subwords)
    begins = [
        index for index in range(len(ids) + 1) if len(SpelledIds(ids[:index], spellings).text) >= 0
    ]
    ends = {SpelledIds(ids[:index], spellings).text.lstrip(): index for index in begins}
    begin, end = ends[before], ends[before + word]
    placed = PlacedForm(TermSpan(begin, end, 0), ids_of(subwords, term), None, 0.0)
    found = joined_draft(ids, [placed], spellings, subwords)
    return None if found is None else subwords.decode_target([found])[0]


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [
        ("le greffier de l’[avis]", "avis d’appel", "le greffier de l’avis d’appel"),
        ("de l’[une] part", "objet", "de l’objet part"),
        ("de l’[]une part", "permis", "de permis l’une part"),
        ("de [l]’une part", "permis", "de permis l’une part"),
        # The article belongs to the words that are replaced.
        ("le greffier de [l’avis]", "appel", "le greffier de l’appel"),
        ("de [l’avis] ici", "permis", None),
        # Which article `permis` has is not known; without an apostrophe nothing is changed.
        ("de l’[avis] ici", "permis", None),
        ("le [greffier] ici", "permis", None),
        ("de [l’]une part", "objet", None),
        # A name with an apostrophe has no article.
        ("de [o’part] ici", "avis", None),
        ("de [ng]'ombe", "permis", None),
        # The form has the ending that follows the word already.
        ("[thoko]-inĩ ici", "soko-inĩ", "soko-inĩ ici"),
        ("de [thoko]-inĩ ici", "soko-inĩ", "de soko-inĩ ici"),
        ("de [thoko]-inĩ", "soko", None),
    ],
)
def test_terms_beside_an_apostrophe(subwords, text, term, expected) -> None:
    assert draft(subwords, text, term) == expected


@pytest.mark.parametrize(
    ("text", "words", "joined"),
    [
        ("de ng'ombe ici", ["de", "ng'ombe", "ici"], set()),
        ("de thoko-inĩ ici", ["de", "thoko", "inĩ", "ici"], {1}),
        ("de ng'ombeकि’कि ici", ["de", "ng'ombeकि’कि", "ici"], set()),
        ("de su*nú ici", ["de", "su*nú", "ici"], set()),
        ("EU:ssa l·l", ["EU:ssa", "l·l"], set()),
        ("10:30 *ici*", ["10", "30", "ici"], set()),
        ("de l’avis d’une part", ["de", "l", "avis", "d", "une", "part"], set()),
        ("de dog's ici", ["de", "dog", "s", "ici"], set()),
    ],
)
def test_words_are_joined_by_apostrophes_and_hyphens(subwords, text, words, joined) -> None:
    ids, spellings = ids_of(subwords, text), target_spellings(subwords)
    found = words_of(ids, spellings, spaced=True)
    spelled = [SpelledIds(ids[word[0] : word[-1] + 1], spellings).text for word in found]
    assert [each.strip() for each in spelled] == words
    assert joined_words(ids, found, spellings) == joined


def test_a_form_behind_an_apostrophe_is_a_whole_word(subwords) -> None:
    spellings = target_spellings(subwords)
    forms = ((ids_of(subwords, "avis"),), (ids_of(subwords, "permis"),))
    constraints = LexicalConstraints(forms)
    for text, missing in (
        ("de l’avis", 1), ("de l’avis permis", 0), ("de l’avisि", 2), ("de l’une", 2), ("part", 2),
    ):  # fmt: skip
        assert missing_terms(constraints, ids_of(subwords, text), spellings) == missing


def test_a_term_that_is_demanded_twice_is_needed_twice_behind_apostrophes(subwords) -> None:
    form = (ids_of(subwords, "avis"),)
    constraints = LexicalConstraints((form, form))
    for text, missing in (("de l’avis", 1), ("de l’avis d’avis", 0)):
        found = missing_terms(constraints, ids_of(subwords, text), target_spellings(subwords))
        assert found == missing, text
