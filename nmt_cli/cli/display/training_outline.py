"""What `nmt train` says of a run before it ends: its outline, expected time and limits."""

from typing import TYPE_CHECKING

from nmt_cli.config.automatic import FEWEST_STEPS_PER_WARMUP, shorter_warmup
from nmt_cli.plurals import counted, written
from nmt_cli.terminal.progress import duration

if TYPE_CHECKING:
    from nmt_cli.training.reporting.events import (
        EndsEarly,
        FirstStep,
        Outline,
        StepDone,
        Validating,
    )

# Of fewer steps than this share of those that the time limit allows, a run may learn less.
SHARE_WORTHWHILE = 0.7
LEAVE = "best give it more time with a larger --max-hours; otherwise leave it as it is"
# A resumed run that takes less than this share of its earlier steps in the same time is slow now.
SHARE_SLOW = 0.7
# A run that is shorter than so many times its warm-up is noted.
LEAST_WARMUPS = 2
# In fewer steps, which see fewer epochs of the text, a new model learns little.
FEWEST_STEPS, FEWEST_EPOCHS = 150, 3
LONG_SECONDS = 24 * 3_600
# Fine-tuning that sees each pair more often is warned of; what is advised in its place.
MOST_EPOCHS, ENOUGH_EPOCHS, VALIDATIONS = 50, 20, 8
# For text that is far from that of the model.
FAR_EPOCHS = 100
# About the size of the preset `small`.
SMALL_PARAMETERS = 10_000_000
# Smaller batches waste time: about 30 sentences.
LEAST_BATCH = 1_000


def header(outline: "Outline") -> list[str]:
    """The description of the run, in two to four lines."""
    lines = [
        f"{outline.src}-{outline.tgt}: {outline.pairs:,} pairs, preset {outline.preset} "
        f"({parameters(outline.parameters)} parameters), {machine(outline)}, {precision(outline)}",
        f"{counted(outline.steps, 'step')} = about {_epochs(outline.epochs)}{limits(outline)}",
    ]
    if vocabulary := other_vocabulary(outline):
        lines.append(vocabulary)
    if outline.compiles:
        lines.append("the first step compiles the model, which may take some minutes")
    return lines


def long_warmup(outline: "Outline") -> str:
    """A warning if the run ends before or where the learning rate reaches its peak, else ""."""
    if outline.steps > outline.warmup:
        return ""
    when = "before the rate has reached" if outline.steps < outline.warmup else "with the rate at"
    return (
        f"the learning rate rises for {counted(outline.warmup, 'step')} (train.warmup_steps), and "
        f"this run has {outline.steps:,}: it ends {when} its peak{_advised_warmup(outline)}"
    )


def many_epochs(outline: "Outline") -> str:
    """A warning if fine-tuning is planned to see each pair very often, else ""."""
    if not outline.fine_tunes or outline.epochs <= MOST_EPOCHS or outline.step:
        return ""
    steps = max(1, round(outline.steps * ENOUGH_EPOCHS / outline.epochs))
    options = f"--max-steps {steps} --set train.validate_every={max(1, steps // VALIDATIONS)}"
    if 0 < outline.patience < VALIDATIONS:
        options += f" --patience {VALIDATIONS}"
    warmup = warmup_options(steps, outline)
    return (
        f"each pair is seen about {outline.epochs:,.0f} times, so that the model is likely to "
        f"forget what it knew before; `{options}{' ' * bool(warmup)}{warmup}` is "
        f"{ENOUGH_EPOCHS} times, with about {VALIDATIONS} validations, as a new run with another "
        "--out; text that differs much from that of the model, which has a high perplexity before "
        f"training, needs more, such as {FAR_EPOCHS} times: watch the validations"
    )


def _advised_warmup(outline: "Outline") -> str:
    """The options that set a warm-up for these steps, if there is a shorter one, else "".

    A run that is resumed cannot have another warm-up, but more steps.
    """
    if outline.step:
        return f"; `--max-steps {FEWEST_STEPS_PER_WARMUP * outline.warmup}` suits this warm-up"
    options = warmup_options(outline.steps, outline)
    if not options:
        return ""
    return f"; `{options}` suits {counted(outline.steps, 'step')}{_if_flat(outline)}"


