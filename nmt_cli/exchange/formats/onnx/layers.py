"""The layers of the Transformer as ONNX operators; batches are rectangles with padding."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import ModelConfig
from nmt_cli.exchange.formats.onnx.graph import Graph
from nmt_cli.exchange.requirements import head_widths
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.positions import SINUSOIDAL_ENCODINGS

# Rows of the tables of positions: the longest sentence, in subwords.
POSITION_ROWS = 2_048
# Added to the scores of what is excluded: exp of it is 0, and it fits into float32 twice.
EXCLUDED = -1e9


class KeysValuesNames(NamedTuple):
    """Names of the keys and values of all heads, (batch, heads, tokens, width), in a graph."""

    key: str
    value: str


class Layers:
    """Adds the layers of one model to a graph."""

    def __init__(self, graph: Graph, model: EncoderDecoder) -> None:
        self._graph = graph
        self._config: ModelConfig = model.config
        self._weights = {
            name: weight.detach().float().cpu().numpy()
            for name, weight in model.state_dict().items()
        }
        self._embeddings = model.embedding.names

    def embed(self, use: str, ids: str, positions: str) -> str:
        """Embeddings of a side (src or tgt) with their positions."""
        graph, config = self._graph, self._config
        name = f"embedding.{self._embeddings[use]}"
        x = graph.apply("Gather", graph.weight(name, self._weights[name]), ids)
        if config.scale_embeddings:
            x = graph.apply("Mul", x, graph.number(math.sqrt(config.d_model)))
        if config.positions in SINUSOIDAL_ENCODINGS:
            first = config.position_offset
            encode = SINUSOIDAL_ENCODINGS[config.positions]
            table = encode(first + POSITION_ROWS, config.d_model)[first:].numpy()
            x = graph.apply("Add", x, self._rows("positions", table, positions))
        elif config.positions == "learned":
            table = self._weights[f"{'tgt_' if use == 'tgt' else ''}positions.weight"]
            # Positions beyond the last row share it.
            row = graph.apply("Min", positions, graph.integer(len(table) - 1))
            x = graph.apply("Add", x, self._rows("positions", table, row))
        return x

    def self_keys_values(self, name: str, x: str, positions: str) -> KeysValuesNames:
        """Keys, rotated if positions are, and values for self-attention."""
        key, value = self.keys_values(name, x)
        return KeysValuesNames(self._rotated(key, positions), value)

    def keys_values(self, name: str, x: str) -> KeysValuesNames:
        """Keys and values of every head."""
        rotated = name.endswith("self_attention")
        d_k, d_v = head_widths(self._config)
        key = self._heads(self._linear(f"{name}.key", x, in_halves=rotated), d_k)
        return KeysValuesNames(key, self._heads(self._linear(f"{name}.value", x), d_v))

    def attend(
        self, name: str, x: str, keys_values: KeysValuesNames, excluded: str, positions: str = ""
    ) -> str:
        """Attention of `x` to keys; excluded: added to the scores.

        positions: those of `x` in self-attention.
        """
        graph = self._graph
        d_k, d_v = head_widths(self._config)
        query = self._heads(self._linear(f"{name}.query", x, in_halves=bool(positions)), d_k)
        if positions:
            query = self._rotated(query, positions)
        query = graph.apply("Mul", query, graph.number(d_k**-0.5))
        keys = graph.apply("Transpose", keys_values.key, perm=[0, 1, 3, 2])
        scores = graph.apply("Add", graph.apply("MatMul", query, keys), excluded)
        weights = graph.apply("Softmax", scores, axis=-1)
        heads = graph.apply("MatMul", weights, keys_values.value)
        heads = graph.apply("Transpose", heads, perm=[0, 2, 1, 3])
        joined = graph.apply("Reshape", heads, graph.integers(0, 0, self._config.heads * d_v))
        return self._linear(f"{name}.output", joined)

    def feed_forward(self, name: str, x: str) -> str:
        """The feed-forward sublayer with its activation."""
        graph = self._graph
        inner = self._activated(self._linear(f"{name}.inner", x))
        if self._config.activation == "swiglu":
            inner = graph.apply("Mul", inner, self._linear(f"{name}.gate", x))
        return self._linear(f"{name}.outer", inner)

    def residual(self, name: str, x: str, sublayer: Callable[[str], str]) -> str:
        """A residual connection; name: of its norm."""
        if self._config.norm_order == "post":
            return self.norm(name, self._graph.apply("Add", x, sublayer(x)))
        return self._graph.apply("Add", x, sublayer(self.norm(name, x)))

    def last_norm(self, side: str, x: str) -> str:
        """The norm at the end of a pre-norm stack (encoder or decoder)."""
        return self.norm(f"{side}_norm", x) if self._config.norm_order == "pre" else x

    def norm(self, name: str, x: str) -> str:
        """Layer norm, or RMS norm."""
        graph, epsilon = self._graph, self._config.norm_epsilon
        scale = self._own(f"{name}.weight")
        if self._config.norm == "layer_norm":
            bias = self._own(f"{name}.bias")
            return graph.apply("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)
        mean = graph.apply("ReduceMean", graph.apply("Mul", x, x), axes=[-1], keepdims=1)
        root = graph.apply("Sqrt", graph.apply("Add", mean, graph.number(epsilon)))
        return graph.apply("Mul", graph.apply("Div", x, root), scale)

    def log_probs(self, x: str) -> str:
        """Log-probabilities of the target vocabulary; those of banned ids are EXCLUDED."""
        graph, config = self._graph, self._config
        name = f"embedding.{self._embeddings['output']}"
        matrix = self._weights[name]
        # Not transposed in the file, so that tied embeddings are stored once.
        inputs = [
            graph.apply("Reshape", x, graph.integers(-1, config.d_model)),
            graph.weight(name, matrix),
        ]
        if config.output_bias:
            inputs.append(self._own("output_bias"))
        scores = graph.apply("LogSoftmax", graph.apply("Gemm", *inputs, transB=1), axis=-1)
        if config.banned_ids:
            banned = np.zeros(len(matrix), np.float32)
            banned[list(config.banned_ids)] = EXCLUDED
            scores = graph.apply("Add", scores, graph.weight("banned_ids", banned))
        axes = graph.apply("Slice", graph.apply("Shape", x), graph.integers(0), graph.integers(2))
        shape = graph.apply("Concat", axes, graph.integers(len(matrix)), axis=0)
        return graph.apply("Reshape", scores, shape)

    def _linear(self, name: str, x: str, *, in_halves: bool = False) -> str:
        """A linear layer; in_halves: its output is rotated where positions are."""
        graph = self._graph
        in_halves = in_halves and self._config.positions == "rotary"
        weight = self._weights[f"{name}.weight"]
        order = self._halves() if in_halves else np.arange(len(weight))
        y = graph.apply("MatMul", x, graph.weight(f"{name}.weight", weight[order].T))
        if f"{name}.bias" in self._weights:
            bias = self._weights[f"{name}.bias"][order]
            y = graph.apply("Add", y, graph.weight(f"{name}.bias", bias))
        return y

    def _halves(self) -> np.ndarray:
        """The order in which the even coordinates of each head precede its odd ones.

        The same order of queries and keys changes no product of them, and halves are split in one
        operator.
        """
        heads, width = self._config.heads, head_widths(self._config)[0]
        return np.arange(heads * width).reshape(heads, -1, 2).transpose(0, 2, 1).reshape(-1)

    def _rotated(self, heads: str, positions: str) -> str:
        """Queries or keys, rotated by their positions; the same for other kinds of positions."""
        if self._config.positions != "rotary":
            return heads
        graph, width = self._graph, head_widths(self._config)[0]
        rates = np.exp(np.arange(0, width, 2, dtype=np.float64) * (-math.log(10_000.0) / width))
        angles = np.arange(POSITION_ROWS)[:, None] * rates
        cosines, sines = (
            self._rows(name, table.astype(np.float32), positions)
            for name, table in (("cosines", np.cos(angles)), ("sines", np.sin(angles)))
        )
        middle, end = graph.integers(width // 2), graph.integers(width)
        axis = graph.integers(3)
        even = graph.apply("Slice", heads, graph.integers(0), middle, axis)
        odd = graph.apply("Slice", heads, middle, end, axis)
        parts = [
            graph.apply("Sub", graph.apply("Mul", even, cosines), graph.apply("Mul", odd, sines)),
            graph.apply("Add", graph.apply("Mul", even, sines), graph.apply("Mul", odd, cosines)),
        ]
        return graph.apply("Concat", *parts, axis=-1)

    def _rows(self, name: str, table: np.ndarray, positions: str) -> str:
        """Rows of a table: (1, tokens, width).

        A position beyond the table is an error there. Without the additional axis, onnxruntime
        would replace Range and Gather by a Slice, which it refuses to run.
        """
        rows = self._graph.apply("Unsqueeze", positions, self._graph.integers(0))
        return self._graph.apply("Gather", self._graph.weight(name, table), rows)

    def _heads(self, projected: str, width: int) -> str:
        """(batch, tokens, heads * width) -> (batch, heads, tokens, width)."""
        shape = self._graph.integers(0, 0, self._config.heads, width)
        heads = self._graph.apply("Reshape", projected, shape)
        return self._graph.apply("Transpose", heads, perm=[0, 2, 1, 3])

    def _activated(self, x: str) -> str:
        graph = self._graph
        if self._config.activation == "relu":
            return graph.apply("Relu", x)
        if self._config.activation == "gelu":
            error = graph.apply("Erf", graph.apply("Mul", x, graph.number(0.5**0.5)))
            twice = graph.apply("Add", error, graph.number(1.0))
            half = graph.apply("Mul", x, graph.number(0.5))
            return graph.apply("Mul", half, twice)
        return graph.apply("Mul", x, graph.apply("Sigmoid", x))

    def _own(self, name: str) -> str:
        """A weight of the model, as it is."""
        return self._graph.weight(name, self._weights[name])
