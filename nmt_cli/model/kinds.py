"""Every kind of model, and the one place where a model is made from its settings."""

from collections.abc import Callable, Mapping

import torch

from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.encoder_decoder import EncoderDecoder, parameter_count
from nmt_cli.model.transformer import Transformer


def make_model(config: ModelConfig) -> EncoderDecoder:
    """A model without weights yet; raises ValueError where a vocabulary's size is not known."""
    return KINDS[config.kind](config)


def count_parameters(config: ModelConfig) -> int:
    """Numbers that such a model learns; nothing is allocated. Raises as `make_model`."""
    with torch.device("meta"):
        return parameter_count(make_model(config))


# Loaded when asked for: to translate with a Transformer must not take longer for them.
def _recurrent(config: ModelConfig) -> EncoderDecoder:
    from nmt_cli.model.baselines.recurrent import Recurrent

    return Recurrent(config)


def _convolutional(config: ModelConfig) -> EncoderDecoder:
    from nmt_cli.model.baselines.convolutional import Convolutional

    return Convolutional(config)


KINDS: Mapping[str, Callable[[ModelConfig], EncoderDecoder]] = {
    "transformer": Transformer, "rnn": _recurrent, "conv": _convolutional,
}  # fmt: skip
