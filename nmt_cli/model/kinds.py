"""The kinds of models, and the factory that makes a model from its settings."""

from collections.abc import Callable, Mapping

import torch

from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.encoder_decoder import EncoderDecoder, parameter_count
from nmt_cli.model.transformer import Transformer


def make_model(config: ModelConfig) -> EncoderDecoder:
    """A model whose weights are not initialised; raises ValueError without vocabulary sizes."""
    return KINDS[config.kind](config)


def count_parameters(config: ModelConfig) -> int:
    """The number of parameters of such a model, without allocating it; raises as `make_model`."""
    with torch.device("meta"):
        return parameter_count(make_model(config))


# Imported on demand: translating with a Transformer must not take longer for them.
def _recurrent(config: ModelConfig) -> EncoderDecoder:
    from nmt_cli.model.baselines.recurrent import Recurrent

    return Recurrent(config)


def _convolutional(config: ModelConfig) -> EncoderDecoder:
    from nmt_cli.model.baselines.convolutional import Convolutional

    return Convolutional(config)


KINDS: Mapping[str, Callable[[ModelConfig], EncoderDecoder]] = {
    "transformer": Transformer, "rnn": _recurrent, "conv": _convolutional,
}  # fmt: skip
