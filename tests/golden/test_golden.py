"""Model directories of every released format keep loading and keep their words."""

import json
from pathlib import Path

import pytest

from nmt_cli.translation.translator import Translator

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("name", ["model-v1"])
def test_golden_model_directory_still_translates(name):
    recorded = json.loads((HERE / f"{name}.json").read_text())
    translations = list(
        Translator.load(HERE / name).translate(record["source"] for record in recorded)
    )
    assert [result.text for result in translations] == [record["text"] for record in recorded]
    for result, expected in zip(translations, recorded, strict=True):
        assert result.score == pytest.approx(expected["score"], abs=1e-4)
