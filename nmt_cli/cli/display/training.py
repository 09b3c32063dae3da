"""What `nmt train` shows: header, progress bar, validations, final lines."""

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from nmt_cli.cli.display.training_outline import (
    LEAVE,
    LONG_SECONDS,
    early_end,
    expected_time,
    header,
    long_run,
    long_warmup,
    many_epochs,
    minutes,
    unmeasured,
)
from nmt_cli.plurals import counted
from nmt_cli.terminal.progress import duration
from nmt_cli.terminal.wrapping import cut
from nmt_cli.training.reporting.pace import RELIABLE_AFTER
from nmt_cli.training.reporting.report import PERPLEXITY_DECIDES, scores, short_perplexity

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

# A first step that takes longer is reported; the run is called long only with this safety factor.
LONG_STEP_SECONDS = 30.0
SURELY = 1.5
# Characters of a sample.
MOST_SHOWN, FEWEST_SHOWN = 240, 20
# The weights of a validation that are none of several steps.
CURRENT = "weights of this step"
SAMPLE_INDENT = len("  reference  ") + 1


class TrainDisplay:
    """Shows a training run on a console; `event` and `report` are called as it proceeds."""

    def __init__(
        self,
        console: "Console",
        progress: "Progress",
        *,
        as_json: bool = False,
        command: str = "nmt translate",
        model: str = "model",
    ) -> None:
        """as_json: also write the reports to stdout; command: what the model is used with.

        model: its directory.
        """
        self._console = console
        self._progress = progress
        self._as_json = as_json
        self._command = command
        self._model = model
        self._outline: Outline | None = None
        self._has_warned = False
        self._has_estimated = False
        self._advice = ""
        # The last validation after the first step, with its step.
        self._last_validation: tuple[int, Validation] | None = None
        self._means = StepMeans()

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
        for warning in filter(None, (long_warmup(outline), many_epochs(outline))):
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
        if self._outline is None:
            return
        again = "measured again: " if self._has_estimated else ""
        self._has_estimated = True
        end_and_effect, advice = early_end(end, self._outline)
        # What was advised first stays right if the run has become a little faster or slower.
        self._advice = LEAVE if self._advice == LEAVE and advice else advice
        suffix = f" ({self._advice})" if self._advice else ""
        self._console.note(f"{again}{end_and_effect}{suffix}")

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
        self._means = self._means.plus(report)
        if report.validation is not None and not report.step:
            self._console.note(
                f"before training: {scores(report.validation.bleu, report.validation.perplexity)}"
            )
        elif report.validation is not None:
            mark = self._new_weights(report.validation)
            line = validation_line(report, report.validation, mark, self._rates(report))
            self._means = StepMeans()
            self._last_validation = report.step, report.validation
            self._console.note(line)
            for source, reference, output in report.validation.samples[:1]:
                self._console.note(pair_lines(source, output, reference, self._console.columns))
        if report.is_warning:
            self._console.warning(report.note)
        elif report.note:
            lines = closing(report, report.note, self._command, self._model)
            if self._outline is not None and self._outline.compared:
                lines[-1:-1] = filter(None, [why_not_compared(report, report.note)])
            for line in lines:
                self._console.note(line)

    def _new_weights(self, validation: "Validation") -> str:
        """Which weights were validated, unless they are of the same kind as the last ones."""
        weights = weights_of(validation)
        if self._last_validation is None:
            return "" if weights == CURRENT else weights
        step, last = self._last_validation
        # A validation of an earlier process was restored from JSON.
        if validation.steps and tuple(validation.steps) == tuple(last.steps):
            return f"the same {weights} as at step {step:,}"
        return "" if weights == weights_of(last) else weights

    def _rates(self, report: "Report") -> str:
        """The loss, learning rate and speed, if there is no bar that shows them."""
        if self._console.interactive or not self._means.tokens:
            return ""
        means = self._means
        speed = f"{means.tokens_per_second:,.0f} tokens/s"
        return f"; {means}, lr {means.learning_rate:.2e}, {speed}"


