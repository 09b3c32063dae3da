"""Memory that `ulimit -v` limits: what does not fit is an error, never an abort or a bug."""

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from faults.support.forked import start
from faults.tally import fault

from nmt_cli import machine
from nmt_cli.cli import memory_limit, signals
from nmt_cli.cli.error_reporting import as_user_error
from nmt_cli.extras import doctor

# What Python and nmt take before NumPy is loaded is less than that; NumPy needs more.
TOO_LITTLE = 100 << 20
IN_NUMPY = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
for _ in range(1000): pass
"""


def score(folder: Path, limit: int) -> subprocess.CompletedProcess[str]:
    (folder / "text").write_text("a b c d\n")
    return subprocess.run(
        [sys.executable, "-m", "nmt_cli", "score", "text", "text"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip


@fault("N6")
def test_numpy_that_does_not_fit_is_an_error(tmp_path):
    """OpenBLAS would end the process, with exit code 1."""
    ended = score(tmp_path, TOO_LITTLE)
    assert ended.returncode == 69, ended.stderr
    assert "error: memory is full: numpy cannot be loaded" in ended.stderr
    assert f"`ulimit -v` limits this process to {TOO_LITTLE >> 20} MiB" in ended.stderr


@fault("N6")
@pytest.mark.parametrize(
    ("limit", "chosen", "threads"), [(1 << 30, None, "1"), (None, None, None), (1 << 30, "2", "2")]
)
def test_numpy_takes_one_thread_under_a_limit(monkeypatch, limit, chosen, threads):
    """OpenBLAS maps 40 MB for each thread, and interrupts the process where one cannot start."""
    monkeypatch.setattr(memory_limit, "address_space_limit", lambda: limit)
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", chosen or "")
    if chosen is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    memory_limit.prepare_for_limit()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads


@fault("N6")
@pytest.mark.parametrize(("threads", "code"), [(True, 130), (False, 75)])
def test_interrupt_of_a_library_without_threads_is_told_from_ctrl_c(monkeypatch, threads, code):
    """OpenBLAS interrupts the process while NumPy is imported, if no thread can be started."""
    said, writer = os.pipe()

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    def work() -> None:
        os.dup2(writer, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signals.handle_signals()
        if not threads:
            monkeypatch.setattr("threading.Thread.start", refuse)
        try:
            exec(compile(IN_NUMPY, "/lib/numpy/linalg.py", "exec"))
        except KeyboardInterrupt:
            os._exit(signals.INTERRUPTED)
        os._exit(1)

    process = start(work)
    os.close(writer)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == code
    with os.fdopen(said, "rb") as file:
        assert (b"ulimit -u" in file.read()) is not threads


@fault("N6")
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        OSError("libtorch_cpu.so: failed to map segment from shared object"),
    ],
)
def test_failed_allocations_of_the_system_are_full_memory(error):
    user_error = as_user_error(error)
    assert user_error is not None
    assert user_error.exit_code == 69
    assert user_error.message.startswith("memory is full: ")


@fault("N6")
@pytest.mark.parametrize(
    ("error", "otherwise"),
    [
        (SystemError("error return without exception set"), None),
        (RuntimeError("can't start new thread"), 75),
    ],
)
def test_failures_that_name_no_memory_are_full_memory_under_a_limit(monkeypatch, error, otherwise):
    def code(limit: int | None) -> int | None:
        monkeypatch.setattr("nmt_cli.cli.memory_limit.address_space_limit", lambda: limit)
        return getattr(as_user_error(error), "exit_code", None)

    assert code(1 << 28) == 69
    assert code(None) == otherwise


@fault("N6")
def test_doctor_warns_of_a_limit_of_memory(monkeypatch):
    assert machine.address_space_limit() is None
    monkeypatch.setattr(doctor, "address_space_limit", lambda: 256 << 20)
    (memory,) = (check for check in doctor.examine({}, Path()) if check.name == "memory")
    assert memory.status == "warn"
    assert "`ulimit -v` limits each process to 256 MiB" in memory.found
