"""Loads models for the commands that translate."""

import contextlib
import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import NoInputError

# Packing more bytes of weights, and writing them to the cache, takes about a second or more.
LARGE = 200_000_000

if TYPE_CHECKING:
    import torch

    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.translator import Translator


def load_translator(
    model: Path | str,
    device: str = "cpu",
    *,
    precision: str = "float32",
    others: Sequence[Path | str] = (),
    console: "Console | None" = None,
) -> "Translator":
    """`Translator.load`; device may be `auto`.

    console: shows a note if the kernels have to be compiled or the weights to be packed first, if
    the training of a model has not ended, and where torch is imported for a feature.
    """
    require_models([model, *others])

    from nmt_cli.cli.display.unfinished_run import unfinished_note
    from nmt_cli.inference.engines import auto_device
    from nmt_cli.installation import tell_of_torch
    from nmt_cli.machine import cache_folder, give_back_freed_memory
    from nmt_cli.translation.translator import Translator

    if device == "auto":
        device = auto_device()
    if console is not None and device == "cpu":
        tell_of_torch(console.note)
    give_back_freed_memory()
    if console is not None and console.interactive:
        for path in (model, *others):
            if note := unfinished_note(Path(path)):
                console.note(note)
    if console is not None and console.interactive and device == "cpu":
        cache = cache_folder()
        if cache is not None:
            announce_first_start(Path(model), cache, precision, console)
    translator = Translator.load(model, device, precision=precision, others=others)
    # What is loaded stays until the command ends; the garbage collector need not look at it again.
    gc.freeze()
    return translator


def require_models(
    models: Sequence[Path | str], otherwise: str = "name another one with --model"
) -> None:
    """Check that these are model directories before anything is loaded.

    otherwise: how the command is given another model, for the hint.
    """
    from nmt_cli.storage.model_check import require_model_directory

    for model in models:
        try:
            require_model_directory(Path(model))
        except NoInputError as error:
            if error.hint.startswith("did you mean"):
                raise
            hints = [error.hint, otherwise]
            hint = "; ".join(filter(None, hints))
            raise NoInputError(error.message, hint, missing=error.missing) from error


def announce_training_kernels(device: "torch.device", console: "Console") -> None:
    """Write a note if kernels for training on a CPU are about to be compiled."""
    from nmt_cli.kernels.training import must_compile
    from nmt_cli.machine import cache_folder

    folder = cache_folder()
    if device.type == "cpu" and folder is not None and must_compile(folder):
        console.note("compiling kernels for this CPU (once, some seconds)")


def announce_first_start(model: Path, cache: Path, precision: str, console: "Console") -> None:
    """Write notes of what takes long only once: compiling kernels, packing the weights."""
    from nmt_cli.config.schema import load
    from nmt_cli.errors import NmtError
    from nmt_cli.inference.native.library import may_load, must_compile
    from nmt_cli.inference.native.packing.packed_cache import PackedCache
    from nmt_cli.storage.manifest import read_manifest
    from nmt_cli.storage.model_check import CONFIG, WEIGHTS

    # Errors of the model are reported when it is loaded.
    with contextlib.suppress(NmtError, OSError):
        if load(model / CONFIG).model.kind != "transformer":
            return
        if must_compile(cache):
            console.note("compiling kernels for this CPU (once, about 10 s)")
        weights = read_manifest(model).get(WEIGHTS, {"bytes": 0, "sha256": ""})
        digest, size = str(weights["sha256"]), int(str(weights["bytes"]))
        # Where split weights cannot be used, those of float32 are.
        used = (precision, "float32") if precision == "split" else (precision,)
        kept = any(PackedCache(cache, kind).has(digest) for kind in used)
        if size > LARGE and may_load() and not kept:
            console.note(f"packing {size / 1e6:,.0f} MB of weights for this CPU (once)")