def _if_flat(outline: "Outline") -> str:
    """What helps if the peak of equation 3 is too high for a shorter warm-up than its own."""
    return "; if the loss stays flat, halve the learning rate" if outline.rate_of_warmup else ""


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


def parameters(count: int) -> str:
    """A number of parameters in readable form.

    >>> parameters(214_171_648), parameters(7_590_000), parameters(24_300)
    ('214 M', '7.6 M', '24,300')
    """
    if count < 100_000:
        return f"{count:,}"
    millions = count / 1e6
    return f"{millions:.0f} M" if millions >= 100 else f"{millions:.1f} M"


def other_vocabulary(outline: "Outline") -> str:
    """The vocabulary of the corpus, if its size is not that of the preset, else ""."""
    src, tgt = outline.vocabularies
    asked = outline.preset_vocabulary
    if isinstance(asked, str) or src == tgt == asked:
        return ""
    sizes = f"vocabulary {src:,}" if src == tgt else f"vocabularies {src:,} and {tgt:,}"
    return f"{sizes} (corpus; preset {outline.preset}: {asked:,})"


def minutes(seconds: float) -> str:
    """An estimated duration, rounded to its precision.

    >>> minutes(42.3), minutes(110), minutes(7_300), minutes(1.2)
    ('42 seconds', '2 minutes', '2h 01m', '1 second')
    """
    if seconds >= 3_600:
        return duration(seconds)
    if seconds < 90:
        return written(f"{seconds:.0f}", "second")
    return written(f"{seconds / 60:.0f}", "minute")


def _epochs(epochs: float) -> str:
    return written(rounded(epochs), "epoch")


def rounded(number: float) -> str:
    """A number with its first digits only.

    >>> rounded(97.4), rounded(1.25), rounded(12_345.6), rounded(0.004)
    ('97', '1.2', '12,346', '0.004')
    """
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def machine(outline: "Outline") -> str:
    """The devices, or the CPU with its threads and processes."""
    if outline.devices != "CPU":
        return outline.devices
    threads = counted(outline.threads, "thread")
    if outline.processes == 1:
        return f"CPU with {threads}"
    return f"CPU with {outline.processes} processes of {threads} each"


def precision(outline: "Outline") -> str:
    """The precision, with the setting of a faster one where a new run could have it."""
    if outline.could_be_bf16 and not outline.step:
        return f"{outline.precision} (bf16, which is faster: `--set train.precision=fast`)"
    return outline.precision


def limits(outline: "Outline") -> str:
    """The other limits that may end the run."""
    text = ""
    if outline.max_hours:
        text = f", at most {_hours(outline.max_hours)} plus the last validation"
        if outline.compared:
            pairs = counted(outline.compared, "pair")
            text += f" and a comparison of {pairs} (train.compare_at_end)"
    if outline.patience:
        text += (
            f", or until {counted(outline.patience, 'validation')} in a row bring no improvement"
        )
    return text


def _hours(hours: float) -> str:
    return written(f"{hours:g}", "hour")


def expected_time(step: "StepDone", outline: "Outline") -> str:
    """How long the run takes at the speed of its first steps."""
    plus = f", plus {unmeasured(step, outline)}" if step.unmeasured else ""
    if not outline.step:
        whole = duration(step.seconds + step.seconds_left)
        return f"about {whole} for {counted(outline.steps, 'step')}{plus}"
    remaining = counted(outline.steps - outline.step, "remaining step")
    return f"about {duration(step.seconds_left)} for the {remaining}{plus}"


def unmeasured(event: "StepDone | Validating", outline: "Outline") -> str:
    """What the time left does not include, as no validation has been measured; "" for nothing."""
    if not event.unmeasured:
        return ""
    comparison = " + comparison" if outline.compared else ""
    return f"{counted(event.unmeasured, 'validation')}{comparison}"


