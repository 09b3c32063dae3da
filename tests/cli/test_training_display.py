"""What `nmt train` shows: the first line before torch, the header, the time, the last lines."""

import io
import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.cli.display.training import TrainDisplay, closing, pair_lines
from nmt_cli.cli.display.training_outline import many_epochs, warmup_options
from nmt_cli.cli.signals import ABANDONING, AGAIN, NOTHING_TRAINED, STOPPING
from nmt_cli.terminal.console import Console
from nmt_cli.training.reporting.events import (
    EndsEarly,
    FirstStep,
    Outline,
    Sample,
    StepDone,
    Validating,
)
from nmt_cli.training.reporting.report import Published, Report, Validation

OUTLINE = Outline(
    src="en", tgt="de", pairs=78_423, preset="small", vocabularies=(8_000, 8_000),
    preset_vocabulary="auto", parameters=7_590_000, devices="CPU",
    processes=1, threads=2, precision="float32", compiles=False, step=0, steps=20_000,
    warmup=4_000, rate_of_warmup=0.0, schedule_ends=True, epochs=97.3, max_hours=0.0, patience=0,
    compared=0, seconds=0.0, fine_tunes=False, could_be_bf16=False, average_span=0,
    batch_tokens=3_000,
)  # fmt: skip
STEP = StepDone(
    step=3, fresh=3, loss=5.123, learning_rate=1e-3, tokens_per_second=1_234.0, seconds=12.0,
    seconds_left=4_800.0, seconds_per_step=4.0,
)  # fmt: skip
REPORT = Report(
    step=810, epoch=1, tokens=90, loss=2.5, nll=2.0, learning_rate=1e-3, gradient_norm=1.0,
    tokens_per_second=500.0, seconds=80.0, elapsed_seconds=100.0, steps=1,
)  # fmt: skip
FOUND = Validation(1.0, 0.04, 1.04, 96.3, "sig", "mean", 5, (("a b", "c d", "e f"),), best=True)
WITHOUT_TORCH = """
import importlib.machinery
import sys
class Refuses:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "torch":
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        raise SystemExit(9)
    def exec_module(self, module):
        pass
sys.meta_path.insert(0, Refuses())
from nmt_cli.cli import main
sys.exit(main(sys.argv[1:]))
"""


def shown(*events: object, outline: Outline = OUTLINE, interactive: bool = False) -> list[str]:
    """The lines of a run's events and reports."""
    stream = io.StringIO()
    console = Console(stream, interactive=interactive, clock=itertools.count().__next__)
    with console.progress("training", 1, "step") as progress:
        display = TrainDisplay(console, progress)
        for event in (outline, *events):
            (display.report if isinstance(event, Report) else display.event)(event)
    return stream.getvalue().splitlines()


def test_warnings_of_a_run_are_shown_with_quiet() -> None:
    stream = io.StringIO()
    console = Console(stream, quiet=True)
    with console.progress("training", 1, "step") as progress:
        display = TrainDisplay(console, progress)
        display.report(replace(REPORT, note="continues after step 7"))
        display.report(replace(REPORT, note="step 8 was skipped: NaN", is_warning=True))
    assert stream.getvalue() == "warning: step 8 was skipped: NaN\n"


@pytest.mark.parametrize(("steps", "is_warned"), [(3_999, True), (4_001, False)])
def test_run_that_ends_within_its_warm_up_is_warned_of(steps: int, is_warned: bool) -> None:
    warned = [line for line in shown(outline=replace(OUTLINE, steps=steps)) if "warning" in line]
    expected = (
        "warning: the learning rate rises for 4,000 steps (train.warmup_steps), and this run has "
        "3,999: it ends before the rate has reached its peak; `--set train.warmup_steps=399` suits "
        "3,999 steps"
    )
    assert warned == ([expected] if is_warned else [])


def test_resumed_run_that_ends_with_its_warm_up_leads_to_more_steps() -> None:
    """It cannot have another warm-up."""
    begun = replace(OUTLINE, steps=100, warmup=100, step=60)
    (warned,) = [line for line in shown(outline=begun) if "warning" in line]
    assert warned.endswith(
        "and this run has 100: it ends with the rate at its peak; `--max-steps 400` suits this "
        "warm-up"
    )
    assert not [line for line in shown(outline=replace(begun, warmup=0)) if "warning" in line]


