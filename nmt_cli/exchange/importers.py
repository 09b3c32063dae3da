"""The formats that models are imported from, by their names on the command line."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from nmt_cli.errors import ConfigError

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
