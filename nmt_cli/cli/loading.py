"""A model directory opened as the commands that translate want it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import NoInputError

if TYPE_CHECKING:
    from nmt_cli.translator import Translator


def load_translator(
    model: Path | str,
    device: str = "cpu",
    *,
    precision: str = "float32",
    others: Sequence[Path | str] = (),
) -> "Translator":
    """`Translator.load` with the kernels of the user's cache folder; device: also `auto`."""
    require_models([model, *others])

    import torch

    from nmt_cli.cli.environment import cache_folder
    from nmt_cli.cores import give_back_freed_memory
    from nmt_cli.translator import Translator

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    give_back_freed_memory()
    return Translator.load(model, device, precision=precision, cache=cache_folder(), others=others)


def require_models(models: Sequence[Path | str]) -> None:
    """Refuse what is not a model directory before torch is loaded, which takes seconds."""
    from nmt_cli.model_check import require_model_directory

    for model in models:
        try:
            require_model_directory(Path(model))
        except NoInputError as error:
            hints = [error.hint, "name another one with --model"]
            raise NoInputError(error.message, "; ".join(filter(None, hints))) from error
