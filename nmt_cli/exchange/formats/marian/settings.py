"""The settings of a Marian model: what nmt can represent, and what it writes."""

from collections.abc import Mapping
from typing import Any

from nmt_cli.config.schema import ModelConfig
from nmt_cli.exchange.formats.marian.npz import Array
from nmt_cli.exchange.formats.marian.weights import OUTPUT_BIAS
from nmt_cli.model.encoder_decoder import stack_depths

# The activation functions here and there. Marian's gelu is an approximation that nmt lacks.
ACTIVATIONS = {"relu": "relu", "silu": "swish"}
# The epsilon of Marian's layer norms.
EPSILON = 1e-9
# The version that wrote the files these settings were taken from.
VERSION = "v1.12.0"
SIZES = {
    "encoder_layers": "enc-depth", "decoder_layers": "dec-depth", "d_model": "dim-emb",
    "d_ff": "transformer-dim-ffn", "heads": "transformer-heads",
}  # fmt: skip
# Settings with the values that nmt can represent, the default first; and what others mean.
SUPPORTED: Mapping[str, tuple[tuple[object, ...], str]] = {
    "type": (("transformer",), "is not a Transformer for translation"),
    "transformer-preprocess": (("", "d"), "normalises before a sublayer (pre-norm), in a way that "
                               "differs between Marian's versions"),
    "transformer-postprocess": (("dan", "an"), "has another order than residual connection and "
                                "layer norm after each sublayer"),
    "transformer-postprocess-emb": (("d", ""), "changes the embeddings"),
    "transformer-postprocess-top": (("", "d"), "changes the output of the stacks"),
    "transformer-decoder-autoreg": (("self-attention",), "replaces the decoder's self-attention"),
    "transformer-tied-layers": (([], None), "shares weights between layers"),
    "transformer-train-position-embeddings": ((False,), "has learned positions"),
    "transformer-disable-position-embeddings": ((False,), "has no positions"),
    "transformer-attention-mask": (("default",), "changes the attention by distance"),
    "transformer-alibi-shift": ((False,), "changes the attention by distance"),
    "transformer-alibi-trainable": ((False,), "changes the attention by distance"),
    "transformer-no-projection": ((False,), "leaves out a projection"),
    "transformer-rnn-projection": ((False,), "adds a projection"),
    "transformer-no-bias": ((False,), "leaves out the biases"),
    "transformer-no-affine": ((False,), "leaves out the weights of the layer norms"),
    "transformer-pool": ((False,), "replaces the attention to the source"),
    "transformer-ffn-depth": ((2,), "has another number of feed-forward layers"),
    "transformer-decoder-ffn-depth": ((0, 2), "has another number of feed-forward layers"),
    "transformer-ffn-activation": (("swish", "relu"), "is not an activation function of nmt"),
    "factors-dim-emb": ((0,), "has factors"),
    "lemma-dim-emb": ((0,), "has factors"),
    "lemma-dependency": (("",), "has factors"),
    "input-types": (([], None, ["sequence", "sequence"]), "has inputs that are not text"),
    "layer-normalization": ((False,), "is a setting of recurrent models"),
    "skip": ((False,), "is a setting of recurrent models"),
    "right-left": ((False,), "writes translations from right to left"),
    "ulr": ((False,), "has universal embeddings"),
}  # fmt: skip
# Settings that nmt reads, and those that do not change a Transformer's translations.
READ = (
    *SIZES.values(), "dim-vocabs", "transformer-decoder-dim-ffn", "tied-embeddings",
    "tied-embeddings-all", "tied-embeddings-src", "output-omit-bias",
)  # fmt: skip
WITHOUT_EFFECT = (
    "bert-", "dec-cell", "enc-cell", "enc-type", "dim-rnn", "factors-combine", "separator-symbol",
    "transformer-aan-", "transformer-dim-aan", "transformer-depth-scaling",
    "transformer-guided-alignment-layer", "ulr-", "version",
)  # fmt: skip


