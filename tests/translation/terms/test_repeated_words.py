"""A word of a placed term does not stand beside the term once more."""

from collections.abc import Sequence

import pytest

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import source_spellings, target_spellings
from nmt_cli.inference.forced_pairs import ForcedPair
from nmt_cli.search.constraints import LexicalConstraints, Place
from nmt_cli.search.decoder import Source
from nmt_cli.translation.terms.forms import PlacedForm
from nmt_cli.translation.terms.repeated_words import RepeatedWords, repeats
from nmt_cli.translation.terms.replaceable import words_of
from nmt_cli.translation.terms.spans import TermSpan

SOURCE = "the governor of [Oyo State], in Ibadan"
FORMS = ("ìpínlẹ̀ Ọ̀yọ́", "Ìpínlẹ̀ Ọ̀yọ́")
TEXT = f"{SOURCE} {' '.join(FORMS)} gómìnà náà die Bahn Leute-’(). State House capital"
# All letters of the tests, as one word, since each id is a letter.
LETTERS = {"".join(sorted({*TEXT, *"abcdefghijklmnoprstuvwxyz&"} - {" "})): 9}


@pytest.fixture(scope="module")
def letters() -> Subwords:
    return learn_subwords(DataConfig(subwords="chars", vocab_size=120), LETTERS, LETTERS)


def ids_of(letters: Subwords, text: str) -> tuple[int, ...]:
    return tuple(letters.encode_target([text])[0][:-1])


def demanding(letters: Subwords, source: str, forms: Sequence[str]) -> Source:
    """The source, which demands the forms for its term in brackets."""
    before, term, after = source.replace("]", "[").split("[")
    ids = letters.encode_source([before + term + after])[0]
    spelled = SpelledIds(ids[:-1], source_spellings(letters))
    begin = len(spelled.text) - len(before + term + after) + len(before)
    place = Place(0, spelled.positions(begin, begin + len(term)))
    each = tuple(ids_of(letters, form) for form in forms)
    return Source(tuple(ids), (), LexicalConstraints((each,), places=(place,)))


def drafted(
    letters: Subwords, text: str, source: str = SOURCE, forms: Sequence[str] = FORMS, free: int = 0
) -> str:
    """The text with the first form in the place of what stands in brackets.

    free: the first of the words that may be replaced.
    """
    before, word, after = text.replace("]", "[").split("[")
    ids, spellings = ids_of(letters, before + word + after), target_spellings(letters)
    spelled = SpelledIds(ids, spellings)
    begin = len(spelled.text) - len(before + word + after) + len(before)
    positions = spelled.positions(begin, begin + len(word)) or spelled.positions(begin, begin + 1)
    # The space before the word belongs to it.
    first = positions[0] - spelled.text[:begin].endswith(" ")
    span = TermSpan(first, positions[-1] + 1 if word else first, 0)
    placed = PlacedForm(span, ids_of(letters, forms[0]), ForcedPair([], None), 0.0)
    repeated = RepeatedWords(
        demanding(letters, source, forms), source_spellings(letters), spellings
    )
    words = words_of(ids, spellings, spaced=True)[free:]
    [(found, form, *_)] = repeated.widened(ids, words, [placed])
    return letters.decode_target([(*ids[: found.begin], *form, *ids[found.end :])])[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gómìnà ìpínlẹ̀ [Oyo], náà", "gómìnà ìpínlẹ̀ Ọ̀yọ́, náà"),
        ("gómìnà Ìpínlẹ̀ [Oyo] náà", "gómìnà ìpínlẹ̀ Ọ̀yọ́ náà"),
        ("gómìnà [Oyo] Ọ̀yọ́ náà", "gómìnà ìpínlẹ̀ Ọ̀yọ́ náà"),
        ("gómìnà [Oyo] ọ̀yọ́.", "gómìnà ìpínlẹ̀ Ọ̀yọ́."),
        ("gómìnà ìpínlẹ̀ [Oyo] Ọ̀yọ́", "gómìnà ìpínlẹ̀ Ọ̀yọ́"),
        ("gómìnà ìpínlẹ̀ Ọ̀yọ́ [Oyo]", "gómìnà ìpínlẹ̀ Ọ̀yọ́"),
        ("gómìnà ìpínlẹ̀ []náà", "gómìnà ìpínlẹ̀ Ọ̀yọ́ náà"),
        # At the beginning of a sentence, the capital stays.
        ("Ìpínlẹ̀ [Oyo] náà", "Ìpínlẹ̀ Ọ̀yọ́ náà"),
        ("náà. Ìpínlẹ̀ [Oyo] náà", "náà. Ìpínlẹ̀ Ọ̀yọ́ náà"),
    ],
)
def test_words_of_the_term_beside_it_are_replaced(
    letters: Subwords, text: str, expected: str
) -> None:
    assert drafted(letters, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "gómìnà náà [Oyo] náà",
        # The last word before it, and the first one behind it.
        "gómìnà Ọ̀yọ́ [Oyo] ìpínlẹ̀",
        "ìpínlẹ̀ gómìnà [Oyo]",
        "ìpínlẹ̀, [Oyo]",
        "[Oyo], Ọ̀yọ́",
        "gómìnà-ìpínlẹ̀ [Oyo]",
        "gómìnà (ìpínlẹ̀ [Oyo]",
        "[Oyo] Ọ̀yọ́-náà",
        "[Oyo] Ọ̀yọ́’náà",
    ],
)
def test_other_words_stay(letters: Subwords, text: str) -> None:
    before, after = text.split("[")[0], text.split("]")[1]
    assert drafted(letters, text) == f"{before}ìpínlẹ̀ Ọ̀yọ́{after}"


