"""The weights of a model of ours under the names of Marian, and back.

Marian's matrices are (inputs, outputs), and its vectors are rows.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from nmt_cli.errors import DataError
from nmt_cli.exchange.formats.marian.npz import Array

# The parts of a layer here and there.
SUBLAYERS = {"self_attention": "self", "cross_attention": "context", "feed_forward": "ffn"}
LINEARS = {"query": "q", "key": "k", "value": "v", "output": "o", "inner": "1", "outer": "2"}
OUTPUT_BIAS = "decoder_ff_logit_out_b"
# The embeddings here and there; the first name is the one that is written.
EMBEDDINGS = {
    "embedding.shared": ("Wemb",),
    "embedding.src": ("encoder_Wemb", "Wemb"),
    "embedding.tgt": ("decoder_Wemb", "Wemb"),
    "embedding.output": ("decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W"),
}
# The bias of a word that a model cannot produce: its probability is 0 in float32.
IMPOSSIBLE = -1e9
# With a bias below this one an entry is never produced; that of a fine-tuned model is about -100.
NEVER_PRODUCED = -50.0


def foreign_names(name: str) -> tuple[str, ...]:
    """The names that a weight of ours may have in a file of Marian.

    >>> foreign_names("encoder.0.feed_forward.inner.weight")
    ('encoder_l1_ffn_W1',)
    >>> foreign_names("decoder.1.cross_attention_norm.bias")
    ('decoder_l2_context_Wo_ln_bias',)
    """
    if name == "output_bias":
        return (OUTPUT_BIAS,)
    if name in EMBEDDINGS:
        return EMBEDDINGS[name]
    side, index, part, *rest = name.split(".")
    prefix = f"{side}_l{int(index) + 1}_"
    if part.endswith("_norm"):
        sublayer = SUBLAYERS[part.removesuffix("_norm")]
        last = "ffn_ffn" if sublayer == "ffn" else f"{sublayer}_Wo"
        return (f"{prefix}{last}_ln_" + {"weight": "scale", "bias": "bias"}[rest[0]],)
    letter = {"weight": "W", "bias": "b"}[rest[1]]
    return (f"{prefix}{SUBLAYERS[part]}_{letter}{LINEARS[rest[0]]}",)


def read_state(
    arrays: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, Tensor], set[str]]:
    """The weights of a model of ours, and the names of the arrays that were used.

    shapes: the shapes of our weights. Rows of embeddings beyond Marian's are 0, and their biases
    IMPOSSIBLE. Raises DataError if an array is missing or has another shape.
    """
    state, used = {}, set()
    for name, shape in shapes.items():
        names = foreign_names(name)
        there = next((each for each in names if each in arrays), None)
        if there is None:
            raise DataError(f"the model has no array `{names[0]}`", "copy the file again")
        used.add(there)
        weight = torch.from_numpy(arrays[there])
        if len(shape) == 1:
            weight = weight.reshape(-1)
        elif there.endswith("_W") or name not in EMBEDDINGS:
            weight = weight.T
        if name in EMBEDDINGS:
            weight = _extended(weight, shape[0], 0.0)
        elif name == "output_bias":
            weight = _extended(weight, shape[0], IMPOSSIBLE)
        if tuple(weight.shape) != shape:
            raise DataError(
                f"the array `{there}` has the shape {list(arrays[there].shape)}, which does not "
                "fit the settings of the model",
                "the files are of different models: copy them again",
            )
        state[name] = weight.contiguous()
    return state, used


def _extended(weight: Tensor, rows: int, value: float) -> Tensor:
    """The weight with further rows of this value."""
    missing = rows - len(weight)
    if missing <= 0:
        return weight
    return torch.cat([weight, weight.new_full((missing, *weight.shape[1:]), value)])


def make_arrays(state: Mapping[str, Tensor], rows: tuple[int, int]) -> dict[str, Array]:
    """The arrays of a model of ours; biases that it lacks are 0.

    rows: the rows of the source and target embeddings that Marian gets.
    """
    arrays: dict[str, Array] = {}
    for name, tensor in state.items():
        weight = tensor.detach().float().cpu()
        if name in EMBEDDINGS:
            weight = weight[: rows[0] if name == "embedding.src" else rows[1]]
        elif name == "output_bias":
            weight = weight[: rows[1]]
        elif weight.dim() == 2:
            weight = weight.T
        arrays[foreign_names(name)[0]] = (weight if weight.dim() == 2 else weight[None]).numpy()
        if name.endswith(".weight") and "norm" not in name:
            bias = name.removesuffix("weight") + "bias"
            if bias not in state:
                width = tensor.shape[0]
                arrays[foreign_names(bias)[0]] = np.zeros((1, width), np.float32)
    return arrays


def added_rows(state: Mapping[str, Tensor]) -> int:
    """How many last rows of the target embeddings an import has added: 0, and never produced."""
    bias = state.get("output_bias")
    if bias is None:
        return 0
    names = [name for name in ("embedding.shared", "embedding.tgt") if name in state]
    empty = (state[names[0]] == 0).all(dim=1) & (bias <= NEVER_PRODUCED)
    filled = torch.nonzero(~empty)
    return len(bias) - (int(filled[-1]) + 1 if len(filled) else 0)
