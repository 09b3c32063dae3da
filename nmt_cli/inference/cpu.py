"""Which engine translates: the fastest that works for a model on its device, and why."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from nmt_cli.inference.native.product import NativeProduct, find_kernels, make_rounded
from nmt_cli.inference.packed import PackedModel
from nmt_cli.inference.packed_decoder import PackedDecoder
from nmt_cli.inference.products import packing_works
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Decoder


class Engine(NamedTuple):
    """A way to run a model: `decoder` is given slots and beam; `about` says what was chosen.

    notice: what a user who chose otherwise should know; mostly empty.
    """

    name: str
    about: str
    decoder: Callable[[int, int], Decoder]
    notice: str = ""


def reference_engine(model: Transformer, about: str = "the plain model") -> Engine:
    """The engine that others are checked against; it follows changes of the model's weights."""
    return Engine("reference", about, lambda slots, beam: ReferenceDecoder(model, slots, beam))


def fastest_engine(model: Transformer) -> Engine:
    """The fastest for a model whose weights do not change any more."""
    weight = next(model.parameters())
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return reference_engine(model, f"the plain model in {weight.dtype} on {weight.device}")
    packed = PackedModel(model)
    about = "packed weights" if packing_works() else "plain products: packed ones do not work here"
    return Engine("packed", about, lambda slots, beam: PackedDecoder(packed, slots, beam))


def int8_engine(model: Transformer, cache: Path | None) -> Engine:
    """Weights of 8 bits, for a float32 model on the CPU.

    cache: where compiled kernels are kept, if at all. Without kernels the words are about the
    same, but come no sooner.
    """
    kernels, reason = None, "no folder is given to keep them in"
    if cache is not None:
        kernels, reason = find_kernels(cache)
    if kernels is None:
        notice = f"int8 is no faster than float32 here: {reason}"
        packed = PackedModel(model, make_rounded)
        return Engine("int8", notice, lambda *size: PackedDecoder(packed, *size), notice)
    packed = PackedModel(model, partial(NativeProduct, kernels))
    about = f"8-bit weights, kernels of {kernels.lanes} lanes"
    return Engine("int8", about, lambda slots, beam: PackedDecoder(packed, slots, beam))
