"""The end of the process at one of the calls that change the disk."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


class Crash(BaseException):
    """Stands for the end of the process: nothing in the library may catch and continue."""


def crashing_at(step: int, calls: list[str]) -> Callable[[str, Callable[..., Any]], Any]:
    """Wrap system calls so that the call number `step` ends the process."""

    def wrap(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            calls.append(name)
            if len(calls) == step + 1:
                raise Crash(name)
            return real(*arguments)

        return call

    return wrap


@contextlib.contextmanager
def crash_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """End the process at one of the calls that change the disk; the rest runs on as after kill."""
    calls: list[str] = []
    wrap = crashing_at(step, calls)
    with monkeypatch.context() as patch:
        for owner, name in ((Path, "replace"), (Path, "rename"), (os, "fsync")):
            patch.setattr(owner, name, wrap(name, getattr(owner, name)))
        # A killed process tidies nothing up.
        patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
        with contextlib.suppress(Crash):
            yield calls
