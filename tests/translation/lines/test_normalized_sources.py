"""With `data.normalize`, punctuation of a source is normalised as that of training text is."""

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.translation.translator import Translator

LINE = "L’équipe – “les Lions” – n’a pas   d’argent…"
NORMALIZED = "L'équipe - \"les Lions\" - n'a pas d'argent..."


def make_translator(*others: Translator, normalize: bool = True) -> Translator:
    settings = {"data.normalize": normalize, "languages.src": "fr", "data.max_length": 200}
    config = byte_config(settings)
    return Translator(byte_model(config), config, byte_subwords(), others=others)


@pytest.mark.parametrize("markup", ["keep", "off"])
def test_a_line_is_translated_as_its_normalised_form(markup: str) -> None:
    translator = make_translator()
    found, expected = translator.translate([LINE, NORMALIZED], markup=markup)
    assert (found.text, found.score) == (expected.text, expected.score)
    assert found.source == LINE
    as_it_is, normalized = make_translator(normalize=False).translate([LINE, NORMALIZED])
    assert as_it_is.score != normalized.score


def test_tags_stay_apart_from_normalised_words() -> None:
    translator = make_translator()
    found, expected = translator.translate(
        [f"a <b>{LINE}</b> c’est", f"a <b>{NORMALIZED}</b> c'est"]
    )
    assert (found.text, found.score) == (expected.text, expected.score)


def test_all_models_of_an_ensemble_must_have_had_normalised_text() -> None:
    assert make_translator(make_translator()).repair(LINE) == NORMALIZED
    mixed = make_translator(make_translator(normalize=False))
    assert mixed.repair(LINE) == LINE
