"""The settings of a checkpoint of fairseq, and which of them nmt can represent."""

from collections.abc import Mapping
from typing import Any

from nmt_cli.errors import DataError

# What the architectures set where a checkpoint does not say it.
BASE: Mapping[str, object] = {
    "encoder_embed_dim": 512, "encoder_ffn_embed_dim": 2048, "encoder_layers": 6,
    "encoder_attention_heads": 8, "decoder_layers": 6, "decoder_attention_heads": 8,
    "activation_fn": "relu", "dropout": 0.1,
}  # fmt: skip
SMALL = {"encoder_ffn_embed_dim": 1024, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
BIG = {
    "encoder_embed_dim": 1024, "encoder_ffn_embed_dim": 4096, "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
}  # fmt: skip
TINY = {
    "encoder_embed_dim": 64, "encoder_ffn_embed_dim": 64, "encoder_layers": 2,
    "encoder_attention_heads": 2, "decoder_layers": 2, "decoder_attention_heads": 2,
}  # fmt: skip
PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}
ARCHITECTURES: Mapping[str, Mapping[str, object]] = {
    "transformer": {},
    "transformer_tiny": TINY,
    "transformer_iwslt_de_en": SMALL,
    "transformer_wmt_en_de": {},
    "transformer_wmt_en_de_big": BIG,
    "transformer_wmt_en_de_big_t2t": {**BIG, **PRE_NORM},
    "transformer_vaswani_wmt_en_de_big": BIG,
    "transformer_vaswani_wmt_en_fr_big": BIG,
    "transformer_align": {},
    "transformer_wmt_en_de_big_align": BIG,
}
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu"}
EPSILON = 1e-5
# The first token of a sentence: the id of padding, 1, and 1.
POSITION_OFFSET = 2
# Settings of which nmt has only this value, and what others mean.
UNSET: Mapping[str, str] = {
    "encoder_learned_pos": "has learned positions in the encoder",
    "decoder_learned_pos": "has learned positions in the decoder",
    "no_token_positional_embeddings": "has no positions",
    "layernorm_embedding": "normalises the embeddings",
    "adaptive_softmax_cutoff": "has an adaptive softmax",
    "adaptive_input": "has adaptive embeddings",
    "character_embeddings": "has embeddings of characters",
    "no_cross_attention": "has no attention to the source",
    "cross_self_attention": "attends to source and target together",
    "no_decoder_final_norm": "has no norm after the decoder",
    "encoder_layers_to_keep": "leaves out layers when it is loaded",
    "decoder_layers_to_keep": "leaves out layers when it is loaded",
    "base_layers": "has layers of experts",
    "moe_freq": "has layers of experts",
    "scale_attn": "scales the attention",
    "scale_attns": "scales the attention",
    "scale_heads": "scales the heads",
    "scale_fc": "scales the feed-forward sublayers",
    "scale_fcs": "scales the feed-forward sublayers",
    "scale_resids": "scales the residual connections",
}
# What has to be the same in the encoder and the decoder.
SAME = ("embed_dim", "ffn_embed_dim", "attention_heads", "normalize_before")
TASKS = ("translation",)


def flat_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the model and of its task, under the names of fairseq's options.

    values: the checkpoint, with `cfg` (fairseq 0.11 and later) or `args`. Raises DataError.
    """
    settings = values.get("args")
    if isinstance(values.get("cfg"), dict):
        cfg = values["cfg"]
        model, task = cfg.get("model"), cfg.get("task")
        if not isinstance(model, dict):
            raise DataError("the checkpoint has no settings of a model in `cfg`", "copy it again")
        settings = dict(model)
        settings.setdefault("arch", model.get("_name"))
        if isinstance(task, dict):
            settings["task"] = task.get("_name")
            settings |= {key: task[key] for key in ("source_lang", "target_lang") if key in task}
    if not isinstance(settings, dict):
        raise DataError(
            "the checkpoint has no settings (`cfg` or `args`), so that it is none of fairseq's "
            "training",
            "name a checkpoint that fairseq-train has written",
        )
    for side in ("encoder", "decoder"):
        part = settings.pop(side, None)
        if isinstance(part, dict):
            settings |= {f"{side}_{name}": value for name, value in part.items()}
    return _with_defaults(settings)


def _with_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in settings.items() if value is not None}
    architecture = ARCHITECTURES.get(str(given.get("arch")), {})
    complete = {**BASE, **architecture, **given}
    for name in ("embed_dim", "ffn_embed_dim"):
        complete.setdefault(f"decoder_{name}", complete[f"encoder_{name}"])
    for side in ("encoder", "decoder"):
        complete.setdefault(f"{side}_normalize_before", False)
    return complete


def reasons_against(settings: Mapping[str, Any]) -> list[str]:
    """Every reason why nmt cannot represent a model with these settings."""
    reasons = []
    architecture = settings.get("arch")
    if architecture not in ARCHITECTURES:
        reasons.append(
            f"its architecture is `{str(architecture)[:60]}`, and nmt imports {_names()}"
        )
    if settings.get("task", TASKS[0]) not in TASKS:
        reasons.append(f"its task is `{str(settings['task'])[:60]}`, which is not `{TASKS[0]}`")
    reasons += [
        f"`{name}` {meaning}, which nmt does not have"
        for name, meaning in UNSET.items()
        if settings.get(name)
    ]
    reasons += [
        f"`{name}` differs between the encoder ({encoder}) and the decoder ({decoder})"
        for name in SAME
        if (encoder := settings[f"encoder_{name}"]) != (decoder := settings[f"decoder_{name}"])
    ]
    reasons += [
        f"`{name}` differs from the width of the decoder"
        for name in ("decoder_input_dim", "decoder_output_dim")
        if settings.get(name, settings["decoder_embed_dim"]) != settings["decoder_embed_dim"]
    ]
    if settings["activation_fn"] not in ACTIVATIONS:
        activation = str(settings["activation_fn"])[:60]
        reasons.append(f"nmt does not have its activation function `{activation}`")
    return reasons


def _names() -> str:
    return ", ".join(f"`{name}`" for name in ARCHITECTURES)


def model_settings(settings: Mapping[str, Any]) -> dict[str, object]:
    """Our settings of a model without reasons against it."""
    ties = "none"
    if settings.get("share_all_embeddings"):
        ties = "all"
    elif settings.get("share_decoder_input_output_embed"):
        ties = "target"
    return {
        "encoder_layers": settings["encoder_layers"],
        "decoder_layers": settings["decoder_layers"],
        "d_model": settings["encoder_embed_dim"],
        "d_ff": settings["encoder_ffn_embed_dim"],
        "heads": settings["encoder_attention_heads"],
        "dropout": settings["dropout"],
        "positions": "sinusoidal_t2t",
        "position_offset": POSITION_OFFSET,
        "norm_order": "pre" if settings["encoder_normalize_before"] else "post",
        "norm_epsilon": EPSILON,
        "activation": ACTIVATIONS[settings["activation_fn"]],
        "attention_bias": True,
        "feed_forward_bias": True,
        "tie_embeddings": ties,
        "scale_embeddings": not settings.get("no_scale_embedding"),
    }
