"""What `nmt train` says of a warm-up that is too long for the steps of a run."""

from typing import TYPE_CHECKING

from nmt_cli.config.automatic import shorter_warmup
from nmt_cli.plurals import counted

if TYPE_CHECKING:
    from nmt_cli.training.reporting.events import Outline


def long_warmup(outline: "Outline") -> str:
    """A warning if the run ends before the learning rate has reached its peak, else ""."""
    if outline.steps >= outline.warmup:
        return ""
    return (
        f"the learning rate rises for {counted(outline.warmup, 'step')} (train.warmup_steps), and "
        f"this run has {outline.steps:,}: it ends before the rate has reached its peak"
        f"{_advised_warmup(outline)}"
    )


def _advised_warmup(outline: "Outline") -> str:
    """The options that set a warm-up for these steps, if there is a shorter one, else ""."""
    options = warmup_options(outline.steps, outline)
    return f"; `{options}` suits {counted(outline.steps, 'step')}" if options else ""


def warmup_options(steps: int, outline: "Outline") -> str:
    """The options for a warm-up that suits a run of `steps`; "" if that of this run does.

    A shorter one must not raise the peak of the learning rate, as equation 3 would.
    """
    warmup = shorter_warmup(steps, outline.warmup)
    if not warmup:
        return ""
    rate = outline.rate_of_warmup
    same_peak = f" --set train.learning_rate={rate:.3g}" if rate else ""
    return f"--set train.warmup_steps={warmup}{same_peak}"
