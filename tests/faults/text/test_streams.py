"""stdin, stdout, stderr, terminals and files that vanish, fill up, are closed, or are the same."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from faults.support.forked import CLOSED, become_nmt, ended, forked, on_terminal, read_until, start
from faults.support.letters import copying_translator, save_byte_model
from faults.tally import fault

from nmt_cli.data.text.lines import read_lines
from nmt_cli.translation.lines.inputs import windows
from nmt_cli.translation.translator import Translator

ROOT = Path(__file__).resolve().parents[3]
LINES = ["The first line.", "", "größer \U0001f44d", "a longer line of text, with a comma", "x"]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_byte_model(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture(autouse=True)
def folder(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a text and the model where it is looked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").symlink_to(model)
    (tmp_path / "test.en").write_bytes(TEXT)
    return tmp_path


@pytest.fixture(scope="module")
def expected(model: Path) -> list[str]:
    return [translation.text for translation in Translator.load(model).translate(LINES)]


MANY = b"ab\n" * 100_000
PIPED = {
    "translate": ["translate", "many", "--beam", "1"],
    "n best": ["translate", "many", "--n-best", "2", "--max-extra-length", "0"],
    "json": ["translate", "many", "--json", "--beam", "1"],
    "parse": ["parse", "many", "--beam", "1", "--max-extra-length", "0"],
    "score pairs": ["score", "--pairs", "many", "many", "--each"],
}


@fault("I1")
@pytest.mark.parametrize("name", PIPED)
def test_closed_stdout_pipe_ends_the_command_silently(folder: Path, name: str) -> None:
    (folder / "many").write_bytes(MANY)
    reading, writing = os.pipe()
    complaints = folder / "stderr"

    def work() -> NoReturn:
        os.close(reading)
        with complaints.open("wb") as file:
            become_nmt(PIPED[name], (0, writing, file.fileno()))

    process = start(work)
    os.close(writing)
    assert os.read(reading, 1 << 12)
    os.close(reading)
    assert ended(process) == 141
    assert complaints.read_bytes() == b""


@fault("I1")
def test_closed_stderr_pipe_changes_nothing(expected) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    result = forked("translate", "test.en", "--verify", stderr=writing)
    os.close(writing)
    assert (result.code, result.lines) == (0, expected)


@fault("I2")
@pytest.mark.parametrize(
    "arguments",
    [
        ["translate", "test.en"],
        ["translate", "test.en", "--json"],
        ["score", "--pairs", "test.en", "test.en"],
        ["score", "test.en", "test.en"],
        ["parse", "test.en", "--beam", "1"],
        ["config", "show"],
        ["info"],
        ["doctor"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_full_disk_behind_stdout_is_one_error_line(arguments: list[str]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    result = forked(*arguments, stdout=full)
    os.close(full)
    assert result.code == 74
    first, blank, hint = result.err.decode().splitlines()[-3:]
    assert first.startswith("error: stdout, the standard output, cannot be written: No space left")
    assert blank == ""
    assert hint.startswith("hint: free some space")


@fault("I2")
@pytest.mark.parametrize("arguments", [["--version"], ["config", "show"]], ids=" ".join)
def test_full_disk_behind_unbuffered_stdout_is_named(arguments: list[str]) -> None:
    """As in containers, where PYTHONUNBUFFERED is set."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-u", "-m", "nmt_cli", *arguments],
            stdout=full, stderr=subprocess.PIPE, check=False, env={"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert done.returncode == 74
    assert done.stderr.startswith(b"error: stdout, the standard output, cannot be written")


@fault("I2")
def test_full_disk_behind_another_output_is_named() -> None:
    result = forked("translate", "test.en", "-o", "/dev/full")
    assert (result.code, result.out) == (74, b"")
    first, blank, hint = result.err.decode().splitlines()[-3:]
    assert first == "error: writing `/dev/full` failed: No space left on device"
    assert (blank, hint.startswith("hint: free some space where it goes to")) == ("", True)


@fault("I3")
def test_closed_standard_streams_have_exit_codes(expected, checks) -> None:
    result = forked("translate", "test.en", stdout=CLOSED)
    assert result.code == 74
    assert result.err.startswith(b"error: stdout is closed\n")
    checks()
    for arguments in (["translate"], ["score", "-", "test.en"], ["parse"]):
        result = forked(*arguments, stdin=CLOSED)
        assert (result.code, result.out) == (66, b"")
        assert result.err.startswith(b"error: `stdin` is closed")
        checks()
    result = forked("translate", "test.en", stderr=CLOSED)
    assert (result.code, result.lines) == (0, expected)
    checks()
    result = forked("translate", "none.en", stderr=CLOSED)
    assert (result.code, result.out) == (66, b"")
    checks()
    result = forked("translate", "test.en", "-o", "out", stdin=CLOSED, stdout=CLOSED, stderr=CLOSED)
    assert result.code == 0
    assert Path("out").read_text("utf-8").split("\n")[:-1] == expected
    checks()


@fault("I3")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_opened_files_never_get_standard_stream_descriptors(closed: str) -> None:
    code = (
        "import os; from nmt_cli.cli import environment; environment.open_standard_streams(); "
        "os._exit(os.open('/dev/null', os.O_RDONLY))"
    )
    line = f'exec "$0" -c "$1" {closed}'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable, code], check=False, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 3


