"""The files of a Marian model, which decoder.yml names with settings of the search."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.errors import ConfigError, NoInputError
from nmt_cli.exchange.formats.marian.yaml_files import read_yaml_object
from nmt_cli.exchange.importer import ImportOptions
from nmt_cli.storage import files

DECODER = "decoder.yml"
MODEL_SUFFIX = ".npz"
MOST_BYTES = 1 << 20
# Settings of Marian's search that nmt lacks, and the values that leave them out.
ONLY_THERE: Mapping[str, tuple[object, ...]] = {
    "word-penalty": (0, 0.0, None),
    "shortlist": (None, [], False),
    "output-sampling": (None, [], False),
    "skip-cost": (None, False),
}


class ModelFiles(NamedTuple):
    """The weights, the vocabularies of both sides, and the content of decoder.yml, if any."""

    model: Path
    vocabularies: tuple[Path, ...]
    decoder: Mapping[str, Any]
    read: tuple[Path, ...]


def locate(path: Path, options: ImportOptions) -> ModelFiles:
    """The files of a model: `path` is the weights, or a directory with decoder.yml.

    Training writes the settings of weights `NAME` as `NAME.decoder.yml`. Raises NoInputError,
    DataError and ConfigError.
    """
    if len(options.vocabularies) > 2:
        raise ConfigError("a model has at most two vocabularies", "give --vocab once or twice")
    where = path / DECODER if path.is_dir() else path.with_name(f"{path.name}.{DECODER}")
    if not path.is_dir() and not where.is_file():
        if not options.vocabularies:
            raise ConfigError(
                f"`{path}` does not name its vocabularies",
                f"name them with --vocab, put `{where.name}` beside it, or import a directory with "
                f"its {DECODER}",
            )
        return ModelFiles(path, options.vocabularies, {}, ())
    decoder = read_yaml_object(
        files.read_bytes(where, "settings", MOST_BYTES), f"the settings `{where}`"
    )
    vocabularies = _names(decoder.get("vocabs"))
    reasons = _reasons_against_models(path, where, _names(decoder.get("models")))
    if len(vocabularies) not in (1, 2) and not options.vocabularies:
        reasons.append(f"`{where}` names {len(vocabularies)} vocabularies instead of 2")
    if reasons:
        raise ConfigError(f"`{path}` cannot be imported: " + "; ".join(reasons))
    chosen = options.vocabularies or tuple(_beside(where, name) for name in vocabularies)
    model = _beside(where, _names(decoder["models"])[0]) if path.is_dir() else path
    return ModelFiles(model, chosen, decoder, (where,))


def _reasons_against_models(path: Path, where: Path, models: Sequence[str]) -> list[str]:
    """Why the weights that the settings `where` name cannot be those of one model."""
    if not path.is_dir():
        return []
    if len(models) != 1:
        return [f"`{where}` names {len(models)} models, and nmt imports one at a time"]
    if not models[0].endswith(MODEL_SUFFIX):
        return [f"its weights are not an {MODEL_SUFFIX} file"]
    return []


def _names(value: object) -> list[str]:
    return value if isinstance(value, list) and all(isinstance(name, str) for name in value) else []


def _beside(where: Path, name: str) -> Path:
    """The file beside the settings; paths of the machine that wrote them do not matter."""
    found = where.parent / Path(name).name
    if not Path(name).name or not found.is_file():
        raise NoInputError(
            f"`{where}` names `{Path(name).name}`, which is not in `{where.parent}`",
            "put all files of the model into one directory",
        )
    return found


def search_settings(decoder: Mapping[str, Any]) -> tuple[dict[str, object], list[str]]:
    """Our search settings from decoder.yml, and what is left out, in whole sentences."""
    exponent = _number(decoder, "normalize", 0.0)
    search: dict[str, object] = {
        "beam": int(_number(decoder, "beam-size", 12)),
        "length_penalty": "power" if exponent > 0 else "none",
        "alpha": max(exponent, 0.0),
    }
    notes = []
    if not decoder:
        search.pop("beam")
        notes.append(
            "There is no decoder.yml: nmt searches with its own beam size and without a length "
            "penalty."
        )
    left_out = [
        name
        for name, unset in ONLY_THERE.items()
        if name in decoder and not any(decoder[name] == value for value in unset)
    ]
    if left_out:
        notes.append("nmt leaves out these settings of decoder.yml: " + ", ".join(left_out) + ".")
    return search, notes


def _number(decoder: Mapping[str, Any], name: str, default: float) -> float:
    value = decoder.get(name, default)
    if type(value) not in (int, float):
        raise ConfigError(f"`{name}` of {DECODER} is not a number")
    return float(value)
