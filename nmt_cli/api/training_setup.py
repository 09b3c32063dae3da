"""What `nmt train` and train() do before the first step; nothing here loads torch at import."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import read_layer
from nmt_cli.errors import NmtError, NoInputError
from nmt_cli.storage.files import require_creatable
from nmt_cli.storage.model_check import CONFIG

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config, ResolvedConfig


def train_settings(
    *,
    corpus: str | None,
    out: str | None,
    preset: str | None,
    max_steps: int | None,
    max_epochs: int | None,
    max_hours: float | None,
    patience: int | None,
    seed: int | None,
    deterministic: bool | None,
) -> dict[str, object]:
    """The dotted keys that options of the command and arguments of the function set."""
    return {
        "paths.corpus": corpus,
        "paths.model": out,
        "train.preset": preset,
        "train.max_steps": max_steps,
        "train.max_epochs": max_epochs,
        "train.max_hours": max_hours,
        "train.patience": patience,
        "train.seed": seed,
        "train.deterministic": deterministic,
    }


def resolve_training(
    values: Mapping[str, object], resolve: Callable[[Mapping[str, object]], ResolvedConfig]
) -> ResolvedConfig:
    """The settings of a training, whose paths are checked before torch is loaded.

    values: of `train_settings`; resolve: completes them. A run that is resumed keeps its preset
    unless another one is chosen. Raises NoInputError if there is no corpus, CannotCreateError if
    the model directory cannot be written.
    """
    resolved = resolve(values)
    if resolved.origins["train.preset"] == "default":
        preset = preset_of_run(Path(resolved.config.paths.model))
        resolved = resolve({**values, "train.preset": preset})
    config = resolved.config
    require_corpus(Path(config.paths.corpus))
    require_creatable(Path(config.paths.model) / "log.jsonl")
    return resolved


def preset_of_run(out: Path) -> str | None:
    """The preset of the run in the model directory `out`; None if there is no run.

    A file that cannot be read is reported later, with the reason.
    """
    with contextlib.suppress(NmtError):
        preset = read_layer(out / CONFIG).values.get("train.preset")
        return preset if isinstance(preset, str) and preset in PRESETS else None
    return None


def require_corpus(path: Path) -> None:
    """Raise NoInputError if there is no prepared corpus, before torch is loaded."""
    if not path.is_dir():
        raise NoInputError(
            f"there is no prepared corpus at `{path}`",
            "run `nmt prepare` first, or name another one with --corpus",
        )


def require_cpu_memory(config: Config, processes: int) -> None:
    """Refuse to train on a CPU if the processes certainly do not fit into memory."""
    import torch

    from nmt_cli.data.corpus.corpus import Corpus
    from nmt_cli.machine import available_memory
    from nmt_cli.training.execution.memory_need import require_memory
    from nmt_cli.training.setup import complete

    if not torch.cuda.is_available():
        opened = Corpus.open(Path(config.paths.corpus), verify=False)
        require_memory(complete(config, opened), processes, available_memory())


def prepare_process(config: Config) -> None:
    """Set what belongs to the whole process: how freed memory is kept, and CUDA's determinism."""
    from nmt_cli.machine import keep_freed_memory

    keep_freed_memory()
    if config.train.deterministic:
        # Read by CUDA's libraries at their first use.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
