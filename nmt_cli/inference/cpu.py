"""Which engine translates: the fastest that works for a model on its device, and why."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from nmt_cli.inference.native.decoder import NativeDecoder
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.product import Kernels, make_halved, make_rounded
from nmt_cli.inference.native.self_test import find_kernels
from nmt_cli.inference.packed import PackedModel
from nmt_cli.inference.packed_decoder import PackedDecoder
from nmt_cli.inference.products import make_product, packing_works
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Decoder

# Products of weights in a precision where there are no kernels of our own.
PLAIN = {"float32": make_product, "bf16": make_halved, "int8": make_rounded}
WEIGHTS = {"float32": "32-bit weights", "bf16": "16-bit weights", "int8": "8-bit weights"}


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


def fastest_engine(
    model: Transformer, cache: Path | None = None, precision: str = "float32"
) -> Engine:
    """The fastest for a model whose weights do not change any more.

    cache: where compiled kernels are kept, if at all; precision: of the weights of a float32 model
    on the CPU: float32, bf16 or int8. Without kernels the words are about the same.
    """
    weight = next(model.parameters())
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return reference_engine(model, f"the plain model in {weight.dtype} on {weight.device}")
    kernels, reason = kernels_of(cache)
    if kernels is not None:
        native = NativeModel(model, kernels, precision)
        about = f"{WEIGHTS[precision]}, kernels of {kernels.lanes} lanes"
        name = "native" if precision == "float32" else precision
        return Engine(name, about, lambda *size: NativeDecoder(native, *size))
    packed = PackedModel(model, PLAIN[precision])
    decoder = partial(PackedDecoder, packed)
    if precision != "float32":
        notice = f"{precision} is no faster than float32 here: {reason}"
        return Engine(precision, notice, decoder, notice)
    about = "packed weights" if packing_works() else "plain products: packed ones do not work here"
    return Engine("packed", f"{about}; no kernels of our own: {reason}", decoder)


def int8_engine(model: Transformer, cache: Path | None) -> Engine:
    """Weights of 8 bits, for a float32 model on the CPU."""
    return fastest_engine(model, cache, "int8")


def kernels_of(cache: Path | None) -> tuple[Kernels | None, str]:
    """The kernels kept in `cache`, compiled when they are missing, or None and why."""
    if cache is None:
        return None, "no folder is given to keep them in"
    return find_kernels(cache)
