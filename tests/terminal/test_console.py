"""What a person sees: plain words, no markup, no control characters, no bars in a log."""

import errno
import io
import re
import sys
import threading
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tqdm import tqdm

from nmt_cli.errors import NmtError
from nmt_cli.terminal.console import Console, escaped
from nmt_cli.terminal.progress import duration


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def make(**options: bool) -> tuple[Console, io.StringIO, Clock]:
    stream, clock = io.StringIO(), Clock()
    return Console(stream, clock=clock, **options), stream, clock  # type: ignore[arg-type]


def last_line(stream: io.StringIO) -> str:
    """What stands in the line of the cursor."""
    return stream.getvalue().split("\r")[-1].rstrip()


class TestMessages:
    def test_error_is_followed_by_a_blank_line_and_its_hint(self) -> None:
        console, stream, _ = make()
        console.error(NmtError("no file `x`", "check the path"))
        assert stream.getvalue() == "error: no file `x`\n\nhint: check the path\n"

    def test_error_without_hint_is_one_line(self) -> None:
        console, stream, _ = make()
        console.error(NmtError("no file"))
        assert stream.getvalue() == "error: no file\n"

    def test_labels_of_warnings_notes_and_next_command(self) -> None:
        console, stream, _ = make()
        console.warning("a")
        console.note("b")
        console.next("nmt train")
        assert stream.getvalue() == "warning: a\nb\nnext: nmt train\n"

    def test_details_are_dim_and_hidden_when_quiet(self) -> None:
        for more, shown in (({}, "a b\n"), ({"color": True}, "\x1b[2ma b\x1b[0m\n"),
                            ({"quiet": True}, "")):  # fmt: skip
            stream = io.StringIO()
            Console(stream, **more).detail("a b")
            assert stream.getvalue() == shown

    def test_next_command_uses_the_name_nmt_was_started_by(self) -> None:
        stream = io.StringIO()
        console = Console(stream, program=".venv/bin/nmt")
        console.next('cd nmt-demo && echo "a" | nmt translate --model ../nmt/model')
        command = 'cd nmt-demo && echo "a" | .venv/bin/nmt translate --model ../nmt/model'
        assert stream.getvalue() == f"next: {command}\n"

    def test_notes_and_warnings_wrap_between_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "30")
        text = "the model directory holds checkpoints of another training run"
        for interactive in (True, False):
            console, stream, _ = make(interactive=interactive)
            console.note(f"{text}\n  {text}\n$ nmt {text}")
            console.warning(text)
            console.next(f"nmt {text}")
            lines = stream.getvalue().splitlines()
            if interactive:
                first, second, *rest = lines
                assert first == "the model directory holds"
                assert second == "  checkpoints of another"
                # A list, a command that is shown, and one to be copied stay whole.
                assert rest[1:3] == [f"  {text}", f"$ nmt {text}"]
                assert rest[3] == "warning: the model directory"
                assert lines[-1] == f"next: nmt {text}"
                broken = [line for line in lines if text not in line]
                assert max(map(len, broken)) <= 30
            else:
                assert len(lines) == 5

    def test_table_cells_are_not_wrapped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "50")
        console, stream, _ = make(interactive=True)
        header = ("", "tokens", "vocabulary", "unknown", "subwords per word")
        console.table([("source", 1_234_567, 8_000, 0, 1.25)], header=header)
        shown = stream.getvalue().split()
        assert {"source", "1,234,567", *" ".join(header).split()} <= set(shown)

    def test_quiet_keeps_warnings_and_errors_only(self) -> None:
        console, stream, _ = make(quiet=True)
        console.note("a")
        console.next("b")
        console.table([("c", 1)])
        with console.progress("d", 2) as progress:
            progress.update(1)
        console.warning("e")
        console.error(NmtError("f"))
        assert stream.getvalue() == "warning: e\nerror: f\n"

    def test_colour_is_on_the_label_only(self) -> None:
        console, stream, _ = make(color=True)
        console.warning("a")
        assert stream.getvalue() == "\x1b[33mwarning:\x1b[0m a\n"

    def test_closed_stream_does_not_raise(self) -> None:
        console, stream, _ = make()
        stream.close()
        console.note("a")
        console.warning("b")
        console.table([("c", 1)])
        with console.progress("d", 2) as progress:
            progress.update(2)