def reasons_against(settings: Mapping[str, Any]) -> list[str]:
    """Every reason why nmt cannot represent a model with these settings."""
    reasons = [
        f"`{name}: {_shown(settings[name])}` {meaning}"
        for name, (values, meaning) in SUPPORTED.items()
        if name in settings and not _is_one_of(settings[name], values)
    ]
    if "type" not in settings:
        reasons.append("its settings name no type")
    for name in (*SIZES.values(), "transformer-decoder-dim-ffn"):
        value = settings.get(name, 0 if name.startswith("transformer-decoder") else None)
        if type(value) is not int:
            reasons.append(f"its settings have no whole number as `{name}`")
    decoder_ff = settings.get("transformer-decoder-dim-ffn", 0)
    if decoder_ff not in (0, settings.get("transformer-dim-ffn")):
        reasons.append(
            f"`transformer-decoder-dim-ffn: {_shown(decoder_ff)}` differs from the encoder's width"
        )
    unknown = sorted(
        str(name)
        for name, value in settings.items()
        if value
        and name not in SUPPORTED
        and name not in READ
        and not str(name).startswith(WITHOUT_EFFECT)
    )
    if unknown:
        names = ", ".join(f"`{name[:60]}`" for name in unknown[:20])
        reasons.append(f"nmt does not know its settings {names}")
    return reasons


def _is_one_of(value: object, values: tuple[object, ...]) -> bool:
    """Whether a value is among others; 0 is not False here."""
    return any(type(value) is type(other) and value == other for other in values)


def _shown(value: object) -> str:
    return str(value)[:60] if isinstance(value, str | int | float | list) else "..."


def model_settings(settings: Mapping[str, Any]) -> dict[str, object]:
    """Our settings of a model without reasons against it."""
    activation = settings.get("transformer-ffn-activation", "swish")
    ties = "none"
    if settings.get("tied-embeddings-all"):
        ties = "all"
    elif settings.get("tied-embeddings"):
        ties = "all" if settings.get("tied-embeddings-src") else "target"
    return {
        **{name: settings[there] for name, there in SIZES.items()},
        "positions": "sinusoidal_t2t",
        "norm_order": "post",
        "norm_epsilon": EPSILON,
        "activation": {there: here for here, there in ACTIVATIONS.items()}[activation],
        "attention_bias": True,
        "feed_forward_bias": True,
        # The first input of the decoder needs one even if the model has none.
        "output_bias": True,
        "tie_embeddings": ties,
        "scale_embeddings": True,
    }


def settings_of(
    model: ModelConfig, rows: tuple[int, int], arrays: Mapping[str, Array]
) -> dict[str, object]:
    """The settings that Marian gets for a model of ours."""
    depths = stack_depths(model)
    defaults = {name: values[0] for name, (values, _) in SUPPORTED.items()}
    return {
        **defaults,
        "version": VERSION,
        "dim-emb": model.d_model,
        "dim-vocabs": list(rows),
        "dim-rnn": 1024,
        "enc-depth": depths[0],
        "dec-depth": depths[1],
        "enc-type": "bidirectional",
        "enc-cell": "gru",
        "dec-cell": "gru",
        "transformer-heads": model.heads,
        "transformer-dim-ffn": model.d_ff,
        "transformer-decoder-dim-ffn": 0,
        "transformer-ffn-activation": ACTIVATIONS[model.activation],
        "transformer-dim-aan": 2048,
        "transformer-aan-depth": 2,
        "transformer-aan-activation": "swish",
        "transformer-aan-nogate": False,
        "transformer-guided-alignment-layer": "last",
        "tied-embeddings": model.tie_embeddings == "target",
        "tied-embeddings-src": False,
        "tied-embeddings-all": model.tie_embeddings == "all",
        "output-omit-bias": OUTPUT_BIAS not in arrays,
        "factors-combine": "sum",
        "separator-symbol": "[eos]",
    }