def test_a_term_of_one_word_and_words_of_a_prefix_replace_no_neighbour(letters: Subwords) -> None:
    assert drafted(letters, "náà Ibadan [Oyo]", forms=["Ibadan"]) == "náà Ibadan Ibadan"
    assert drafted(letters, "ìpínlẹ̀ [Oyo]", free=1) == "ìpínlẹ̀ ìpínlẹ̀ Ọ̀yọ́"


def test_signs_and_hyphens_within_a_term_divide_no_words_of_it(letters: Subwords) -> None:
    for form in ("Oyo & State", "ile-iwe Oyo", "old-gold-ile Oyo"):
        first = form.split()[0]
        assert drafted(letters, f"náà {first} [capital]", forms=[form]) == f"náà {form}"
        assert drafted(letters, f"{form} [capital]", forms=[form]) == form


@pytest.mark.parametrize(
    ("source", "stays"),
    [
        ("the state of [Oyo State] is old", True),
        ("the [Oyo State] capital, State House", True),
        ("the capital of [Oyo State] is an old state", False),
        ("the governor of [Oyo State] is old", False),
    ],
)
def test_a_word_that_the_source_has_twice_near_the_term_may_be_there_twice(
    letters: Subwords, source: str, stays: bool
) -> None:
    doubled = "ìpínlẹ̀ " if stays else ""
    assert drafted(letters, "gómìnà ìpínlẹ̀ [Oyo]", source) == f"gómìnà {doubled}ìpínlẹ̀ Ọ̀yọ́"


def test_a_short_word_behind_a_comma_may_be_a_pronoun(letters: Subwords) -> None:
    source, forms = "people who use [the train]", ["die Bahn"]
    text = "Leute{} die [Oyo] nehmen"
    assert drafted(letters, text.format(","), source, forms) == "Leute, die die Bahn nehmen"
    assert drafted(letters, text.format(""), source, forms) == "Leute die Bahn nehmen"
    assert drafted(letters, "Leute, ile [Oyo]", forms=["ile Bahn"]) == "Leute, ile ile Bahn"
    assert drafted(letters, "Leute, state [Oyo]", forms=["state Oyo"]) == "Leute, state Oyo"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gómìnà Ìpínlẹ̀ ìpínlẹ̀ Ọ̀yọ́", 1),
        ("Ìpínlẹ̀ Ọ̀yọ́ Ọ̀yọ́", 1),
        ("gómìnà ìpínlẹ̀ Ọ̀yọ́, Ọ̀yọ́", 0),
        ("ìpínlẹ̀ ìpínlẹ̀ náà", 0),
    ],
)
def test_repeats_are_counted(letters: Subwords, text: str, count: int) -> None:
    constraints = demanding(letters, SOURCE, FORMS).constraints
    assert constraints is not None
    assert repeats(ids_of(letters, text), constraints, target_spellings(letters)) == count
    single = demanding(letters, SOURCE, ["náà"]).constraints
    assert single is not None
    assert repeats(ids_of(letters, "náà náà"), single, target_spellings(letters)) == 0
