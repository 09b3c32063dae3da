"""Checks without torch whether a path is a model of nmt, and what else it looks like.

Commands check this before they load torch, which takes seconds; `model_dir` checks again.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nmt_cli.errors import ConfigError, NmtError, NoInputError
from nmt_cli.plurals import enumerated
from nmt_cli.storage.manifest import MANIFEST
from nmt_cli.storage.nearby_models import hint_at_models, hint_at_trained

CONFIG = "config.toml"
WEIGHTS = "model.safetensors"
# A prepared corpus has a config.toml and a manifest.json too, and this file.
CORPUS = "corpus.json"
# The files of a training checkpoint.
CHECKPOINT = ("weights.safetensors", "state.json")

HINT = "a model directory is what `nmt train` and `nmt average` write"
NO_IMPORT = (
    "nmt does not import models of this format: translate with the toolkit that made it, or "
    "train a model on your text (`nmt init`, `nmt prepare`, `nmt train`)"
)
# The toolkits whose models `nmt import` reads.
IMPORTED = {"Hugging Face", "Marian", "fairseq", "OpenNMT-py"}


class Toolkit(NamedTuple):
    """Another toolkit, and file patterns that all match something in its model folders."""

    name: str
    patterns: tuple[str, ...]


# The first that matches is named: some toolkits also write files of other toolkits.
TOOLKITS = (
    Toolkit("CTranslate2", ("model.bin", "*vocabulary*")),
    Toolkit("CTranslate2", ("model.bin", "config.json")),
    Toolkit("Argos Translate", ("metadata.json", "model")),
    Toolkit("Argos Translate", ("*.argosmodel",)),
    Toolkit("Bergamot", ("model.*.bin", "*vocab.*.spm")),
    Toolkit("ONNX", ("*.onnx",)),
    Toolkit("Hugging Face", ("config.json",)),
    Toolkit("Marian", ("decoder.yml",)),
    Toolkit("Marian", ("*.npz",)),
    Toolkit("fairseq", ("dict.*.txt", "*.pt")),
    Toolkit("fairseq", ("checkpoint*.pt",)),
    Toolkit("OpenNMT-tf", ("ckpt-*.index",)),
    Toolkit("OpenNMT-py", ("*_step_*.pt",)),
    Toolkit("Joey NMT", ("*.ckpt", "config.yaml")),
    Toolkit("Sockeye", ("params.*", "symbol.json")),
    Toolkit("Sockeye", ("params.*", "version")),
)
# Single files by their suffix.
FILES = {
    ".npz": "weights of Marian",
    ".onnx": "a model in ONNX",
    ".gguf": "a model in GGUF",
    ".argosmodel": "a package of Argos Translate",
    ".ckpt": "a checkpoint of another toolkit",
}
_PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")


def is_model_directory(directory: Path) -> bool:
    """Whether `directory` is a model directory of nmt; its weights may still be missing."""
    has_files = all((directory / name).is_file() for name in (CONFIG, MANIFEST))
    return has_files and not (directory / CORPUS).exists()


def no_weights_error(path: Path, use: str = "") -> NoInputError:
    """The error for a model directory without weights; use: what they were wanted for."""
    hint = "`nmt train` writes them at its first validation (train.validate_every)"
    if not use:
        hint += "; `nmt info` says when that is"
    beside = hint_at_trained(path, _has_weights)
    return NoInputError(
        f"`{path}` holds no weights yet{use}", f"{hint}; {beside}" if beside else hint
    )


def _has_weights(path: Path) -> bool:
    return is_model_directory(path) and (path / WEIGHTS).is_file()


def require_model_directory(path: Path) -> None:
    """Raise NoInputError or ConfigError if `path` is not a model directory."""
    try:
        if not is_model_directory(path):
            raise _not_a_model_error(path)
    except OSError as error:
        raise NoInputError(f"`{path}` cannot be read: {error.strerror or error}") from error


def _not_a_model_error(path: Path) -> NmtError:
    """Why `path` is not a model directory, and what it looks like instead."""
    if not path.exists():
        hint = _removed_checkpoint_hint(path) or hint_at_models(path, is_model_directory)
        hint = hint or "`nmt train` writes one"
        return NoInputError(f"there is no model directory `{path}`", hint, missing=str(path))
    if path.is_dir():
        what, hint = _describe_directory(path)
        return ConfigError(f"`{path}` is not a model directory of nmt: {what}", hint)
    if path.name == WEIGHTS and is_model_directory(path.parent):
        return ConfigError(
            f"`{path}` is one file of a model directory", f"use the directory: `{path.parent}`"
        )
    hint = HINT
    what = "it is not a directory"
    if ".tar" in path.suffixes[-2:] or path.suffix == ".tgz":
        what = "it is an archive"
        hint = f"unpack it, such as with: tar xf {shlex.quote(str(path))}"
    elif path.suffix in FILES:
        what, hint = f"it looks like {FILES[path.suffix]}", NO_IMPORT
        if path.suffix == ".npz":
            hint = f"import it: `nmt import {shlex.quote(str(path))} --out model`"
    elif path.is_file():
        with path.open("rb") as file:
            if file.read(4).startswith(_PICKLE_STARTS):
                what = "it looks like a pickle or a zip of pickles (.pt), which nmt never loads"
                command = f"`nmt import {shlex.quote(str(path))} --out model`"
                hint = (
                    "import it if it is a checkpoint of fairseq or OpenNMT-py: "
                    f"{command} reads it without running code of it"
                )
    return ConfigError(f"`{path}` is not a model directory of nmt: {what}", hint)


def _removed_checkpoint_hint(path: Path) -> str:
    """What is left beside a checkpoint that training has removed, or "" for another path."""
    kept = sorted(other.name for other in path.parent.glob("step-*") if other.is_dir())
    if not kept or not path.name.startswith("step-"):
        return ""
    return (
        f"training removes old checkpoints, and has kept {enumerated(kept)}; train.keep_last and "
        "train.keep_best say how many"
    )


def _describe_directory(path: Path) -> tuple[str, str]:
    """What a directory without a model of nmt looks like, and a hint."""
    if all((path / name).is_file() for name in CHECKPOINT):
        average = ["nmt", "average", str(path), "--out", path.name]
        return (
            "it is a checkpoint of a training run",
            f"make a model of it: `{shlex.join(average)}`",
        )
    if (path / CORPUS).is_file():
        train = f"`nmt train --corpus {shlex.quote(str(path))}`"
        return "it is a prepared corpus", f"train a model on it: {train}"
    if is_model_directory(path.parent):
        return f"it is a part of the model directory `{path.parent}`", f"use `{path.parent}`"
    toolkit = next(_toolkits_of(path), "")
    if toolkit:
        hint = NO_IMPORT
        if toolkit in IMPORTED:
            named = shlex.quote(str(_to_import(path, toolkit)))
            hint = f"import it: `nmt import {named} --out model`"
        return f"it looks like a model of {toolkit}", hint
    missing = [name for name in (CONFIG, MANIFEST) if not (path / name).is_file()]
    what = f"it has no {' and '.join(missing)}"
    if missing == [MANIFEST]:
        hint = "copy the whole directory again, with all its files"
        return f"{what}, so it is not complete", hint
    return what, hint_at_models(path, is_model_directory) or HINT


def _to_import(path: Path, toolkit: str) -> Path:
    """What to name for the import: the directory, or one of its files."""
    pattern = {"Marian": "*.npz", "OpenNMT-py": "*_step_*.pt"}.get(toolkit)
    if pattern is None or (path / "decoder.yml").exists():
        return path
    # Numbers of more digits are larger.
    return max(path.glob(pattern), key=lambda file: (len(file.name), file.name))


def _toolkits_of(path: Path) -> Iterator[str]:
    for toolkit in TOOLKITS:
        if all(any(path.glob(pattern)) for pattern in toolkit.patterns):
            yield toolkit.name