def test_shorter_warm_up_keeps_the_peak_that_equation_3_would_raise() -> None:
    single = replace(OUTLINE, steps=1)
    assert "`--set train.warmup_steps=1` suits 1 step" in shown(outline=single)[2]
    base = replace(OUTLINE, steps=63, rate_of_warmup=6.98771e-4)
    options = "`--set train.warmup_steps=6 --set train.learning_rate=0.000699` suits 63 steps"
    assert options in shown(outline=base)[2]
    # There is no shorter one.
    assert warmup_options(1, replace(OUTLINE, warmup=1)) == ""


@pytest.mark.parametrize(
    ("command", "options", "rank", "message"),
    [
        ("train", ["--preset", "small"], "", "training `model` on `corpus`: loading torch\n"),
        ("train", ["--quiet"], "", ""),
        ("train", [], "0", ""),
        ("demo", ["demo"], "", "60,000 sentence pairs to learn from, "),
    ],
)
def test_first_line_is_printed_before_torch_is_loaded(
    tmp_path: Path, command: str, options: list[str], rank: str, message: str
) -> None:
    """Of several ranks, the process that starts them says it."""
    (tmp_path / "corpus").mkdir()
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, command, *options],
        cwd=tmp_path, env={**environ, **({"RANK": rank, "WORLD_SIZE": "2"} if rank else {})},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 9, done.stderr
    assert done.stderr.startswith(message)
    assert bool(done.stderr) == bool(message)


def test_train_header_lists_corpus_preset_device_and_epochs() -> None:
    assert shown() == [
        "en-de: 78,423 pairs, preset small (7.6 M parameters), CPU with 2 threads, float32",
        "20,000 steps = about 97 epochs",
    ]
    other = replace(
        OUTLINE, devices="8 x NVIDIA H200", precision="bf16", compiles=True, epochs=0.92,
        max_hours=2.0, patience=5,
    )  # fmt: skip
    first, second, third = shown(outline=other)
    assert first.endswith(", 8 x NVIDIA H200, bf16")
    assert second == (
        "20,000 steps = about 0.92 epochs, at most 2 hours plus the last validation, "
        "or until 5 validations in a row bring no improvement"
    )
    assert "compiles" in third
    single = shown(outline=replace(OUTLINE, steps=1, epochs=1.0))
    assert single[1] == "1 step = about 1 epoch"
    several = replace(OUTLINE, processes=3, threads=1)
    assert "CPU with 3 processes of 1 thread each" in shown(outline=several)[0]


@pytest.mark.parametrize(
    ("sizes", "asked", "line"),
    [
        ((8_000, 8_000), 37_000, ["vocabulary 8,000 (corpus; preset base: 37,000)"]),
        ((8_000, 9_000), 8_000, ["vocabularies 8,000 and 9,000 (corpus; preset base: 8,000)"]),
        ((8_000, 8_000), 8_000, []),
        ((8_000, 8_000), "auto", []),
    ],
)
def test_train_header_names_vocabulary_unlike_the_preset(
    sizes: tuple[int, int], asked: int | str, line: list[str]
) -> None:
    base = replace(OUTLINE, preset="base", vocabularies=sizes, preset_vocabulary=asked)
    assert shown(outline=base)[2:] == line


def test_slow_first_step_is_announced() -> None:
    step = FirstStep(step=0, seconds_per_step=170.0, seconds_left=80_000.0)
    assert shown(step)[2:] == ["first step: about 3 minutes"]
    assert shown(replace(step, seconds_per_step=2.0))[2:] == []


def test_long_run_is_warned_of_during_the_first_step() -> None:
    """And not again after three steps; where it is not clear, then."""
    long = FirstStep(step=0, seconds_per_step=170.0, seconds_left=170.0 * 20_000)
    slow = replace(STEP, seconds_left=2 * 86_400.0, seconds_per_step=9.0)
    message, first, _, *rest = shown(long, slow)[2:]
    assert message == "first step: about 3 minutes"
    assert first == (
        "warning: this run is expected to take about 39 days here; "
        "24 hours from now it will be at about step 508 of 20,000"
    )
    assert rest == []
    doubtful = FirstStep(step=0, seconds_per_step=1.0, seconds_left=1.2 * 86_400)
    assert [line[:8] for line in shown(doubtful, slow)[2:]] == ["warning:"] * 2


