"""Writes models for Marian: model.npz, decoder.yml and the vocabularies."""

import json
from pathlib import Path

import torch

from nmt_cli.config.schema import ModelConfig
from nmt_cli.exchange.formats.marian.decoder_files import DECODER, locate
from nmt_cli.exchange.formats.marian.importer import NO_OPTIONS, open_files
from nmt_cli.exchange.formats.marian.npz import write_npz
from nmt_cli.exchange.formats.marian.settings import ACTIVATIONS, settings_of
from nmt_cli.exchange.formats.marian.weights import OUTPUT_BIAS, added_rows, make_arrays
from nmt_cli.exchange.requirements import (
    SOURCE_SPM,
    TARGET_SPM,
    head_width_reasons,
    power_exponent,
    search_notes,
    shared_reasons,
    start_id,
    write_segmenters,
)
from nmt_cli.exchange.target import ForeignTranslator, Reason, SearchAdvice
from nmt_cli.model.encoder_decoder import stack_depths
from nmt_cli.model_dir import LoadedModel
from nmt_cli.storage import files

MODEL, VOCABULARY, TARGET_VOCABULARY = "model.npz", "vocab.yml", "target_vocab.yml"
# Marian's layer norms have 1e-9; a much larger one changes the model.
LARGEST_EPSILON = 1e-4
# Settings of search that Marian does not have; it limits the length by a factor of the source's.
LEFT_OUT = (
    "sample", "patience", "min_length", "max_length", "max_extra_length", "no_repeat_ngram",
)  # fmt: skip
# What Marian does by itself and what a model must have been trained with.
NEEDED = {
    "positions": ("sinusoidal_t2t", "has other sinusoids"),
    "position_offset": (0, "counts positions from 0"),
    "norm_order": ("post", "normalises after each sublayer"),
    "norm": ("layer_norm", "has layer norm"),
    "scale_embeddings": (True, "multiplies embeddings by sqrt(d_model)"),
}


class Marian:
    """The target `--to marian`."""

    title = "Marian"
    libraries = ("pymarian",)
    extra = "peers"
    precisions = ("float32",)
    only_checks = True

    def reasons_against(self, loaded: LoadedModel) -> list[Reason]:
        """What Marian's Transformer does not have."""
        return marian_reasons(loaded, self.title)

    def write(self, loaded: LoadedModel, directory: Path, precision: str) -> None:
        """Write the weights with their settings, decoder.yml and the vocabularies."""
        model, state = loaded.config.model, loaded.model.state_dict()
        rows = kept_rows(loaded)
        arrays = make_arrays(state, rows)
        if OUTPUT_BIAS in arrays and not arrays[OUTPUT_BIAS].any():
            del arrays[OUTPUT_BIAS]
        settings = settings_of(model, rows, arrays)
        write_npz(directory / MODEL, arrays, json.dumps(settings, indent=1))
        vocabularies = _write_vocabularies(loaded, directory, rows)
        document = {
            "relative-paths": True,
            "models": [MODEL],
            "vocabs": list(vocabularies),
            **self.search_options(loaded).options,
        }
        # JSON is YAML.
        files.write_text(directory / DECODER, json.dumps(document, indent=1) + "\n")

    def open(self, directory: Path) -> ForeignTranslator:
        """The model, run by pymarian."""
        return open_files(locate(directory, NO_OPTIONS))

    def search_options(self, loaded: LoadedModel) -> SearchAdvice:
        """The settings of decoder.yml."""
        search, model = loaded.config.search, loaded.config.model
        options: dict[str, object] = {
            "beam-size": search.beam,
            "normalize": power_exponent(search),
        }
        if model.unk_id not in model.banned_ids:
            options["allow-unk"] = True
        return SearchAdvice(options, search_notes(search, self.title, LEFT_OUT))


TARGET = Marian()


def marian_reasons(loaded: LoadedModel, title: str) -> list[Reason]:
    """What a Transformer of Marian does not have; title: of the format, for messages."""
    reasons = shared_reasons(loaded, title)
    if loaded.config.model.kind == "transformer":
        reasons += _architecture_reasons(loaded.config.model) + _start_reasons(loaded)
    return reasons


def _architecture_reasons(model: ModelConfig) -> list[Reason]:
    reasons = [
        Reason(
            f"model.{name}={getattr(model, name)}, and {Marian.title} {what}".replace(
                "=False", "=false"
            ),
            f"model.{name}={str(needed).lower()}",
        )
        for name, (needed, what) in NEEDED.items()
        if getattr(model, name) != needed
    ]
    if model.activation not in ACTIVATIONS:
        names = " and ".join(ACTIVATIONS)
        reasons.append(
            Reason(
                f"model.activation={model.activation}, and {Marian.title} has {names}",
                "model.activation=relu",
            )
        )
    reasons += head_width_reasons(model)
    if model.norm_epsilon > LARGEST_EPSILON:
        reasons.append(
            Reason(
                f"model.norm_epsilon={model.norm_epsilon:g}, and its layer norms have 1e-09",
                "model.norm_epsilon=1e-6",
            )
        )
    if stack_depths(model)[0] == 0:
        reasons.append(
            Reason("model.encoder_layers=0, and Marian needs one", "model.encoder_layers=1")
        )
    return reasons


def _start_reasons(loaded: LoadedModel) -> list[Reason]:
    start = loaded.model.embedding.matrix("tgt")[start_id(loaded.config.model)]
    if not bool(torch.count_nonzero(start)):
        return []
    return [
        Reason(
            "its decoder begins with an embedding that is not zero, and Marian's begins with zeros",
            "model.zero_start=true",
        )
    ]


def kept_rows(loaded: LoadedModel) -> tuple[int, int]:
    """The rows of the source and target embeddings, without what an import has added."""
    subwords = loaded.subwords
    kept = subwords.tgt_size - added_rows(loaded.model.state_dict())
    is_shared = subwords.joint or loaded.config.model.tie_embeddings == "all"
    return (kept if is_shared else subwords.src_size), kept


def _write_vocabularies(
    loaded: LoadedModel, directory: Path, rows: tuple[int, int]
) -> tuple[str, str]:
    """Write the vocabularies; returns their names.

    Marian takes the ids of sentencepiece files. Other ids are written as YAML, as OPUS-MT does.
    """
    subwords = loaded.subwords
    write_segmenters(subwords, directory)
    if has_ids_of_segmenters(loaded, rows):
        return SOURCE_SPM, TARGET_SPM
    source = subwords.source_pieces(range(rows[0]))
    target = subwords.target_pieces(range(rows[1]))
    _write_yaml(directory / VOCABULARY, source)
    if source == target:
        return VOCABULARY, VOCABULARY
    _write_yaml(directory / TARGET_VOCABULARY, target)
    return VOCABULARY, TARGET_VOCABULARY


def has_ids_of_segmenters(loaded: LoadedModel, rows: tuple[int, int]) -> bool:
    """Whether the ids of both sides are those of their sentencepiece files."""
    subwords = loaded.subwords
    sides = (
        (subwords._source.segmenter.pieces(), subwords.source_pieces(range(rows[0]))),
        (subwords._target.segmenter.pieces(), subwords.target_pieces(range(rows[1]))),
    )
    return all(names[: len(pieces)] == pieces for pieces, names in sides)


def _write_yaml(path: Path, pieces: list[str]) -> None:
    lines = (
        f"{json.dumps(piece, ensure_ascii=False)}: {index}\n"
        for index, piece in enumerate(pieces)
        if not piece.startswith("<unused ")
    )
    files.write_text(path, "".join(lines))
