"""Imports Transformers of OpenNMT-py 3: a checkpoint and a sentencepiece model.

The checkpoint is a pickle: a process of its own reads it, which runs no code of it.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.subwords.model import MAX_BYTES, SpecialIds, Subwords
from nmt_cli.data.subwords.segmenters import SentencePieces
from nmt_cli.errors import ConfigError, DataError, NoInputError
from nmt_cli.exchange.formats.fairseq.dictionaries import CONTINUED, check_pieces
from nmt_cli.exchange.formats.fairseq.weights import read_state
from nmt_cli.exchange.formats.opennmt.settings import (
    FAIRSEQ_SETTINGS,
    complete_settings,
    model_settings,
    reasons_against,
)
from nmt_cli.exchange.formats.opennmt.weights import (
    EMBEDDINGS,
    WITHOUT_EFFECT,
    all_tensors,
    foreign_names,
)
from nmt_cli.exchange.importer import ForeignModel, ImportOptions
from nmt_cli.exchange.pickled.reading import ForeignCheckpoint, read_checkpoint
from nmt_cli.exchange.weight_files import weight_shapes
from nmt_cli.storage import files

SUFFIX = ".pt"
PARTS = ("model", "generator", "opt", "vocab", *FAIRSEQ_SETTINGS)
NAMES = {"pad": "<blank>", "unk": "<unk>", "bos": "<s>", "eos": "</s>"}
START = "decoder_start_token"
FILLER = "averyunlikelytoken"
JOINER = "\uffed"
# What onmt_translate does without options.
SEARCH = {"beam": 5, "length_penalty": "power", "alpha": 1.0}
NOTE = (
    "The beam size 5 and the length penalty (the log-probability is divided by the length) are "
    "those of onmt_translate. OpenNMT-py may write `<unk>`, and nmt never does."
)


class OpenNMTImporter:
    """The format `--from opennmt`."""

    title = "OpenNMT-py"
    # Its last version needs an older torch than nmt.
    libraries = ()
    extra = ""

    def matches(self, path: Path) -> bool:
        """Whether `path` is a .pt file; fairseq's, which lie beside dictionaries, come first."""
        return path.is_file() and path.suffix == SUFFIX

    def read(self, path: Path, options: ImportOptions) -> ForeignModel:
        """Read a checkpoint and the sentencepiece model."""
        if path.is_dir():
            raise NoInputError(f"`{path}` is a directory", "name the checkpoint, a .pt file")
        checkpoint = read_checkpoint(path, PARTS)
        try:
            return _read(path, checkpoint, options)
        except ConfigError as error:
            raise ConfigError(
                f"`{path}` cannot be imported: {error.message}", error.hint
            ) from error
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise DataError(
                f"a setting of `{path}` has a value of a wrong type: {error}", "copy it again"
            ) from error

    def open(self, path: Path, options: ImportOptions) -> None:
        """Nothing: there is no library to compare with."""


IMPORTER = OpenNMTImporter()