def test_expected_time_is_printed_once_after_three_steps() -> None:
    steps = [replace(STEP, step=index, fresh=index) for index in range(1, 6)]
    assert shown(*steps)[2:] == ["about 1h 20m for 20,000 steps"]
    resumed = replace(OUTLINE, step=15_000, seconds=900.0)
    steps = [replace(step, step=15_000 + step.step, seconds=912.0) for step in steps]
    assert shown(*steps, outline=resumed)[2:] == ["about 1h 20m for the 5,000 remaining steps"]


def test_a_run_of_more_than_a_day_is_warned_of() -> None:
    slow = replace(STEP, seconds_left=12.04 * 86_400, seconds_per_step=52.0)
    first, second = shown(slow)[2:]
    assert first == (
        "warning: this run is expected to take about 12 days here; "
        "24 hours from now it will be at about step 1,664 of 20,000"
    )
    one_day = replace(STEP, seconds_left=1.04 * 86_400, seconds_per_step=1.2)
    assert "is expected to take about 1 day here; " in shown(one_day)[2]
    # The model of OUTLINE has the size of that preset already.
    assert "a smaller model (such as `--set model.d_model=128 --set model.d_ff=512`)" in second
    base = replace(OUTLINE, parameters=63_000_000)
    assert "a smaller model (`--preset small`)" in shown(slow, outline=base)[3]
    assert "--max-steps" in second
    assert "a machine with a GPU" in second
    gpu = replace(OUTLINE, devices="1 x NVIDIA L4")
    assert "--gpus" in shown(slow, outline=gpu)[3]
    assert len(shown(replace(slow, seconds_left=86_400.0))) == 3


def test_validations_that_are_not_measured_are_counted() -> None:
    assert shown(replace(STEP, unmeasured=4))[2:] == [
        "about 1h 20m for 20,000 steps, plus 4 validations"
    ]
    resumed = replace(OUTLINE, step=2)
    (line,) = shown(replace(STEP, unmeasured=1), outline=resumed)[2:]
    assert line == "about 1h 20m for the 19,998 remaining steps, plus 1 validation"


def test_an_early_end_replaces_the_expected_time_and_names_steps_that_fit() -> None:
    limited = replace(OUTLINE, max_hours=0.15, warmup=17, epochs=2_000.0)
    end = EndsEarly(3, 79, 79, 70, 500.0)
    assert shown(end, STEP, outline=limited)[2:] == [
        "about 8m 20s until the limit of 0.15 hours, at about step 79 of 20,000: the schedule of "
        "the learning rate does not reach its end (`--max-steps 70` fits into 0.15 hours, with "
        "validations; stop with Ctrl-C and add it to the command, or leave it)"
    ]
    (line,) = shown(end, replace(end, last=120, fitting=110), STEP, outline=limited)[3:]
    assert line.startswith("measured again: about 8m 20s until")
    assert "(`--max-steps 110` fits" in line
    # A run that is best left as it is stays so when it has become a little faster.
    first, second = shown(replace(end, fitting=50), end, STEP, outline=limited)[2:]
    assert first.endswith("with a larger --max-hours; otherwise leave it as it is)")
    assert second.endswith("with a larger --max-hours; otherwise leave it as it is)")
    endless = replace(limited, schedule_ends=False)
    reached = "about 8m 20s until the limit of 0.15 hours, at about step 79 of 20,000"
    assert shown(end, STEP, outline=endless)[2:] == [reached]
    (line,) = shown(end, STEP, outline=replace(endless, warmup=79))[2:]
    assert line.startswith(f"{reached}: the warm-up of the learning rate does not reach its end (")
    (line,) = shown(end, STEP, outline=replace(endless, warmup=40))[2:]
    assert line.startswith(
        f"{reached}: the learning rate rises for 40 of these steps (`--max-steps"
    )
    assert shown(end, STEP, outline=replace(endless, warmup=39))[2:] == [reached]
    (line,) = shown(replace(end, first=60), STEP, outline=replace(endless, warmup=35))[2:]
    assert "rises for 35 of these steps" in line
    # With half of the steps the model may be worse.
    (line,) = shown(replace(end, fitting=39), outline=limited)[2:]
    assert line.endswith(
        "(best give it more time with a larger --max-hours; otherwise leave it as it is)"
    )
    (line,) = shown(replace(end, first=45, fitting=0), outline=limited)[2:]
    assert "at about step 45 to 79 of 20,000, depending on how long validations take" in line
    assert line.endswith("(only a larger --max-hours helps)")


