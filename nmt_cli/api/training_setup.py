"""What `nmt train` and train() do before the first step; nothing here loads torch at import."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nmt_cli.config.fine_tuning import fine_tuning_settings
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import ModelConfig, ResolvedConfig, load, read_layer, with_values
from nmt_cli.config.train import TrainConfig
from nmt_cli.errors import CannotCreateError, ConfigError, NmtError, NoInputError
from nmt_cli.storage.files import require_creatable
from nmt_cli.storage.model_check import CONFIG, CORPUS, is_model_directory
from nmt_cli.storage.nearby_models import similar_model
from nmt_cli.storage.output_directory import CHECKPOINTS, require_apart

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config

# A shorter warm-up is warned of where it multiplies the peak of the learning rate by this.
MOST_RAISED = 2
# Peaks of the learning rate above which training hardly learns. Muon's are some ten times higher.
HIGH_RATE, HIGH_RATES = 0.05, {"muon": 0.5}


def train_settings(
    *,
    corpus: str | None,
    out: str | None,
    preset: str | None,
    init_from: str | None,
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
        "train.init_from": init_from,
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

    values: of `train_settings`; resolve: completes them. A run that is resumed keeps its preset,
    and the model that it began with, unless others are chosen. Raises NoInputError if there is no
    corpus, CannotCreateError if the model directory cannot be written or is the corpus,
    ConfigError if training cannot begin with the weights of `train.init_from`.
    """
    resolved = resolve(values)
    out = Path(resolved.config.paths.model)
    begun = _begun_with(out)
    if resolved.config.train.init_from or begun is not None:
        resolved = _fine_tuning(resolved, values, resolve, begun)
    elif resolved.origins["train.preset"] == "default":
        resolved = resolve({**values, "train.preset": preset_of_run(out)})
    if resolved.config.train.learning_rate == 0:
        raise ConfigError(
            "train.learning_rate=0 would leave the weights as they begin",
            "give a learning rate above 0, or `auto`",
        )
    corpus = Path(resolved.config.paths.corpus)
    require_corpus(corpus)
    if out.resolve() == corpus.resolve():
        raise CannotCreateError(
            f"`{out}` is the corpus to train on, and cannot be the model directory too",
            "choose another --out",
        )
    require_creatable(out / "log.jsonl")
    return resolved


def _begun_with(out: Path) -> Config | None:
    """The settings of the run in `out` if it began with the weights of a model; None if not.

    A file that cannot be read is reported later, with the reason.
    """
    with contextlib.suppress(NmtError):
        if is_model_directory(out):
            config = load(out / CONFIG)
            return config if config.train.init_from else None
    return None


def _fine_tuning(
    resolved: ResolvedConfig,
    values: Mapping[str, object],
    resolve: Callable[[Mapping[str, object]], ResolvedConfig],
    begun: Config | None,
) -> ResolvedConfig:
    """The settings of a training that begins, or has begun, with the weights of a model.

    begun: the settings of the run that is resumed, whose model need not be there any more; None
    for a new run.
    """
    from nmt_cli.model_dir import load_config
    from nmt_cli.training.starting_model import published_digest, require_same_subwords

    given, recorded = resolved.config.train.init_from, begun.train.init_from if begun else ""
    name = given or recorded
    source, corpus = Path(name), Path(resolved.config.paths.corpus)
    if name != recorded:
        require_apart(Path(resolved.config.paths.model), source)
    if begun is not None and name == recorded and not (given and is_model_directory(source)):
        digest, model = begun.train.init_sha256, begun
    else:
        digest, model = published_digest(source), load_config(source)
    require_corpus(corpus)
    if begun is None:
        require_same_subwords(corpus, source)
    if resolved.origins["train.preset"] == "default":
        resolved = resolve({**values, "train.preset": model.train.preset})
    completed = fine_tuning_settings(resolved, model, name)
    start = {"train.init_from": name, "train.init_sha256": digest}
    return completed._replace(config=with_values(completed.config, start))


def has_checkpoints(out: Path) -> bool:
    """Whether the model directory `out` has a checkpoint, with which its run is resumed."""
    return any((out / CHECKPOINTS).glob("step-*"))


def rate_notes(resolved: ResolvedConfig) -> list[str]:
    """Warnings of a learning rate that does not suit the optimiser or the warm-up.

    None where a run is resumed, as they were shown when it began: it cannot change its rate.
    """
    if has_checkpoints(Path(resolved.config.paths.model)):
        return []
    notes = optimizer_note(resolved), warmup_note(resolved), high_rate_note(resolved)
    return [note for note in notes if note]


