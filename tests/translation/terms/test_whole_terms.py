"""Lines that are a term of the glossary and nothing else, such as labels, become the term."""

from typing import Any

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.terms.placement import Draft, TermPlacer
from nmt_cli.translation.translator import Translator

GLOSSARY = Constraints(glossary={"part number": ["winzig", "winzige"], "dog": ["Hund"]})


@pytest.fixture(scope="module")
def translator() -> Translator:
    """An untrained model, whose own words are none."""
    config = byte_config({"search.max_extra_length": 12, "search.beam": 2})
    return Translator(byte_model(config), config, byte_subwords())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("part number", "winzig"),
        ("Part number", "Winzig"),
        ("dog", "Hund"),
        # Tags and spaces around it are no words.
        ("<b>Part number</b> ", "<b>Winzig</b> "),
    ],
)
def test_whole_term_becomes_its_first_form(
    line: str, expected: str, translator: Translator
) -> None:
    [found] = translator.translate([line], constraints=GLOSSARY)
    assert found.text.strip() == expected.strip()
    assert "term_missing" not in found.flags


def test_alternatives_follow_the_form(translator: Translator) -> None:
    [found] = translator.translate(["part number"], constraints=GLOSSARY, beam=2, n_best=2)
    texts = [hypothesis.text for hypothesis in found.hypotheses]
    assert texts[0] == "winzig"
    assert len(set(texts)) == 2


def test_two_terms_are_both_there(translator: Translator) -> None:
    [found] = translator.translate(["part number dog"], constraints=GLOSSARY)
    assert all(form in found.text for form in ("inzig", "Hund"))


@pytest.mark.parametrize("inserted", [True, False])
def test_inserted_term_has_a_flag(
    inserted: bool, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model left out the word that the term translates, so that its place is a guess."""
    draft = TermPlacer._draft

    def drafted(placer: TermPlacer, *given: Any) -> Draft:
        return draft(placer, *given)._replace(inserted=inserted, settled=True)

    monkeypatch.setattr(TermPlacer, "_draft", drafted)
    [found] = translator.translate(["the dog"], constraints=GLOSSARY)
    assert "Hund" in found.text
    assert ("term_moved" in found.flags) == inserted