def early_end(end: "EndsEarly", outline: "Outline") -> tuple[str, str]:
    """Where the time limit is expected to end the run, and what fits into it, or "" for nothing."""
    hours = _hours(outline.max_hours)
    steps = f"step {end.last:,} of {outline.steps:,}"
    if end.first < end.last:
        steps = (
            f"step {end.first:,} to {end.last:,} of {outline.steps:,}, depending on how long "
            "validations take"
        )
    reached = f"about {duration(end.seconds_left)} until the limit of {hours}, at about {steps}"
    consequence = "the schedule of the learning rate does not reach its end"
    if not outline.schedule_ends:
        if end.first >= LEAST_WARMUPS * outline.warmup:
            return reached, ""
        consequence = "the warm-up of the learning rate does not reach its end"
        if end.last > outline.warmup:
            consequence = f"the learning rate rises for {outline.warmup:,} of these steps"
    advice = "only a larger --max-hours helps"
    options = warmup_options(end.fitting, outline)
    # Another warm-up makes another run, unlike another number of steps; a run that is continued is
    # not to be given up for that.
    if many_epochs(outline):
        advice = "fewer steps, as in the warning above, may fit"
    elif _is_too_short(end.last, outline):
        advice = "so few steps teach a new model little: best give it a larger --max-hours"
        advice += _smaller_batches(end.last, outline)
    elif times := _times_slower(end, outline):
        advice = (
            f"steps take {times:.1f} times as long as before the run was resumed; if other "
            "programs use the machine now, it reaches more steps once they have ended"
        )
    elif end.fitting and not (options and outline.step):
        words = [f"--max-steps {end.fitting}", *filter(None, [options])]
        if end.fitting < outline.average_span:
            words.append("--set train.checkpoint_every=auto")
        steps = f"`{' '.join(words)}`"
        new_run = "it makes a new run, so use another `--out` once this one has begun"
        if end.fitting >= SHARE_WORTHWHILE * end.last:
            use = "stop with Ctrl-C and add it to the command, or leave it"
            if options:
                use = f"{new_run}{_if_flat(outline)}"
            advice = f"{steps} fits into {hours}, with validations; {use}"
        else:
            advice = LEAVE
    return f"{reached}: {consequence}", advice


def _times_slower(end: "EndsEarly", outline: "Outline") -> float:
    """How many times as long as before it was resumed a run takes for a step; 0: hardly longer."""
    before = outline.step / outline.seconds if outline.seconds else 0.0
    now = (end.last - end.step) / max(end.seconds_left, 1e-9)
    return before / now if 0 < now < SHARE_SLOW * before else 0.0


def _smaller_batches(steps: int, outline: "Outline") -> str:
    """The size of batches of which a new run takes enough steps in the same time, or ""."""
    size = max(LEAST_BATCH, rounded_down(outline.batch_tokens * steps / (2 * FEWEST_STEPS)))
    if outline.step or 2 * size > outline.batch_tokens:
        return ""
    return f", or smaller batches, of which it takes more (`--set train.batch_tokens={size}`)"


def rounded_down(number: float) -> int:
    """The number, to its first digit.

    >>> rounded_down(2_740), rounded_down(999.9)
    (2000, 900)
    """
    unit: int = 10 ** (len(str(int(number))) - 1)
    return int(number / unit) * unit


def _is_too_short(steps: int, outline: "Outline") -> bool:
    """Whether a new model learns too little in a number of steps to be worth a run."""
    epochs = outline.epochs * steps / outline.steps
    return 0 < steps < FEWEST_STEPS and epochs < FEWEST_EPOCHS and not outline.fine_tunes


def long_run(step: "FirstStep | StepDone", outline: "Outline") -> list[str]:
    """A warning that the run takes more than a day, with suggestions for this machine."""
    days = written(rounded(step.seconds_left / LONG_SECONDS), "day")
    reached = step.step + int(LONG_SECONDS / max(step.seconds_per_step, 1e-9))
    smaller = "`--preset small`"
    if outline.parameters <= SMALL_PARAMETERS:
        smaller = "such as `--set model.d_model=128 --set model.d_ff=512`"
    other = "more GPUs (`--gpus N`)" if outline.devices != "CPU" else "a machine with a GPU"
    return [
        f"this run is expected to take about {days} here; "
        f"24 hours from now it will be at about step {reached:,} of {outline.steps:,}",
        f"what suits this machine better: a smaller model ({smaller}) or fewer steps "
        f"(`--max-steps N`), with another `--out`; or {other}",
    ]
