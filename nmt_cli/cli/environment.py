"""The environment of the process: environment variables, standard streams, threads."""

import contextlib
import errno
import fcntl
import io
import os
import shlex
import shutil
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO

from nmt_cli.machine import affine_cores, use_threads
from nmt_cli.parent_watch import PARENT, end_with_parent
from nmt_cli.plurals import counted
from nmt_cli.terminal.console import Console

# The variable that torchrun sets for the processes that it starts.
TORCHRUN = "TORCHELASTIC_RUN_ID"
# The module that only a process which starts ranks loads.
LAUNCHER = "torch.distributed.launcher.api"
# The module that only a process which answers requests loads.
SERVER = "nmt_cli.server.run"
EXIT_BROKEN_PIPE = 141
EXIT_WRITE_ERROR = 74
# Measured: 500 already lets both threads fall on one core; 8,000 halves the speed on busy cores.
GOMP_SPINS = "1000"


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


def debugging(arguments: Sequence[str]) -> bool:
    """Whether the user asked for tracebacks, with `--debug` or NMT_DEBUG=1."""
    before_dashes = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--debug" in before_dashes or _is_set("NMT_DEBUG")


def make_console(stream: TextIO | None = None, *, quiet: bool = False) -> Console:
    """The console on stderr or `stream`, with colours and bars only on a terminal.

    NO_COLOR, FORCE_COLOR, TERM=dumb and CI are honoured.
    """
    stream = sys.stderr if stream is None else stream
    terminal = stream is not None and stream.isatty()
    watched = terminal and os.environ.get("TERM") != "dumb" and not _is_set("CI")
    color = (watched or _is_set("FORCE_COLOR")) and not os.environ.get("NO_COLOR")
    return Console(stream, interactive=watched, color=color, quiet=quiet, program=name_of_program())


def apply_threads(count: int | None, console: Console) -> None:
    """Compute with the threads that an option gives, if it is given; warns of too many."""
    if count is None:
        return
    cores = affine_cores()
    if count > cores:
        console.warning(
            f"--threads {count}: this process may use {counted(cores, 'core')}; more threads than "
            "cores do not make it faster"
        )
    use_threads(count)


def name_of_program() -> str:
    """The command that starts this nmt: `nmt` if the shell finds it by that name.

    Otherwise it is the path of the script that was started, or `PYTHON -m nmt_cli`.
    """
    started = Path(sys.argv[0]) if sys.argv else Path()
    known = shutil.which("nmt")
    if started.name == "__main__.py" and started.parent.name == "nmt_cli":
        if known and Path(known).parent == Path(sys.executable).parent:
            return "nmt"
        return f"{shlex.quote(sys.executable)} -m nmt_cli"
    if (
        started.name != "nmt"
        or not started.exists()
        or (known and Path(known).absolute() == started.absolute())
    ):
        return "nmt"
    return shlex.quote(str(started.absolute()))


def end_with_launcher() -> None:
    """If a launcher started this process as a rank, end this process when the launcher ends.

    `nmt train --gpus` passes its process ID, which shows whether it has ended already; for torchrun
    the launcher is the present parent process.
    """
    parent = os.environ.pop(PARENT, "")
    if parent.isdecimal():
        end_with_parent(int(parent))
    elif TORCHRUN in os.environ:
        end_with_parent(os.getppid())


def choose_threads() -> None:
    """Set OpenMP, before torch loads, to the usable cores and to a way of waiting.

    Threads that spin for long on shared cores cost a factor of 30. Threads that sleep at once are
    woken tens of thousands of times a second, often all on one core: two are then slower than one
    (0.6 times). So they spin for some microseconds. Variables that the user has set are kept.
    """
    from nmt_cli.machine import usable_cores

    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", GOMP_SPINS)
    os.environ.setdefault("OMP_NUM_THREADS", str(usable_cores()))


def quiet_torch() -> None:
    """Set the log level of torch's C++ code to errors, unless the user has set it.

    When a rank or the launcher has ended, torch writes a warning of 20 lines for each message to
    it; nmt reports it in one line.
    """
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


def keep_out_current_directory() -> None:
    """Keep child processes from importing modules from the current directory.

    `nmt` itself does not import from there; `python -m nmt_cli` does so on purpose.
    """
    with contextlib.suppress(OSError):
        if sys.path[:1] not in ([""], [str(Path.cwd())]):
            os.environ["PYTHONSAFEPATH"] = "1"


def open_standard_streams() -> None:
    """Open closed descriptors 0-2, so that no other file gets one of their numbers.

    A closed stdin is opened for writing and a closed stdout for reading, so that using them fails.
    """
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    _keep_unwritten()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Arguments that are not UTF-8 are written as the original bytes.
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


class _PromptWriter(io.BufferedWriter):
    """Writes at once and completely; what cannot be written stays in its buffer."""

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        # Of a text stream, which writes nothing else.
        count = super().write(data)
        self.flush()
        return count


def _keep_unwritten() -> None:
    """Give stdout a buffer if it has none, as with PYTHONUNBUFFERED; it is written at once still.

    Without one, the rest of what a full disk or a pipe takes only in part would be lost without an
    error, and nothing would show later that it was stdout which failed.
    """
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            _PromptWriter(raw),
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            write_through=True,
        )


def stdout_is_open() -> bool:
    """Whether stdout can be written to, after `open_standard_streams`."""
    try:
        return fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        return False


def _let_go_nowhere(descriptor: int) -> None:
    """Redirect a descriptor to /dev/null, because the interpreter flushes again when it ends."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _computes_still() -> bool:
    """Whether threads still compute an abandoned step; the interpreter would wait for them."""
    return any(thread.name.startswith("replica") for thread in threading.enumerate())


def leave(code: int) -> NoReturn:
    """End the process with `code`; output that stdout no longer accepts is dropped."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if code == 0:
            code = EXIT_BROKEN_PIPE if error.errno == errno.EPIPE else EXIT_WRITE_ERROR
        _let_go_nowhere(1)
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        # A closed stderr is not a failure.
        _let_go_nowhere(2)
    if SERVER in sys.modules:
        # To take down an interpreter with torch takes a second, or several on a busy machine, and a
        # server has nothing to finish when it has answered its requests.
        os._exit(code)
    is_failed_rank = code and os.environ.get("WORLD_SIZE", "1") != "1"
    if is_failed_rank or LAUNCHER in sys.modules or (code and _computes_still()):
        # The threads of a process group, or of the store through which a launcher's ranks find each
        # other, may abort while the interpreter shuts down.
        os._exit(code)
    sys.exit(code)