@pytest.mark.parametrize(
    ("changes", "fitting", "is_too_short"),
    [
        ({}, 70, True),
        ({}, 150, False),
        ({"epochs": 900.0}, 70, False),
        ({"fine_tunes": True, "epochs": 40.0}, 70, False),
    ],
)
def test_steps_in_which_a_new_model_learns_nothing_are_not_advised(
    changes: dict[str, object], fitting: int, is_too_short: bool
) -> None:
    limited = replace(OUTLINE, max_hours=0.15, warmup=3, **changes)
    line = shown(EndsEarly(3, fitting, fitting, fitting, 500.0), outline=limited)[-1]
    too_short = "(so few steps teach a new model little: best give it a larger --max-hours, or "
    assert (too_short in line) == is_too_short
    assert ("`--max-steps" in line) != is_too_short


@pytest.mark.parametrize(
    ("batch_tokens", "steps", "step", "advised"),
    [(25_000, 90, 0, 7_000), (3_000, 60, 0, 1_000), (1_500, 60, 0, 0), (25_000, 90, 10, 0)],
)
def test_a_run_of_too_few_steps_is_advised_to_take_smaller_batches(
    batch_tokens: int, steps: int, step: int, advised: int
) -> None:
    limited = replace(
        OUTLINE, max_hours=0.15, warmup=3, epochs=40.0, batch_tokens=batch_tokens, step=step
    )
    line = shown(EndsEarly(3, steps, steps, steps, 500.0), outline=limited)[-1]
    expected = "best give it a larger --max-hours"
    if advised:
        expected += (
            f", or smaller batches, of which it takes more (`--set train.batch_tokens={advised}`)"
        )
    assert line.endswith(f"{expected})")


def test_steps_that_fit_come_with_a_warm_up_for_them() -> None:
    limited = replace(OUTLINE, max_hours=0.08, warmup=100, epochs=2_000.0)
    (line,) = shown(EndsEarly(3, 79, 79, 63, 240.0), outline=limited)[2:]
    assert line.endswith(
        "(`--max-steps 63 --set train.warmup_steps=6` fits into 0.08 hours, with validations; it "
        "makes a new run, so use another `--out` once this one has begun)"
    )
    of_paper = replace(limited, rate_of_warmup=6.98771e-4)
    (line,) = shown(EndsEarly(3, 79, 79, 63, 240.0), outline=of_paper)[2:]
    assert line.endswith("has begun; if the loss stays flat, halve the learning rate)")
    # A run that is continued would have to be given up for it.
    (line,) = shown(EndsEarly(23, 79, 79, 63, 240.0), outline=replace(limited, step=20))[2:]
    assert line.endswith("(only a larger --max-hours helps)")
    (line,) = shown(EndsEarly(23, 500, 500, 400, 240.0), outline=replace(limited, step=20))[2:]
    assert "`--max-steps 400` fits" in line
    (line,) = shown(EndsEarly(3, 500, 500, 400, 240.0), outline=limited)[2:]
    assert line.endswith("Ctrl-C and add it to the command, or leave it)")


@pytest.mark.parametrize(("last", "times"), [(600, "2.0"), (800, "1.4"), (850, ""), (1_200, "")])
def test_slow_steps_of_a_resumed_run_are_no_reason_to_stop_it_again(last: int, times: str) -> None:
    # 100 steps took 100 s before it was resumed, 600 to 1,200 take 1,000 s now.
    limited = replace(OUTLINE, max_hours=0.3, step=100, seconds=100.0, warmup=10, steps=1_300)
    (line,) = shown(EndsEarly(103, last, last, 103 + last, 1_000.0), outline=limited)[2:]
    if times:
        assert line.endswith(
            f"(steps take {times} times as long as before the run was resumed; if other programs "
            "use the machine now, it reaches more steps once they have ended)"
        )
    else:
        assert "`--max-steps" in line


def test_steps_that_fit_do_not_contradict_the_warning_of_many_epochs() -> None:
    tuned = replace(OUTLINE, fine_tunes=True, steps=400, epochs=400.0, warmup=4, max_hours=0.05)
    lines = shown(EndsEarly(3, 291, 291, 240, 150.0), outline=tuned)
    assert "each pair is seen about 400 times" in lines[2]
    assert lines[-1].endswith("(fewer steps, as in the warning above, may fit)")


