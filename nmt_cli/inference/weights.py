"""A Transformer's weights as NumPy arrays, for the engines that need no torch.

Projections of the same input are joined into one, as the kernels compute them.
"""

import re
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.position_tables import SINUSOIDS, position_angles
from nmt_cli.model.shapes import TIES, Shapes, head_widths, stack_depths, transformer_shapes
from nmt_cli.model_weights import pieces_of

Weights = MutableMapping[str, np.ndarray]
# The names of the weights of linear layers, except for the output layer.
_LINEAR = re.compile(r"(en|de)coder\.\d+\.(self_attention|cross_attention|feed_forward)\..+")


class Projection(NamedTuple):
    """x W^T + b; weight: (outputs, inputs), bias: (outputs,) or None."""

    weight: np.ndarray
    bias: np.ndarray | None

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return len(self.weight)


class ProjectionRows(NamedTuple):
    """A projection whose weights are given some rows at a time, as they are read from a file.

    shape: (outputs, inputs); pieces: the rows in order, each piece valid until the next one. Rows
    that are missing in the end are zeros.
    """

    shape: tuple[int, int]
    pieces: Iterable[np.ndarray]
    bias: np.ndarray | None

    @classmethod
    def of(cls, weight: np.ndarray, bias: np.ndarray | None) -> "ProjectionRows":
        """A projection whose weights are in memory."""
        return cls((weight.shape[0], weight.shape[1]), [weight], bias)


class NormWeights(NamedTuple):
    """A LayerNorm or an RMSNorm; weight, bias: (d_model,), None for a bias that is not there."""

    weight: np.ndarray
    bias: np.ndarray | None
    epsilon: float
    root_mean_square: bool


class SelfAttentionArrays(NamedTuple):
    """Section 3.2.3; `joined` gives queries, keys and values, one after the other."""

    joined: Projection
    output: Projection
    norm: NormWeights


class CrossAttentionArrays(NamedTuple):
    """Section 3.2.3; `memory` gives the keys, then the values, of the encoder's output."""

    query: Projection
    memory: Projection
    output: Projection
    norm: NormWeights


class FeedForwardArrays(NamedTuple):
    """Section 3.3; `inner` of a gated layer gives the inner values, then as many gates."""

    inner: Projection
    outer: Projection
    norm: NormWeights


class LayerArrays(NamedTuple):
    """A layer of the encoder (without `cross`) or of the decoder."""

    own: SelfAttentionArrays
    cross: CrossAttentionArrays | None
    feed_forward: FeedForwardArrays


