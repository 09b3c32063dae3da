"""Imports MarianMTModel directories, such as OPUS-MT's, and the Pegasus directories of an export.

JSON, safetensors and sentencepiece files are read, and weights that torch.save wrote
(pytorch_model.bin) by a process of their own, which runs no code of them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from nmt_cli.config.schema import Config, SettingsLayer, resolve
from nmt_cli.config.values import shortened
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.exchange.formats.huggingface.json_files import read_json
from nmt_cli.exchange.formats.huggingface.search_settings import read_search
from nmt_cli.exchange.formats.huggingface.tokenizer import read_subwords
from nmt_cli.exchange.formats.huggingface.translator import HuggingFaceTranslator
from nmt_cli.exchange.formats.huggingface.weight_files import (
    locate_weights,
    read_weights,
    without_pickles,
)
from nmt_cli.exchange.formats.huggingface.weights import ACTIVATIONS, read_state
from nmt_cli.exchange.importer import ForeignModel, ImportOptions
from nmt_cli.exchange.target import ForeignTranslator
from nmt_cli.exchange.weight_files import weight_shapes

CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
# The order of norms for each architecture.
NORM_ORDERS = {"marian": "post", "pegasus": "pre"}
# The settings of sizes, and their names there.
SIZES = {
    "encoder_layers": "encoder_layers", "decoder_layers": "decoder_layers", "d_model": "d_model",
    "d_ff": "encoder_ffn_dim", "heads": "encoder_attention_heads",
}  # fmt: skip
# All layer norms of both architectures have it.
EPSILON = 1e-5
NO_OPTIONS = ImportOptions()
NAMED_TYPES = " and ".join(f"`{name}`" for name in NORM_ORDERS)


class HuggingFaceImporter:
    """The format `--from huggingface`."""

    title = "Hugging Face"
    libraries = ("transformers",)
    extra = "huggingface"

    def matches(self, path: Path) -> bool:
        """Whether `path` is a directory with a config.json of transformers."""
        try:
            return "model_type" in read_json(path / CONFIG)
        except (DataError, NoInputError):
            return False

    def read(self, path: Path, options: ImportOptions) -> ForeignModel:
        """Read a directory as `save_pretrained` writes it."""
        try:
            return self._read(path, options)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise DataError(
                f"a JSON file of `{path}` has a value of a wrong type: {error}",
                "copy the directory again",
            ) from error

    def _read(self, path: Path, options: ImportOptions) -> ForeignModel:
        settings = read_json(path / CONFIG)
        tokenizer = read_json(path / TOKENIZER) if (path / TOKENIZER).exists() else {}
        reasons = _reasons_against(settings) + _tokenizer_reasons(path, tokenizer)
        names = ("src", "tgt")
        languages = (
            options.src_lang or tokenizer.get("source_lang"),
            options.tgt_lang or tokenizer.get("target_lang"),
        )
        reasons += [
            f"its files do not say the {side} language: give it with --{name}-lang"
            for side, name, language in zip(("source", "target"), names, languages, strict=True)
            if not isinstance(language, str) or not language
        ]
        if reasons:
            raise ConfigError(f"`{path}` cannot be imported: " + "; ".join(reasons))
        _require_sizes(path, settings)
        weight_files = locate_weights(path)
        tensors = read_weights(weight_files)
        sizes = settings["vocab_size"], settings.get("decoder_vocab_size") or settings["vocab_size"]
        _require_rows(path, sizes, tensors)
        subwords, subword_files = read_subwords(path, tokenizer, settings, sizes)
        generation = settings | (
            read_json(path / GENERATION) if (path / GENERATION).exists() else {}
        )
        search, notes = read_search(generation)
        model = {
            **_model_settings(settings, tensors),
            **{f"{name}_id": token for name, token in subwords.special._asdict().items()},
            "src_vocab_size": subwords.src_size,
            "tgt_vocab_size": subwords.tgt_size,
            "start_id": generation.get("decoder_start_token_id"),
            "banned_ids": _banned_ids(path, generation, subwords.tgt_size),
        }
        values: dict[str, object] = {
            **{f"languages.{name}": code for name, code in zip(names, languages, strict=True)},
            **{f"model.{name}": value for name, value in model.items()},
            **{f"search.{name}": value for name, value in search.items()},
            "data.subwords": subwords.kind,
            "data.joint": subwords.joint,
        }
        config = _resolved(path, values)
        state = read_state(config.model, tensors, weight_shapes(config.model, len(tensors)))
        others = (path / name for name in (TOKENIZER, GENERATION))
        settings_files = (path / CONFIG, *(file for file in others if file.exists()))
        read = (*settings_files, *weight_files, *subword_files)
        return ForeignModel(config, subwords, state, tuple(notes), read)

    def open(self, path: Path, options: ImportOptions = NO_OPTIONS) -> ForeignTranslator:
        """The model and the tokenizer, as `from_pretrained` loads them; else raises DataError."""
        try:
            with without_pickles(path) as directory:
                return HuggingFaceTranslator(directory)
        except NmtError:
            raise
        except Exception as error:  # transformers raises errors of many kinds
            raise DataError(
                f"transformers cannot load `{path}`: {shortened(str(error))}",
                "copy the directory again, or import it unchecked with --no-check",
            ) from error


IMPORTER = HuggingFaceImporter()


def _reasons_against(settings: Mapping[str, Any]) -> list[str]:
    """Why nmt cannot represent a model with these settings."""
    kind = settings.get("model_type")
    if kind not in NORM_ORDERS:
        return [f"its model_type is `{kind}`, and nmt imports {NAMED_TYPES}"]
    reasons = [
        f"`{name}` differs between the encoder ({values[0]}) and the decoder ({values[1]})"
        for name in ("attention_heads", "ffn_dim")
        if (values := [settings.get(f"{side}_{name}") for side in ("encoder", "decoder")])
        and values[0] != values[1]
    ]
    activation = settings.get("activation_function", "gelu")
    if activation not in (*ACTIVATIONS.values(), "silu"):
        reasons.append(f"nmt does not have its activation function `{activation}`")
    if settings.get("forced_bos_token_id") is not None:
        reasons.append("each of its translations has to begin with a certain token")
    return reasons


def _tokenizer_reasons(path: Path, tokenizer: Mapping[str, Any]) -> list[str]:
    name = str(tokenizer.get("tokenizer_class", "MarianTokenizer"))
    if name.removesuffix("Fast") != "MarianTokenizer":
        return [f"its tokenizer is `{name}`, and nmt reads the files of MarianTokenizer"]
    if (path / "source.bpe").exists():
        return ["it splits words with `source.bpe` (subword-nmt), not with sentencepiece"]
    return []


def _model_settings(
    settings: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> dict[str, object]:
    """The settings of our model; biases that are all 0 are left out."""
    activations = {there: here for here, there in ACTIVATIONS.items()} | {"silu": "silu"}
    shared = settings.get("share_encoder_decoder_embeddings", True)
    tied = settings.get("tie_word_embeddings", True)
    ties = {(True, True): "all", (False, True): "target"}
    return {
        **{name: settings[there] for name, there in SIZES.items()},
        "dropout": settings.get("dropout", 0.1),
        "positions": "sinusoidal_halves",
        "norm_order": NORM_ORDERS[settings["model_type"]],
        "norm_epsilon": EPSILON,
        "activation": activations[settings.get("activation_function", "gelu")],
        "attention_bias": _any_bias(tensors, ("q_proj", "k_proj", "v_proj", "out_proj")),
        "feed_forward_bias": _any_bias(tensors, ("fc1", "fc2")),
        "output_bias": "final_logits_bias" in tensors
        and bool(tensors["final_logits_bias"].count_nonzero()),
        "tie_embeddings": ties.get((bool(shared), bool(tied)), "none"),
        "scale_embeddings": bool(settings.get("scale_embedding", False)),
    }


def _require_sizes(path: Path, settings: Mapping[str, Any]) -> None:
    """Raise DataError unless the settings have all sizes as whole numbers."""
    for name in (*SIZES.values(), "vocab_size"):
        if type(settings.get(name)) is not int:
            raise DataError(
                f"`{path / CONFIG}` has no whole number as `{name}`", "copy the directory again"
            )


def _require_rows(path: Path, sizes: tuple[int, int], tensors: Mapping[str, Tensor]) -> None:
    """Raise DataError if a vocabulary is said to be larger than every matrix of embeddings."""
    rows = max((len(tensor) for tensor in tensors.values() if tensor.dim() == 2), default=0)
    if max(sizes) > rows:
        raise DataError(
            f"`{path / CONFIG}` has the vocabulary size {max(sizes)}, but the embeddings have at "
            f"most {rows} rows",
            "the files are of different models: copy them again",
        )


def _any_bias(tensors: Mapping[str, Tensor], parts: tuple[str, ...]) -> bool:
    endings = tuple(f"{part}.bias" for part in parts)
    return any(
        name.endswith(endings) and bool(tensor.count_nonzero()) for name, tensor in tensors.items()
    )


def _banned_ids(path: Path, generation: Mapping[str, Any], size: int) -> list[int]:
    """The ids that are never generated: the bad words that are one id below `size`."""
    bad_words = generation.get("bad_words_ids") or []
    ids = {word[0] for word in bad_words if isinstance(word, list) and len(word) == 1}
    wrong = [token for token in ids if type(token) is not int or not 0 <= token < size]
    if wrong:
        raise DataError(
            f"`bad_words_ids` of `{path}` has {shortened(str(wrong[0]))}, which is no id of its "
            "vocabulary",
            "copy the directory again",
        )
    return sorted(ids)


def _resolved(path: Path, values: Mapping[str, object]) -> Config:
    present = {key: value for key, value in values.items() if value is not None}
    try:
        return resolve([SettingsLayer(str(path / CONFIG), present)]).config
    except ConfigError as error:
        raise ConfigError(
            f"`{path}` cannot be imported: {error.message}", "copy the directory again"
        ) from error
