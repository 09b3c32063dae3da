"""`model.zero_start`: the decoder's first input is the zero vector, as in Marian and tensor2tensor.

The embedding of the start id is zero from the beginning, and its gradient is cleared in every step,
so that no optimiser moves it. Every engine then decodes such a model without knowing of it.
"""

import torch

from nmt_cli.model.encoder_decoder import EncoderDecoder


def set_zero_start(model: EncoderDecoder) -> None:
    """Set the embedding of the start id to zero if the settings ask for it."""
    if model.config.zero_start:
        with torch.no_grad():
            model.embedding.matrix("tgt")[_start_id(model)].zero_()


def clear_start_gradient(model: EncoderDecoder) -> None:
    """Clear the gradient of that embedding if the settings ask for it."""
    if model.config.zero_start:
        gradient = model.embedding.matrix("tgt").grad
        if gradient is not None:
            gradient[_start_id(model)].zero_()


def _start_id(model: EncoderDecoder) -> int:
    config = model.config
    return config.bos_id if config.start_id == "auto" else config.start_id