def _read(path: Path, checkpoint: ForeignCheckpoint, options: ImportOptions) -> ForeignModel:
    settings = complete_settings(checkpoint.values)
    tensors = all_tensors(checkpoint)
    vocabulary = checkpoint.values.get("vocab")
    if not isinstance(vocabulary, dict):
        raise DataError("the checkpoint has no vocabulary (`vocab`)", "copy it again")
    source, target = (_ids(vocabulary, side) for side in ("src", "tgt"))
    reasons = reasons_against(settings) + _vocabulary_reasons(source, target, options)
    start = str(vocabulary.get(START, NAMES["bos"]))
    if start not in target:
        reasons.append(f"its decoder starts with `{start[:60]}`, which is not in its vocabulary")
    names = {"src": options.src_lang, "tgt": options.tgt_lang}
    reasons += [
        f"it does not say the {side} language: give it with --{name}-lang"
        for side, name in (("source", "src"), ("target", "tgt"))
        if not names[name]
    ]
    if reasons:
        raise ConfigError("; ".join(reasons))
    subwords = _subwords(source, target, options.vocabularies)
    _check_rows(subwords, tensors)
    fillers = (index for entry, index in target.items() if entry.startswith(FILLER))
    special = subwords.special
    model = {
        **model_settings(settings, tensors),
        **{f"{name}_id": token for name, token in special._asdict().items()},
        "src_vocab_size": subwords.src_size,
        "tgt_vocab_size": subwords.tgt_size,
        "start_id": target[start],
        "banned_ids": sorted({special.pad, special.unk, special.bos, *fillers}),
    }
    values: dict[str, object] = {
        **{f"languages.{name}": code for name, code in names.items()},
        **{f"model.{name}": value for name, value in model.items()},
        **{f"search.{name}": value for name, value in SEARCH.items()},
        "data.subwords": subwords.kind,
        "data.joint": subwords.joint,
    }
    config = resolve([SettingsLayer(str(path), values)]).config
    named = partial(foreign_names, ties=config.model.tie_embeddings)
    state = read_state(tensors, weight_shapes(config.model, len(tensors)), named, WITHOUT_EFFECT)
    read = (path, *dict.fromkeys(options.vocabularies))
    return ForeignModel(config, subwords, state, (NOTE,), read)


def _ids(vocabulary: Mapping[str, Any], side: str) -> dict[str, int]:
    entries = vocabulary[side]
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise DataError(f"the {side} vocabulary of the checkpoint is no list", "copy it again")
    ids = {entry: index for index, entry in enumerate(entries)}
    missing = [name for name in NAMES.values() if name not in ids]
    if len(ids) != len(entries) or missing:
        raise DataError(
            f"the {side} vocabulary of the checkpoint has an entry twice, or lacks "
            f"{' and '.join(NAMES.values())}"
        )
    return ids


def _vocabulary_reasons(
    source: Mapping[str, int], target: Mapping[str, int], options: ImportOptions
) -> list[str]:
    """Why nmt cannot split text as the model needs it."""
    reasons = []
    if any(source[name] != target[name] for name in NAMES.values()):
        reasons.append("its two vocabularies have different ids of the special entries")
    if any(entry.endswith(CONTINUED) for entry in (*source, *target)):
        reasons.append(f"its subwords end with `{CONTINUED}`: subword-nmt, which nmt does not have")
    elif any(JOINER in entry for entry in (*source, *target)):
        reasons.append(f"its subwords have `{JOINER}`: pyonmttok, which nmt does not have")
    elif len(options.vocabularies) not in (1, 2):
        reasons.append("name its sentencepiece model with --vocab, twice for two languages")
    return reasons


def _subwords(
    source: Mapping[str, int], target: Mapping[str, int], paths: tuple[Path, ...]
) -> Subwords:
    """The subwords; OpenNMT-py puts no end symbol behind the source."""
    segmenters = []
    for path, ids, side in ((paths[0], source, "source"), (paths[-1], target, "target")):
        content = files.read_bytes(path, "sentencepiece model", MAX_BYTES)
        segmenters.append(SentencePieces.of_another_toolkit(content))
        check_pieces(path, segmenters[-1], ids, side)
    joint = paths[0] == paths[-1] and source == target
    return Subwords(
        segmenters[0],
        None if joint else segmenters[1],
        source_ids=source,
        target_ids=None if joint else target,
        special=SpecialIds(**{name: source[entry] for name, entry in NAMES.items()}),
        source_eos=False,
    )


def _check_rows(subwords: Subwords, tensors: Mapping[str, Any]) -> None:
    for use, size in (("src", subwords.src_size), ("tgt", subwords.tgt_size)):
        name = EMBEDDINGS[use]
        if name not in tensors or len(tensors[name]) != size:
            raise DataError(
                f"the checkpoint has no matrix `{name}` with {size} rows, one for each entry of "
                "its vocabulary",
                "copy it again",
            )
