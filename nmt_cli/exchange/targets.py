"""The formats by their names on the command line; each module is imported when it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.exchange.target import Target

# The module of each format. Its object TARGET is the format.
MODULES = {
    "ctranslate2": "ctranslate2.target",
    "argos": "ctranslate2.argos",
    "huggingface": "huggingface.target",
    "marian": "marian.target",
    "bergamot": "bergamot.target",
    "onnx": "onnx.target",
}


def load_target(name: str) -> Target:
    """The format of this name, one of MODULES."""
    module = importlib.import_module(f"nmt_cli.exchange.formats.{MODULES[name]}")
    target: Target = module.TARGET
    return target