def test_steps_that_fit_come_with_checkpoints_to_average() -> None:
    """The interval of a preset may be longer than a short run."""
    limited = replace(OUTLINE, max_hours=0.13, warmup=20, average_span=2_500)
    (line,) = shown(EndsEarly(3, 1_000, 1_000, 990, 400.0), outline=limited)[2:]
    assert "(`--max-steps 990 --set train.checkpoint_every=auto` fits" in line
    (line,) = shown(EndsEarly(3, 3_000, 3_000, 2_500, 400.0), outline=limited)[2:]
    assert "(`--max-steps 2500` fits" in line


def test_faster_precision_of_the_cpu_is_named_before_training() -> None:
    slow = replace(OUTLINE, could_be_bf16=True)
    ending = "2 threads, float32 (bf16, which is faster: `--set train.precision=fast`)"
    assert shown(outline=slow)[0].endswith(ending)
    assert shown(outline=replace(slow, step=3))[0].endswith("2 threads, float32")


def test_comparison_at_the_end_is_named_with_what_is_not_measured_yet() -> None:
    compares = replace(OUTLINE, compared=1_014, max_hours=2.0)
    lines = shown(replace(STEP, unmeasured=2), outline=compares)
    comparison = "the last validation and a comparison of 1,014 pairs (train.compare_at_end)"
    assert lines[1].endswith(f", at most 2 hours plus {comparison}")
    lines = shown(replace(STEP, unmeasured=2), outline=replace(compares, max_hours=1.0))
    assert lines[1].endswith(f", at most 1 hour plus {comparison}")
    assert lines[2].endswith(" for 20,000 steps, plus 2 validations + comparison")
    assert shown(STEP, outline=compares)[2].endswith(" for 20,000 steps")


def test_progress_bar_starts_at_once_and_follows_each_step() -> None:
    text = "\n".join(shown(STEP, interactive=True))
    assert "| 0/20,000" in text
    assert "| 3/20,000, 1h 20m left, 1,234 tokens/s" in text


def test_validation_line_shows_sample_with_reference_and_best_mark() -> None:
    lines = shown(replace(REPORT, validation=FOUND))[2:]
    assert lines == [
        "step 810, 1m 40s: validation perplexity 1.04, BLEU 96.30 (average of 5) *best; "
        "loss 2.500 (mean of 1 step), lr 1.00e-03, 500 tokens/s",
        "  source     a b", "  output     e f", "  reference  c d",
    ]  # fmt: skip
    worse = replace(FOUND, best=False, weights="ema", averaged=1)
    assert "(moving average); loss" in shown(replace(REPORT, validation=worse))[2]


def test_loss_of_a_validation_is_the_mean_since_the_last_one() -> None:
    """The last report before a validation may be of one batch, longer ones count for more."""
    found = replace(FOUND, samples=())
    first = [
        replace(REPORT, step=6, loss=4.0, tokens=300, steps=3, tokens_per_second=150.0),
        replace(REPORT, step=7, loss=8.0, tokens=100, steps=1, validation=found),
    ]
    (line,) = shown(*first)[2:]
    assert line.endswith("; loss 5.000 (mean of 4 steps), lr 1.00e-03, 182 tokens/s")
    assert not any("mean of" in line for line in shown(*first, interactive=True))
    second = [
        replace(REPORT, step=9, loss=3.0, tokens=200, steps=2),
        # Without steps of its own, as at the end of a run.
        replace(
            REPORT,
            step=9,
            loss=0.0,
            tokens=0,
            steps=0,
            learning_rate=0.0,
            tokens_per_second=0.0,
            validation=found,
        ),
        replace(REPORT, step=9, loss=0.0, tokens=0, steps=0, validation=found),
    ]
    lines = shown(*first, *second)[3:]
    rates = "; loss 3.000 (mean of 2 steps), lr 1.00e-03, 500 tokens/s"
    assert [line.partition("*best")[2] for line in lines] == [rates, ""]


