"""Text of users on the screen: never read as markup or format, never steering the terminal."""

import io
import re
import unicodedata

import pytest
from faults.support import nasty_lines
from faults.tally import fault
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.cli import app, main
from nmt_cli.cli.display.training import TrainDisplay
from nmt_cli.errors import DataError, NmtError
from nmt_cli.terminal.console import Console, escaped
from nmt_cli.training.reporting.report import Report, Validation

# A file's name may hold bytes that are no UTF-8: Python shows them as lone surrogates.
HOSTILE = "[/foo] [bold]x[/bold] [link=http://a]y[/link] :smile: \x1b[31mred\x07\u202eabc\r\udcff"
COLOURS = re.compile(r"\x1b\[[\d;]*m")
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
SHOWN = {
    **nasty_lines.WRITTEN_FOR_PROGRAMS, **nasty_lines.LOOK_ALIKES, **nasty_lines.CONTROLS,
    **nasty_lines.DIRECTIONS,
}  # fmt: skip


def make(*, interactive: bool = False) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(stream, interactive=interactive, color=True), stream


@fault("T16")
def test_console_prints_no_markup_and_no_escape_sequences(checks) -> None:
    console, stream = make()
    console.error(NmtError(HOSTILE, HOSTILE))
    console.note(HOSTILE)
    console.table([(HOSTILE, 1)], title=HOSTILE, header=(HOSTILE, "n"))
    with console.progress(HOSTILE, 2) as progress:
        console.note(progress.line(1, HOSTILE))
    shown = COLOURS.sub("", stream.getvalue())
    assert not STEERING.search(shown)
    assert shown.count("[/foo] [bold]x[/bold] [link=http://a]y[/link] :smile:") == 8
    assert shown.count(r"\x1b[31mred\x07\u202eabc\r\udcff") == 8
    checks(8)


@fault("T16")
@pytest.mark.parametrize("name", SHOWN)
def test_every_console_method_shows_text_literally(name: str, checks) -> None:
    text = SHOWN[name]
    literal = escaped(text)
    for interactive in (False, True):
        console, stream = make(interactive=interactive)
        ways = (
            (console.error, NmtError(text, text)),
            (console.warning, text),
            (console.note, text),
            (console.next, text),
            (console.table, [(f"a{text}b",)]),
        )
        for way, shown_thing in ways:
            stream.seek(0)
            stream.truncate()
            way(shown_thing)
            shown = COLOURS.sub("", stream.getvalue())
            assert not STEERING.search(shown.replace("\t", ""))
            if not interactive and "\t" not in text:
                assert literal.strip() in shown
            checks()


@fault("T16")
@pytest.mark.parametrize("name", SHOWN)
def test_training_samples_and_progress_are_escaped(name: str, checks) -> None:
    text = SHOWN[name]
    result = Validation(1.0, 1.0, 2.7, samples=((text, text, text),))
    report = Report(1, 0, 9, 1.0, 1.0, 0.1, 1.0, 9.0, 1.0, validation=result, note=text)
    for interactive in (False, True):
        console, stream = make(interactive=interactive)
        with console.progress(text, 2, text) as progress:
            TrainDisplay(console, progress).report(report)
            progress.update(1, text)
        shown = COLOURS.sub("", stream.getvalue())
        # The bar goes back to the line's start by itself.
        assert not STEERING.search(shown.replace("\r", "").replace("\t", "").replace("\x1b[A", ""))
        checks()


@fault("T16")
@pytest.mark.parametrize("name", SHOWN)
def test_message_with_hostile_name_stays_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text = SHOWN[name]

    def invoke(_: object) -> int:
        raise DataError(f"`{text}\nerror: forged`", f"look at {text}\nhint: forged")

    monkeypatch.setattr(app, "invoke", invoke)
    assert main([]) == 65
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.split("\n")) == 4
    assert not STEERING.search(err.replace("\t", ""))


@fault("T16")
@given(st.text())
def test_escaped_text_has_no_control_characters(text: str) -> None:
    shown = escaped(text)
    assert [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"] == []


@fault("T16")
def test_file_name_is_no_github_workflow_command() -> None:
    from nmt_cli.cli.display.scores import escaped_for_github

    assert escaped_for_github("100%\r\n::set-env::a\x1b") == "100%25%0D%0A::set-env::a\\x1b"
