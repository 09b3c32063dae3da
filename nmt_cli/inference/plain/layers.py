"""The operations of a Transformer's layers in NumPy."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from nmt_cli.inference.weights import FeedForwardArrays, NormWeights, Projection


def project(x: np.ndarray, projection: Projection) -> np.ndarray:
    """x W^T + b: (tokens, inputs) -> (tokens, outputs)."""
    product: np.ndarray = x @ projection.weight.T
    return product if projection.bias is None else product + projection.bias


def normalise(x: np.ndarray, norm: NormWeights) -> np.ndarray:
    """LayerNorm or RMSNorm over the last axis."""
    if not norm.root_mean_square:
        x = x - x.mean(axis=-1, keepdims=True)
    squares = np.square(x).mean(axis=-1, keepdims=True)
    scaled: np.ndarray = x / np.sqrt(squares + np.float32(norm.epsilon)) * norm.weight
    return scaled if norm.bias is None else scaled + norm.bias


def softmax(scores: np.ndarray) -> np.ndarray:
    """The softmax over the last axis."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: np.ndarray = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return shares


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    """The logarithm of the sum of the exponentials of each row: (rows, 1)."""
    greatest = logits.max(axis=1, keepdims=True)
    sums: np.ndarray = np.log(np.exp(logits - greatest).sum(axis=1, keepdims=True)) + greatest
    return sums


def attention_weights(query: np.ndarray, key: np.ndarray, *, causal: bool = False) -> np.ndarray:
    """softmax(Q K^T / sqrt(d_k)), (.., heads, queries, keys), from (.., tokens, heads, d_k)."""
    scale = np.float32(1 / math.sqrt(query.shape[-1]))
    scores = (query.swapaxes(-2, -3) * scale) @ np.moveaxis(key, -3, -1)
    if causal:
        queries, keys = scores.shape[-2:]
        scores = np.where(np.tri(queries, keys, dtype=bool), scores, np.float32(-np.inf))
    return softmax(scores)


def attend(weights: np.ndarray, value: np.ndarray) -> np.ndarray:
    """(.., heads, queries, keys) and (.., keys, heads, d_v) -> (.., queries, heads * d_v)"""
    attended = (weights @ value.swapaxes(-2, -3)).swapaxes(-2, -3)
    joined: np.ndarray = attended.reshape(*attended.shape[:-2], -1)
    return joined


def rotated(
    heads: np.ndarray, positions: np.ndarray, rotations: tuple[np.ndarray, np.ndarray] | None
) -> np.ndarray:
    """Queries or keys (tokens, heads, d_k), rotated by their positions if the model does so."""
    if rotations is None:
        return heads
    cosines, sines = (table[positions][:, None, :] for table in rotations)
    even, odd = heads[..., 0::2], heads[..., 1::2]
    pairs = [even * cosines - odd * sines, even * sines + odd * cosines]
    return np.stack(pairs, axis=-1).reshape(heads.shape)


def feed_forward(x: np.ndarray, weights: FeedForwardArrays, activation: str) -> np.ndarray:
    """The feed-forward sublayer of section 3.3, position by position."""
    inner = project(x, weights.inner)
    width = weights.outer.weight.shape[1]
    activated = ACTIVATIONS[activation](inner[:, :width])
    if inner.shape[1] > width:
        activated = activated * inner[:, width:]
    return project(activated, weights.outer)


def _relu(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.maximum(x, np.float32(0))
    return result


def _gelu(x: np.ndarray) -> np.ndarray:
    scaled = x * np.float32(math.sqrt(0.5))
    result: np.ndarray = x * np.float32(0.5) * (np.float32(1) + _erf(scaled).astype(np.float32))
    return result


def _silu(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = x / (np.float32(1) + np.exp(-x))
    return result


# NumPy has no error function.
_erf = np.vectorize(math.erf, otypes=[np.float64])
ACTIVATIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": _relu, "gelu": _gelu, "silu": _silu, "swiglu": _silu,
}  # fmt: skip
