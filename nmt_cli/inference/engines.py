"""Engine selection: the fastest engine that works for a model on its device, and why.

torch is imported only by the engines that compute with it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.config.search import BATCH_TOKENS
from nmt_cli.errors import UnavailableError
from nmt_cli.inference.native.decoder import NativeDecoder
from nmt_cli.inference.native.linear import Kernels
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.packing.packed_weights import PackedWeights
from nmt_cli.inference.native.self_test import find_kernels
from nmt_cli.inference.weights import TransformerArrays
from nmt_cli.installation import has_torch, require_torch
from nmt_cli.machine import has_gpu_driver
from nmt_cli.search.decoder import Decoder

if TYPE_CHECKING:
    import torch

    from nmt_cli.model.encoder_decoder import EncoderDecoder
    from nmt_cli.model.transformer import Transformer

# Enough sentences at a time to keep one GPU busy.
CUDA_SLOTS, CUDA_BATCH_TOKENS = 512, 131_072
WEIGHTS = {
    "float32": "32-bit weights",
    "bf16": "16-bit weights",
    "int8": "8-bit weights",
    "split": "32-bit weights split into bf16",
}


class Engine(NamedTuple):
    """A way to run a model.

    about: describes what was chosen; decoder: makes a decoder, given slots and beam; notice: tells
    users that they did not get what they asked for, usually empty; slots: the most sources at a
    time; batch_tokens: source tokens times beam, where the settings leave it to the engine;
    reusable: whether decoders are expensive to make and should be used again.
    """

    name: str
    about: str
    decoder: Callable[[int, int], Decoder]
    notice: str = ""
    slots: int = 128
    batch_tokens: int = BATCH_TOKENS
    reusable: bool = False


def reference_engine(model: "EncoderDecoder", about: str = "the reference engine") -> Engine:
    """The engine that the others are compared with; it follows changes of the model's weights."""
    from nmt_cli.inference.reference import ReferenceDecoder

    return Engine("reference", about, lambda slots, beam: ReferenceDecoder(model, slots, beam))


def fastest_engine(
    model: "EncoderDecoder", cache: Path | None = None, precision: str = "float32"
) -> Engine:
    """The fastest engine for a model in torch whose weights do not change any more.

    cache: the folder of compiled kernels; None: do not use kernels. precision: float32, bf16,
    int8 or split, for the weights of a float32 model on the CPU; without kernels the results are
    about the same.
    """
    import torch

    from nmt_cli.model.transformer import Transformer

    if not isinstance(model, Transformer):
        return _other_kind_engine(model, precision)
    weight = next(model.parameters())
    if weight.device.type == "cuda":
        return cuda_engine(model)
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return reference_engine(model, f"the reference engine in {weight.dtype} on {weight.device}")
    kernels, reason = kernels_of(cache, precision)
    if kernels is not None:
        weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
        return native_engine(TransformerArrays(model.config, weights), kernels)
    return packed_engine(model, reason, precision)


def native_engine(arrays: TransformerArrays, kernels: Kernels) -> Engine:
    """The engine in C, which needs no torch; it packs copies of the weights."""
    weights = PackedWeights.of(arrays, kernels.library, kernels.precision)
    return packed_weights_engine(weights, kernels)


def packed_weights_engine(weights: PackedWeights, kernels: Kernels, notice: str = "") -> Engine:
    """The engine in C for weights that are packed already; notice: of how they were loaded."""
    native, precision = NativeModel(weights, kernels), weights.precision
    about = f"{WEIGHTS[precision]}, {kernels.instruction_set} kernels"
    name = "native" if precision == "float32" else precision
    notice = "; ".join(filter(None, (kernels.notice, notice)))
    return Engine(name, about, lambda slots, beam: NativeDecoder(native, slots, beam), notice)


def plain_engine(arrays: TransformerArrays, reason: str, precision: str) -> Engine:
    """The engine in NumPy, where torch is not installed; reason: why there are no kernels."""
    from nmt_cli.inference.plain.decoder import PlainDecoder
    from nmt_cli.inference.plain.model import PlainModel

    plain = PlainModel(arrays)
    rounded = "" if precision == "float32" else f", in float32 instead of {precision}"
    notice = f"NumPy translates, which is slower{rounded}: {reason}"
    return Engine("plain", notice, lambda slots, beam: PlainDecoder(plain, slots, beam), notice)


