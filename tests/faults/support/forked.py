"""The whole command `nmt` in a fork of the warm process: starting it takes no seconds."""

import importlib
import io
import os
import pty
import select
import sys
import tempfile
import termios
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import IO, NamedTuple, NoReturn

from nmt_cli.cli import run

# What the command imports when it is first used.
for _name in ("cli.app", "cli.error_reporting", "cli.commands.translate", "translation.translator"):
    importlib.import_module(f"nmt_cli.{_name}")
CLOSED = -1
BROKEN = 99
# Nothing is as slow as that; what waits for ever fails then.
PATIENCE_SECONDS = 60.0


class Ended(NamedTuple):
    """How it ended: exit code (-N: killed by signal N), and what it wrote."""

    code: int
    out: bytes
    err: bytes

    @property
    def lines(self) -> list[str]:
        """The lines of stdout; each ends with a newline."""
        *lines, rest = self.out.split(b"\n")
        assert rest == b""
        return [line.decode("utf-8") for line in lines]


def forked(
    *arguments: str,
    stdin: bytes | int = b"",
    stdout: int | None = None,
    stderr: int | None = None,
    encoding: str = "utf-8",
    environ: Mapping[str, str] | None = None,
) -> Ended:
    """`nmt` with these arguments in the current directory.

    stdin: its bytes, or a descriptor; stdout, stderr: descriptors, CLOSED, or None to collect what
    is written; encoding: what Python takes for that of the streams.
    """
    with tempfile.TemporaryFile() as given, _collector() as out, _collector() as err:
        if isinstance(stdin, bytes):
            given.write(stdin)
            given.seek(0)
        streams = (
            given.fileno() if isinstance(stdin, bytes) else stdin,
            out.fileno() if stdout is None else stdout,
            err.fileno() if stderr is None else stderr,
        )
        code = ended(start(lambda: become_nmt(arguments, streams, encoding, environ or {})))
        return Ended(code, _content(out), _content(err))


def _collector() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def start(work: Callable[[], NoReturn]) -> int:
    """The number of a forked process that does `work`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if not process:
        use_one_thread()
        try:
            work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(BROKEN)
    return process


def use_one_thread() -> None:
    """In a forked process: torch's threads stayed behind, and OpenMP would wait for them."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def ended(process: int) -> int:
    """The exit code of a process when it has ended; -N: by signal N."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def become_nmt(
    arguments: Sequence[str],
    streams: Sequence[int],
    encoding: str = "utf-8",
    environ: Mapping[str, str] = os.environ,
) -> NoReturn:
    """Be `nmt` with these descriptors as stdin, stdout, stderr, as the interpreter would start."""
    os.environ.update(environ)
    kept = [stream if stream == CLOSED else os.dup(stream) for stream in streams]
    for index, descriptor in enumerate(kept):
        if descriptor == CLOSED:
            os.close(index)
        else:
            os.dup2(descriptor, index)
    for descriptor in kept:
        if descriptor != CLOSED:
            os.close(descriptor)
    sys.stdin = _stream(0, kept[0], "r", encoding, "strict")
    sys.stdout = _stream(1, kept[1], "w", encoding, "strict")
    sys.stderr = _stream(2, kept[2], "w", encoding, "backslashreplace")
    sys.argv = ["nmt", *arguments]
    try:
        run()
    except SystemExit as end:
        code = end.code
    # What the interpreter does at its end; 120 is its word for "stdout did not take it".
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 120
    os._exit(code if isinstance(code, int) else 0)


def _stream(
    descriptor: int, given: int, mode: str, encoding: str, errors: str
) -> io.TextIOWrapper | None:
    if given == CLOSED:
        return None
    return open(
        descriptor,
        mode,
        1 if descriptor == 2 else -1,
        encoding=encoding,
        errors=errors,
        closefd=False,
    )


def on_terminal(*arguments: str, stdout: int | None = None) -> tuple[int, int]:
    """`nmt` with a terminal of its own as stdin, stderr, and stdout if none is given.

    The number of the process, and the descriptor of the other side of the terminal.
    """
    other, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))

    def work() -> NoReturn:
        os.setsid()
        for name in ("CI", "NO_COLOR"):
            os.environ.pop(name, None)
        os.environ["TERM"] = "xterm"
        # The first terminal that a session opens is the one whose end hangs it up.
        own = os.open(os.ttyname(terminal), os.O_RDWR)
        os.close(other)
        os.close(terminal)
        become_nmt(arguments, (own, own if stdout is None else stdout, own))

    process = start(work)
    os.close(terminal)
    return process, other


def read_until(descriptor: int, wanted: bytes) -> bytes:
    """What comes from a terminal, up to the chunk in which `wanted` comes."""
    seen = b""
    while wanted not in seen:
        assert select.select([descriptor], [], [], PATIENCE_SECONDS)[0], seen
        chunk = os.read(descriptor, 1 << 16)
        assert chunk, seen
        seen += chunk
    return seen
