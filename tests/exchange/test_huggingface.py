"""Real `transformers` loads the exported model and gives its probabilities and translations."""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from exported import largest_difference, letter_lines, random_model
from safetensors import safe_open

from nmt_cli.errors import QualityGateError
from nmt_cli.exchange.checks import comparison
from nmt_cli.exchange.checks.comparison import REPORT, compare_models
from nmt_cli.exchange.formats.ctranslate2 import target as ctranslate2
from nmt_cli.exchange.formats.huggingface.target import TARGET
from nmt_cli.exchange.model_card import data_hashes, model_card
from nmt_cli.model_dir import load_model
from nmt_cli.translation.translator import Translator

POST, PRE = {"model.norm_order": "post"}, {"model.norm_order": "pre"}
BARE = {
    "model.feed_forward_bias": False,
    "model.scale_embeddings": False,
    "model.activation": "gelu",
}
FULL = {
    "model.attention_bias": True,
    "model.output_bias": True,
    "model.activation": "silu",
    "model.positions": "sinusoidal_halves",
}
UNEVEN = {"model.encoder_layers": 1, "model.decoder_layers": 3}
HOLDS = [
    POST, PRE, {**POST, **BARE}, {**PRE, **BARE}, {**POST, **FULL}, {**PRE, **FULL},
    {**POST, **UNEVEN, "model.tie_embeddings": "target"},
    {**POST, "model.tie_embeddings": "none"}, {**PRE, **UNEVEN},
    {**POST, "model.encoder_layers": 0},
]  # fmt: skip


@pytest.mark.parametrize("settings", HOLDS, ids=range(len(HOLDS)))
def test_transformers_gives_the_log_probabilities_of_variants(settings, tmp_path: Path) -> None:
    loaded = random_model({**settings, "model.norm_epsilon": 1e-5})
    assert TARGET.reasons_against(loaded) == []
    TARGET.write(loaded, tmp_path, "float32")
    foreign = TARGET.open(tmp_path)
    assert largest_difference(loaded, foreign) < 2e-5
    for line in ("cod netel x", "Ünknown ☂ wexis"):
        assert foreign.source_ids(line) == loaded.subwords.encode_source([line])[0]


@pytest.mark.parametrize(
    ("epsilon", "hint"), [(1e-6, "--set model.norm_epsilon=1e-05;"), (1e-5, REPORT)]
)
def test_another_epsilon_is_named_where_probabilities_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epsilon: float, hint: str
) -> None:
    loaded = random_model({**POST, "model.norm_epsilon": epsilon})
    TARGET.write(loaded, tmp_path, "float32")
    monkeypatch.setattr(comparison, "TOLERANCE", -1.0)
    with pytest.raises(QualityGateError, match="gives other probabilities in Hugging") as caught:
        compare_models(loaded, TARGET.open(tmp_path), letter_lines(3), "float32", TARGET.title)
    assert hint in caught.value.hint


def test_refusal_by_hugging_face_names_every_reason() -> None:
    loaded = random_model(
        {
            "model.norm": "rms_norm", "model.activation": "swiglu", "model.positions": "rotary",
            "model.d_k": 6, "model.d_v": 2, "model.norm_epsilon": 1e-3, **PRE,
            "model.tie_embeddings": "target",
        }
    )  # fmt: skip
    assert [reason.remedy for reason in TARGET.reasons_against(loaded)] == [
        "model.d_v=6", "model.positions=sinusoidal", "model.norm=layer_norm",
        "model.activation=silu", "model.d_k=auto", "model.norm_epsilon=1e-5",
        "model.tie_embeddings=all",
    ]  # fmt: skip


@pytest.mark.parametrize(("positions", "other"), [("sinusoidal_t2t", "other "), ("rotary", "")])
def test_hugging_face_has_other_sinusoids(positions: str, other: str) -> None:
    [reason] = TARGET.reasons_against(random_model({"model.positions": positions}))
    assert reason.problem.endswith(f"its translation models have {other}sinusoids")


def test_hugging_face_counts_positions_from_0() -> None:
    [reason] = TARGET.reasons_against(random_model({"model.position_offset": 2}))
    assert reason.remedy == "model.position_offset=0"


def test_default_generation_gives_the_words_of_nmt(letters_model: Path, tmp_path: Path) -> None:
    """Without any option: generation_config.json has the settings of our search."""
    loaded = load_model(letters_model)
    TARGET.write(loaded, tmp_path, "float32")
    foreign = TARGET.open(tmp_path)
    lines = letter_lines(50)
    inputs = foreign.tokenizer(lines, return_tensors="pt", padding=True)
    outputs = foreign.model.generate(**inputs)
    actual = foreign.tokenizer.batch_decode(outputs, skip_special_tokens=True)
    search = replace(loaded.config.search, length_penalty="power")
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    expected = [each.text for each in translator.translate(lines, search=search)]
    assert actual == expected
    greedy = translator.translate(lines, beam=1)
    ids = loaded.subwords.encode_source(lines)
    assert [each.text for each in greedy] == [
        foreign.translate(line, beam=1, length_penalty=0.0, max_length=len(source) + 49)
        for line, source in zip(lines, ids, strict=True)
    ]


