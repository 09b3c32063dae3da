"""Errors in place of aborts where `ulimit -v` limits the memory of nmt."""

import mmap
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from nmt_cli.errors import UnavailableError
from nmt_cli.machine import address_space_limit

# What libraries map when they are imported. Measured: NumPy 2.4 with one thread 83 MiB, and 40 MiB
# for each further thread of OpenBLAS; torch 2.13 for CPUs 488 MiB.
NEEDED_BYTES = {"numpy": 96 << 20, "torch": 480 << 20}
NO_THREAD = "can't start new thread"
_UNEXPLAINED = ("without exception set", "without setting an exception")


def prepare_for_limit() -> None:
    """Under `ulimit -v`, load NumPy with one thread, and NumPy and torch only where they fit.

    OpenBLAS, with which NumPy multiplies matrices, interrupts the process (SIGINT) where it cannot
    start its threads, and ends it where it cannot allocate memory; torch aborts it.
    """
    if address_space_limit() is not None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        sys.meta_path.insert(0, _MemoryCheck())


class _MemoryCheck(MetaPathFinder):
    """Lets the import of a large library raise MemoryError where it would not fit into memory."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in NEEDED_BYTES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            load = partial(_load_if_it_fits, NEEDED_BYTES[fullname], spec.loader.exec_module)
            spec.loader.exec_module = load  # type: ignore[method-assign]
        return spec


def _load_if_it_fits(needed: int, load: Callable[[ModuleType], None], module: ModuleType) -> None:
    try:
        mmap.mmap(-1, needed).close()
    except OSError as error:
        raise MemoryError(f"{module.__name__} cannot be loaded") from error
    load(module)


def memory_error(error: BaseException) -> UnavailableError:
    """The error for the user where `error` means that memory is full."""
    limit = address_space_limit()
    hint = "is another process using this memory? `nmt doctor` shows how much is free"
    if limit is not None:
        hint = f"`ulimit -v` limits this process to {limit >> 20} MiB: raise it"
    about = "" if isinstance(error, SystemError) else str(error)
    return UnavailableError(f"memory is full: {about}".rstrip(": "), hint)


def is_failure_under_limit(error: BaseException) -> bool:
    """Whether `ulimit -v` is the likely reason of an error that does not name memory.

    A thread whose stack does not fit cannot start. Python raises SystemError where C code fails and
    sets no error, as some does when it cannot allocate memory.
    """
    if address_space_limit() is None:
        return False
    if isinstance(error, SystemError):
        return any(sign in str(error) for sign in _UNEXPLAINED)
    return isinstance(error, RuntimeError) and NO_THREAD in str(error)
