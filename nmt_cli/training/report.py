"""What training tells: one Report at each interval, the same on the screen and in log.jsonl."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Validation:
    """How good the model is on the validation pairs.

    loss, nll: per token, with and without label smoothing; perplexity: exp(nll), per subword;
    bleu: of beam-search output on the first pairs, with its signature, or None where not decoded;
    weights: which were decoded: current, mean (of checkpoints) or ema (moving average);
    averaged: checkpoints in that mean, else 1;
    samples: (source, reference, translation) of a few pairs.
    """

    loss: float
    nll: float
    perplexity: float
    bleu: float | None = None
    signature: str = ""
    weights: str = "current"
    averaged: int = 1
    samples: tuple[tuple[str, str, str], ...] = ()

    @property
    def score(self) -> float:
        """Higher is better: BLEU where it was measured, else the negative loss."""
        return -self.nll if self.bleu is None else self.bleu


@dataclass(frozen=True)
class Report:
    """State of a run after `step`.

    tokens: target tokens since the last report, all ranks; loss, nll: per such token;
    learning_rate, gradient_norm: of this step; tokens_per_second: target tokens, all ranks;
    seconds: trained so far, all runs; eta_seconds: to the end, None when no end is known;
    flops: counted work so far, forward and backward; gpu_time_flops: GPU-time x peak so far, as
    the paper's Table 2 counts; peak_share: flops divided by it; None where no peak is known;
    devices: what this step ran on; note: something that happened.
    """

    step: int
    epoch: int
    tokens: int
    loss: float
    nll: float
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    seconds: float
    eta_seconds: float | None = None
    flops: float = 0.0
    gpu_time_flops: float | None = None
    peak_share: float | None = None
    devices: str = ""
    validation: Validation | None = None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """A flat record for log.jsonl; absent parts are left out."""
        record = {key: value for key, value in asdict(self).items() if value not in (None, "")}
        return {"schema": 1, **record}
