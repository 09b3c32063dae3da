"""Counted work of training: the products that the model's equations ask for, nothing else."""

import numpy as np

from nmt_cli.config import Model
from nmt_cli.model.attention import head_widths
from nmt_cli.model.transformer import stack_depths, vocabulary_sizes

# A product costs one multiplication and one addition; backward is two products for each forward.
PASSES = 2 * 3


def training_flops(model: Model, src_lengths: np.ndarray, tgt_lengths: np.ndarray) -> float:
    """Forward and backward operations for sentences of these lengths; padding counts for nothing.

    Causal attention is counted for the positions that may be seen.
    """
    d_k, d_v = (model.heads * width for width in head_widths(model))
    d_model, d_ff = model.d_model, model.d_ff
    encoder_layers, decoder_layers = stack_depths(model)
    projections = d_model * (2 * d_k + 2 * d_v)
    feed_forward = d_model * d_ff * (3 if model.activation == "swiglu" else 2)
    src = np.asarray(src_lengths, dtype=np.float64)
    tgt = np.asarray(tgt_lengths, dtype=np.float64)
    per_src = encoder_layers * (projections + feed_forward) + decoder_layers * d_model * (d_k + d_v)
    # Of cross-attention, the query and the output are made for each target token.
    per_tgt = decoder_layers * (projections + feed_forward + d_model * (d_k + d_v))
    per_tgt += d_model * vocabulary_sizes(model)[1]
    seen = encoder_layers * src**2 + decoder_layers * (tgt * (tgt + 1) / 2 + src * tgt)
    total = per_src * src.sum() + per_tgt * tgt.sum() + (d_k + d_v) * seen.sum()
    return float(PASSES * total)
