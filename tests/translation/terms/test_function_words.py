"""A preposition before the noun that a term replaces stays, if the model expects one there."""

from collections.abc import Sequence

import pytest

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.spelling import target_spellings
from nmt_cli.inference.forced_pairs import ForcedPair, Pair
from nmt_cli.search.constraints import LexicalConstraints, Place
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.terms.alone import TermsAlone
from nmt_cli.translation.terms.forms import TermForms
from nmt_cli.translation.terms.placement import TermPlacer
from nmt_cli.translation.terms.spans import TermSpan

SRC = "his old safety glasses"
WORDS = "ses vieilles lunettes de protection la sécurité pour De"


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    """Every word is one subword."""
    counts = {word: 10 + n for n, word in enumerate([*SRC.split(), *WORDS.split()])}
    return learn_subwords(DataConfig(subwords="bpe", vocab_size=120), counts, counts)


def ids_of(subwords: Subwords, text: str) -> tuple[int, ...]:
    ids = tuple(subwords.encode_target([text])[0])
    assert len(ids) == len(text.split()) + 1
    return ids


def chosen(
    subwords: Subwords, text: str, span: tuple[int, int], form: str, likely: Sequence[str]
) -> str:
    """The translation with a term in the place of a span; likely: what the model expects."""
    expected = {ids_of(subwords, each) for each in likely}

    def force(pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        assert not attention
        return [
            ForcedPair([-0.5 if tuple(tgt) in expected else -2.0] * len(tgt), None)
            for _, tgt in pairs
        ]

    constraints = LexicalConstraints(((ids_of(subwords, form)[:-1],),), places=(Place(0, (2,)),))
    source = Source(tuple(subwords.encode_source([SRC])[0]), (), constraints)
    ids = ids_of(subwords, text)
    forms = TermForms(
        force, TermsAlone(subwords), target_spellings(subwords), {"de", "la"}, spaced=True
    )
    plain = {source: Hypothesis(ids, -1.0, -1.0, ())}
    [placed] = forms.choose({source: [TermSpan(*span, 0)]}, plain)[source]
    words = [*ids[: placed.span.begin], *placed.form, *ids[placed.span.end : -1]]
    return subwords.decode_target([words])[0]


BARE, WITH = "ses lunettes sécurité", "ses lunettes de sécurité"


@pytest.mark.parametrize(
    ("text", "span", "form", "likely", "expected"),
    [
        ("ses lunettes de protection", (2, 4), "sécurité", [WITH], WITH),
        ("ses lunettes de protection", (2, 4), "sécurité", [BARE], BARE),
        ("ses lunettes de la protection", (2, 5), "sécurité", [WITH], "ses lunettes sécurité"),
        (
            "ses lunettes de la protection", (2, 5), "sécurité",
            ["ses lunettes de la sécurité"], "ses lunettes de la sécurité",
        ),
        # No function word, one of the form, at the beginning of a sentence, and alone.
        ("ses lunettes pour protection", (2, 4), "sécurité", [WITH], BARE),
        ("ses lunettes de protection", (2, 4), "la sécurité", [], "ses lunettes la sécurité"),
        ("De protection", (0, 2), "sécurité", ["De sécurité"], "sécurité"),
        ("ses lunettes de", (2, 3), "sécurité", [WITH], BARE),
    ],
)  # fmt: skip
def test_function_words_stay_before_a_term_where_that_is_likelier(
    subwords: Subwords,
    text: str,
    span: tuple[int, int],
    form: str,
    likely: list[str],
    expected: str,
) -> None:
    assert chosen(subwords, text, span, form, likely) == expected


def test_the_words_are_those_of_the_target_language(subwords: Subwords) -> None:
    words = {
        language: TermPlacer(lambda *_, **__: [], subwords, language)._function_words
        for language in ("fr", "de-AT", "xnd")
    }
    assert "de" in words["fr"]
    assert "von" in words["de-AT"]
    assert words["xnd"] == frozenset()