def packed_engine(model: "Transformer", reason: str, precision: str) -> Engine:
    """The CPU engine in torch, in float32 instead of split; reason: why there are no kernels."""
    from nmt_cli.inference.packed.decoder import PackedDecoder
    from nmt_cli.inference.packed.emulation import LINEAR_WITHOUT_KERNELS
    from nmt_cli.inference.packed.linear import packing_works
    from nmt_cli.inference.packed.model import PackedModel

    packed = PackedModel(model, LINEAR_WITHOUT_KERNELS[precision])

    def decoder(slots: int, beam: int) -> Decoder:
        return PackedDecoder(packed, slots, beam)

    if precision == "split":
        notice = f"split needs nmt's own kernels, so float32 is used: {reason}"
        return Engine("packed", notice, decoder, notice)
    if precision != "float32":
        notice = f"{precision} is no faster than float32 here: {reason}"
        return Engine(precision, notice, decoder, notice)
    about = "packed weights" if packing_works() else "plain products: packed ones do not work here"
    return Engine("packed", f"{about}; nmt's own kernels are not available: {reason}", decoder)


def _other_kind_engine(model: "EncoderDecoder", precision: str) -> Engine:
    """The reference engine for other models: the faster engines compute Transformer layers only."""
    about = (
        f"the reference engine: the faster engines do not support model.kind={model.config.kind}"
    )
    engine = reference_engine(model, about)
    if precision == "float32":
        return engine
    notice = f"float32, not {precision}: {about}"
    return engine._replace(about=notice, notice=notice)


def cuda_engine(model: "Transformer") -> Engine:
    """CUDA graphs on the model's GPU in the dtype of its weights; the reference where they fail."""
    from nmt_cli.inference.cuda.decoder import CudaDecoder
    from nmt_cli.inference.cuda.model import make_cuda_model
    from nmt_cli.inference.cuda.self_test import find_fault

    weight = model.output_weight
    fault = find_fault(weight.device, weight.dtype)
    if fault:
        notice = f"the reference engine translates, which is slower: CUDA graphs fail here: {fault}"
        return reference_engine(model, notice)._replace(notice=notice)
    fast = make_cuda_model(model)
    return Engine(
        "cuda",
        f"CUDA graphs, {str(weight.dtype).removeprefix('torch.')}, on {weight.device}",
        lambda slots, beam: CudaDecoder(fast, slots, beam),
        slots=CUDA_SLOTS,
        batch_tokens=CUDA_BATCH_TOKENS,
        reusable=True,
    )


def kernels_of(cache: Path | None, precision: str = "float32") -> tuple[Kernels | None, str]:
    """The kernels in the folder `cache`, compiled where they are missing, or None and why.

    precision: of the weights; that of the kernels is float32 where split weights need other ones.
    """
    if cache is None:
        return None, "no folder is given to keep them in"
    return find_kernels(cache, precision)


def is_cpu(name: "torch.device | str") -> bool:
    """Whether this is the name of the CPU; needs no torch."""
    return str(name).partition(":")[0] == "cpu"


def auto_device() -> str:
    """cuda where a GPU can be used, else cpu; torch is asked only where there is a GPU's driver."""
    if not (has_gpu_driver() and has_torch()):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def find_device(name: "torch.device | str") -> "torch.device":
    """The device with this name; raises UnavailableError where it does not exist."""
    require_torch(f"the device `{name}`")
    import torch

    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UnavailableError(
            f"there is no device `{name}`", "use cpu, cuda, or cuda:1 for the second GPU"
        ) from error
    count = torch.cuda.device_count() if device.type == "cuda" else 1
    if device.type not in ("cpu", "cuda") or (device.index or 0) >= count:
        raise UnavailableError(
            f"the device `{name}` is not available",
            "use the device cpu; `nmt doctor` shows which GPUs can be used",
        )
    return device
