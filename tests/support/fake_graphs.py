"""CUDA graphs on the CPU: what is recorded is replayed on the same tensors, with the same numbers.

As on a GPU, recording does nothing, no place in memory changes at a replay, what Python computed
stays as it was, and whatever would make the host wait for the device is refused.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from nmt_cli.inference.cuda import graphs as cuda_graphs

# What waits for the device: asks it for a number, has a shape that it decides, or copies to it.
WAITING = {
    "_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "masked_select", "_unique2",
    "unique_dim", "scalar_tensor", "lift_fresh", "argwhere", "bincount",
}  # fmt: skip


def tensors(value: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]


def place(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


class NoWaiting(TorchDispatchMode):
    """Refuses everything that would make the host wait."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.__name__.split(".")[0]
        assert name not in WAITING, f"{name} waits for the device"
        assert func.__name__ != "repeat_interleave.Tensor", "its size is the device's to decide"
        indices = tree_leaves(args[1]) if name.startswith("index") and len(args) > 1 else ()
        for index in indices:
            assert not (isinstance(index, Tensor) and index.dtype == torch.bool), (
                "a mask as an index"
            )
        return func(*args, **(kwargs or {}))


class Recorder(NoWaiting):
    """Notes what is done, and undoes it at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Callable, tuple, dict, list[Tensor], bool]] = []
        self.before: dict[int, tuple[Tensor, Any]] = {}
        self.made: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        changes = func._schema.is_mutable
        known = {place(tensor) for tensor in tensors((args, kwargs))}
        if changes:
            for tensor in tensors((args, kwargs)):
                if place(tensor) not in self.made | self.before.keys():
                    self.before[place(tensor)] = tensor, tensor.untyped_storage().clone()
        result = super().__torch_dispatch__(func, types, args, kwargs)
        new = [tensor for tensor in tensors(result) if place(tensor) not in known]
        self.made |= {place(tensor) for tensor in new}
        if changes or new:
            self.calls.append((func, args, kwargs, new, changes))
        return result

    def undo(self) -> None:
        for tensor, storage in self.before.values():
            tensor.untyped_storage().copy_(storage)


class FakeGraph:
    made = 0
    replays = 0

    def __init__(self) -> None:
        FakeGraph.made += 1
        self.calls: list = []

    def pool(self) -> tuple[int, int]:
        return 0, 1

    def replay(self) -> None:
        FakeGraph.replays += 1
        for func, args, kwargs, new, changes in self.calls:
            result = func(*args, **kwargs)
            if not changes:
                for old, tensor in zip(new, tensors(result), strict=True):
                    old.copy_(tensor)


@contextlib.contextmanager
def recording(graph: FakeGraph, pool: object, capture_error_mode: str) -> Iterator[None]:
    recorder = Recorder()
    with recorder:
        yield
    graph.calls = recorder.calls
    recorder.undo()


class FakeStream:
    def __init__(self, device: object = None) -> None: ...

    def wait_stream(self, other: object) -> None: ...

    def synchronize(self) -> None: ...


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> type[FakeGraph]:
    """Have CUDA engines on the CPU record and replay."""
    FakeGraph.made = FakeGraph.replays = 0
    monkeypatch.setattr(cuda_graphs, "can_record", lambda device: True)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", FakeGraph)
    monkeypatch.setattr(torch.cuda, "graph", recording)
    monkeypatch.setattr(torch.cuda, "Stream", FakeStream)
    monkeypatch.setattr(torch.cuda, "current_stream", FakeStream)
    for name in ("stream", "device"):
        monkeypatch.setattr(torch.cuda, name, lambda stream: contextlib.nullcontext())
    return FakeGraph
