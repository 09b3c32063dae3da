"""Imports models of Marian: model.npz, its settings, and vocabularies.

Nothing is unpickled, and the settings are plain YAML.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nmt_cli.config.schema import Config, SettingsLayer, resolve
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.exchange.formats.marian.decoder_files import (
    DECODER,
    MODEL_SUFFIX,
    MOST_BYTES,
    ModelFiles,
    locate,
    search_settings,
)
from nmt_cli.exchange.formats.marian.npz import SETTINGS, Array, read_npz
from nmt_cli.exchange.formats.marian.settings import model_settings, reasons_against
from nmt_cli.exchange.formats.marian.translator import MarianTranslator
from nmt_cli.exchange.formats.marian.vocabularies import (
    Imported,
    make_subwords,
    read_vocabularies,
    vocabulary_reasons,
)
from nmt_cli.exchange.formats.marian.weights import EMBEDDINGS, OUTPUT_BIAS, read_state
from nmt_cli.exchange.formats.marian.yaml_files import read_yaml_object
from nmt_cli.exchange.importer import ForeignModel, ImportOptions
from nmt_cli.exchange.target import ForeignTranslator
from nmt_cli.exchange.weight_files import weight_shapes

NO_OPTIONS = ImportOptions()


class MarianImporter:
    """The format `--from marian`."""

    title = "Marian"
    libraries = ("pymarian",)
    extra = "peers"

    def matches(self, path: Path) -> bool:
        """Whether `path` is an .npz file or a directory with decoder.yml."""
        return path.suffix == MODEL_SUFFIX if path.is_file() else (path / DECODER).is_file()

    def read(self, path: Path, options: ImportOptions) -> ForeignModel:
        """Read model.npz and its vocabularies."""
        located = locate(path, options)
        arrays = read_npz(located.model)
        settings = read_settings(located.model, arrays)
        reasons = reasons_against(settings) + vocabulary_reasons(located.vocabularies)
        languages = {"src": options.src_lang, "tgt": options.tgt_lang}
        reasons += [
            f"its files do not say the {side} language: give it with --{name}-lang"
            for side, name in (("source", "src"), ("target", "tgt"))
            if not languages[name]
        ]
        if reasons:
            raise ConfigError(f"`{path}` cannot be imported: " + "; ".join(reasons))
        model = model_settings(settings)
        rows = embedding_rows(arrays)
        if settings.get("output-omit-bias"):
            arrays[OUTPUT_BIAS] = np.zeros((1, rows[1]), np.float32)
        vocabularies = read_vocabularies(located.vocabularies)
        imported = make_subwords(
            vocabularies, rows,
            is_shared=model["tie_embeddings"] == "all",
            allow_unk=bool(located.decoder.get("allow-unk")),
        )  # fmt: skip
        search, notes = search_settings(located.decoder)
        config = _resolved(path, imported, model, search, languages)
        state, used = read_state(arrays, weight_shapes(config.model, len(arrays)))
        unused = sorted(arrays.keys() - used - {SETTINGS})
        if unused:
            names = ", ".join(f"`{name[:60]}`" for name in unused[:10])
            raise ConfigError(
                f"`{path}` cannot be imported: nmt has no place for {len(unused)} of its arrays: "
                f"{names}"
            )
        read = (located.model, *located.read)
        read += tuple(dict.fromkeys(file for side in vocabularies for file in side.files))
        return ForeignModel(config, imported.subwords, state, tuple(notes), read)

    def open(self, path: Path, options: ImportOptions = NO_OPTIONS) -> ForeignTranslator:
        """The model, run by pymarian."""
        return open_files(locate(path, options))


IMPORTER = MarianImporter()


def open_files(located: ModelFiles) -> MarianTranslator:
    """A model run by pymarian, and its vocabularies by sentencepiece."""
    return MarianTranslator(
        located.model,
        read_vocabularies(located.vocabularies),
        embedding_rows(read_npz(located.model)),
        allow_unk=bool(located.decoder.get("allow-unk")),
    )


def read_settings(path: Path, arrays: Mapping[str, Array]) -> dict[str, object]:
    """The settings inside model.npz; Marian ends them with one NUL or several."""
    where = f"the settings in `{path}`"
    if SETTINGS not in arrays:
        raise DataError(f"`{path}` has no `{SETTINGS}`, so that it is no model of Marian")
    data = arrays[SETTINGS].tobytes().rstrip(b"\0")
    if len(data) > MOST_BYTES:
        raise DataError(f"{where} are too long")
    return read_yaml_object(data, where)


def embedding_rows(arrays: Mapping[str, Array]) -> tuple[int, int]:
    """The rows of the source and target embeddings; raises DataError without embeddings."""
    rows = []
    for name in ("embedding.src", "embedding.tgt"):
        there = next((each for each in EMBEDDINGS[name] if each in arrays), None)
        if there is None or arrays[there].ndim != 2:
            raise DataError(
                f"the model has no matrix `{EMBEDDINGS[name][0]}` or `Wemb`", "copy the file again"
            )
        rows.append(len(arrays[there]))
    return rows[0], rows[1]


def _resolved(
    path: Path,
    imported: Imported,
    model: Mapping[str, object],
    search: Mapping[str, object],
    languages: Mapping[str, object],
) -> Config:
    subwords = imported.subwords
    model = {
        **model,
        **{f"{name}_id": token for name, token in subwords.special._asdict().items()},
        "src_vocab_size": subwords.src_size,
        "tgt_vocab_size": subwords.tgt_size,
        "start_id": imported.start_id,
        "zero_start": True,
        "banned_ids": imported.banned_ids,
    }
    values = {
        **{f"languages.{name}": code for name, code in languages.items()},
        **{f"model.{name}": value for name, value in model.items()},
        **{f"search.{name}": value for name, value in search.items()},
        "data.subwords": subwords.kind,
        "data.joint": subwords.joint,
    }
    try:
        return resolve([SettingsLayer(str(path), values)]).config
    except ConfigError as error:
        raise ConfigError(
            f"`{path}` cannot be imported: {error.message}", "copy the file again"
        ) from error
