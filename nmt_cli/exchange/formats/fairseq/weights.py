"""The weights of a checkpoint of fairseq under our names."""

import re
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from nmt_cli.errors import ConfigError, DataError
from nmt_cli.exchange.formats.huggingface.weights import PARTS
from nmt_cli.model.encoder_decoder import TIES

EMBEDDINGS = {
    "src": ("encoder.embed_tokens.weight",),
    "tgt": ("decoder.embed_tokens.weight",),
    "output": ("decoder.output_projection.weight", "decoder.embed_out"),
}
# Buffers, and what fairseq computes by itself.
WITHOUT_EFFECT = re.compile(r"(en|de)coder\.(version|embed_positions\.(_float_tensor|weights))")
# The versions of the stacks since which a norm follows the last layer of a pre-norm model.
NORM_SINCE = {"encoder": 2, "decoder": 3}
# Names in checkpoints of fairseq before 0.7.
OLD_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
_OLD_NORM = re.compile(r"((en|de)coder\.layers\.\d+)\.layer_norms\.(\d)\.(weight|bias)")
_FUSED = re.compile(r"(.+_attn)\.in_proj_(weight|bias)")


def renamed(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under the names of today's fairseq; fused projections are split.

    >>> list(renamed({"encoder.layers.0.self_attn.in_proj_bias": torch.zeros(6)}))[0]
    'encoder.layers.0.self_attn.q_proj.bias'
    """
    result = {}
    for name, tensor in tensors.items():
        fused, old = _FUSED.fullmatch(name), _OLD_NORM.fullmatch(name)
        if fused and tensor.dim() and len(tensor) % 3 == 0:
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                result[f"{fused[1]}.{letter}_proj.{fused[2]}"] = part
        elif old and int(old[3]) < len(OLD_NORMS[f"{old[2]}coder"]):
            norm = OLD_NORMS[f"{old[2]}coder"][int(old[3])]
            result[f"{old[1]}.{norm}.{old[4]}"] = tensor
        else:
            result[name] = tensor
    return result


def lacks_last_norm(tensors: Mapping[str, Tensor]) -> bool:
    """Whether fairseq would run a pre-norm model of this version without its last norms."""
    return any(
        float(tensors.get(f"{side}.version", torch.ones(1)).reshape(-1)[:1].sum()) < since
        for side, since in NORM_SINCE.items()
    )


def embedding_rows(tensors: Mapping[str, Tensor]) -> tuple[int, int]:
    """The rows of the source and target embeddings; raises DataError without them."""
    rows = []
    for use in ("src", "tgt"):
        [name] = EMBEDDINGS[use]
        if name not in tensors or tensors[name].dim() != 2:
            raise DataError(f"the checkpoint has no matrix `{name}`", "copy it again")
        rows.append(len(tensors[name]))
    return rows[0], rows[1]


def foreign_names(name: str, ties: str) -> tuple[str, ...]:
    """The names that a weight of ours may have in fairseq: all of a tied matrix.

    >>> foreign_names("decoder.1.cross_attention.key.bias", "all")
    ('decoder.layers.1.encoder_attn.k_proj.bias',)
    """
    if name.startswith("embedding."):
        uses = [use for use, kept in TIES[ties].items() if name == f"embedding.{kept}"]
        return tuple(other for use in uses for other in EMBEDDINGS[use])
    if name.startswith(("encoder_norm", "decoder_norm")):
        side, kind = name.split("_norm.")
        return (f"{side}.layer_norm.{kind}",)
    side, index, *parts, kind = name.split(".")
    return (f"{side}.layers.{index}.{PARTS['.'.join(parts)]}.{kind}",)


def read_state(
    tensors: Mapping[str, Tensor],
    shapes: Mapping[str, tuple[int, ...]],
    names_of: Callable[[str], tuple[str, ...]],
    without_effect: re.Pattern[str],
) -> dict[str, Tensor]:
    """The weights of a model of ours.

    shapes: those of our weights; names_of: the names that a weight of ours may have there, which
    are equal if there are several; without_effect: the names of tensors that are not needed.

    Raises DataError if a tensor is missing or has another shape, or if tied ones differ, and
    ConfigError if there are tensors that nmt has no place for.
    """
    state: dict[str, Tensor] = {}
    unused = {name for name in tensors if not without_effect.fullmatch(name)}
    for name, shape in shapes.items():
        names = [other for other in names_of(name) if other in tensors]
        if not names:
            missing = names_of(name)[0]
            raise DataError(f"the checkpoint has no tensor `{missing}`", "copy it again")
        tensor = tensors[names[0]]
        if any(not torch.equal(tensor, tensors[other]) for other in names[1:]):
            raise DataError(
                f"the tensors {' and '.join(names)} differ, but its settings share them",
                "name a checkpoint that its toolkit has written",
            )
        if tuple(tensor.shape) != shape:
            raise DataError(
                f"the tensor `{names[0]}` has the shape {list(tensor.shape)}, but its settings ask "
                f"for {list(shape)}",
                "the settings and the weights are of different models: copy the checkpoint again",
            )
        unused -= set(names)
        state[name] = tensor.detach().float().contiguous()
    if unused:
        shown = ", ".join(f"`{name[:60]}`" for name in sorted(unused)[:10])
        raise ConfigError(f"nmt has no place for {len(unused)} of its tensors: {shown}")
    return state
