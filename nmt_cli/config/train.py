"""The settings of training (section 5), and the conflicts between them."""

from dataclasses import dataclass
from typing import Literal

from nmt_cli.config.presets import PRESET_NAMES
from nmt_cli.config.values import setting
from nmt_cli.errors import ConfigError

Auto = Literal["auto"]
# The greatest decay of a running mean: with 1, Adam divides by zero, and nothing is averaged.
MOST_DECAY = 0.999999


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained; the defaults are those of the paper's base model (section 5)."""

    preset: str = setting(
        "base", f"preset, a named group of settings: {PRESET_NAMES}", metavar="NAME"
    )
    init_from: str = setting(
        "",
        "model directory to fine-tune: training begins with its published weights",
        metavar="MODEL",
    )
    init_sha256: str = setting(
        "", "SHA-256 of the weights that train.init_from had when the run began; set by training"
    )
    batch_tokens: int = setting(
        25_000, "tokens per step on each side, over all GPUs together", 1, 2**31
    )
    micro_batch_tokens: int | Auto = setting(
        "auto",
        "tokens per micro-batch on one device; a step accumulates the gradients of its "
        "micro-batches",
        1,
        2**31,
        auto="chosen for the device",
    )
    parallel_shards: int | Auto = setting(
        "auto",
        "micro-batches computed at the same time on a CPU, one thread each",
        1,
        1_024,
        auto="one per core, at most 8",
    )
    max_steps: int | Auto = setting(
        100_000, "stop after this many steps", 1, 2**40, auto="chosen from the corpus size"
    )
    max_epochs: int = setting(0, "stop after this many epochs; 0 = no limit", 0, 2**31)
    max_hours: float = setting(
        0.0,
        "stop after this many hours in total, such as 0.25, however often the run is resumed; the "
        "last validation and saving take more time, and so does a validation before the first "
        "step; 0 = no limit",
        0.0,
        1e6,
        metavar="HOURS",
    )
    patience: int = setting(
        0,
        "stop after this many validations in a row that improve neither BLEU nor loss; 0 = never",
        0,
    )
    optimizer: Literal["adam", "schedule_free", "muon"] = setting(
        "adam", "optimiser; schedule_free requires train.schedule=constant"
    )
    beta1: float = setting(
        0.9, "beta1 of Adam; for schedule_free, the interpolation towards the average",
        0.0, MOST_DECAY,
    )  # fmt: skip
    beta2: float = setting(0.98, "beta2 of Adam", 0.0, MOST_DECAY)
    epsilon: float = setting(1e-9, "epsilon of Adam", 0.0, 1.0)
    momentum: float = setting(0.95, "momentum of Muon, for matrices", 0.0, 1.0)
    weight_decay: float = setting(
        0.0, "decoupled weight decay (AdamW), for matrices only", 0.0, 10.0
    )
    schedule: Literal["inverse_sqrt", "linear", "cosine", "wsd", "constant"] = setting(
        "inverse_sqrt",
        "learning rate after warm-up: inverse_sqrt = equation 3; linear, cosine = decay to zero "
        "at max_steps; wsd = constant, then decay to zero; constant = no decay",
    )
    decay_fraction: float = setting(
        0.2, "fraction of max_steps during which wsd decays to zero", 0.0, 1.0
    )
    warmup_steps: int = setting(4_000, "warm-up steps (equation 3)", 1, 2**31)
    learning_rate: float | Auto = setting(
        "auto",
        "learning rate at the end of warm-up",
        0.0,
        100.0,
        auto="(d_model * warmup_steps)^-0.5 (equation 3)",
    )
    label_smoothing: float = setting(0.1, "label smoothing (epsilon_ls, section 5.4)", 0.0, 0.99)
    r_drop: float = setting(
        0.0,
        "weight alpha of R-Drop, which makes two passes with different dropout agree; 0 = off",
        0.0,
        100.0,
    )
    subword_dropout: float = setting(
        0.0,
        "BPE-dropout: probability of skipping a merge, drawn anew each epoch, such as 0.1; 0 = off",
        0.0,
        0.99,
    )
    ema: float = setting(
        0.0, "decay of the moving average of the weights, such as 0.999; 0 = off", 0.0, MOST_DECAY
    )
    max_gradient_norm: float = setting(
        0.0, "clip gradients to this norm; 0 = no clipping, as in the paper", 0.0
    )
    precision: Literal["auto", "float32", "bf16", "fast", "split"] = setting(
        "auto",
        "compute precision; auto = bf16 on a GPU, float32 on a CPU; fast = bf16 where it is "
        "faster; split = float32 products as three of bf16, on CPUs with AMX",
    )
    deterministic: bool = setting(
        False,
        "give bit-identical results with 1, 2, 4, ... GPUs or processes, up to the number of "
        "micro-batches of a step; slower, with one thread per process on a CPU",
    )
    packing: Literal["auto", "sorted", "packed"] = setting(
        "auto",
        "sorted = batches of sentences of similar length; packed = batches of one shape",
        auto="packed on a GPU",
    )
    compile: Literal["auto", "on", "off"] = setting(
        "auto", "use torch.compile, for packed batches", auto="on a GPU"
    )
    seed: int = setting(1, "random seed for weights, dropout and data order", 0, 2**63 - 1)
    log_every: int | Auto = setting("auto", "steps between reports", 1, auto="checkpoint_every/10")
    checkpoint_every: int | Auto = setting(
        1_500, "steps between checkpoints", 1, 2**40, auto="max_steps/30"
    )
    save_minutes: float = setting(
        10.0,
        "minutes after which another checkpoint to resume from is saved, the first after 2; "
        "0 = off",
        0.0,
        1e6,
    )
    validate_every: int | Auto = setting(
        "auto",
        "steps between validations",
        1,
        auto="at each checkpoint; if that is auto as well, max_steps/10, but at least 30",
    )
    keep_last: int = setting(5, "number of latest checkpoints to keep and to average", 1, 1_000)
    keep_best: int = setting(1, "number of best checkpoints to keep", 0, 1_000)
    validation_sentences: int = setting(
        500,
        "sentences translated for BLEU at each validation, spread evenly over the text; 0 = loss "
        "only",
        0,
    )
    compare_at_end: bool = setting(
        True,
        "compare the published weights with the last average on up to 2,000 validation pairs when "
        "training ends",
    )
    rank_timeout: float = setting(
        1_800.0, "seconds that ranks wait for one another before all stop", 1.0, 1e6
    )
    max_restarts: int = setting(
        3, "maximum number of restarts without a new checkpoint, if processes are killed", 0, 100
    )
    on_divergence: Literal["warn", "stop", "roll_back"] = setting(
        "warn",
        "action when the loss diverges; roll_back = return to an earlier checkpoint and halve the "
        "learning rate",
    )


def check_training(train: TrainConfig, dropout: float) -> None:
    """Raise ConfigError for values that are valid on their own but conflict."""
    if train.optimizer == "schedule_free" and train.schedule != "constant":
        raise ConfigError(
            f"train.optimizer=schedule_free needs a constant schedule, but train.schedule is "
            f"{train.schedule}",
            "set train.schedule=constant",
        )
    if train.optimizer == "schedule_free" and train.ema:
        raise ConfigError(
            "train.optimizer=schedule_free averages the weights itself, so train.ema has no effect",
            "set train.ema=0",
        )
    if train.r_drop and not dropout:
        raise ConfigError(
            "train.r_drop compares two dropout masks, but model.dropout is 0",
            "set model.dropout, or train.r_drop=0",
        )
