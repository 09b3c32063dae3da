"""Each search setting of a model goes along with an export, or is named as left out."""

from dataclasses import fields

import pytest
from exported import random_model

from nmt_cli.config.search import SearchConfig
from nmt_cli.exchange.formats.bergamot import target as bergamot
from nmt_cli.exchange.formats.ctranslate2 import target as ctranslate2
from nmt_cli.exchange.formats.huggingface import target as huggingface
from nmt_cli.exchange.formats.marian import target as marian
from nmt_cli.exchange.formats.onnx import target as onnx
from nmt_cli.exchange.target import SearchAdvice

TARGETS = {
    module.TARGET.title: module.TARGET
    for module in (bergamot, ctranslate2, huggingface, marian, onnx)
}
# A value of each setting that changes translations, with the settings that it needs.
POWER, SAMPLE = {"length_penalty": "power"}, {"sample": True}
VALUES = {
    "beam": (7, {}), "alpha": (0.3, POWER), "length_penalty": ("none", {}),
    "max_extra_length": (9, {}), "min_length": (2, {}), "max_length": (11, {}),
    "keep_numbers": (True, {}), "retry": (True, {}), "word_reward": (0.5, {}),
    "coverage_penalty": (0.2, {}), "patience": (2.0, {}), "no_repeat_ngram": (3, {}),
    "repetition_penalty": (1.2, {}), "sample": (True, {}), "temperature": (0.7, SAMPLE),
    "top_k": (5, SAMPLE), "top_p": (0.8, SAMPLE), "mbr": ("chrf", SAMPLE),
    "replace_unknown": (True, {}), "shortlist": (50, {}),
}  # fmt: skip
# What is shown beside a translation, how text is cut into sentences, and how the work is done.
OTHERS = {"n_best", "alignment", "sentences", "markup", "batch_tokens", "seed"}
SAMPLING = {"temperature", "top_k", "top_p"}
# Bergamot searches greedily; without sampling, its other settings have no effect.
WITHOUT_EFFECT = {
    "Bergamot": {"beam", "alpha", "length_penalty"} | SAMPLING,
    "CTranslate2": SAMPLING,
    "Marian": SAMPLING,
}


def advice(title: str, search: dict[str, object]) -> SearchAdvice:
    settings = {f"search.{name}": value for name, value in search.items()}
    return TARGETS[title].search_options(random_model({**settings, "data.max_length": 30}))


@pytest.mark.parametrize("title", TARGETS)
def test_each_setting_goes_along_or_is_named(title: str) -> None:
    assert VALUES.keys() | OTHERS == {field.name for field in fields(SearchConfig)}
    without_effect = {
        name
        for name, (value, needed) in VALUES.items()
        if advice(title, {**needed, name: value}) == advice(title, needed)
    }
    assert without_effect == WITHOUT_EFFECT.get(title, set())


SEARCH = {
    "beam": 3, "length_penalty": "power", "alpha": 0.7, "patience": 2.0, "no_repeat_ngram": 4,
    "min_length": 2, "max_extra_length": 9,
}  # fmt: skip


def test_the_arguments_of_ctranslate2() -> None:
    options = {
        "beam_size": 3, "patience": 2.0, "length_penalty": 0.7, "no_repeat_ngram_size": 4,
        "min_decoding_length": 2, "max_decoding_length": 39, "max_input_length": 0,
        "suppress_sequences": [["<pad>"], ["<unk>"], ["<s>"]],
    }  # fmt: skip
    assert advice("CTranslate2", SEARCH) == SearchAdvice(options, ())


@pytest.mark.parametrize("title", ["Hugging Face", "ONNX"])
def test_the_settings_of_generation(title: str) -> None:
    options = {
        "num_beams": 3, "early_stopping": "never", "length_penalty": 0.7,
        "no_repeat_ngram_size": 4, "min_new_tokens": 2, "max_new_tokens": 39,
        "bad_words_ids": [[0], [1], [2]],
    }  # fmt: skip
    assert advice(title, {**SEARCH, "patience": 0.0}) == SearchAdvice(options, ())


def test_the_settings_of_marian() -> None:
    search = {"beam": 3, "length_penalty": "power", "alpha": 0.7}
    options = {"beam-size": 3, "normalize": 0.7}
    assert advice("Marian", search) == SearchAdvice(options, ())
    loaded = random_model({"model.banned_ids": [0, 2], "search.beam": 3, "search.alpha": 0.0})
    allowed = {"beam-size": 3, "normalize": 0.0, "allow-unk": True}
    assert marian.TARGET.search_options(loaded) == SearchAdvice(allowed, ())


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("CTranslate2", "max_decoding_length"),
        ("Hugging Face", "max_new_tokens"),
        ("ONNX", "max_new_tokens"),
    ],
)
@pytest.mark.parametrize(("max_length", "longest"), [(0, 80), (11, 11), (500, 80)])
def test_the_longest_translation_is_that_of_nmt(
    title: str, name: str, max_length: int, longest: int
) -> None:
    assert advice(title, {"max_length": max_length}).options[name] == longest


@pytest.mark.parametrize("title", ["CTranslate2", "Hugging Face", "Marian", "ONNX"])
@pytest.mark.parametrize(
    ("length_penalty", "exponent", "notes"), [("power", 0.7, 0), ("none", 0.0, 0), ("gnmt", 0.7, 1)]
)
def test_the_length_penalty_of_gnmt_is_replaced_and_named(
    title: str, length_penalty: str, exponent: float, notes: int
) -> None:
    options, said = advice(title, {"alpha": 0.7, "length_penalty": length_penalty})
    assert options["normalize" if title == "Marian" else "length_penalty"] == exponent
    assert len(said) == notes
    assert all("divides by length^0.7" in note for note in said)


@pytest.mark.parametrize(("beam", "notes"), [(1, 0), (2, 1)])
def test_the_beam_that_bergamot_lacks_is_named(beam: int, notes: int) -> None:
    said = advice("Bergamot", {"beam": beam}).notes
    assert len(said) == notes
    assert all("searches greedily" in note for note in said)