WAITING = {
    "translate": ["translate"],
    "translate -": ["translate", "-"],
    "score": ["score", "-", "test.en"],
    "score pairs": ["score", "--pairs", "-", "test.en"],
    "parse": ["parse", "--beam", "1"],
    "parse score": ["parse", "score", "-", "test.en"],
    "prepare": ["prepare", "--train-tsv", "-", "--vocab-size", "20"],
}


@fault("I4")
@pytest.mark.parametrize("name", WAITING)
def test_reading_from_terminal_is_announced(name: str) -> None:
    process, terminal = on_terminal(*WAITING[name])
    read_until(terminal, b"reading lines from the terminal; Ctrl-D ends")
    os.kill(process, signal.SIGINT)
    assert ended(process) in (130, -signal.SIGINT)
    os.close(terminal)


@fault("T17")
@pytest.mark.timeout(60)
def test_typed_lines_are_answered_one_by_one(expected) -> None:
    process, terminal = on_terminal("translate")
    read_until(terminal, b"Ctrl-D ends")
    for line, answer in zip(LINES, expected, strict=True):
        os.write(terminal, f"{line}\n".encode())
        # The terminal shows what is typed, too.
        seen = read_until(terminal, f"{answer}\r\n".encode())
        assert b"error" not in seen
    os.write(terminal, b"\x04")
    assert ended(process) == 0
    os.close(terminal)


@fault("T17")
@pytest.mark.timeout(60)
def test_slow_pipe_is_answered_line_by_line(expected) -> None:
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()

    def work() -> NoReturn:
        os.close(our_in)
        os.close(our_out)
        become_nmt(["translate"], (their_in, their_out, 2))

    process = start(work)
    os.close(their_in)
    os.close(their_out)
    with os.fdopen(our_in, "rb") as answers, os.fdopen(our_out, "wb", buffering=0) as lines:
        for line, answer in zip(LINES, expected, strict=True):
            lines.write(f"{line}\n".encode())
            assert answers.readline() == f"{answer}\n".encode()
        lines.write(b"begun but not")
        os.kill(process, signal.SIGINT)
        assert ended(process) == 130
        assert answers.read() == b""


@pytest.mark.slow
@fault("T17")
def test_few_of_a_million_lines_are_held_in_memory() -> None:
    alive, most = [0], [0]

    class Line(str):
        def __del__(self) -> None:
            alive[0] -= 1

    def lines() -> Iterator[str]:
        for index in range(40_000):
            line = Line(index % 100)
            alive[0] += 1
            most[0] = max(most[0], alive[0])
            yield line

    translator, _ = copying_translator()
    count = sum(1 for _ in translator.translate(lines()))
    assert count == 40_000
    assert most[0] <= 2 * 2_048 + 2


@fault("T17")
def test_memory_stays_flat_over_a_million_lines(folder: Path) -> None:
    (folder / "many").write_bytes(b"some words of a line\n" * 1_000_000)

    def measured() -> NoReturn:
        given = windows(read_lines(folder / "many"))
        for _ in range(20):
            next(given)
        early = os.sysconf("SC_PAGE_SIZE") * int(Path("/proc/self/statm").read_text().split()[1])
        rest = sum(map(len, given))
        late = os.sysconf("SC_PAGE_SIZE") * int(Path("/proc/self/statm").read_text().split()[1])
        os._exit(0 if rest > 950_000 and late < 1.05 * early else 1)

    assert ended(start(measured)) == 0


class TestVanishingTerminal:
    @fault("I4")
    def test_translate_ends_when_its_terminal_vanishes(self) -> None:
        process, terminal = on_terminal("translate")
        read_until(terminal, b"Ctrl-D ends")
        os.close(terminal)
        assert ended(process) in (129, 0)

    @fault("I2")
    def test_translate_under_nohup_continues_without_progress_bar(
        self, folder: Path, expected
    ) -> None:
        os.mkfifo(folder / "pipe")
        # An ignored signal stays ignored in the child, as behind `nohup`.
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            out = os.open(folder / "out", os.O_WRONLY | os.O_CREAT)
            process, terminal = on_terminal("translate", "pipe", stdout=out)
        finally:
            signal.signal(signal.SIGHUP, before)
        with (folder / "pipe").open("wb", buffering=0) as pipe:
            pipe.write(TEXT)
            read_until(terminal, b"translating")
            os.close(terminal)
            pipe.write(TEXT)
        assert ended(process) == 0
        assert (folder / "out").read_text("utf-8").split("\n")[:-1] == expected * 2


