"""Sums over the steps between two reports."""

from dataclasses import dataclass

from nmt_cli.training.step import StepResult


@dataclass
class Meter:
    """Sums since the last report; learning_rate, gradient_norm: of the last step."""

    loss: float = 0.0
    nll: float = 0.0
    tokens: int = 0
    steps: int = 0
    learning_rate: float = 0.0
    gradient_norm: float = 0.0

    def __post_init__(self) -> None:
        # Tokens of an earlier process, which do not count for the speed of this one.
        self.tokens_before = self.tokens
        self.seconds = 0.0

    def add(self, result: StepResult, seconds: float) -> None:
        """Count one step; of a skipped one only the time."""
        self.steps += 1
        self.seconds += seconds
        self.learning_rate = result.learning_rate
        self.gradient_norm = 0.0 if result.skipped else result.gradient_norm
        if not result.skipped:
            self.loss += result.loss
            self.nll += result.nll
            self.tokens += result.tokens

    @property
    def tokens_per_second(self) -> float:
        """The speed of the steps themselves, without saving and validating."""
        return (self.tokens - self.tokens_before) / max(1e-9, self.seconds)