def test_loss_of_a_validation_leaves_out_steps_that_are_taken_again() -> None:
    (line,) = shown(
        replace(REPORT, step=20, loss=90.0, tokens=900, steps=10),
        replace(REPORT, step=15, loss=0.0, tokens=0, steps=0),
        replace(REPORT, step=16, loss=2.0, tokens=100, steps=1),
        replace(
            REPORT, step=18, loss=3.0, tokens=100, steps=2, validation=replace(FOUND, samples=())
        ),
    )[2:]
    assert "; loss 2.500 (mean of 3 steps), lr" in line


def test_weights_of_a_validation_are_named_where_they_change() -> None:
    kinds = (("current", 1), ("mean", 5), ("mean", 5), ("ema", 1), ("ema", 1), ("current", 1))
    found = [replace(FOUND, weights=kind, averaged=count, samples=()) for kind, count in kinds]
    lines = shown(*(replace(REPORT, validation=each) for each in found))[2:]
    assert [line.partition("BLEU 96.30")[2].partition(" *best")[0] for line in lines] == [
        "", " (average of 5)", "", " (moving average)", "", " (weights of this step)",
    ]  # fmt: skip


def test_a_validation_of_the_same_average_as_the_last_one_says_so() -> None:
    """Between two checkpoints, as where a time limit ends a run, the average is the same."""
    of_steps = [(), (20, 40), (20, 40), (40, 60)]
    found = [
        replace(FOUND, weights="mean" if steps else "current", averaged=max(1, len(steps)),
                steps=steps, samples=())
        for steps in of_steps
    ]  # fmt: skip
    reports = [
        replace(REPORT, step=step, validation=each)
        for step, each in zip((30, 45, 55, 60), found, strict=True)
    ]
    lines = shown(*reports)[2:]
    assert [line.partition("BLEU 96.30")[2].partition(" *best")[0] for line in lines] == [
        "", " (average of 2)", " (the same average of 2 as at step 45)", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("published", "why"),
    [
        (
            Published(900, "mean", (880, 900), 20.5, 7.5),
            "the published weights are the last average",
        ),
        (Published(900, "current", (900,), 20.5, 7.5), "there is no average of checkpoints"),
        (Published(900, "mean", (880, 900), 20.5, 7.5, comparison="on 400 pairs"), ""),
    ],
)
def test_an_announced_comparison_that_is_not_needed_is_named(
    published: Published, why: str
) -> None:
    end = replace(REPORT, note="finished: 900 steps are done", published=published)
    announced = shown(end, outline=replace(OUTLINE, compared=400))[2:]
    expected = [f"nothing was compared at the end: {why}"] if why else []
    assert announced == [*shown(end)[2:-1], *expected, shown(end)[-1]]
    stopped = replace(end, note="saved at step 810; run the same command to resume")
    assert shown(stopped, outline=replace(OUTLINE, compared=400))[2:] == shown(stopped)[2:]


def test_validation_before_the_first_step_is_one_line() -> None:
    before = replace(REPORT, step=0, validation=FOUND)
    assert shown(before)[2:] == ["before training: BLEU 96.30, perplexity 1.04"]


def test_early_sample_shows_its_reference() -> None:
    assert shown(Sample(7, "a b", "c d", "e f"))[2:] == [
        "step 7, a sample before the first validation:",
        "  source     a b", "  output     e f", "  reference  c d",
    ]  # fmt: skip


DECIDED = (
    "; another validation had BLEU {}, but where BLEU differs by no more than chance, "
    "the lower perplexity decides"
)


