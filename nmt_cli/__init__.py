"""Train and run Transformer translators: two text files in, a translator out."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.data.lexical.glossary import read_glossary as read_glossary
    from nmt_cli.translation.constraints import Constraints as Constraints
    from nmt_cli.translation.result import Translation as Translation
    from nmt_cli.translation.translator import Translator as Translator

__version__ = "0.1.0"

# Resolved when they are asked for: `import nmt_cli` loads nothing heavy.
_PUBLIC = {
    "Translator": "nmt_cli.translation.translator",
    "Translation": "nmt_cli.translation.translator",
    "Constraints": "nmt_cli.translation.constraints",
    "read_glossary": "nmt_cli.data.lexical.glossary",
}
__all__ = ["Constraints", "Translation", "Translator", "__version__", "read_glossary"]


def __dir__() -> list[str]:
    return [*__all__]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        message = f"module `nmt_cli` has no attribute `{name}`"
        if not name.startswith("_"):
            from nmt_cli.errors import did_you_mean

            message += f"; {did_you_mean(name, list(_PUBLIC))}"
        raise AttributeError(message)
    import importlib

    return getattr(importlib.import_module(_PUBLIC[name]), name)