@dataclass
class StepMeans:
    """The loss and speed since the last validation, since a single report may be of one batch.

    loss: summed over target tokens; steps, tokens: how many; last: the last step; seconds: of these
    steps alone, without validations; learning_rate: of the last one.
    """

    loss: float = 0.0
    tokens: int = 0
    steps: int = 0
    last: int = 0
    seconds: float = 0.0
    learning_rate: float = 0.0

    def plus(self, report: "Report") -> "StepMeans":
        """With the steps of a report; without the earlier ones if the run was rolled back."""
        before = self if report.step >= self.last else StepMeans()
        return StepMeans(
            before.loss + report.loss * report.tokens,
            before.tokens + report.tokens,
            before.steps + report.steps,
            report.step,
            before.seconds + report.tokens / (report.tokens_per_second or math.inf),
            report.learning_rate if report.tokens else before.learning_rate,
        )

    @property
    def tokens_per_second(self) -> float:
        """Target tokens of all ranks."""
        return self.tokens / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        return f"loss {self.loss / self.tokens:.3f} (mean of {counted(self.steps, 'step')})"


def weights_of(validation: "Validation") -> str:
    """What kind of weights was validated, in words."""
    if validation.weights == "ema":
        return "moving average"
    return f"average of {validation.averaged}" if validation.averaged > 1 else CURRENT


def validation_line(report: "Report", validation: "Validation", weights: str, rates: str) -> str:
    """The results of a validation; weights: which were validated, "" to leave that out."""
    bleu = "" if validation.bleu is None else f", BLEU {validation.bleu:.2f}"
    mean = f" ({weights})" if weights else ""
    return (
        f"step {report.step:,}, {duration(report.elapsed_seconds)}: "
        f"validation perplexity {short_perplexity(validation.perplexity)}{bleu}{mean}"
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


def closing(report: "Report", note: str, command: str, model: str) -> list[str]:
    """The lines of a note; the last note of a run also describes the published model.

    command: what uses the model of a run that may go on; model: its directory.
    """
    reason, separator, further = note.partition("; ")
    ended = f"{reason}, {duration(report.elapsed_seconds)}{separator}{further}"
    if report.published is None:
        # Only a run without validation or model publishes nothing.
        return [ended if note.startswith("finished") else note]
    weights = report.published.weights_in_words()
    if note.startswith(("saved", "stopped")):
        weights += f", which `{command}` uses"
        ended = note
        if not report.published.step and report.published.perplexity is not None:
            shown = scores(report.published.bleu, report.published.perplexity)
            so_far = f"before training: {shown}; nothing better so far"
            return [ended, f"{so_far}{_why_not_bleu(report.published)}", f"{model}: {weights}"]
    lines = [ended, *best_line(report.published), f"{model}: {weights}"]
    is_fine_tuned = report.published.before is not None
    if is_fine_tuned and report.published.step == report.step and note.startswith("finished"):
        lines.append("the last validation was the best one, so more steps may help")
    return lines


def why_not_compared(report: "Report", note: str) -> str:
    """Why the comparison that was announced has not taken place at the end; "" if it has."""
    published = report.published
    if published is None or published.comparison or not note.startswith("finished"):
        return ""
    if published.weights == "current":
        return "nothing was compared at the end: there is no average of checkpoints"
    return "nothing was compared at the end: the published weights are the last average"


def best_line(published: "Published") -> list[str]:
    """The validation that selected the weights; nothing if there is no validation text."""
    if published.perplexity is None:
        return []
    shown = scores(published.bleu, published.perplexity)
    more = (
        "more new pairs, the earlier training text beside them, validation text that is like them, "
        "or earlier validations (train.validate_every) may change that"
    )
    if not published.step and published.by_comparison:
        return [f"before training: {shown}", f"{published.comparison}; {more}"]
    if not published.step:
        shown += _why_not_bleu(published)
        return [f"no validation was better than the one before training: {shown}; {more}"]
    before = [f"before training: {scores(*published.before)}"] if published.before else []
    # Which steps an average is of is in the line on the model.
    step = f"best validation at step {published.step:,}"
    if published.by_comparison:
        return [*before, f"published at the end: {shown}", published.comparison]
    compared = [published.comparison] if published.comparison else []
    return [*before, f"{step}: {shown}{_why_not_bleu(published)}", *compared]


def _why_not_bleu(published: "Published") -> str:
    """What chose the weights, if another validation had a higher BLEU; else nothing."""
    highest = published.highest_bleu
    if highest is None or published.bleu is None or highest <= published.bleu:
        return ""
    return f"; another validation had BLEU {highest:.2f}, but {PERPLEXITY_DECIDES}"
