"""The formats that models are imported from, by their names on the command line."""

from __future__ import annotations

import importlib
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from nmt_cli.errors import ConfigError
from nmt_cli.storage.model_check import is_model_directory

if TYPE_CHECKING:
    from pathlib import Path

    from nmt_cli.exchange.importer import Importer

# The module of each format. Its object IMPORTER is the format.
MODULES = {
    "huggingface": "huggingface.importer",
    "marian": "marian.importer",
    "fairseq": "fairseq.importer",
    "opennmt": "opennmt.importer",
}


def load_importer(name: str) -> Importer:
    """The format of this name, one of MODULES."""
    module = importlib.import_module(f"nmt_cli.exchange.formats.{MODULES[name]}")
    importer: Importer = module.IMPORTER
    return importer


# Formats that are only exported to, each with a file that no other has.
EXPORT_ONLY = {
    "ONNX": "*.onnx",
    "CTranslate2": "model.bin",
    "Argos Translate": "*.argosmodel",
    "Bergamot": "model.*.intgemm*.bin",
}
# Weights that can be imported, and may lie beside those of another format.
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "*.npz", "*.pt")


def refuse_other_models(path: Path) -> None:
    """Raise ConfigError for a model of nmt, and for one in a format that is only exported to."""
    if is_model_directory(path):
        raise ConfigError(
            f"`{path}` is a model of nmt already", "use it as it is; there is nothing to import"
        )
    for title, pattern in EXPORT_ONLY.items():
        beside = path.iterdir() if path.is_dir() else (path,)
        names = [file.name for file in beside]
        if any(fnmatch(name, weights) for name in names for weights in _WEIGHTS):
            return
        if any(fnmatch(name, pattern) for name in names):
            raise ConfigError(
                f"`{path}` is a model for {title}, and such models cannot be imported",
                "import the model that it was made from: a model directory of nmt can be used as "
                "it is",
            )


def detect_format(path: Path) -> str:
    """The name of the format of `path`; raises ConfigError if it is none that can be imported."""
    for name in MODULES:
        if load_importer(name).matches(path):
            return name
    titles = ", ".join(load_importer(name).title for name in MODULES)
    raise ConfigError(
        f"`{path}` does not look like a model that nmt can import",
        f"nmt imports models of: {titles}; if it is one of these, name it with --from",
    )
