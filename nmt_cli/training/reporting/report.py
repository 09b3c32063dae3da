"""Reports of training: one at each interval, the same on the screen and in log.jsonl."""

from dataclasses import asdict, dataclass
from typing import Any

# From here on, a perplexity is shown with an exponent.
LARGE = 1e6

# The rule of model selection, for the lines that name several results.
# The standard deviation of the difference in BLEU between two models, times the square root of the
# number of sentences: 5 to 16 with checkpoints of runs on Multi30k and laws.
BLEU_NOISE = 14.0
PERPLEXITY_DECIDES = "where BLEU differs by no more than chance, the lower perplexity decides"


@dataclass(frozen=True)
class Validation:
    """The quality of the model on the validation pairs.

    loss, nll: per token, with and without label smoothing; perplexity: exp(nll), per subword;
    bleu: of beam-search output on the first pairs, with its signature, or None where not decoded;
    sentences: how many these are; text: the beginning of the SHA-256 of the validation text;
    weights: those that were decoded: current, mean (of checkpoints) or ema (moving average);
    averaged: checkpoints in that mean, else 1; steps: theirs, else none;
    samples: (source, reference, translation) of a few pairs; best: whether no validation of this
    run was better so far; confidence: what is usual of the translations' log-probabilities, as
    `translation.quality.checker.Confidence` writes it, or "".
    """

    loss: float
    nll: float
    perplexity: float
    bleu: float | None = None
    signature: str = ""
    weights: str = "current"
    averaged: int = 1
    samples: tuple[tuple[str, str, str], ...] = ()
    best: bool = False
    confidence: str = ""
    sentences: int = 0
    text: str = ""
    steps: tuple[int, ...] = ()

    @property
    def score(self) -> float:
        """Higher is better: BLEU where it was measured, else the negative loss."""
        return -self.nll if self.bleu is None else self.bleu


@dataclass(frozen=True)
class Published:
    """The weights that a model directory holds, and their quality in validation.

    step: of the validation that selected them; weights: current, mean or ema, as in Validation;
    steps: the checkpoints they come from; bleu, perplexity: None where nothing was measured;
    comparison: how they and others did on more validation pairs, at the end of a run;
    by_comparison: whether that is why they were chosen; before: BLEU and perplexity of the weights
    that training began with, if they are those of a model; final_bleu: their BLEU in that
    comparison, on final_sentences pairs; highest_bleu: that of all validations so far of the same
    sentences; sentences: how many bleu is of, 0 where it was not measured.
    """

    step: int
    weights: str
    steps: tuple[int, ...]
    bleu: float | None = None
    perplexity: float | None = None
    comparison: str = ""
    by_comparison: bool = False
    before: tuple[float | None, float] | None = None
    final_bleu: float | None = None
    final_sentences: int | None = None
    highest_bleu: float | None = None
    sentences: int = 0

    def weights_in_words(self) -> str:
        """What the weights in the model directory are."""
        steps = self.steps
        if self.weights == "mean":
            return f"the average of {len(steps)} checkpoints (steps {steps[0]:,} to {steps[-1]:,})"
        if self.weights == "ema":
            return f"the moving average of the weights at step {self.step:,}"
        if not self.step:
            return "the weights that training began with"
        return f"the weights of step {self.step:,}"

    def as_json(self) -> dict[str, Any]:
        """Plain values, without those of a comparison or another model where there was none."""
        optional = ("before", "final_bleu", "final_sentences", "highest_bleu")
        values = asdict(self)
        return {
            key: value for key, value in values.items() if value is not None or key not in optional
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Published":
        """Restore what `as_json` returned."""
        before = values.get("before")
        lists = {"steps": tuple(values["steps"]), "before": before and tuple(before)}
        return cls(**{**values, **lists})


@dataclass(frozen=True)
class Report:
    """The state of a run after `step`.

    tokens: target tokens since the last report, all ranks; loss, nll: per such token;
    learning_rate, gradient_norm: of this step; tokens_per_second: target tokens, all ranks;
    seconds: of all steps so far, all runs; elapsed_seconds: with validations and all else;
    eta_seconds: to the end, None if no step was taken since the last report;
    flops: counted work so far, forward and backward; gpu_time_flops: GPU-time x peak so far, as
    the paper's Table 2 counts; peak_share: flops divided by it; None where no peak is known;
    devices: what this step ran on; threads: of all processes, None on GPUs; note: something that
    happened, is_warning: and may be wrong;
    published: in the last report, that of a stopped run too, what the model directory holds;
    steps: those since the last report, also of an earlier process.
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
    threads: int | None = None
    validation: Validation | None = None
    note: str = ""
    is_warning: bool = False
    elapsed_seconds: float = 0.0
    published: Published | None = None
    steps: int = 0

    def as_json(self) -> dict[str, Any]:
        """A flat record for log.jsonl; absent fields are left out.

        If no step was taken since the last report, or all were skipped, there is no loss.
        """
        absent = set() if self.tokens else {"loss", "nll", "gradient_norm", "tokens_per_second"}
        if not (self.tokens or self.learning_rate):
            absent.add("learning_rate")
        record = {
            key: value
            for key, value in asdict(self).items()
            if value not in (None, "") and key not in {*absent, "is_warning", "steps"}
        }
        if self.published is not None:
            record["published"] = self.published.as_json()
        return {"schema": 1, **record}


def scores(bleu: float | None, perplexity: float) -> str:
    """BLEU, where it was measured, and perplexity, for a message.

    >>> scores(12.0, 8.125), scores(None, 8.125)
    ('BLEU 12.00, perplexity 8.12', 'perplexity 8.12')
    """
    return (
        f"{'' if bleu is None else f'BLEU {bleu:.2f}, '}perplexity {short_perplexity(perplexity)}"
    )


def short_perplexity(perplexity: float) -> str:
    """A perplexity, which of a model that diverged can have a hundred digits.

    >>> short_perplexity(12.345), short_perplexity(1e125)
    ('12.35', '1.00e+125')
    """
    return f"{perplexity:.2f}" if perplexity < LARGE else f"{perplexity:.2e}"