@fault("T19")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-16"])
def test_output_bytes_do_not_depend_on_python_encoding(expected, encoding: str, checks) -> None:
    environ = {"LC_ALL": "C", "PYTHONIOENCODING": encoding}
    result = forked("translate", stdin=TEXT, encoding=encoding, environ=environ)
    assert (result.code, result.lines) == (0, expected)
    checks()
    Path("list").write_text("2 ||| größer \U0001f44d ||| 0.5\n", "utf-8")
    result = forked("score", "--n-best-list", "test.en", "list", encoding=encoding, environ=environ)
    assert result.code == 0
    assert result.lines[0].startswith("2 ||| größer \U0001f44d ||| 0.5 ||| ")
    checks()


@fault("T19")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_real_process_in_another_locale_gives_the_same_bytes(folder: Path, encoding: str) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environ = {**kept, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONUTF8": "0",
               "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": encoding}  # fmt: skip
    shown = subprocess.run(
        [sys.executable, "-m", "nmt_cli", "config", "show", "--set", "languages.src=ß\u65e5"],
        capture_output=True, check=True, env=environ, cwd=folder,
    )  # fmt: skip
    assert 'src = "ß\u65e5"'.encode() in shown.stdout


class Killed:
    """Kills the process at the k-th call that changes the disk."""

    def __init__(self, operation: int) -> None:
        self.left = operation

    def __call__(self, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
            return real(*arguments, **named)

        return call


@fault("I8")
@pytest.mark.parametrize("operation", range(4))
def test_killed_translate_leaves_no_partial_output_file(
    folder: Path, expected, operation: int
) -> None:
    whole = "".join(f"{line}\n" for line in expected).encode()
    for before in (None, b"old\n"):
        if before is not None:
            (folder / "out").write_bytes(before)

        def work() -> NoReturn:
            kill = Killed(operation)
            os.fsync = kill(os.fsync)  # type: ignore[assignment]
            Path.replace = kill(Path.replace)  # type: ignore[assignment,method-assign]
            become_nmt(["translate", "test.en", "-o", "out", "--force"], (0, 1, 2))

        code = ended(start(work))
        assert code == (-signal.SIGKILL if operation < 3 else 0)
        left = (folder / "out").read_bytes() if (folder / "out").exists() else None
        assert left in (before, whole)
        assert left == whole or operation < 2
        (folder / "out").unlink(missing_ok=True)


@fault("I8")
def test_next_run_removes_leftovers_of_killed_translate(folder: Path, expected) -> None:
    def work() -> NoReturn:
        os.fsync = Killed(0)(os.fsync)  # type: ignore[assignment]
        become_nmt(["translate", "test.en", "-o", "out"], (0, 1, 2))

    assert ended(start(work)) == -signal.SIGKILL
    assert len(list(folder.glob(".tmp*"))) == 1
    assert forked("translate", "test.en", "-o", "out").code == 0
    assert not list(folder.glob(".tmp*"))
    assert (folder / "out").read_text("utf-8").split("\n")[:-1] == expected


@fault("I8")
def test_failed_translate_leaves_the_old_output_file(folder: Path, checks) -> None:
    (folder / "broken").write_bytes(TEXT * 500 + b"\xff\n")
    (folder / "short").write_text("a\n")
    for arguments, code in (
        (["translate", "broken", "--strict", "--beam", "1"], 65),
        (["translate", "test.en", "--prefix", "short"], 65),
    ):
        (folder / "out").write_bytes(b"old\n")
        assert forked(*arguments, "-o", "out", "--force").code == code
        assert (folder / "out").read_bytes() == b"old\n"
        assert not list(folder.glob(".tmp*"))
        checks()


@fault("I9")
def test_input_text_is_never_overwritten(folder: Path, checks) -> None:
    (folder / "soft").symlink_to("test.en")
    (folder / "hard").hardlink_to(folder / "test.en")
    for command in ("translate", "parse"):
        for output in ("test.en", "./test.en", "soft", "hard", str(folder / "test.en")):
            result = forked(command, "test.en", "-o", output, "--beam", "1")
            assert (result.code, result.out) == (73, b"")
            assert result.err.startswith(b"error: ")
            assert b"is the file that is read" in result.err
            assert (folder / "test.en").read_bytes() == TEXT
            checks()
    text = os.open("test.en", os.O_RDONLY)
    assert forked("translate", "-o", "test.en", stdin=text).code == 73
    os.close(text)
    checks()
    # `>> test.en` would read what it writes, for ever.
    end = os.open("test.en", os.O_WRONLY | os.O_APPEND)
    result = forked("translate", "test.en", stdout=end)
    os.close(end)
    assert result.code == 73
    assert result.err.startswith(b"error: stdout is the file that is read, `test.en`")
    assert (folder / "test.en").read_bytes() == TEXT
    checks()


@fault("I9")
def test_output_replaces_files_only_with_force_and_writes_to_devices(
    folder: Path, expected, checks
) -> None:
    (folder / "out").write_bytes(b"old\n" * 1_000)
    assert forked("translate", "test.en", "-o", "out").code == 73
    assert (folder / "out").read_bytes() == b"old\n" * 1_000
    checks()
    assert forked("translate", "test.en", "-o", "out", "--force").code == 0
    assert (folder / "out").read_text("utf-8").split("\n")[:-1] == expected
    checks()
    nothing = os.open("/dev/null", os.O_RDWR)
    assert forked("translate", stdin=nothing, stdout=nothing).code == 0
    checks()
    assert forked("translate", "-o", "/dev/null", stdin=nothing).code == 0
    os.close(nothing)
    assert Path("/dev/null").is_char_device()
    checks()


@fault("I9")
def test_output_may_be_an_open_descriptor(folder: Path, expected, checks) -> None:
    """What is in a file that a descriptor leads to stays, and so does what comes before."""
    # `/dev/stderr` itself could be replaced, for the whole machine, if this fails.
    result = forked("translate", "test.en", "-o", "/dev/fd/1", "--flag-file", "/dev/fd/2")
    assert (result.code, result.lines) == (0, expected), result.err
    assert b"line\tflags" in result.err
    checks()
    log = os.open("log", os.O_RDWR | os.O_CREAT)
    os.write(log, b"before\n")
    options = ("-o", "new", "--flag-file", "/dev/fd/2")
    assert forked("translate", "test.en", *options, stderr=log).code == 0
    os.write(log, b"after\n")
    os.close(log)
    first, *rows, last = (folder / "log").read_bytes().splitlines()
    assert (first, last) == (b"before", b"after")
    assert any(row.startswith(b"line\tflags") for row in rows)
    checks()
    closed = forked("translate", "test.en", "-o", "/dev/fd/987")
    assert (closed.code, b"`/dev/fd/987`" in closed.err) == (73, True), closed.err
    checks()


@fault("I10")
def test_special_files_as_input_and_output(folder: Path, expected, checks) -> None:
    for directory, message in (("model", b"`model` is a model"), (".", b"is a directory")):
        result = forked("translate", directory)
        assert (result.code, result.out) == (66, b"")
        assert message + b", a file " in result.err
    checks()
    (folder / "nothing").touch()
    result = forked("translate", "nothing")
    assert (result.code, result.out, result.err) == (0, b"", b"")
    checks()
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(TEXT,))
    writer.start()
    result = forked("translate", "pipe")
    writer.join()
    assert (result.code, result.lines) == (0, expected)
    checks()
    assert forked("translate", "/dev/null").code == 0
    checks()