class TestHostileText:
    @given(st.text(st.characters(categories=["L", "N", "P", "S", "M"])))
    def test_text_of_any_script_is_not_escaped(self, text: str) -> None:
        assert escaped(text) == text


class TestTables:
    def test_table_aligns_text_left_and_numbers_right(self) -> None:
        console, stream, _ = make()
        console.table([("kept", 1234567, 0.5), ("dropped", 3, 10.0)], header=("", "pairs", "%"))
        assert stream.getvalue().splitlines() == [
            "             pairs      %",
            "kept     1,234,567   0.50",
            "dropped          3  10.00",
        ]

    def test_table_in_a_log_is_not_truncated(self) -> None:
        console, stream, _ = make()
        console.table([("x" * 500, "y")])
        assert stream.getvalue() == "x" * 500 + "  y\n"

    def test_table_columns_align_with_wide_characters(self) -> None:
        console, stream, _ = make()
        console.table([("日本", "a"), ("abcd", "b")])
        assert stream.getvalue() == "日本  a\nabcd  b\n"

    def test_table_styles_need_colour(self) -> None:
        for color, shown in ((True, "\x1b[31mfail\x1b[0m  failure\n"), (False, "fail  failure\n")):
            console, stream, _ = make(color=color)
            console.table([("fail", "failure")], styles={"fail": "red"})
            assert stream.getvalue() == shown

    def test_table_without_rows_prints_nothing(self) -> None:
        console, stream, _ = make()
        console.table([], title="x")
        assert stream.getvalue() == ""


class TestProgressInLog:
    def test_progress_log_has_a_line_a_minute(self) -> None:
        console, stream, clock = make()
        with console.progress("encode", 1000) as progress:
            for second in range(151):
                clock.now = float(second)
                progress.update(second * 4, "ok")
        assert stream.getvalue().splitlines() == [
            "encode: 240 of 1,000, 24%, 3m 10s left, ok",
            "encode: 480 of 1,000, 48%, 2m 10s left, ok",
        ]

    def test_progress_log_of_short_work_is_empty(self) -> None:
        console, stream, _ = make()
        with console.progress("encode", 10) as progress:
            progress.update(10)
        assert stream.getvalue() == ""

    def test_progress_log_with_unknown_total_has_no_eta(self) -> None:
        console, _, clock = make()
        with console.progress("read") as progress:
            clock.now = 10.0
            assert progress.line(12345) == "read: 12,345"

    def test_progress_log_has_no_eta_at_the_end(self) -> None:
        console, _, _ = make()
        with console.progress("read", 5) as progress:
            assert progress.line(5) == "read: 5 of 5, 100%"

    def test_progress_log_uses_a_given_time_left(self) -> None:
        console, stream, clock = make()
        with console.progress("training", 1000) as progress:
            clock.now = 100.0
            progress.update(800, left=30.0)
            clock.now = 160.0
            progress.update(850, "ok", left=12.0)
        assert stream.getvalue().splitlines() == [
            "training: 800 of 1,000, 80%, 30s left",
            "training: 850 of 1,000, 85%, 12s left, ok",
        ]

    def test_progress_log_of_consecutive_stages(self) -> None:
        console, stream, clock = make()
        with console.stages() as show:
            show("read", 1, None)
            clock.now = 60.0
            show("read", 2, None)
            show("learn", 0, 10)
            clock.now = 120.0
            show("learn", 5, 10)
        assert stream.getvalue() == "read: 2\nlearn: 5 of 10, 50%, 1m 00s left\n"


