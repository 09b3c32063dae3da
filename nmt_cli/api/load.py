"""load(): a model to translate with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from nmt_cli.translation.translator import Translator


def load(
    model: Path | str = "model",
    device: str = "cpu",
    *,
    precision: str = "float32",
    threads: int | None = None,
    cache: Path | Literal["auto"] | None = "auto",
    others: Sequence[Path | str] = (),
) -> Translator:
    """Load a model to translate with; `with load("model") as translator` frees it at the end.

    Args:
        model: the model directory.
        device: "cpu", "cuda" or "cuda:1".
        precision: "float32", "bf16", "int8" (CPU), "split" (CPU with AMX) or "fp16" (GPU).
        threads: CPU threads of the process, for torch too; by default those that torch has.
        cache: folder of the compiled CPU kernels; "auto" is the user's cache folder, where the
            first model compiles them in about 10 s. With None torch computes, which is slower.
        others: further model directories with the same vocabularies, which make an ensemble.

    Returns:
        A Translator.

    Raises:
        NmtError: NoInputError for a missing model, DataError for a damaged one, ConfigError for a
            precision or device that does not fit, UnavailableError for a missing device,
            ArgumentError for a number of threads below 1.
        TypeError: an argument of a wrong type, such as a number for a path.
    """
    from nmt_cli.api.arguments import optional_path, path_text
    from nmt_cli.errors import ArgumentError

    if not isinstance(others, list | tuple):
        raise TypeError(f"others is a list of model directories, not {type(others).__name__}")
    if not isinstance(precision, str):
        raise TypeError(f"precision is a str such as 'int8', not {precision!r}")
    if cache != "auto":
        optional_path("cache", cache)
    paths = [path_text("model", model), *(path_text("others", other) for other in others)]
    if threads is not None and type(threads) is not int:
        raise TypeError(f"threads is a number of at least 1, not {threads!r}")
    if threads is not None and threads < 1:
        raise ArgumentError(
            f"threads is a number of at least 1, not {threads}",
            "leave it out for as many as torch has",
        )

    from nmt_cli.machine import use_threads
    from nmt_cli.translation.translator import Translator

    if threads is not None:
        use_threads(threads)
    return Translator.load(paths[0], device, precision=precision, cache=cache, others=paths[1:])