def high_rate_note(resolved: ResolvedConfig) -> str:
    """A warning of a learning rate with which no Transformer learns, else "".

    Toolkits that give the factor of equation 3 rather than its peak have such numbers.
    """
    train, d_model = resolved.config.train, resolved.config.model.d_model
    rate = train.learning_rate
    if rate == "auto" or rate < HIGH_RATES.get(train.optimizer, HIGH_RATE):
        return ""
    peak = rate * (d_model * train.warmup_steps) ** -0.5
    return (
        f"train.learning_rate={rate:g} is the peak of the schedule, and so high that the training "
        f"will hardly learn; if {rate:g} is the factor of the paper's schedule, as in OpenNMT-py "
        f"with noam, the peak is {peak:.2g}: `--set train.learning_rate={peak:.2g}`"
    )


def warmup_note(resolved: ResolvedConfig) -> str:
    """A warning if a shorter warm-up raises the peak of the learning rate much, else "".

    The peak is that of equation 3, which grows as the warm-up gets shorter.
    """
    train, model = resolved.config.train, resolved.config.model
    preset = PRESETS[train.preset]
    usual = cast("int", preset.get("train.warmup_steps", TrainConfig().warmup_steps))
    usual_size = cast("int", preset.get("model.d_model", ModelConfig().d_model))
    if train.learning_rate != "auto" or MOST_RAISED**2 * train.warmup_steps > usual:
        return ""
    peak, usual_peak = (model.d_model * train.warmup_steps) ** -0.5, (usual_size * usual) ** -0.5
    even_so = ""
    if model.kind == "transformer" and model.norm_order == "post":
        even_so = (
            ", but a post-norm model may not learn even so after a short warm-up: a lower rate or "
            "`--set model.norm_order=pre` helps"
        )
    return (
        f"with train.warmup_steps={train.warmup_steps} the learning rate rises to {peak:.2g} "
        f"(equation 3), {peak / usual_peak:.1f} times that of preset `{train.preset}`; "
        f"`--set train.learning_rate={usual_peak:.2g}` keeps the peak of the preset{even_so}"
    )


def optimizer_note(resolved: ResolvedConfig) -> str:
    """A warning if the optimiser is chosen, but has the learning rate of the preset's, else "".

    Only between Muon and others, whose rates differ by about a factor of ten.
    """
    train, origins = resolved.config.train, resolved.origins
    usual = PRESETS[train.preset].get("train.optimizer", "adam")
    own_rate = not origins["train.learning_rate"].startswith(("default", "preset ", "model "))
    if own_rate or train.optimizer == usual or "muon" not in (train.optimizer, usual):
        return ""
    rate = train.learning_rate
    shown = f"{rate:g}" if isinstance(rate, float) else rate
    return (
        f"train.optimizer is {train.optimizer}, but train.learning_rate={shown} comes from preset "
        f"`{train.preset}`, for {usual}: choose one with `--set train.learning_rate=X` "
        "(those of muon are about ten times those of adam)"
    )


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
    if path.is_dir():
        return
    similar = similar_model(path, lambda folder: (folder / CORPUS).is_file())
    hint = "run `nmt prepare` first, or name another one with --corpus"
    raise NoInputError(
        f"there is no prepared corpus at `{path}`",
        hint if similar is None else f"did you mean `{similar}`? If not, {hint}",
        missing=str(path),
    )


def require_cpu_memory(config: Config, processes: int) -> None:
    """Refuse to train on a CPU if the processes certainly do not fit into memory."""
    import torch

    from nmt_cli.data.corpus.corpus import Corpus
    from nmt_cli.machine import available_memory
    from nmt_cli.training.execution.memory_need import CorpusTokens, require_memory
    from nmt_cli.training.setup import complete

    if not torch.cuda.is_available():
        opened = Corpus.open(Path(config.paths.corpus), verify=False)
        lengths = opened.train.src_lengths, opened.train.tgt_lengths
        tokens = CorpusTokens(*(int(side.sum()) for side in lengths))
        require_memory(complete(config, opened), processes, tokens, available_memory())


def prepare_process(config: Config) -> None:
    """Set what belongs to the whole process: how freed memory is kept, and CUDA's determinism."""
    from nmt_cli.machine import keep_freed_memory

    keep_freed_memory()
    if config.train.deterministic:
        # Read by CUDA's libraries at their first use.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
