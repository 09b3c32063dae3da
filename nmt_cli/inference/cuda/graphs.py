"""Work of constant shapes recorded as CUDA graphs: one launch in place of hundreds of kernels.

The first time, the work of a key is done eagerly on a stream of its own, which loads libraries and
kernels: recording does not permit that. The second time it is recorded; from then on it is
replayed. On a CPU it is always done eagerly.
"""

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

import torch

Result = TypeVar("Result")


def can_record(device: torch.device) -> bool:
    """Whether this device has CUDA graphs."""
    return device.type == "cuda"


class Recording(NamedTuple, Generic[Result]):
    """A graph, and the tensors that hold its results."""

    graph: torch.cuda.CUDAGraph
    result: Result


class Graphs(Generic[Result]):
    """One graph for each key; results stay in their tensors until the next call."""

    def __init__(self, device: torch.device, work: Callable[[], Result]) -> None:
        """work: reads and writes the same tensors each time, and never synchronises."""
        self._work = work
        self._device = device
        self._recordings: dict[Hashable, Recording[Result] | None] = {}
        self._era: Hashable = None

    def __call__(self, key: Hashable, era: Hashable) -> Result:
        """Do the work. key: determines its shapes.

        era: determines the addresses of its tensors; graphs of an earlier era are dropped.
        """
        if not can_record(self._device):
            return self._work()
        if era != self._era:
            self._era = era
            self._recordings.clear()
        if key not in self._recordings:
            self._recordings[key] = None
            return self._run_eagerly()
        recording = self._recordings[key]
        if recording is None:
            recording = self._recordings[key] = self._record()
        recording.graph.replay()
        return recording.result

    def _run_eagerly(self) -> Result:
        """Do the work on a stream of its own."""
        main = torch.cuda.current_stream(self._device)
        side = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        side.wait_stream(main)
        with torch.cuda.stream(side):
            result = self._work()
        main.wait_stream(side)
        # Memory allocated on one stream and used on another must not be reused in between.
        side.synchronize()
        return result

    def _record(self) -> Recording[Result]:
        """Record the work without doing it. Graphs share memory: only one runs at a time."""
        others = [recording for recording in self._recordings.values() if recording is not None]
        graph = torch.cuda.CUDAGraph()
        pool = others[0].graph.pool() if others else None
        with (
            torch.cuda.device(self._device),
            torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"),
        ):
            result = self._work()
        return Recording(graph, result)
