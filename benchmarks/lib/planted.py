"""A model with random weights that copies its source: lengths and rivals as in real translation.

The last attention to the source finds the place that the target has reached, because keys and
queries are told their positions apart; what it takes there is added so strongly that the word of
that place becomes likely, and EOS in the end. All other weights are random and do little. The work
is that of a trained model of this size.
"""

import torch
from torch import Tensor

from nmt_cli.config.schema import Config
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.positions import SINUSOIDAL_ENCODINGS
from nmt_cli.model.transformer import Transformer
from nmt_cli.model.zero_start import set_zero_start

# How strongly the source's word is added, how sharply its place is found.
COPY, SHARPNESS = 4.0, 14.0
# What is left of the other sublayers, and of the logits.
FAINT, LOGITS = 0.1, 0.7
RIDGE = 20.0
TINY = {"model.layers": 2, "model.d_model": 64, "model.d_ff": 96, "model.heads": 2}


def planted_settings(settings: dict[str, object]) -> dict[str, object]:
    """Settings of a model that the peers can hold too: one vocabulary, biases, Marian's places."""
    return {
        "model.positions": "sinusoidal_halves",
        "model.attention_bias": True,
        "model.dropout": 0.0,
        "model.norm_epsilon": 1e-5,
        **settings,
    }


@torch.no_grad()
def planted_model(config: Config, longest: int) -> Transformer:
    """A model that copies sources of up to `longest` tokens."""
    model = initialise(Transformer(config.model), seed=1).eval()
    width = config.model.d_model
    places = SINUSOIDAL_ENCODINGS[config.model.positions](longest, width)
    # Words that say nothing of positions, so that positions can be read from sums of both.
    words = model.embedding.matrix("src")
    basis = torch.linalg.svd(places, full_matrices=False)[2]
    words -= words @ basis.T @ basis
    for stack in (model.encoder, model.decoder):
        for layer in stack:
            layer.feed_forward.outer.weight *= FAINT
            layer.self_attention.output.weight *= FAINT
    for layer in model.decoder_layers[:-1]:
        layer.cross_attention.output.weight *= FAINT
    if config.model.zero_start:
        set_zero_start(model)
    _plant(model, _finder(places, config.model.heads))
    return model


def _plant(model: Transformer, finder: Tensor) -> None:
    layer = model.decoder_layers[-1]
    attention, width = layer.cross_attention, model.config.d_model
    attention.query.weight.copy_(finder)
    attention.key.weight.copy_(finder)
    attention.value.weight.copy_(torch.eye(width))
    attention.output.weight.copy_(COPY * torch.eye(width))
    layer.feed_forward_norm.weight *= LOGITS


def _finder(places: Tensor, heads: int) -> Tensor:
    """(d_model, d_model): in each head a code of the position, near to orthogonal for others."""
    gram = places @ places.T
    finder = torch.linalg.solve(gram + RIDGE * torch.eye(len(places)), places)
    finder = finder / (finder * places).sum(1, keepdim=True)
    missing = places.shape[1] // heads - len(places)
    return torch.nn.functional.pad(SHARPNESS * finder, (0, 0, 0, missing)).repeat(heads, 1)
