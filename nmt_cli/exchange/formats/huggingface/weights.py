"""The configuration and the weights of a model under the names of Hugging Face."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from nmt_cli.config.schema import ModelConfig
from nmt_cli.errors import DataError
from nmt_cli.exchange.requirements import start_id
from nmt_cli.model.encoder_decoder import TIES, stack_depths
from nmt_cli.model_dir import LoadedModel

# The longest sentence, in subwords.
POSITIONS = 1_024
# The classes for each norm_order.
MODELS = {"post": "MarianMTModel", "pre": "PegasusForConditionalGeneration"}
CONFIGS = {"post": "MarianConfig", "pre": "PegasusConfig"}
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "swish"}
# The parts of a layer here and there.
PARTS = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.out_proj",
    "self_attention_norm": "self_attn_layer_norm",
    "cross_attention.query": "encoder_attn.q_proj",
    "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.output": "encoder_attn.out_proj",
    "cross_attention_norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward_norm": "final_layer_norm",
}
# The embeddings here (their use) and there.
EMBEDDINGS = {
    "src": "model.encoder.embed_tokens.weight",
    "tgt": "model.decoder.embed_tokens.weight",
    "output": "lm_head.weight",
}
# Parts whose output is as wide as the model; the input of the other projections is.
INTO_MODEL = ("output", "outer")


def make_config(loaded: LoadedModel) -> Any:
    """The configuration: MarianConfig or PegasusConfig."""
    import transformers

    model = loaded.config.model
    depths = stack_depths(model)
    options: dict[str, object] = {
        "vocab_size": loaded.subwords.src_size,
        "d_model": model.d_model,
        "encoder_layers": depths[0],
        "decoder_layers": depths[1],
        "encoder_attention_heads": model.heads,
        "decoder_attention_heads": model.heads,
        "encoder_ffn_dim": model.d_ff,
        "decoder_ffn_dim": model.d_ff,
        "activation_function": ACTIVATIONS[model.activation],
        "scale_embedding": model.scale_embeddings,
        "max_position_embeddings": POSITIONS,
        "pad_token_id": model.pad_id,
        "bos_token_id": model.bos_id,
        "eos_token_id": model.eos_id,
        "decoder_start_token_id": start_id(model),
        "forced_eos_token_id": None,
        "dropout": model.dropout,
        "tie_word_embeddings": model.tie_embeddings != "none",
    }
    if model.norm_order == "post":
        options["decoder_vocab_size"] = loaded.subwords.tgt_size
        options["share_encoder_decoder_embeddings"] = model.tie_embeddings == "all"
    return getattr(transformers, CONFIGS[model.norm_order])(**options)


def make_state(loaded: LoadedModel, empty: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights under their names there.

    empty: the weights of a model of that configuration; biases that it has and ours lacks are 0.
    """
    config = loaded.config.model
    order = _sines_first(config)
    state: dict[str, Tensor] = {}
    for name, weight in loaded.model.state_dict().items():
        weight = _reordered(name, weight, order)
        state |= dict.fromkeys(foreign_names(name, config), weight)
    for name, weight in empty.items():
        if "embed_positions" in name:
            state[name] = weight
        elif name.endswith("bias") and name not in state:
            state[name] = torch.zeros_like(weight)
    return {name: weight.detach().float().cpu().contiguous() for name, weight in state.items()}


def _reordered(name: str, weight: Tensor, order: Tensor) -> Tensor:
    """A weight whose coordinates of the model's width are in this order."""
    if name == "output_bias":
        return weight[None]
    *_, part, kind = name.split(".")
    if part.endswith("_norm") or part in INTO_MODEL:
        return weight[order]
    return weight[:, order] if kind == "weight" or part == "embedding" else weight


def _sines_first(model: ModelConfig) -> Tensor:
    """The order of the model's coordinates in which all sines of positions precede the cosines.

    Both architectures add positions in that order. Exchanging coordinates in every weight changes
    no output.
    """
    if model.positions == "sinusoidal_halves":
        return torch.arange(model.d_model)
    return torch.cat([torch.arange(0, model.d_model, 2), torch.arange(1, model.d_model, 2)])


def read_state(
    model: ModelConfig, tensors: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Tensor]:
    """The weights of a model of ours from tensors under the names of Hugging Face.

    shapes: the shapes of our weights. Raises DataError if a tensor is missing or has another shape.
    """
    state = {}
    for name, shape in shapes.items():
        names = foreign_names(name, model)
        tensor = next((tensors[each] for each in names if each in tensors), None)
        if tensor is None:
            raise DataError(f"the weights have no tensor `{names[0]}`", "copy the files again")
        if name == "output_bias":
            tensor = tensor.reshape(-1)
        if tuple(tensor.shape) != shape:
            raise DataError(
                f"the tensor `{names[0]}` has the shape {list(tensor.shape)}, but its settings ask "
                f"for {list(shape)}",
                "the files are of different models: copy them again",
            )
        state[name] = tensor.detach().float().contiguous()
    return state


def foreign_names(name: str, model: ModelConfig) -> list[str]:
    """The names that a weight of ours may have there: tied weights are stored under any of theirs.

    >>> foreign_names("encoder.0.feed_forward.inner.bias", ModelConfig())
    ['model.encoder.layers.0.fc1.bias']
    """
    if name == "output_bias":
        return ["final_logits_bias"]
    if name.startswith("embedding."):
        use = name.removeprefix("embedding.")
        uses = [each for each, stored in TIES[model.tie_embeddings].items() if stored == use]
        shared = ["model.shared.weight"] if len(uses) == len(EMBEDDINGS) else []
        return shared + [EMBEDDINGS[each] for each in uses]
    if name.startswith(("encoder_norm", "decoder_norm")):
        side, kind = name.split("_norm.")
        return [f"model.{side}.layer_norm.{kind}"]
    side, index, *parts, kind = name.split(".")
    return [f"model.{side}.layers.{index}.{PARTS['.'.join(parts)]}.{kind}"]
