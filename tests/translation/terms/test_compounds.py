"""A term that a compound of the translation contains stays in it."""

from collections.abc import Mapping, Sequence

import pytest

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import target_spellings
from nmt_cli.inference.forced_pairs import ForcedPair, Pair
from nmt_cli.search.constraints import LexicalConstraints, Place
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.terms.alone import TermsAlone
from nmt_cli.translation.terms.compounds import Compounds, has_part, without_terms

SRC, TGT = "the kitchen table", "der Küchentisch"
WORDS = "der Küche Küchentisch Tisch Lampe"


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    """Every word is one subword."""
    counts = {word: 10 + n for n, word in enumerate([*SRC.split(), *WORDS.split()])}
    return learn_subwords(DataConfig(subwords="bpe", vocab_size=94), counts, counts)


def ids_of(subwords: Subwords, text: str) -> tuple[int, ...]:
    return tuple(subwords.encode_target([text])[0])


def left(subwords: Subwords, alone: Mapping[str, float], *forms: str) -> list[str]:
    """The terms that are still demanded; alone: the log-probabilities of words for any term."""
    scores = {ids_of(subwords, word)[0]: nats for word, nats in alone.items()}

    def force(pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        assert not attention
        return [ForcedPair([scores.get(i, 0.0) for i in target], None) for _, target in pairs]

    ids = tuple((ids_of(subwords, form)[:-1],) for form in forms)
    places = tuple(Place(term, (1 + term,)) for term in range(len(forms)))
    source = Source(
        tuple(subwords.encode_source([SRC])[0]), constraints=LexicalConstraints(ids, places=places)
    )
    spellings = target_spellings(subwords)
    translation = ids_of(subwords, TGT)
    compounds = Compounds(force, TermsAlone(subwords), spellings, subwords.eos_id)
    words = SpelledIds(translation[:-1], spellings).words()
    plain = {source: Hypothesis(translation, -1.0, -1.0, ())}
    constraints = compounds.leave(plain, {source: words})[source].constraints
    if constraints is None:
        return []
    assert [place.term for place in constraints.places] == [*range(len(constraints.forms))]
    return [subwords.decode_target([form])[0] for (form,) in constraints.forms]


def test_each_word_is_one_subword(subwords: Subwords) -> None:
    assert len(ids_of(subwords, TGT)) == 3


def test_terms_in_a_compound_are_not_demanded(subwords: Subwords) -> None:
    likely = {"Küche": -1.0, "Tisch": -1.0, "Küchentisch": -9.0}
    assert left(subwords, likely, "Küche") == []
    assert left(subwords, likely, "Küche", "Tisch") == []
    assert left(subwords, likely, "Küche", "Lampe") == ["Lampe"]
    assert left(subwords, likely, "Lampe", "Tisch") == ["Lampe"]


@pytest.mark.parametrize(("form", "word"), [(-9.0, -1.0), (-1.0, -3.0)])
def test_a_compound_that_translates_the_term_itself_is_replaced(
    subwords: Subwords, form: float, word: float
) -> None:
    """`Netzwerk` for `network`, where the glossary demands `Netz`."""
    assert left(subwords, {"Küche": form, "Küchentisch": word}, "Küche") == ["Küche"]


@pytest.mark.parametrize(
    ("word", "form", "expected"),
    [
        ("Küchentisch", "Küche", True), ("Küchentisch", "Tisch", True),
        ("Küchentisch", "chent", False), ("Hundes", "Hund", False), ("Radio", "Rad", False),
        ("Küche", "Küche", False), ("Hundehütte", "der Hund", False), ("Hundehütte", "Hund", True),
        ("साउतेन्तघरम", "साउतेन्त", True),
    ],
)  # fmt: skip
def test_parts_of_words(word: str, form: str, expected: bool) -> None:
    assert has_part(word, form) is expected


def test_without_terms_renumbers_the_places() -> None:
    constraints = LexicalConstraints(
        (((1,),), ((2,),), ((3,),)), places=(Place(2, (5,)), Place(0, (6,)), Place(1, (7,)))
    )
    found = without_terms(Source((5, 6, 7), constraints=constraints), {1})
    assert found.constraints == LexicalConstraints(
        (((1,),), ((3,),)), places=(Place(1, (5,)), Place(0, (6,)))
    )
