"""The parts of a training step alone: the machine, attention, the loss head."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lib.gpu_setup import Setup, attempt
from lib.measure import Json
from lib.sentences import random_lengths
from nmt_cli.batch import Segments, tile_table
from nmt_cli.model.backends import tiles
from nmt_cli.model.backends.dispatch import BACKENDS
from nmt_cli.training.loss.cross_entropy import linear_cross_entropy

KINDS_OF_ATTENTION = ("encoder", "decoder", "cross")
# The tiles and warps of the kernels that are tried out.
TILE_SIZES, TILE_WARPS = (16, 32), (1, 2, 4)


class Streams(NamedTuple):
    """What attention is given, and the gradient of its output."""

    query: Tensor
    key: Tensor
    value: Tensor
    slope: Tensor
    query_segments: Segments
    key_segments: Segments
    causal: bool


def make_streams(
    setup: Setup, src: np.ndarray, tgt: np.ndarray, kind: str, *, heads: int, d_k: int
) -> Streams:
    """Random streams of sentences with these lengths, as that kind of attention gets them."""
    sides = _sides(src, tgt, kind)
    query_segments = Segments.from_lengths(sides[0], other=sides[1]).to(setup.device)
    key_segments = query_segments
    if kind == "cross":
        key_segments = Segments.from_lengths(sides[1], other=sides[0]).to(setup.device)
    query, key = (int(side.sum()) for side in sides)
    sizes = (query, key, key, query)
    streams = [torch.randn(size, heads, d_k, device=setup.device) for size in sizes]
    # Keys and queries of a trained model lie side by side in one product's output.
    narrow = [stream.to(setup.dtype) for stream in streams]
    return Streams(
        narrow[0], narrow[1], narrow[2], narrow[3], query_segments, key_segments, kind == "decoder"
    )


def machine(setup: Setup, facts: Json) -> None:
    """Names and ceilings: memory, a large product, and the products of the two models."""
    if setup.device.type == "cuda":
        facts["device"] = torch.cuda.get_device_name()
        facts["memory_bytes"] = torch.cuda.get_device_properties(0).total_memory
        facts["capability"] = torch.cuda.get_device_capability()
        facts["cuda"] = torch.version.cuda
    source = torch.rand(setup.sizes.copy_bytes // 4, device=setup.device)
    target = torch.empty_like(source)
    seconds = setup.seconds(lambda: target.copy_(source))
    facts["copy_bytes_per_second"] = 2 * source.numel() * 4 / seconds
    size = setup.sizes.product
    facts["product_flops_per_second"] = _product_rate(setup, size, size, size)
    for preset in ("base", "big"):
        facts[f"{preset} products"] = _model_products(setup, preset)


def _model_products(setup: Setup, preset: str) -> Json:
    """FLOP/s of each product (rows, in, out) of a layer and of the head, and of its two slopes."""
    model, rows = setup.config(preset).model, setup.pass_tokens(preset)
    shapes = {
        "query, key, value": (model.d_model, 3 * model.d_model),
        "attention output": (model.d_model, model.d_model),
        "feed-forward inner": (model.d_model, model.d_ff),
        "feed-forward outer": (model.d_ff, model.d_model),
        "head": (model.d_model, setup.sizes.vocab_size),
    }
    return {
        name: {
            "forward": _product_rate(setup, rows, inner, outer),
            "input slope": _product_rate(setup, rows, outer, inner),
            "weight slope": _product_rate(setup, outer, rows, inner),
        }
        for name, (inner, outer) in shapes.items()
    }


def _product_rate(setup: Setup, rows: int, inner: int, outer: int) -> float:
    left = torch.randn(rows, inner, device=setup.device).to(setup.dtype)
    right = torch.randn(outer, inner, device=setup.device).to(setup.dtype)
    return 2 * rows * inner * outer / setup.seconds(lambda: left @ right.T)


def attention(setup: Setup, facts: Json) -> None:
    """Milliseconds of every backend at news text's lengths, heads as in the base model."""
    random = np.random.default_rng(5)
    src, tgt = random_lengths(setup.sizes.sentences, random)
    facts["tokens"] = [int(src.sum()), int(tgt.sum())]
    for kind in KINDS_OF_ATTENTION:
        streams = make_streams(setup, src, tgt, kind, heads=8, d_k=64)
        facts[kind] = {
            name: attempt(partial(_attention_time, setup, backend, streams))
            for name, backend in BACKENDS.items()
        }
        facts[kind]["sweep of tiles"] = {
            f"{size} tokens, {warps} warps": attempt(
                partial(_tile_time, setup, size, warps, _sides(src, tgt, kind), streams)
            )
            for size in TILE_SIZES
            for warps in TILE_WARPS
        }


