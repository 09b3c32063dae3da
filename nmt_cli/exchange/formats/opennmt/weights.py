"""The weights of a checkpoint of OpenNMT-py under our names."""

import re

from torch import Tensor

from nmt_cli.exchange.pickled.reading import ForeignCheckpoint
from nmt_cli.model.encoder_decoder import TIES

EMBEDDING = "{}.embeddings.make_embedding.emb_luts.0.weight"
EMBEDDINGS = {
    "src": EMBEDDING.format("encoder"),
    "tgt": EMBEDDING.format("decoder"),
    "output": "generator.weight",
}
LAYERS = {"encoder": "encoder.transformer", "decoder": "decoder.transformer_layers"}
ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "context_attn"}
LINEARS = {
    "query": "linear_query", "key": "linear_keys", "value": "linear_values",
    "output": "final_linear", "inner": "w_1", "outer": "w_2", "gate": "w_3",
}  # fmt: skip
NORMS = {
    ("encoder", "self_attention_norm"): "layer_norm",
    ("decoder", "self_attention_norm"): "layer_norm_1",
    ("decoder", "cross_attention_norm"): "layer_norm_2",
}
# Tables of positions, which OpenNMT-py computes by itself.
WITHOUT_EFFECT = re.compile(r"(en|de)coder\.embeddings\.make_embedding\.pe\.pe")
# Names of norms in older checkpoints.
_OLD_NORM = re.compile(r"(.*\.layer_norm(?:_\d+)?)\.([ab])_2")


def all_tensors(checkpoint: ForeignCheckpoint) -> dict[str, Tensor]:
    """The tensors of the model and its generator under the names of today's OpenNMT-py."""
    result = {}
    for name, tensor in checkpoint.part("model").items():
        old = _OLD_NORM.fullmatch(name)
        if old:
            name = f"{old[1]}.{'weight' if old[2] == 'a' else 'bias'}"
        result[name] = tensor
    for name, tensor in checkpoint.part("generator").items():
        result[f"generator.{name.removeprefix('0.')}"] = tensor
    return result


def foreign_names(name: str, ties: str) -> tuple[str, ...]:
    """The names of a weight of ours in OpenNMT-py: all of a tied matrix.

    >>> foreign_names("decoder.1.cross_attention.key.weight", "all")
    ('decoder.transformer_layers.1.context_attn.linear_keys.weight',)
    """
    if name == "output_bias":
        return ("generator.bias",)
    if name.startswith("embedding."):
        uses = TIES[ties].items()
        return tuple(EMBEDDINGS[use] for use, kept in uses if name == f"embedding.{kept}")
    if name.startswith(("encoder_norm", "decoder_norm")):
        side, kind = name.split("_norm.")
        return (f"{side}.layer_norm.{kind}",)
    side, index, part, *rest = name.split(".")
    layer = f"{LAYERS[side]}.{index}"
    if part == "feed_forward_norm":
        return (f"{layer}.feed_forward.layer_norm.{rest[0]}",)
    if part.endswith("_norm"):
        return (f"{layer}.{NORMS[side, part]}.{rest[0]}",)
    return (f"{layer}.{ATTENTIONS.get(part, part)}.{LINEARS[rest[0]]}.{rest[1]}",)
