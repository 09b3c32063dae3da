"""Work of constant shapes recorded as CUDA graphs: the host asks for hundreds of kernels at once.

The first time work of a key is done, it is simply done, on a stream of its own: this prepares
libraries and loads kernels, which no recording may. The second time it is recorded, and replayed
then and ever after. On a CPU it is always simply done.
"""

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

import torch

Result = TypeVar("Result")


def can_record(device: torch.device) -> bool:
    """Whether there are graphs on this device."""
    return device.type == "cuda"


class Recording(NamedTuple, Generic[Result]):
    """A graph, and the tensors that it leaves its results in."""

    graph: torch.cuda.CUDAGraph
    result: Result


class Graphs(Generic[Result]):
    """One graph for each key; results stand in their tensors until the next call."""

    def __init__(self, device: torch.device, work: Callable[[], Result]) -> None:
        """`work` reads and writes the same tensors each time, and asks the device nothing."""
        self._work = work
        self._device = device
        self._recordings: dict[Hashable, Recording[Result] | None] = {}
        self._era: Hashable = None

    def __call__(self, key: Hashable, era: Hashable) -> Result:
        """Do the work. key: what its shapes depend on.

        era: what the place of its tensors depends on; no graph outlives its era.
        """
        if not can_record(self._device):
            return self._work()
        if era != self._era:
            self._era = era
            self._recordings.clear()
        if key not in self._recordings:
            self._recordings[key] = None
            return self._done()
        recording = self._recordings[key]
        if recording is None:
            recording = self._recordings[key] = self._recorded()
        recording.graph.replay()
        return recording.result

    def _done(self) -> Result:
        """Simply done, beside the main stream."""
        main = torch.cuda.current_stream(self._device)
        side = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        side.wait_stream(main)
        with torch.cuda.stream(side):
            result = self._work()
        main.wait_stream(side)
        # What was made on one stream and is used on another must not be given away in between.
        side.synchronize()
        return result

    def _recorded(self) -> Recording[Result]:
        """Recorded, not yet done. Graphs share memory: only one of them runs at a time."""
        others = [one for one in self._recordings.values() if one is not None]
        graph = torch.cuda.CUDAGraph()
        pool = others[0].graph.pool() if others else None
        with (
            torch.cuda.device(self._device),
            torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"),
        ):
            result = self._work()
        return Recording(graph, result)
