"""Floating-point operations of training: the matrix products of the model's equations."""

from collections.abc import Callable, Mapping

import numpy as np

from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.encoder_decoder import stack_depths, vocabulary_sizes
from nmt_cli.model.shapes import head_widths

# A product costs one multiplication and one addition; backward is two products for each forward.
PASSES = 2 * 3


def training_flops(model: ModelConfig, src_lengths: np.ndarray, tgt_lengths: np.ndarray) -> float:
    """Operations of one pass forward and backward over pairs of these lengths, in tokens.

    src_lengths, tgt_lengths: (pairs,), EOS included. Multiplications and additions of every matrix
    product are counted; norms, softmax, activations and the optimiser are not. Padding is not
    counted, causal attention is counted for the positions that are not masked, and recomputation
    in kernels is not counted, so the count does not depend on the implementation. Raises ValueError
    where the sizes of the vocabularies are not known.
    """
    src = np.asarray(src_lengths, dtype=np.float64)
    tgt = np.asarray(tgt_lengths, dtype=np.float64)
    output = model.d_model * vocabulary_sizes(model)[1] * tgt.sum()
    return float(PASSES * (output + LAYERS[model.kind](model, src, tgt)))


def _transformer(model: ModelConfig, src: np.ndarray, tgt: np.ndarray) -> float:
    d_k, d_v = (model.heads * width for width in head_widths(model))
    d_model, d_ff = model.d_model, model.d_ff
    encoder_layers, decoder_layers = stack_depths(model)
    projections = d_model * (2 * d_k + 2 * d_v)
    feed_forward = d_model * d_ff * (3 if model.activation == "swiglu" else 2)
    # Keys and values of cross-attention: for each source token; the rest: for each target token.
    cross = decoder_layers * d_model * (d_k + d_v)
    per_src = encoder_layers * (projections + feed_forward) + cross
    per_tgt = decoder_layers * (projections + feed_forward) + cross
    attention = encoder_layers * src**2 + decoder_layers * (tgt * (tgt + 1) / 2 + src * tgt)
    return float(per_src * src.sum() + per_tgt * tgt.sum() + (d_k + d_v) * attention.sum())


def _rnn(model: ModelConfig, src: np.ndarray, tgt: np.ndarray) -> float:
    """A gate has two matrices; attention keys are computed once for each source token."""
    square = model.d_model**2
    half = (model.d_model // 2) * model.d_model + (model.d_model // 2) ** 2
    encoder_layers, decoder_layers = stack_depths(model)
    per_src = encoder_layers * 2 * 3 * half + square
    # The attention query, the layers, the readout layer.
    per_tgt = square + decoder_layers * 3 * (2 * square + square) + 3 * square
    # v tanh(..) and the weighted mean of the annotations.
    attention = 2 * model.d_model * (src * tgt).sum()
    return float(per_src * src.sum() + per_tgt * tgt.sum() + attention + square * len(src))


def _conv(model: ModelConfig, src: np.ndarray, tgt: np.ndarray) -> float:
    """The zeros beyond the ends of a sentence count like its tokens."""
    square = model.d_model**2
    block = model.kernel_width * 2 * square
    encoder_layers, decoder_layers = stack_depths(model)
    per_src = 2 * square + encoder_layers * block
    per_tgt = 2 * square + decoder_layers * (block + square)
    attention = decoder_layers * 2 * model.d_model * (src * tgt).sum()
    return float(per_src * src.sum() + per_tgt * tgt.sum() + attention)


LAYERS: Mapping[str, Callable[[ModelConfig, np.ndarray, np.ndarray], float]] = {
    "transformer": _transformer, "rnn": _rnn, "conv": _conv,
}  # fmt: skip