class TestProgressBar:
    def test_progress_bar_is_drawn_and_erased(self) -> None:
        console, stream, _ = make(interactive=True)
        with console.progress("encode", 10) as progress:
            progress.update(0)
            progress.update(10, "ok")
        shown = stream.getvalue()
        assert "encode" in shown
        assert shown.endswith("\r")
        assert shown.split("\r")[-2].strip() == ""

    def test_progress_bar_appears_at_once_and_shows_each_step(self) -> None:
        """Also the first report of a long step: on the clock that started with the work."""
        console, stream, clock = make(interactive=True)
        with console.progress("training", 600, "step") as progress:
            progress.update(0)
            assert "| 0/600" in stream.getvalue()
            clock.now = 3.0
            progress.update(50)
            assert "| 50/600, 33s left, 17 steps/s, 3s so far" in last_line(stream)
            clock.now = 3.05
            progress.update(51)
            assert "51/600" not in stream.getvalue()
            clock.now = 3.2
            progress.update(52)
            assert "52/600" in last_line(stream)

    def test_progress_bar_without_total_shows_name_and_count(self) -> None:
        console, stream, clock = make(interactive=True)
        with console.stages() as show:
            show("learn subwords", 0, None)
            assert last_line(stream) == "learn subwords ..."
            show("read", 1_340, None)
            assert last_line(stream).startswith("read: 1,340")
            clock.now = 4.0
            show("read", 60_000, None)
            assert last_line(stream) == "read: 60,000, 4s so far"
            assert "it/s" not in stream.getvalue()

    def test_progress_rate_ignores_work_done_before_the_stage(self) -> None:
        console, stream, clock = make(interactive=True)
        with console.stages() as show:
            show("encode", 500, 1_000)
            clock.now = 10.0
            show("encode", 600, 1_000)
        assert "| 600/1,000, 40s left" in stream.getvalue()

    @pytest.mark.parametrize(
        ("columns", "shown"),
        [
            (79, "training:  12% |{bar}| 12,345/100,000, 23h 59m left, 1,234 tokens/s, loss 5.1"),
            (40, "training:  12% |{bar}| 12,345/100,000"),
            (54, "training:  12% |{bar}| 12,345/100,000, 23h 59m left"),
            (
                200,
                "training:  12% |{bar}| 12,345/100,000, 23h 59m left, 1,234 tokens/s, loss 5.1, "
                "lr 1e-3, 2h 00m so far",
            ),
        ],
    )
    def test_progress_bar_fields_depend_on_the_width(self, columns: int, shown: str) -> None:
        console, _, _ = make(interactive=True)
        with console.progress("training", 100_000, "step") as progress:
            details = ("1,234 tokens/s", "loss 5.1", "lr 1e-3")
            progress.update(12_345, *details, elapsed=7_200.0, left=86_340.0)
            assert progress.shape(columns) == shown
            assert len(shown) - len("{bar}") + 5 <= columns

    def test_console_messages_do_not_mix_with_the_progress_bar(self) -> None:
        """A table too, which used to begin behind it."""
        console, stream, _ = make(interactive=True)
        with console.progress("encode", 10) as progress:
            progress.update(5)
            for write in (
                lambda: console.table([("pairs", 3)]), lambda: console.warning("careful"),
                lambda: console.next("nmt train"),
            ):  # fmt: skip
                stream.seek(0)
                stream.truncate()
                write()
                # Cleared, written, drawn again.
                assert re.fullmatch(r"\r *\r\w.*\n\r?encode.*", stream.getvalue())

    def test_second_progress_bar_replaces_the_first(self) -> None:
        console, stream, _ = make(interactive=True)
        with console.stages() as show, console.progress("training", 10) as progress:
            show("encode", 5, 10)
            progress.update(0)
            assert re.search(r"\r *\r\r?training", stream.getvalue())
            console.clear()
            assert last_line(stream).strip() == ""
            console.note("a")
            assert stream.getvalue().endswith("\ra\n")

    def test_progress_notes_wrap_between_words(self, monkeypatch) -> None:
        console, stream, _ = make(interactive=True)
        monkeypatch.setattr("nmt_cli.terminal.console.columns_of", lambda _: 60)
        long = ("twelve lines " * 6).strip()
        console.note(f"{long}\nshort")
        first = ("twelve lines " * 4 + "twelve").strip()
        assert stream.getvalue() == f"{first}\n  lines twelve lines\nshort\n"
        plain, stream, _ = make()
        plain.note(long)
        assert stream.getvalue() == f"{long}\n"

    def test_other_stderr_lines_do_not_mix_with_the_progress_bar(self) -> None:
        console, stream, _ = make(interactive=True)
        with console.progress("encode", 10) as progress:
            with progress.aside():
                console.note("before any bar")
            progress.update(5)
            with progress.aside():
                console.note("in between")
            assert "encode" in stream.getvalue().split("\r")[-1]
        assert re.search(r"\r *\rin between\n\r?encode", stream.getvalue())
        assert stream.getvalue().startswith("before any bar\n")

    def test_progress_bar_starts_no_thread(self, monkeypatch) -> None:
        # Other libraries may have started one in this process.
        monkeypatch.setattr(tqdm, "monitor", None)
        before = set(threading.enumerate())
        console, _, _ = make(interactive=True)
        with console.progress("encode", 10) as progress:
            progress.update(1)
        assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "0s"),
        (0, "0s"),
        (59.4, "59s"),
        (59.6, "1m 00s"),
        (3599.6, "1h 00m"),
        (90061, "25h 01m"),
    ],
)
def test_format_of_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_terminal_messages_wrap_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setenv("COLUMNS", "40")
    words = [f"word{index}" for index in range(30)]
    for interactive, lines in ((True, 6), (False, 1)):
        stream = io.StringIO()
        Console(stream, interactive=interactive).warning(" ".join(words))
        shown = stream.getvalue().splitlines()
        assert " ".join(stream.getvalue().split()) == "warning: " + " ".join(words)
        assert len(shown) == lines
        assert not interactive or max(map(len, shown)) <= 40