def test_settings_are_those_of_the_model(tmp_path: Path) -> None:
    loaded = random_model(
        {**POST, "model.tie_embeddings": "none", "model.encoder_layers": 1, "model.start_id": 5,
         "model.decoder_layers": 3, "model.d_ff": 20, "model.dropout": 0.2,
         "model.scale_embeddings": False, "languages.src": "en", "languages.tgt": "de"}
    )  # fmt: skip
    TARGET.write(loaded, tmp_path, "float16")
    config, generation, tokenizer = (
        json.loads((tmp_path / f"{name}.json").read_bytes())
        for name in ("config", "generation_config", "tokenizer_config")
    )
    ids = {"decoder_start_token_id": 5, "pad_token_id": 0, "eos_token_id": 3}
    model = loaded.config.model
    expected = {
        **ids, "bos_token_id": 2, "forced_eos_token_id": None, "vocab_size": 50,
        "decoder_vocab_size": 44, "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False, "d_model": model.d_model, "encoder_layers": 1,
        "decoder_layers": 3, "encoder_ffn_dim": 20, "decoder_ffn_dim": 20,
        "encoder_attention_heads": model.heads, "decoder_attention_heads": model.heads,
        "scale_embedding": False, "dropout": 0.2, "max_position_embeddings": 1_024,
        "dtype": "float16",
    }  # fmt: skip
    assert config | expected == config
    del generation["transformers_version"]
    assert generation == {**TARGET.search_options(loaded).options, **ids}
    assert tokenizer == {
        "tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de",
        "unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>", "model_max_length": 1_024,
        "separate_vocabs": True, "clean_up_tokenization_spaces": False,
    }  # fmt: skip
    weights = safe_open(tmp_path / "model.safetensors", framework="np")
    assert {weights.get_tensor(name).dtype.name for name in weights.keys()} == {"float16"}  # noqa: SIM118


def test_sampling_settings_are_exported(tmp_path: Path) -> None:
    loaded = random_model(
        {"search.sample": True, "search.top_k": 7, "search.temperature": 0.5,
         "search.min_length": 2, "search.no_repeat_ngram": 3, "search.word_reward": 0.5}
    )  # fmt: skip
    search = TARGET.search_options(loaded)
    wanted = {"do_sample": True, "top_k": 7, "temperature": 0.5, "min_new_tokens": 2,
              "no_repeat_ngram_size": 3}  # fmt: skip
    assert search.options | wanted == search.options
    assert "search.word_reward=0.5" in search.notes[-1]
    TARGET.write(loaded, tmp_path, "float32")
    config = TARGET.open(tmp_path).model.generation_config
    assert (config.top_k, config.min_new_tokens) == (7, 2)


@pytest.mark.parametrize(
    ("patience", "early_stopping", "noted"),
    [(0.0, "never", False), (1.0, True, False), (2.0, "never", True)],
)
def test_end_of_the_beam_search_is_exported(
    patience: float, early_stopping: object, noted: bool
) -> None:
    loaded = random_model({"search.patience": patience, "search.length_penalty": "power"})
    search = TARGET.search_options(loaded)
    assert search.options["early_stopping"] == early_stopping
    assert ("search.patience=2.0" in " ".join(search.notes)) == noted
    of_ctranslate2 = ctranslate2.TARGET.search_options(loaded).options
    assert of_ctranslate2["patience"] == (patience or loaded.config.search.beam)


def test_model_card_names_languages_and_scores(tmp_path: Path) -> None:
    loaded = random_model({"languages.src": "en", "languages.tgt": "de"})
    metadata = {"validation": "37.354 nrefs:1|tok:13a", "step": "1200"}
    TARGET.write(replace(loaded, metadata=metadata), tmp_path, "float16")
    card = (tmp_path / "README.md").read_text()
    assert card.startswith("---\nlanguage:\n- en\n- de\n")
    assert "validation BLEU 37.35 on at most 500 sentences (nrefs:1|tok:13a)" in card
    assert "trained for 1,200 steps" in card
    assert "float16" in card


def test_model_card_has_the_hashes_of_the_data(
    letters_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_model(letters_model)
    monkeypatch.chdir(letters_model.parent)
    card = model_card(loaded, "float32", "transformers", "")
    [train] = loaded.config.data.train
    rows = re.findall(r"^\| (\w+) \| `(.*)` \| `(\w{64})` \|$", card, re.MULTILINE)
    assert rows == [
        (use, Path(path).name, hashlib.sha256(Path(path).read_bytes()).hexdigest())
        for use, paths in (("training", train), ("validation", loaded.config.data.valid))
        for path in paths
    ]
    # The corpus of another model, and a folder without one.
    assert data_hashes(random_model({})) == {}
    monkeypatch.chdir(tmp_path)
    assert data_hashes(loaded) == {}
    assert "SHA-256 |" not in model_card(loaded, "float32", "transformers", "")