NAMES = {
    "a space": "a file",
    "a newline": "a\nerror: file",
    "bytes that are no UTF-8": os.fsdecode(b"a\xff\xfe"),
    "a dash": "-a",
    "a long option": "--version",
    "an escape": "a\x1b[31mb",
    "markup": "[bold]a[ ]",
    "quotes": "a'b\"c`d",
    "a command": "$(touch owned)",
    "a wide character": "\u65e5\u672c",
    "a colon": "C:a",
    "braces": "{0}%s",
}


@fault("I11")
@pytest.mark.parametrize("name", NAMES)
def test_any_file_name_works(folder: Path, expected, name: str, checks) -> None:
    odd = NAMES[name]
    (folder / odd).write_bytes(TEXT)
    for arguments in (["--", odd], [f"./{odd}"], [str(folder / odd)]):
        result = forked("translate", *arguments)
        assert (result.code, result.lines, result.err) == (0, expected, b"")
        checks()
    result = forked("translate", "test.en", "-o", odd, "--force")
    assert result.code == 0
    assert (folder / odd).read_text("utf-8").split("\n")[:-1] == expected
    checks()
    (folder / odd).unlink()
    result = forked("translate", "--", odd)
    assert (result.code, result.out) == (66, b"")
    error, blank, hint = result.err.decode().splitlines()
    assert error.startswith("error: ")
    assert (blank, hint[:6]) == ("", "hint: ")
    assert "\x1b" not in result.err.decode()
    checks()