class TestActivity:
    """What goes on while nothing more is finished, and estimates that are not known yet."""

    def test_activity_is_shown_before_the_time_left(self) -> None:
        console, stream, clock = make()
        with console.progress("training", 130, estimate_after=None) as progress:
            clock.now += 61.0
            progress.update(120, "9 tokens/s", activity="validating 80/200", left=90.0)
            clock.now += 30.0
            progress.update(120, activity="validating 90/200", left=60.0)
            assert "120/130, validating 90/200, 1m 00s left" in progress.shape(80)
            progress.update(121, left=50.0)
            assert "validating" not in progress.shape(80)
        assert stream.getvalue().splitlines() == [
            "training: 120 of 130, 92%, validating 80/200, 1m 30s left, 9 tokens/s"
        ]

    def test_estimates_ignore_steps_of_an_earlier_process(self) -> None:
        """130 steps were not taken in the 13 seconds since this process began."""
        console, _, clock = make()
        with console.progress("training", 1_000, "step", estimate_after=None) as progress:
            clock.now += 13.0
            progress.update(130, elapsed=1_400.0)
            assert "left" not in progress.shape(80)
            assert "steps/s" not in progress.shape(80)
            assert "23m 20s so far" in progress.shape(80)

    def test_estimate_waits_for_enough_steps(self) -> None:
        console, _, clock = make()
        with console.progress("translating", 300, "line", 63) as progress:
            clock.now += 10.0
            progress.update(63)
            assert "left" not in progress.shape(80)
            progress.update(64)
            assert "37s left" in progress.shape(80)


class Terminal(io.StringIO):
    """One that cannot be redrawn, such as with TERM=dumb."""

    def isatty(self) -> bool:
        return True


def test_terminal_that_is_not_redrawn_is_wrapped_between_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    words = "exporting needs torch, which is not installed here"
    for stream, is_wrapped in ((Terminal(), True), (io.StringIO(), False)):
        console = Console(stream, interactive=False)
        console.table([("export", words)])
        console.note(words)
        lines = stream.getvalue().splitlines()
        assert (max(map(len, lines)) <= 40) is is_wrapped
        assert {word for line in lines for word in line.split()} == {"export", *words.split()}


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_only_a_result_fails_on_a_full_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    stream = Full()
    monkeypatch.setattr(sys, name, stream)
    fails = pytest.raises(OSError, match="No space") if name == "stdout" else nullcontext()
    with fails:
        Console(stream).table([("model", 1)])
