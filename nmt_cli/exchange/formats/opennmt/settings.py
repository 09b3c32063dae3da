"""The settings of a checkpoint of OpenNMT-py, and which of them nmt can represent."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from nmt_cli.errors import DataError

DEFAULTS: Mapping[str, object] = {
    "model_task": "seq2seq", "model_type": "text", "encoder_type": "transformer",
    "decoder_type": "transformer", "position_encoding": False, "heads": 8, "transformer_ff": 2048,
    "position_encoding_type": "SinusoidalInterleaved", "pos_ffn_activation_fn": "relu",
    "layer_norm": "standard", "norm_eps": 1e-6, "self_attn_type": "scaled-dot",
    "generator_function": "softmax",
}  # fmt: skip
POSITIONS = {"SinusoidalInterleaved": "sinusoidal", "SinusoidalConcat": "sinusoidal_t2t"}
# OpenNMT-py's silu has a gate.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "swiglu"}
NORMS = {"standard": "layer_norm", "rms": "rms_norm"}
# Settings with the values that nmt can represent.
SUPPORTED: Mapping[str, tuple[object, ...]] = {
    "model_task": ("seq2seq",),
    "model_type": ("text",),
    "encoder_type": ("transformer",),
    "decoder_type": ("transformer",),
    "position_encoding": (True,),
    "position_encoding_type": tuple(POSITIONS),
    "pos_ffn_activation_fn": tuple(ACTIVATIONS),
    "layer_norm": tuple(NORMS),
    "self_attn_type": ("scaled-dot", "scaled-dot-flash"),
    "generator_function": ("softmax",),
}
# Settings of which nmt has only this value, and what others mean.
UNSET: Mapping[str, str] = {
    "max_relative_positions": "has relative or rotary positions",
    "relative_positions_buckets": "has relative positions",
    "num_kv": "shares keys and values between heads",
    "parallel_residual": "has parallel residual connections",
    "shared_layer_norm": "has shared norms",
    "num_experts": "has experts",
    "sliding_window": "limits the attention",
    "copy_attn": "copies words from the source",
    "n_src_feats": "has features of words",
    "lora_layers": "has layers of LoRA",
    "lora_embedding": "has LoRA for the embeddings",
    "quant_layers": "has quantised layers",
}
# Steps on the text before the vocabulary, beside which nmt has sentencepiece only.
OTHER_TRANSFORMS = ("bpe", "onmt_tokenize", "prefix", "suffix", "docify", "terminology")

# Entries of checkpoints of fairseq, which are `.pt` files too.
FAIRSEQ_SETTINGS = ("args", "cfg")


def complete_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the checkpoint, with defaults; raises DataError without settings."""
    given = values.get("opt")
    if not isinstance(given, dict):
        hint = "name a checkpoint that onmt_train has written"
        if not values.keys().isdisjoint(FAIRSEQ_SETTINGS):
            hint = (
                "it looks like one of fairseq: name this format with --from fairseq, and the "
                "dictionaries (dict.en.txt, dict.de.txt) and the sentencepiece model with --vocab"
            )
        raise DataError(
            "the checkpoint has no settings (`opt`), so that it is none of OpenNMT-py", hint
        )
    settings = {**DEFAULTS, **{name: value for name, value in given.items() if value is not None}}
    for side in ("enc", "dec"):
        layers = settings.get("layers", -1)
        if isinstance(layers, int) and layers > 0:
            settings[f"{side}_layers"] = layers
    if "hidden_size" not in settings and "rnn_size" in settings:
        settings["hidden_size"] = settings["rnn_size"]
    return settings


def reasons_against(settings: Mapping[str, Any]) -> list[str]:
    """Every reason why nmt cannot represent a model with these settings."""
    reasons = [
        f"`{name}` is `{str(settings[name])[:60]}`, and nmt imports "
        + " and ".join(f"`{value}`" for value in values)
        for name, values in SUPPORTED.items()
        if settings[name] not in values
    ]
    reasons += [
        f"`{name}` {meaning}, which nmt does not have"
        for name, meaning in UNSET.items()
        if settings.get(name)
    ]
    size = settings.get("hidden_size")
    reasons += [
        f"`{name}` differs from `hidden_size`"
        for name in ("src_word_vec_size", "tgt_word_vec_size", "enc_hid_size", "dec_hid_size")
        if settings.get(name, size) not in (size, -1)
    ]
    transforms = settings.get("transforms")
    if isinstance(transforms, list):
        reasons += [
            f"its text goes through the transform `{name}`, which nmt does not have"
            for name in OTHER_TRANSFORMS
            if name in transforms
        ]
    return reasons


def model_settings(settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, object]:
    """Our settings of a model without reasons against it; tensors: under OpenNMT-py's names."""
    ties = "none"
    if settings.get("share_decoder_embeddings"):
        ties = "all" if settings.get("share_embeddings") else "target"
    return {
        "encoder_layers": settings["enc_layers"],
        "decoder_layers": settings["dec_layers"],
        "d_model": settings["hidden_size"],
        "d_ff": settings["transformer_ff"],
        "heads": settings["heads"],
        "positions": POSITIONS[settings["position_encoding_type"]],
        "norm_order": "pre",
        "norm": NORMS[settings["layer_norm"]],
        "norm_epsilon": settings["norm_eps"],
        "activation": ACTIVATIONS[settings["pos_ffn_activation_fn"]],
        "attention_bias": any(name.endswith("linear_query.bias") for name in tensors),
        "feed_forward_bias": any(name.endswith("w_1.bias") for name in tensors),
        "output_bias": "generator.bias" in tensors,
        "tie_embeddings": ties,
        "scale_embeddings": True,
    }
