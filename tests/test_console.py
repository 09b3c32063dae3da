"""What a person sees: plain words, no markup, no control characters, no bars in a log."""

import io
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tqdm import tqdm

from nmt_cli.console import Console, duration, escaped
from nmt_cli.errors import NmtError


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def make(**options: bool) -> tuple[Console, io.StringIO, Clock]:
    stream, clock = io.StringIO(), Clock()
    return Console(stream, clock=clock, **options), stream, clock  # type: ignore[arg-type]


class TestWords:
    def test_an_error_is_followed_by_a_blank_line_and_its_hint(self) -> None:
        console, stream, _ = make()
        console.error(NmtError("no file `x`", "check the path"))
        assert stream.getvalue() == "error: no file `x`\n\nhint: check the path\n"

    def test_an_error_without_a_hint_is_one_line(self) -> None:
        console, stream, _ = make()
        console.error(NmtError("no file"))
        assert stream.getvalue() == "error: no file\n"

    def test_warnings_notes_and_the_next_command(self) -> None:
        console, stream, _ = make()
        console.warning("a")
        console.note("b")
        console.next("nmt train")
        assert stream.getvalue() == "warning: a\nb\nnext: nmt train\n"

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

    def test_colour_is_only_on_the_label(self) -> None:
        console, stream, _ = make(color=True)
        console.warning("a")
        assert stream.getvalue() == "\x1b[33mwarning:\x1b[0m a\n"

    def test_a_closed_stream_does_not_stop_the_work(self) -> None:
        console, stream, _ = make()
        stream.close()
        console.note("a")
        console.warning("b")
        console.table([("c", 1)])
        with console.progress("d", 2) as progress:
            progress.update(2)


class TestHostileText:
    @given(st.text(st.characters(categories=["L", "N", "P", "S", "M"])))
    def test_ordinary_text_of_any_script_stays(self, text: str) -> None:
        assert escaped(text) == text


class TestTables:
    def test_texts_to_the_left_and_numbers_to_the_right(self) -> None:
        console, stream, _ = make()
        console.table([("kept", 1234567, 0.5), ("dropped", 3, 10.0)], header=("", "pairs", "%"))
        assert stream.getvalue().splitlines() == [
            "             pairs      %",
            "kept     1,234,567   0.50",
            "dropped          3  10.00",
        ]

    def test_a_log_cuts_nothing(self) -> None:
        console, stream, _ = make()
        console.table([("x" * 500, "y")])
        assert stream.getvalue() == "x" * 500 + "  y\n"

    def test_wide_characters_keep_the_columns_in_line(self) -> None:
        console, stream, _ = make()
        console.table([("日本", "a"), ("abcd", "b")])
        assert stream.getvalue() == "日本  a\nabcd  b\n"

    def test_styles_colour_whole_cells_only_with_colour(self) -> None:
        for color, shown in ((True, "\x1b[31mfail\x1b[0m  failure\n"), (False, "fail  failure\n")):
            console, stream, _ = make(color=color)
            console.table([("fail", "failure")], styles={"fail": "red"})
            assert stream.getvalue() == shown

    def test_no_rows_show_nothing(self) -> None:
        console, stream, _ = make()
        console.table([], title="x")
        assert stream.getvalue() == ""


class TestProgressInALog:
    def test_a_line_a_minute_and_no_carriage_return(self) -> None:
        console, stream, clock = make()
        with console.progress("encode", 1000) as progress:
            for second in range(151):
                clock.now = float(second)
                progress.update(second * 4, "ok")
        assert stream.getvalue().splitlines() == [
            "encode: 240 of 1,000, 24%, 3m 10s left, ok",
            "encode: 480 of 1,000, 48%, 2m 10s left, ok",
        ]

    def test_short_work_says_nothing(self) -> None:
        console, stream, _ = make()
        with console.progress("encode", 10) as progress:
            progress.update(10)
        assert stream.getvalue() == ""

    def test_an_unknown_total_has_no_eta(self) -> None:
        console, _, clock = make()
        with console.progress("read") as progress:
            clock.now = 10.0
            assert progress.line(12345) == "read: 12,345"

    def test_the_end_has_no_eta(self) -> None:
        console, _, _ = make()
        with console.progress("read", 5) as progress:
            assert progress.line(5) == "read: 5 of 5, 100%"

    def test_what_was_done_before_says_nothing_of_the_speed(self) -> None:
        console, stream, clock = make()
        with console.progress("training", 1000) as progress:
            clock.now = 100.0
            for _ in range(2):
                progress.skip(800)
                progress.update(800)
            assert progress.line(800) == "training: 800 of 1,000, 80%"
            clock.now = 160.0
            progress.update(850)
            progress.skip(850)
            clock.now = 220.0
            progress.update(900)
        assert stream.getvalue().splitlines() == [
            "training: 800 of 1,000, 80%",
            "training: 850 of 1,000, 85%, 3m 00s left",
            "training: 900 of 1,000, 90%, 2m 00s left",
        ]

    def test_stages_follow_one_another(self) -> None:
        console, stream, clock = make()
        with console.stages() as show:
            show("read", 1, None)
            clock.now = 60.0
            show("read", 2, None)
            show("learn", 0, 10)
            clock.now = 120.0
            show("learn", 5, 10)
        assert stream.getvalue() == "read: 2\nlearn: 5 of 10, 50%, 1m 00s left\n"


class TestProgressOnATerminal:
    def test_a_bar_is_drawn_and_taken_away(self) -> None:
        console, stream, _ = make(interactive=True)
        with console.progress("encode", 10) as progress:
            progress.update(0)
            progress.update(10, "ok")
        shown = stream.getvalue()
        assert "encode" in shown
        assert shown.endswith("\r")
        assert shown.split("\r")[-2].strip() == ""

    def test_a_bar_starts_where_the_work_does(self, monkeypatch) -> None:
        made = []
        monkeypatch.setattr(tqdm, "__init__", lambda _, **given: made.append(given["initial"]))
        monkeypatch.setattr(tqdm, "update", lambda *_: None)
        monkeypatch.setattr(tqdm, "n", 0, raising=False)
        monkeypatch.setattr(tqdm, "close", lambda _: None)
        console, _, _ = make(interactive=True)
        with console.progress("training", 10) as progress:
            progress.skip(4)
            progress.update(4)
        assert made == [4]

    def test_lines_aside_stand_apart_from_the_bar(self) -> None:
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

    def test_no_thread_is_started_so_that_workers_can_be_forked(self, monkeypatch) -> None:
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
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_on_a_terminal_messages_are_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setenv("COLUMNS", "40")
    words = [f"word{number}" for number in range(30)]
    for interactive, lines in ((True, 6), (False, 1)):
        stream = io.StringIO()
        Console(stream, interactive=interactive).warning(" ".join(words))
        shown = stream.getvalue().splitlines()
        assert " ".join(stream.getvalue().split()) == "warning: " + " ".join(words)
        assert len(shown) == lines
        assert not interactive or max(map(len, shown)) <= 40
