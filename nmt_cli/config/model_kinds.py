"""Which settings apply to which kind of model, and which cannot be combined."""

from collections.abc import Callable, Mapping

from nmt_cli.errors import ConfigError
from nmt_cli.plurals import agreeing

Settings = Mapping[str, object]

# The settings of all kinds.
SHARED = frozenset(
    {
        "kind", "layers", "encoder_layers", "decoder_layers", "d_model", "dropout", "output_bias",
        "tie_embeddings", "src_vocab_size", "tgt_vocab_size", "pad_id", "unk_id", "bos_id",
        "eos_id", "start_id", "banned_ids",
    }
)  # fmt: skip
# The further settings of the baselines.
BASELINES = {
    "rnn": frozenset[str](),
    "conv": frozenset({"kernel_width", "positions", "position_offset", "max_positions"}),
}
SINUSOIDS = ("sinusoidal", "sinusoidal_halves", "sinusoidal_t2t")


def check_kind(model: Settings, defaults: Settings, compile_setting: str) -> None:
    """Raise ConfigError, naming every setting that does not apply to this kind of model.

    model: its settings by name; defaults: their default values; compile_setting: train.compile.
    """
    kind = str(model["kind"])
    wrong = [
        f"model.{name}"
        for name in model
        if model[name] != defaults[name] and not applies(name, kind)
    ]
    if kind in BASELINES and compile_setting == "on":
        wrong.append("train.compile=on")
    if wrong:
        verb = agreeing(len(wrong), "does", "do")
        hint = "leave it out, or set model.kind=conv"
        if kind in BASELINES:
            hint = f"leave out the settings of the Transformer; `--preset {kind}` has suitable ones"
        raise ConfigError(f"{', '.join(wrong)} {verb} not apply to model.kind={kind}", hint)
    CHECKS[kind](model)


def applies(name: str, kind: str) -> bool:
    """Whether a setting of models, such as `heads`, applies to this kind."""
    if kind in BASELINES:
        return name in SHARED | BASELINES[kind]
    return name != "kernel_width"


def _check_transformer(model: Settings) -> None:
    d_model, heads, d_k = (model[name] for name in ("d_model", "heads", "d_k"))
    assert isinstance(d_model, int)
    assert isinstance(heads, int)
    if "auto" in (d_k, model["d_v"]) and d_model % heads:
        raise ConfigError(
            f"model.d_model={d_model} is not divisible by model.heads={heads}",
            "choose a divisor, or set model.d_k and model.d_v",
        )
    width = d_model if model["positions"] in SINUSOIDS else 0
    if model["positions"] == "rotary":
        width = d_k if isinstance(d_k, int) else d_model // heads
    _check_sinusoids(model, width)


def _check_sinusoids(model: Settings, width: int) -> None:
    if model["position_offset"] and model["positions"] not in SINUSOIDS:
        raise ConfigError(
            f"model.position_offset={model['position_offset']} does not apply to "
            f"model.positions={model['positions']}",
            "leave it out, or choose sinusoids",
        )
    if width % 2:
        subject = "model.d_k (d_model / heads)" if model["positions"] == "rotary" else "d_model"
        raise ConfigError(
            f"model.positions={model['positions']} needs an even {subject}, for pairs of a sine "
            f"and a cosine, not {width}",
            "change model.d_model, model.heads or model.d_k, or choose other model.positions",
        )


def _check_rnn(model: Settings) -> None:
    d_model = model["d_model"]
    assert isinstance(d_model, int)
    if d_model % 2:
        raise ConfigError(
            f"model.d_model={d_model} is odd, but must be divided between the two directions of "
            "the encoder"
        )


def _check_conv(model: Settings) -> None:
    d_model, kernel_width, positions = (
        model[name] for name in ("d_model", "kernel_width", "positions")
    )
    assert isinstance(d_model, int)
    assert isinstance(kernel_width, int)
    if kernel_width % 2 == 0:
        raise ConfigError(
            f"model.kernel_width={kernel_width} is even, so that the kernel cannot be centred on a "
            "token",
            f"set model.kernel_width={kernel_width + 1}",
        )
    if positions == "rotary":
        raise ConfigError(
            "model.positions=rotary rotates the queries and keys of self-attention, which "
            "model.kind=conv does not have",
            "set model.positions=learned",
        )
    _check_sinusoids(model, d_model if positions in SINUSOIDS else 0)


CHECKS: Mapping[str, Callable[[Settings], None]] = {
    "transformer": _check_transformer, "rnn": _check_rnn, "conv": _check_conv,
}  # fmt: skip