def _sides(src: np.ndarray, tgt: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the sentences of the queries and of the keys in a kind of attention."""
    return {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (tgt, src)}[kind]


def _tile_time(
    setup: Setup, size: int, warps: int, sides: tuple[np.ndarray, np.ndarray], streams: Streams
) -> Json:
    """As `_attention_time`, of tiles of `size` tokens that `warps` warps compute each."""
    tables = [
        tile_table(side, int(side.sum()), size, other)[1].to(setup.device)
        for side, other in (sides, sides[::-1])
    ]
    chosen = tiles._constants

    def in_tiles(*given: Any, causal: bool) -> Tensor:
        return tiles.tile_attention_function(
            *given[:3], (tables[0], tables[1]), causal=causal, size=size
        )

    with mock.patch.object(
        tiles, "_constants", lambda *given: {**chosen(*given), "num_warps": warps}
    ):
        return _attention_time(setup, in_tiles, streams)


def _attention_time(setup: Setup, backend: Callable[..., Tensor], streams: Streams) -> Json:
    inputs = [stream.detach().clone().requires_grad_() for stream in streams[:3]]
    segments = streams.query_segments, streams.key_segments

    def forward() -> Tensor:
        return backend(*inputs, *segments, causal=streams.causal)

    def both() -> Any:
        return torch.autograd.grad(forward(), inputs, streams.slope)

    with torch.no_grad():
        alone = setup.seconds(forward)
    return {"forward_ms": 1e3 * alone, "forward_backward_ms": 1e3 * setup.seconds(both)}


def loss_head(setup: Setup, facts: Json) -> None:
    """Milliseconds, forward and backward, of the output layer with its loss in several forms.

    For the tokens of one pass, as training computes them.
    """
    config = setup.config("base")
    rows, size = setup.pass_tokens("base"), setup.sizes.vocab_size
    facts["tokens"] = rows
    hidden = torch.randn(rows, config.model.d_model, device=setup.device)
    weight = torch.randn(size, config.model.d_model, device=setup.device) * 0.05
    targets = torch.randint(size, (rows,), device=setup.device)
    backend = "eager" if setup.tiny else "inductor"
    variants: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "ours": lambda h, w: linear_cross_entropy(h, w, None, targets, 0.1).total,
        "float32 logits": lambda h, w: _cross_entropy(F.linear(h, w).float(), targets),
        "low-precision logits": lambda h, w: _cross_entropy(F.linear(h, w), targets),
    }
    plain = variants["float32 logits"]
    variants["float32 logits, compiled"] = torch.compile(plain, backend=backend)
    for name, loss in variants.items():
        facts[name] = attempt(partial(_loss_time, setup, loss, hidden, weight))


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits, targets, label_smoothing=0.1, reduction="sum")


def _loss_time(
    setup: Setup, loss: Callable[[Tensor, Tensor], Tensor], hidden: Tensor, weight: Tensor
) -> Json:
    inputs = [tensor.detach().clone().requires_grad_() for tensor in (hidden, weight)]
    low = setup.dtype != torch.float32

    def work() -> Any:
        with torch.autocast(setup.device.type, setup.dtype, enabled=low):
            total = loss(inputs[0], inputs[1])
        return torch.autograd.grad(total, inputs)

    return {"forward_backward_ms": 1e3 * setup.seconds(work)}