class TransformerArrays:
    """The weights of a Transformer by their parts; those that are not joined are not copied."""

    def __init__(self, config: ModelConfig, weights: Weights, *, consumes: bool = False) -> None:
        """weights: by the names of `model.shapes.transformer_shapes`, float32.

        consumes: to save memory, weights of layers are removed as `layers` and `projections` give
        them, and the matrix of the output layer by `forget_output`.
        """
        self.config = config
        self._weights = weights
        self._consumes = consumes
        self._take = weights.pop if consumes else weights.__getitem__
        self._shapes = transformer_shapes(config)
        self.d_k, self.d_v = head_widths(config)
        # The tables that were made, by their number of rows.
        self._tables: dict[int, np.ndarray] = {}
        self._rotations: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def embedding(self, use: str) -> np.ndarray:
        """The matrix for `use`: src, tgt or output."""
        return self._weights[self.embedding_name(use)]

    def embedding_name(self, use: str) -> str:
        """The name of the matrix for `use`."""
        return f"embedding.{TIES[self.config.tie_embeddings][use]}"

    @property
    def output(self) -> Projection:
        """The output layer."""
        return Projection(self.embedding("output"), self.output_bias)

    @property
    def output_rows(self) -> ProjectionRows:
        """The output layer, some rows at a time."""
        name = self.embedding_name("output")
        words, width = self._shapes[name]
        return ProjectionRows((words, width), self.pieces(name), self.output_bias)

    @property
    def output_bias(self) -> np.ndarray | None:
        """What is added to the logits, (words,), or None."""
        return self._weights.get("output_bias")

    def is_output(self, side: str) -> bool:
        """Whether the embedding of the side src or tgt is the matrix of the output layer."""
        ties = TIES[self.config.tie_embeddings]
        return ties[side] == ties["output"]

    def forget_output(self) -> None:
        """Remove the matrix of the output layer, if weights are to be removed."""
        if self._consumes:
            del self._weights[self.embedding_name("output")]

    def layers(self, stack: str) -> Iterator[LayerArrays]:
        """The layers of the stack `encoder` or `decoder`, read as they are asked for."""
        for index in range(self.depth(stack)):
            yield self._layer(f"{stack}.{index}", cross=stack == "decoder")

    def projections(self, stack: str) -> Iterator[tuple[str, ProjectionRows]]:
        """The linear layers of a stack, read as they are asked for, by names as `decoder.0.memory`.

        The rows of one are to be taken before the next one.

        The parts: joined, output, inner, outer, and in a decoder query, cross_output and memory.
        """
        parts = {
            "joined": ("self_attention", ["query", "key", "value"]),
            "output": ("self_attention", ["output"]),
            "inner": ("feed_forward", self._inner_names),
            "outer": ("feed_forward", ["outer"]),
        }
        if stack == "decoder":
            parts |= {
                "query": ("cross_attention", ["query"]),
                "cross_output": ("cross_attention", ["output"]),
                "memory": ("cross_attention", ["key", "value"]),
            }
        for index in range(self.depth(stack)):
            for part, (sublayer, names) in parts.items():
                yield (
                    f"{stack}.{index}.{part}",
                    self._joined_rows(f"{stack}.{index}.{sublayer}", names),
                )

    @property
    def _inner_names(self) -> list[str]:
        return ["inner", "gate"] if self.config.activation == "swiglu" else ["inner"]

    def depth(self, stack: str) -> int:
        """The number of layers of the stack `encoder` or `decoder`."""
        return stack_depths(self.config)[stack == "decoder"]

    def norms(self, stack: str) -> Iterator[list[NormWeights]]:
        """Of each layer of a stack, the norms of its sublayers in their order."""
        parts = ["self_attention", "cross_attention", "feed_forward"]
        if stack == "encoder":
            parts.remove("cross_attention")
        for index in range(self.depth(stack)):
            yield [self._norm(f"{stack}.{index}.{part}_norm") for part in parts]

    def unjoined_shapes(self) -> Shapes:
        """The shapes of all weights but those of the linear layers: embeddings, norms, biases."""
        names = (name for name in self._weights if not _LINEAR.fullmatch(name))
        return {name: self._shapes[name] for name in names}

    def unjoined(self, without: Collection[str] = ()) -> Weights:
        """All weights but those of the linear layers and those `without`, read now."""
        return {name: self._weights[name] for name in self.unjoined_shapes() if name not in without}

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        """Some rows of a weight at a time, each piece valid until the next one."""
        return pieces_of(self._weights, name)

    def last_norm(self, stack: str) -> NormWeights | None:
        """The norm after a stack with pre-norm."""
        return self._norm(f"{stack}_norm") if self.config.norm_order == "pre" else None

    def _layer(self, layer: str, *, cross: bool) -> LayerArrays:
        own_part, cross_part, inner_part = (
            f"{layer}.{name}" for name in ("self_attention", "cross_attention", "feed_forward")
        )
        return LayerArrays(
            SelfAttentionArrays(
                self._joined(own_part, ["query", "key", "value"]),
                self._joined(own_part, ["output"]),
                self._norm(f"{own_part}_norm"),
            ),
            CrossAttentionArrays(
                self._joined(cross_part, ["query"]),
                self._joined(cross_part, ["key", "value"]),
                self._joined(cross_part, ["output"]),
                self._norm(f"{cross_part}_norm"),
            )
            if cross
            else None,
            FeedForwardArrays(
                self._joined(inner_part, self._inner_names),
                self._joined(inner_part, ["outer"]),
                self._norm(f"{inner_part}_norm"),
            ),
        )

    def _joined(self, part: str, names: Sequence[str]) -> Projection:
        """Projections of the same input as one, with outputs in order."""
        weights, biases = (
            [
                self._take(f"{part}.{name}.{kind}")
                for name in names
                if f"{part}.{name}.{kind}" in self._weights
            ]
            for kind in ("weight", "bias")
        )
        if len(names) == 1:
            return Projection(weights[0], biases[0] if biases else None)
        return Projection(np.concatenate(weights), np.concatenate(biases) if biases else None)

    def _joined_rows(self, part: str, names: Sequence[str]) -> ProjectionRows:
        """The same as `_joined`, with the weights read as they are asked for."""
        weights, biases = (
            [f"{part}.{name}.{kind}" for name in names if f"{part}.{name}.{kind}" in self._weights]
            for kind in ("weight", "bias")
        )
        outputs = sum(self._shapes[name][0] for name in weights)
        bias = np.concatenate([self._take(name) for name in biases]) if biases else None
        return ProjectionRows(
            (outputs, self._shapes[weights[0]][1]), self._taken_pieces(weights), bias
        )

    def _taken_pieces(self, names: Sequence[str]) -> Iterator[np.ndarray]:
        """The rows of weights one after the other, which are removed if weights are to be."""
        for name in names:
            yield from pieces_of(self._weights, name)
            if self._consumes:
                del self._weights[name]

    def _norm(self, name: str) -> NormWeights:
        return NormWeights(
            self._weights[f"{name}.weight"],
            self._weights.get(f"{name}.bias"),
            self.config.norm_epsilon,
            self.config.norm == "rms_norm",
        )

    def position_table(self, side: str, rows: int) -> np.ndarray | None:
        """What is added to the embeddings of a side, (rows, d_model); None: nothing.

        Learned positions have as many rows as were learned; later positions share the last one.
        """
        config = self.config
        if config.positions == "learned":
            return self._weights["positions.weight" if side == "src" else "tgt_positions.weight"]
        if config.positions not in SINUSOIDS:
            return None
        if rows not in self._tables:
            offset = config.position_offset
            table = SINUSOIDS[config.positions](offset + rows, config.d_model)[offset:]
            self._tables = {rows: np.ascontiguousarray(table)}
        return self._tables[rows]

    def rotations(self, rows: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Cosines and sines, (rows, d_k / 2), that rotate queries and keys; None: nothing does."""
        if self.config.positions != "rotary":
            return None
        if rows not in self._rotations:
            angles = position_angles(rows, self.d_k)
            tables = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
            self._rotations = {rows: tables}
        return self._rotations[rows]
