"""Model directories of every released format keep loading and keep their words."""

import json
from pathlib import Path

import pytest

from nmt_cli.translation.translator import Translator

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("name", ["model-v1"])
def test_golden_model_directory_still_translates(name):
    recorded = json.loads((HERE / f"{name}.json").read_text())
    found = list(Translator.load(HERE / name).translate(one["source"] for one in recorded))
    assert [one.text for one in found] == [one["text"] for one in recorded]
    for one, expected in zip(found, recorded, strict=True):
        assert one.score == pytest.approx(expected["score"], abs=1e-4)
