"""What `nmt train` shows: header, progress bar, validations, final lines."""

import json
from typing import TYPE_CHECKING

import typer

from nmt_cli.config.automatic import shorter_warmup
from nmt_cli.plurals import agreeing, counted
from nmt_cli.terminal.progress import duration
from nmt_cli.terminal.wrapping import cut
from nmt_cli.training.reporting.pace import RELIABLE_AFTER

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console
    from nmt_cli.terminal.progress import Progress
    from nmt_cli.training.reporting.events import (
        EndsEarly,
        Event,
        FirstStep,
        Outline,
        Sample,
        StepDone,
        Validating,
    )
    from nmt_cli.training.reporting.report import Published, Report, Validation

LONG_SECONDS = 24 * 3_600
# A first step that takes longer is reported; the run is called long only with this safety factor.
LONG_STEP_SECONDS = 30.0
SURELY = 1.5
# Characters of a sample.
MOST_SHOWN, FEWEST_SHOWN = 240, 20
SAMPLE_INDENT = len("  reference  ") + 1
# About the size of the preset `small`.
SMALL_PARAMETERS = 10_000_000


class TrainDisplay:
    """Shows a training run on a console; `event` and `report` are called as it proceeds."""

    def __init__(self, console: "Console", progress: "Progress", *, as_json: bool = False) -> None:
        """as_json: also write the reports to stdout."""
        self._console = console
        self._progress = progress
        self._as_json = as_json
        self._outline: Outline | None = None
        self._has_warned = False
        self._has_estimated = False

    def event(self, event: "Event") -> None:
        """Show an event between two reports."""
        from nmt_cli.training.reporting.events import (
            EndsEarly,
            FirstStep,
            Outline,
            Sample,
            StepDone,
            Validating,
        )

        match event:
            case Outline():
                self._begin(event)
            case FirstStep():
                self._first_step(event)
            case StepDone():
                self._step(event)
            case EndsEarly():
                self._ends_early(event)
            case Validating():
                self._validating(event)
            case Sample():
                self._sample(event)

    def _begin(self, outline: "Outline") -> None:
        self._outline = outline
        for line in header(outline):
            self._console.note(line)
        if warning := long_warmup(outline):
            self._console.warning(warning)
        self._progress.total = outline.steps
        self._progress.update(outline.step, elapsed=outline.seconds)

    def _first_step(self, step: "FirstStep") -> None:
        if step.seconds_per_step >= LONG_STEP_SECONDS:
            self._console.note(f"first step: about {minutes(step.seconds_per_step)}")
        if step.seconds_left > SURELY * LONG_SECONDS and self._outline is not None:
            self._warn(step, self._outline)

    def _step(self, step: "StepDone") -> None:
        if step.fresh == RELIABLE_AFTER and self._outline is not None:
            self._estimate(step, self._outline)
        self._progress.update(
            step.step,
            f"{step.tokens_per_second:,.0f} tokens/s",
            "skipped" if step.loss is None else f"loss {step.loss:.3f}",
            f"lr {step.learning_rate:.2e}",
            elapsed=step.seconds,
            # The first step also loads, allocates and compiles.
            left=step.seconds_left if step.fresh > 1 else None,
            beyond=self._unmeasured(step),
        )

    def _unmeasured(self, event: "StepDone | Validating") -> str:
        return unmeasured(event, self._outline) if self._outline is not None else ""

    def _ends_early(self, end: "EndsEarly") -> None:
        if self._outline is not None:
            self._has_estimated = True
            self._console.note(early_end(end, self._outline))

    def _validating(self, validating: "Validating") -> None:
        text = validating.activity
        if validating.total:
            text += f" {validating.done:,}/{validating.total:,}"
        # At the last step, there may be no estimate of the time left.
        self._progress.update(
            validating.step,
            activity=text,
            elapsed=validating.seconds,
            left=validating.seconds_left or None,
            beyond=self._unmeasured(validating),
        )

    def _estimate(self, step: "StepDone", outline: "Outline") -> None:
        if step.step >= outline.steps or self._has_estimated:
            return
        if step.seconds_left <= LONG_SECONDS:
            self._console.note(expected_time(step, outline))
        elif not self._has_warned:
            self._warn(step, outline)

    def _warn(self, step: "FirstStep | StepDone", outline: "Outline") -> None:
        self._has_warned = True
        for line in long_run(step, outline):
            self._console.warning(line)

    def _sample(self, sample: "Sample") -> None:
        self._console.note(f"step {sample.step:,}, a sample before the first validation:")
        lines = pair_lines(sample.source, sample.output, sample.reference, self._console.columns)
        self._console.note(lines)

    def report(self, report: "Report") -> None:
        """Write notes and validations as lines; the rest is shown by the bar or the log."""
        if self._as_json:
            with self._progress.aside():
                typer.echo(json.dumps(report.as_json()))
        if report.validation is not None and not report.step:
            self._console.note(
                f"before training: {scores(report.validation.bleu, report.validation.perplexity)}"
            )
        elif report.validation is not None:
            self._console.note(validation_line(report, report.validation, self._rates(report)))
            for source, reference, output in report.validation.samples[:1]:
                self._console.note(pair_lines(source, output, reference, self._console.columns))
        if report.note:
            for line in closing(report, report.note):
                self._console.note(line)

    def _rates(self, report: "Report") -> str:
        """The loss, learning rate and speed, if there is no bar that shows them."""
        if self._console.interactive or not report.tokens:
            return ""
        return (
            f"; loss {report.loss:.3f}, lr {report.learning_rate:.2e}, "
            f"{report.tokens_per_second:,.0f} tokens/s"
        )


