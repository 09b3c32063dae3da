"""Stops that a translation has behind a term which ends with one."""

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.data.lexical.glossary import Entry, Glossary
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.terms.term_stops import TermStops
from nmt_cli.translation.translator import Translator

ENTRIES = [
    Entry("dog", ("hund gmbh.", "hunds gmbh."), 1),
    Entry("Nord Ltd.", ("Nord GmbH.", "Nord"), 2),
    Entry("Yahoo!", ("Yahoo!",), 3),
    Entry("cat", ("Katze",), 4),
]


def mended(source: str, text: str) -> str:
    return TermStops(source, list(Glossary(ENTRIES).matches(source))).without_second(text)


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("The dog.", "Der hund gmbh..", "Der hund gmbh."),
        ("Dogs of the dog.", "Hunde des hunds gmbh.. Es", "Hunde des hunds gmbh. Es"),
        ("dog.", "Hund gmbh..", "Hund gmbh."),
        ("At Nord Ltd.", "Bei Nord GmbH..", "Bei Nord GmbH."),
        ("It is Yahoo!", "Es ist Yahoo!.", "Es ist Yahoo!"),
        ("dog, Nord Ltd.", "Nord GmbH.. hund gmbh..", "Nord GmbH. hund gmbh."),
    ],
)
def test_second_stop_is_taken_out(source: str, text: str, expected: str) -> None:
    assert mended(source, text) == expected


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("At Nord Ltd..", "Bei Nord GmbH.."),
        ("Is it the dog?", "Ist es der hund gmbh.?"),
        ("Yahoo! sleeps.", "Es schläft Yahoo!."),
        ("At Nord Ltd.", "Bei Nord.."),
        ("The dog...", "Der hund gmbh...."),
    ],
)
def test_other_stops_stay(source: str, text: str) -> None:
    assert mended(source, text) == text


def test_terms_without_stops_have_nothing_to_look_for() -> None:
    assert not TermStops("The cat", list(Glossary(ENTRIES).matches("The cat")))
    assert not TermStops("Nothing", [])


@pytest.mark.parametrize(("form", "stops"), [("hund.", 1), ("hund", 2)])
def test_translator_takes_it_out_of_all_translations(form: str, stops: int) -> None:
    config = byte_config({"search.max_extra_length": 9})
    translator = Translator(byte_model(config), config, byte_subwords())
    constraints = Constraints(glossary={"abc": form})
    # The beginning of the translation is given, so that it has the stops.
    [found] = translator.translate(
        ["abc de"], constraints=constraints, prefixes=["hund.. k"], beam=3, n_best=3
    )
    texts = [each.text for each in found.hypotheses]
    assert all(text.startswith(f"hund{'.' * stops} k") for text in texts)
    assert found.sentences[0].text == found.text == texts[0]
    assert len(set(texts)) == len(texts)
