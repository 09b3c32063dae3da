"""Faults of a Marian model's files that leave them well-formed: only a comparison finds them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from exchange.marian_models import rewrite, with_settings

Mutation = Callable[[Path], None]


def _array(path: Path, name: str) -> np.ndarray:
    with np.load(path) as arrays:
        return arrays[name]


def _changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Mutation:
    """Write one array of a model again, changed."""

    def apply(path: Path) -> None:
        rewrite(path, **{name: np.ascontiguousarray(change(_array(path, name)))})

    return apply


def _exchanged(first: str, second: str) -> Mutation:
    """Write two arrays of a model under each other's names."""

    def apply(path: Path) -> None:
        rewrite(path, **{first: _array(path, second), second: _array(path, first)})

    return apply


def _with(**settings: object) -> Mutation:
    """Write a model again with other settings."""
    return lambda path: with_settings(path, **settings)


# Each takes the path of model.npz.
MUTATIONS: dict[str, Mutation] = {
    "a matrix is transposed": _changed("encoder_l1_self_Wo", np.transpose),
    "queries and keys are exchanged": _exchanged("decoder_l1_context_Wq", "decoder_l1_context_Wk"),
    "matrices of two layers are exchanged": _exchanged("encoder_l1_ffn_W1", "encoder_l2_ffn_W1"),
    "a bias is left out": _changed("decoder_l1_ffn_b1", np.zeros_like),
    "a norm is left out": _changed("encoder_l2_ffn_ffn_ln_scale", np.ones_like),
    "the rows of the embeddings are shifted": _changed(
        "Wemb", lambda rows: np.roll(rows, 1, axis=0)
    ),
    "the heads are others": _with(transformer_heads=2),
    "the activation function is another": _with(transformer_ffn_activation="relu"),
}