def header(outline: "Outline") -> list[str]:
    """The description of the run, in two to four lines."""
    lines = [
        f"{outline.src}-{outline.tgt}: {outline.pairs:,} pairs, preset {outline.preset} "
        f"({parameters(outline.parameters)} parameters), {machine(outline)}, {outline.precision}",
        f"{counted(outline.steps, 'step')} = about {_epochs(outline.epochs)}{limits(outline)}",
    ]
    if vocabulary := other_vocabulary(outline):
        lines.append(vocabulary)
    if outline.compiles:
        lines.append("the first step compiles the model, which may take some minutes")
    return lines


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

    >>> minutes(42.3), minutes(110), minutes(7_300)
    ('42 seconds', '2 minutes', '2h 01m')
    """
    if seconds >= 3_600:
        return duration(seconds)
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def _epochs(epochs: float) -> str:
    number = rounded(epochs)
    return f"{number} {agreeing(1 if number == '1' else 2, 'epoch', 'epochs')}"


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


def limits(outline: "Outline") -> str:
    """The other limits that may end the run."""
    text = ""
    if outline.max_hours:
        text = f", at most {outline.max_hours:g} hours plus the last validation"
        text += " and comparison" if outline.compares else ""
    if outline.patience:
        text += (
            f", or until {counted(outline.patience, 'validation')} in a row bring no improvement"
        )
    return text


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
    comparison = " + comparison" if outline.compares else ""
    return f"{counted(event.unmeasured, 'validation')}{comparison}"


def early_end(end: "EndsEarly", outline: "Outline") -> str:
    """Where the time limit is expected to end the run, and what fits into it."""
    hours = f"{outline.max_hours:g} {'hour' if outline.max_hours == 1 else 'hours'}"
    steps = f"step {end.last:,} of {outline.steps:,}"
    if end.first < end.last:
        steps = (
            f"step {end.first:,} to {end.last:,} of {outline.steps:,}, depending on how long "
            "validations take"
        )
    advice = "only a larger --max-hours helps"
    if end.fitting:
        advice = f"`--max-steps {end.fitting}` fits into {hours}, with validations"
        if options := warmup_options(end.fitting, outline):
            # Another warm-up makes another run, unlike another number of steps.
            advice = (
                f"`--max-steps {end.fitting} {options}` fits into {hours}, with validations; "
                "this is a new run, with another `--out`"
            )
    return (
        f"about {duration(end.seconds_left)} until the limit of {hours}, at about {steps}: "
        f"the schedule of the learning rate does not reach its end ({advice})"
    )


def long_run(step: "FirstStep | StepDone", outline: "Outline") -> list[str]:
    """A warning that the run takes more than a day, with suggestions for this machine."""
    days = rounded(step.seconds_left / LONG_SECONDS)
    reached = step.step + int(LONG_SECONDS / max(step.seconds_per_step, 1e-9))
    smaller = "`--preset small`"
    if outline.parameters <= SMALL_PARAMETERS:
        smaller = "such as `--set model.d_model=128 --set model.d_ff=512`"
    other = "more GPUs (`--gpus N`)" if outline.devices != "CPU" else "a machine with a GPU"
    return [
        f"this run is expected to take about {days} days here; "
        f"24 hours from now it will be at about step {reached:,} of {outline.steps:,}",
        f"what suits this machine better: a smaller model ({smaller}) or fewer steps "
        f"(`--max-steps N`), with another `--out`; or {other}",
    ]


def validation_line(report: "Report", validation: "Validation", rates: str) -> str:
    """The results of a validation."""
    bleu = "" if validation.bleu is None else f", BLEU {validation.bleu:.2f}"
    mean = f" (average of {validation.averaged})" if validation.averaged > 1 else ""
    mean = " (moving average)" if validation.weights == "ema" else mean
    return (
        f"step {report.step:,}, {duration(report.elapsed_seconds)}: "
        f"validation perplexity {validation.perplexity:.2f}{bleu}{mean}"
        f"{' *best' if validation.best else ''}{rates}"
    )


def pair_lines(source: str, output: str, reference: str, columns: int = 0) -> str:
    """A sample: the source, the output of the model and the reference.

    columns: the width of the terminal, to which each line is cut; 0: there is no terminal.
    """
    # Early outputs often repeat a word until the length limit.
    room = max(FEWEST_SHOWN, min(MOST_SHOWN, columns - SAMPLE_INDENT)) if columns else MOST_SHOWN
    source, output, reference = (cut(text, room) for text in (source, output, reference))
    return f"  source     {source}\n  output     {output}\n  reference  {reference}"


def closing(report: "Report", note: str) -> list[str]:
    """The lines of a note; the last note of a run also describes the published model."""
    ended = f"{note}, {duration(report.elapsed_seconds)}"
    if report.published is None:
        # Only a run without validation or model publishes nothing.
        return [ended if note.startswith("finished") else note]
    weights = published_weights(report.published)
    if note.startswith(("saved", "stopped")):
        weights += ", which `nmt translate` uses"
        ended = note
    return [ended, *best_line(report.published), f"model: {weights}"]


def scores(bleu: float | None, perplexity: float) -> str:
    """BLEU, where it was measured, and perplexity."""
    return f"{'' if bleu is None else f'BLEU {bleu:.2f}, '}perplexity {perplexity:.2f}"


def best_line(published: "Published") -> list[str]:
    """The validation that selected the weights; nothing if there is no validation text."""
    if published.perplexity is None:
        return []
    shown = scores(published.bleu, published.perplexity)
    if not published.step:
        return [f"no validation was better than the one before training: {shown}"]
    before = [f"before training: {scores(*published.before)}"] if published.before else []
    if published.comparison:
        at = f"published at the end, step {published.step:,}"
        return [*before, f"{at}: {shown}", published.comparison]
    return [*before, f"best validation at step {published.step:,}: {shown}"]


def published_weights(published: "Published") -> str:
    """The description of the weights in the model directory."""
    steps = published.steps
    if published.weights == "mean":
        return f"the average of {len(steps)} checkpoints (steps {steps[0]:,} to {steps[-1]:,})"
    if published.weights == "ema":
        return f"the moving average of the weights at step {published.step:,}"
    if not published.step:
        return "the weights that training began with"
    return f"the weights of step {published.step:,}"
