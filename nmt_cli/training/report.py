"""What training tells: one Report at each interval, the same on the screen and in log.jsonl."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Validation:
    """How good the model is on the validation pairs.

    loss, nll: per token, with and without label smoothing; perplexity: exp(nll), per subword;
    bleu: of beam-search output on the first pairs, with its signature, or None where not decoded;
    averaged: checkpoints in the mean that was decoded (1: the current weights);
    samples: (source, reference, translation) of a few pairs.
    """

    loss: float
    nll: float
    perplexity: float
    bleu: float | None = None
    signature: str = ""
    averaged: int = 1
    samples: tuple[tuple[str, str, str], ...] = ()

    @property
    def score(self) -> float:
        """Higher is better: BLEU where it was measured, else the negative loss."""
        return -self.nll if self.bleu is None else self.bleu


@dataclass(frozen=True)
class Report:
    """State of a run after `step`.

    loss, nll: per target token since the last report; learning_rate of this step; gradient_norm
    of this step; tokens_per_second: target tokens, all ranks; seconds: trained so far, all runs;
    eta_seconds: to the end, None when no end is known; note: something that happened.
    """

    step: int
    epoch: int
    loss: float
    nll: float
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    seconds: float
    eta_seconds: float | None = None
    validation: Validation | None = None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """A flat record for log.jsonl; absent parts are left out."""
        record = {key: value for key, value in asdict(self).items() if value not in (None, "")}
        return {"schema": 1, **record}
