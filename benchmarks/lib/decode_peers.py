"""The planted model in the peers' own forms: a CTranslate2 directory, a MarianMTModel."""

from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from lib.vocabulary import token_name
from nmt_cli.inference.packed.weights import Affine, join
from nmt_cli.model.attention import MultiHeadAttention
from nmt_cli.model.positions import sinusoidal_halves_encoding
from nmt_cli.model.transformer import Transformer

PLACES = 512


def save_ctranslate2(model: Transformer, folder: Path) -> None:
    """Write the model as a CTranslate2 directory."""
    from ctranslate2.specs import TransformerSpec, common_spec

    config = model.config
    spec = TransformerSpec.from_config(
        (len(model.encoder), len(model.decoder)), config.heads, pre_norm=False,
        activation=common_spec.Activation.RELU,
    )  # fmt: skip
    places = sinusoidal_halves_encoding(PLACES, config.d_model).numpy()
    for ours, theirs in ((model.encoder, spec.encoder), (model.decoder, spec.decoder)):
        embeddings = theirs.embeddings
        first = embeddings[0] if isinstance(embeddings, list) else embeddings
        first.weight = _numbers(model.embedding.matrix("src"))
        theirs.scale_embeddings = config.scale_embeddings
        theirs.position_encodings.encodings = places
        for layer, layer_weights in zip(ours, theirs.layer, strict=True):
            _fill_layer(layer, layer_weights)
    _fill(spec.decoder.projection, Affine(model.output_weight, model.output_bias))
    words = [token_name(token) for token in range(len(model.output_weight))]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = False
    spec.config.layer_norm_epsilon = config.norm_epsilon
    spec.validate()
    spec.optimize(quantization=None)
    folder.mkdir()
    spec.save(str(folder))


def _fill_layer(layer: Any, theirs: Any) -> None:
    own: MultiHeadAttention = layer.self_attention
    _fill(theirs.self_attention.linear[0], join([own.query, own.key, own.value]))
    _fill(theirs.self_attention.linear[1], join([own.output]))
    _fill_norm(theirs.self_attention.layer_norm, layer.self_attention_norm)
    if hasattr(layer, "cross_attention"):
        cross: MultiHeadAttention = layer.cross_attention
        _fill(theirs.attention.linear[0], join([cross.query]))
        _fill(theirs.attention.linear[1], join([cross.key, cross.value]))
        _fill(theirs.attention.linear[2], join([cross.output]))
        _fill_norm(theirs.attention.layer_norm, layer.cross_attention_norm)
    _fill(theirs.ffn.linear_0, join([layer.feed_forward.inner]))
    _fill(theirs.ffn.linear_1, join([layer.feed_forward.outer]))
    _fill_norm(theirs.ffn.layer_norm, layer.feed_forward_norm)


def _fill(linear: Any, affine: Affine) -> None:
    linear.weight = _numbers(affine.weight)
    if affine.bias is not None:
        linear.bias = _numbers(affine.bias)


def _fill_norm(theirs: Any, norm: Any) -> None:
    theirs.gamma, theirs.beta = _numbers(norm.weight), _numbers(norm.bias)


def _numbers(weight: Tensor) -> np.ndarray:
    return weight.detach().numpy()


# Names of our parts in Marian's layers.
MARIAN = {
    "self_attention.query": "self_attn.q_proj", "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj", "self_attention.output": "self_attn.out_proj",
    "self_attention_norm": "self_attn_layer_norm",
    "cross_attention.query": "encoder_attn.q_proj", "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.output": "encoder_attn.out_proj",
    "cross_attention_norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1", "feed_forward.outer": "fc2",
    "feed_forward_norm": "final_layer_norm",
}  # fmt: skip


def marian_weights(model: Transformer) -> dict[str, Tensor]:
    """The weights under the names of a MarianMTModel."""
    found = {"model.shared.weight": model.embedding.matrix("src").detach()}
    for name, weight in model.state_dict().items():
        stack, _, rest = name.partition(".")
        number, _, part = rest.partition(".")
        part, _, kind = part.rpartition(".")
        if stack in ("encoder", "decoder") and part in MARIAN:
            found[f"model.{stack}.layers.{number}.{MARIAN[part]}.{kind}"] = weight
    return found