@pytest.mark.parametrize(
    ("published", "lines"),
    [
        (
            Published(810, "mean", (450, 540, 630, 720, 810), 96.3, 1.04),
            [
                "best validation at step 810: BLEU 96.30, perplexity 1.04",
                "model: the average of 5 checkpoints (steps 450 to 810)",
            ],
        ),
        (
            Published(90, "current", (90,), None, 7.5),
            ["best validation at step 90: perplexity 7.50", "model: the weights of step 90"],
        ),
        (
            Published(
                810, "mean", (450, 810), 96.3, 1.04, comparison="on 400 validation pairs: both"
            ),
            [
                "best validation at step 810: BLEU 96.30, perplexity 1.04",
                "on 400 validation pairs: both",
                "model: the average of 2 checkpoints (steps 450 to 810)",
            ],
        ),
        (
            Published(900, "mean", (810, 900), 96.3, 1.04, "on 400: both", by_comparison=True),
            [
                "published at the end: BLEU 96.30, perplexity 1.04",
                "on 400: both",
                "model: the average of 2 checkpoints (steps 810 to 900)",
            ],
        ),
        (
            Published(90, "ema", (90,)),
            ["model: the moving average of the weights at step 90"],
        ),
        (
            Published(90, "current", (90,), 20.5, 7.5, before=(14.99, 32.97)),
            [
                "before training: BLEU 14.99, perplexity 32.97",
                "best validation at step 90: BLEU 20.50, perplexity 7.50",
                "model: the weights of step 90",
            ],
        ),
        (
            Published(
                0,
                "current",
                (0,),
                14.99,
                32.97,
                "on 400: all",
                by_comparison=True,
                before=(14.99, 32.97),
            ),
            [
                "before training: BLEU 14.99, perplexity 32.97",
                "on 400: all; more new pairs, the earlier training text beside them, validation "
                "text that is like them, or earlier validations (train.validate_every) may change "
                "that",
                "model: the weights that training began with",
            ],
        ),
        (
            Published(0, "current", (0,), None, 32.97, before=(None, 32.97)),
            [
                "no validation was better than the one before training: perplexity 32.97; more new "
                "pairs, the earlier training text beside them, validation text that is like them, "
                "or earlier validations (train.validate_every) may change that",
                "model: the weights that training began with",
            ],
        ),
        (
            Published(90, "current", (90,), 20.5, 7.5, before=(20.9, 9.1), highest_bleu=20.9),
            [
                "before training: BLEU 20.90, perplexity 9.10",
                f"best validation at step 90: BLEU 20.50, perplexity 7.50{DECIDED.format('20.90')}",
                "model: the weights of step 90",
            ],
        ),
        (
            Published(90, "current", (90,), 20.5, 7.5, highest_bleu=20.5),
            [
                "best validation at step 90: BLEU 20.50, perplexity 7.50",
                "model: the weights of step 90",
            ],
        ),
        (None, []),
    ],
)
def test_last_lines_describe_the_published_model(
    published: Published | None, lines: list[str]
) -> None:
    end = replace(REPORT, note="finished: 900 steps are done", published=published)
    assert shown(end)[2:] == ["finished: 900 steps are done, 1m 40s", *lines]


def test_time_of_a_finished_run_stands_before_what_continues_it() -> None:
    note = "already finished: 2 hours are over; --max-hours above 2.01 (or none) continues the run"
    published = Published(90, "current", (90,), None, 7.5)
    assert shown(replace(REPORT, note=note, published=published))[2] == (
        "already finished: 2 hours are over, 1m 40s; --max-hours above 2.01 (or none) continues "
        "the run"
    )


def test_last_lines_of_a_stopped_run_say_which_weights_are_used() -> None:
    note = "saved at step 164; run the same command to resume"
    published = Published(99, "current", (99,), None, 7.5)
    report = replace(REPORT, note=note, published=published)
    assert shown(report)[2:] == [
        note,
        "best validation at step 99: perplexity 7.50",
        "model: the weights of step 99, which `nmt translate` uses",
    ]
    assert closing(report, note, "nmt parse --model m", "m")[-1] == (
        "m: the weights of step 99, which `nmt parse --model m` uses"
    )


def test_report_json_without_steps_has_no_loss() -> None:
    record = replace(REPORT, tokens=0, loss=0.0, nll=0.0, learning_rate=0.0).as_json()
    gone = {"loss", "nll", "learning_rate", "gradient_norm", "tokens_per_second"}
    assert not gone & record.keys()
    assert record["tokens"] == 0
    assert gone <= REPORT.as_json().keys()
    assert "steps" not in REPORT.as_json()
    skipped = replace(REPORT, tokens=0, learning_rate=0.5).as_json()
    assert skipped["learning_rate"] == 0.5


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Validating(130, 0, 0, 300.0, None), "130/130, validating, 5m 00s so far"),
        (Validating(130, 80, 200, 300.0, 0.0), "130/130, validating 80/200, 5m 00s so far"),
        (Validating(130, 80, 200, 300.0, 60.0), "validating 80/200, 1m 00s left, 5m 00s so far"),
        (Validating(130, 2, 200, 300.0, 60.0, 2), "validating 2/200, 1m 00s + 2 validations left"),
        (
            Validating(130, 32, 300, 300.0, 60.0, activity="comparing: last average"),
            "130/130, comparing: last average 32/300, 1m 00s left",
        ),
        (replace(STEP, step=122, unmeasured=1), "122/130, 1h 20m + 1 validation left, 1,234 tok"),
        (replace(STEP, step=121, fresh=1), "121/130, 1,234 tokens/s, loss 5.123"),
        (replace(STEP, step=122, fresh=2), "122/130, 1h 20m left, 1,234 tokens/s"),
    ],
)
def test_progress_bar_shows_phase_and_only_measured_rates(event: object, message: str) -> None:
    """Seconds of a first step, and of steps of an earlier process, tell nothing of what is left."""
    console = Console(io.StringIO(), clock=itertools.count().__next__)
    with console.progress("training", 130, estimate_after=None) as progress:
        display = TrainDisplay(console, progress)
        display.event(replace(OUTLINE, step=120, steps=130, seconds=290.0))
        assert "left" not in progress.shape(80)
        display.event(event)
        assert message in progress.shape(80)


