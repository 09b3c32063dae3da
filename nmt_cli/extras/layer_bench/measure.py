"""Time, memory, sequential operations and path length of the layers of Table 1, measured."""

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.extras.layer_bench.kinds import KINDS, Layer, LayerKind, Sizes


class Timing(NamedTuple):
    """One layer over one sequence of n positions, forward.

    milliseconds: median of the rounds; work: multiply-adds; saved_bytes: what is kept for the
    backward pass, without weights and input.
    """

    kind: str
    n: int
    d: int
    milliseconds: float
    work: int
    saved_bytes: int


class Chain(NamedTuple):
    """How far information has to go in a layer over n positions.

    sequential_operations: longest chain of operations, each of which waits for the one before;
    path_length: operations between the two positions that are furthest apart.
    """

    kind: str
    n: int
    sequential_operations: int
    path_length: int


def sizes_for(d: int, *, neighbours: int, kernel: int) -> Sizes:
    """Sizes of a layer with heads of width 64, as in the paper."""
    return Sizes(d, max(1, d // 64), neighbours, kernel)


def measure(
    lengths: Sequence[int], widths: Sequence[int], rounds: int, *, neighbours: int, kernel: int
) -> Iterator[Timing]:
    """Measure each layer at each length and width; layers take turns, so that load affects all."""
    for d in widths:
        sizes = sizes_for(d, neighbours=neighbours, kernel=kernel)
        layers = [(kind, kind.make(sizes)) for kind in KINDS]
        for n in lengths:
            x = torch.randn(n, d, generator=torch.Generator().manual_seed(1))
            times: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
            for _ in range(rounds + 1):
                for kind, layer in layers:
                    times[kind.name].append(_seconds(layer, x))
            for kind, layer in layers:
                # The first round is warm-up.
                median = statistics.median(times[kind.name][1:])
                work = kind.work(n, sizes)
                yield Timing(kind.name, n, d, 1e3 * median, work, saved_bytes(layer, x))


@torch.inference_mode()
def _seconds(layer: Layer, x: Tensor) -> float:
    start = time.perf_counter()
    layer(x)
    return time.perf_counter() - start


def saved_bytes(layer: Layer, x: Tensor) -> int:
    """Bytes that autograd keeps for the backward pass, each once, without weights and input."""
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    # Both outputs are kept until here, so that the two runs share no memory but that of weights.
    (first, _output), (second, _other_output) = (_saved(layer, x) for x in inputs)
    own = first.keys() - second.keys() - {inputs[0].untyped_storage().data_ptr()}
    return sum(first[address] for address in own)


def _saved(layer: Layer, x: Tensor) -> tuple[dict[int, int], Tensor]:
    """The bytes of each memory block that the backward pass reads, by address; and the output."""
    sizes: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = layer(x)
    return sizes, output


def chains(lengths: Sequence[int], *, neighbours: int, kernel: int) -> Iterator[Chain]:
    """Measure the chains of each layer at each length; the width does not matter and is small."""
    sizes = Sizes(8, 1, neighbours, kernel)
    for n in lengths:
        for kind in KINDS:
            yield Chain(kind.name, n, _depth(kind, n, sizes), path_length(_links(kind, n, sizes)))


def _depth(kind: LayerKind, n: int, sizes: Sizes) -> int:
    """The length of the longest chain in autograd's graph, relative to that of a sequence of one.

    A layer that computes all positions together has 1, however many operations it consists of.
    """
    layer = kind.make(sizes)
    graphs = [_longest_chain(layer(torch.randn(m, sizes.d, requires_grad=True))) for m in (1, 2, n)]
    per_position = graphs[1] - graphs[0]
    return 1 + (graphs[2] - graphs[0]) // per_position if per_position > 0 else 1


def _longest_chain(output: Tensor) -> int:
    depths: dict[object, int] = {}
    stack: list[object] = [output.grad_fn]
    while stack:
        node = stack[-1]
        before = [previous for previous, _ in node.next_functions if previous is not None]  # type: ignore[attr-defined]
        missing = [previous for previous in before if previous not in depths]
        if missing:
            stack += missing
            continue
        depths[node] = 1 + max((depths[previous] for previous in before), default=0)
        stack.pop()
    return depths[output.grad_fn]


def _links(kind: LayerKind, n: int, sizes: Sizes) -> Tensor:
    """(n, n) bool: whether position i (row) depends on position j (column) after one operation."""
    layer = (kind.step or kind.make)(sizes)
    x = torch.randn(n, sizes.d, requires_grad=True)
    output = layer(x)
    rows = []
    for row in output:
        (gradient,) = torch.autograd.grad(row.sum(), x, retain_graph=True)
        rows.append(gradient.abs().sum(dim=1) > 0)
    return torch.stack(rows)


def path_length(links: Tensor) -> int:
    """The number of operations until every position has reached all positions that it can reach.

    >>> path_length(torch.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 1]], dtype=torch.bool))
    2
    """
    reached, steps = links, 1
    while True:
        further = (reached.float() @ links.float()) > 0
        if torch.equal(further, reached):
            return steps
        reached, steps = further, steps + 1


class Crossing(NamedTuple):
    """Where a layer of width d takes longer than a layer of another kind, the rival.

    lengths: all measured lengths; longer_at: those at which it takes longer; n: the length from
    which it takes longer, between two measured ones; None if these are not those of the greatest
    lengths alone.
    """

    rival: str
    d: int
    lengths: tuple[int, ...]
    longer_at: tuple[int, ...]
    n: float | None


def crossing(timings: Sequence[Timing], layer: str, rival: str, d: int) -> Crossing:
    """Where `layer` takes longer than `rival`."""
    curves = [
        {
            timing.n: timing.milliseconds
            for timing in timings
            if (timing.kind, timing.d) == (name, d)
        }
        for name in (layer, rival)
    ]
    lengths = sorted(curves[0])
    ratios = [curves[0][n] / curves[1][n] for n in lengths]
    longer_at = tuple(n for n, ratio in zip(lengths, ratios, strict=True) if ratio > 1)
    n, last = None, len(lengths) - len(longer_at) - 1
    if longer_at and last >= 0 and longer_at == tuple(lengths[last + 1 :]):
        low, high = ratios[last : last + 2]
        n = lengths[last] + (1 - low) / (high - low) * (lengths[last + 1] - lengths[last])
    return Crossing(rival, d, tuple(lengths), longer_at, n)
