"""Train and run Transformer translators: two text files in, a translator out."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.translator import Translation as Translation
    from nmt_cli.translator import Translator as Translator

__version__ = "0.1.0"

# Resolved when they are asked for: `import nmt_cli` loads nothing heavy.
_PUBLIC = {"Translator": "nmt_cli.translator", "Translation": "nmt_cli.translator"}
__all__ = ["Translation", "Translator", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module `nmt_cli` has no attribute `{name}`")
    import importlib

    return getattr(importlib.import_module(_PUBLIC[name]), name)