def test_sample_lines_are_cut_to_the_terminal_width() -> None:
    long = "word " * 40
    lines = pair_lines(long, "x" * 300, "\u6f22" * 100, 60).splitlines()
    assert lines[0] == "  source     word word word word word word word word ..."
    assert lines[1] == "  output     " + "x" * 42 + " ..."
    assert lines[2] == "  reference  " + "\u6f22" * 21 + " ..."
    assert pair_lines("a  b", "c", "d", 60).splitlines()[0] == "  source     a b"


@pytest.mark.parametrize("words", [NOTHING_TRAINED, STOPPING, ABANDONING, AGAIN])
def test_what_a_signal_writes_fits_into_80_columns(words: bytes) -> None:
    assert max(map(len, words.splitlines())) < 80


def test_fine_tuning_that_is_interrupted_says_only_that_nothing_better_is_known() -> None:
    published = Published(0, "current", (0,), 11.24, 27.56, before=(11.24, 27.56))
    end = replace(REPORT, note="saved at step 43; run the same command to resume")
    assert shown(replace(end, published=published))[2:] == [
        end.note,
        "before training: BLEU 11.24, perplexity 27.56; nothing better so far",
        "model: the weights that training began with, which `nmt translate` uses",
    ]


def test_fine_tuning_that_sees_each_pair_very_often_is_warned_of() -> None:
    outline = replace(OUTLINE, fine_tunes=True, steps=825, epochs=206.3, warmup=8)
    warning = (
        "each pair is seen about 206 times, so that the model is likely to forget what it knew "
        "before; `--max-steps 80 --set train.validate_every=10` is 20 times, with about 8 "
        "validations, as a new run with another --out; text that differs much from that of the "
        "model, which has a high perplexity before training, needs more, such as 100 times: watch "
        "the validations"
    )
    assert many_epochs(outline) == warning
    assert any(warning in line for line in shown(outline=outline))
    for patience, option in ((7, " --patience 8"), (8, "")):
        patient = many_epochs(replace(outline, patience=patience))
        assert f"train.validate_every=10{option}` is 20 times" in patient
    with_warmup = many_epochs(replace(outline, warmup=100))
    assert (
        "`--max-steps 80 --set train.validate_every=10 --set train.warmup_steps=8`" in with_warmup
    )
    for silent in ({"fine_tunes": False}, {"epochs": 49.0}, {"step": 3}):
        assert many_epochs(replace(outline, **silent)) == ""


@pytest.mark.parametrize(
    ("published", "note", "is_said"),
    [
        (Published(810, "current", (810,), 20.5, 7.5, before=(14.99, 32.97)), "finished", True),
        (Published(800, "current", (800,), 20.5, 7.5, before=(14.99, 32.97)), "finished", False),
        (Published(810, "current", (810,), 20.5, 7.5, before=(14.99, 32.97)), "saved", False),
        (Published(810, "current", (810,), 20.5, 7.5), "finished", False),
    ],
)
def test_fine_tuning_whose_last_validation_is_the_best_may_need_more_steps(
    published: Published, note: str, is_said: bool
) -> None:
    lines = shown(replace(REPORT, note=f"{note} at step 810", published=published))
    said = "the last validation was the best one, so more steps may help"
    assert lines.count(said) == is_said
    assert not is_said or lines[-1] == said
