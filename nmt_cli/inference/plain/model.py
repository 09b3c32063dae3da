"""A Transformer in NumPy over whole sentences: the reference where there is no torch."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from nmt_cli.inference.plain.layers import (
    attend,
    attention_weights,
    feed_forward,
    normalise,
    project,
    rotated,
)
from nmt_cli.inference.weights import LayerArrays, NormWeights, TransformerArrays
from nmt_cli.model.position_tables import TABLE_ROWS


class Sentences(NamedTuple):
    """Ids of sentences, one after the other, and the length of each; positions: of each id."""

    ids: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> "Sentences":
        """The sentences with these ids."""
        lengths = np.array([len(sentence) for sentence in sentences], np.int64)
        ids = [token_id for sentence in sentences for token_id in sentence]
        return cls(np.array(ids, np.int64), lengths)

    @property
    def positions(self) -> np.ndarray:
        """The position of each id in its sentence, from 0."""
        starts: np.ndarray = (np.cumsum(self.lengths) - self.lengths).repeat(self.lengths)
        positions: np.ndarray = np.arange(len(self.ids)) - starts
        return positions

    def split(self, stream: np.ndarray) -> list[np.ndarray]:
        """The rows of each sentence."""
        return np.split(stream, np.cumsum(self.lengths)[:-1])


class Decoded(NamedTuple):
    """What the decoder gives for whole targets.

    hidden: (target ids, d_model), the input of the output layer; cross_attention: of each layer
    and each pair, the mean of its heads (target ids, source ids).
    """

    hidden: np.ndarray
    cross_attention: list[list[np.ndarray]]


class PlainModel:
    """A Transformer in evaluation mode, float32."""

    def __init__(self, arrays: TransformerArrays) -> None:
        self.arrays = arrays
        self.config = arrays.config

    @cached_property
    def encoder(self) -> list[LayerArrays]:
        """The layers of the encoder."""
        return list(self.arrays.layers("encoder"))

    @cached_property
    def decoder(self) -> list[LayerArrays]:
        """The layers of the decoder."""
        return list(self.arrays.layers("decoder"))

    def embed(self, side: str, ids: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """The embeddings of section 3.4, with positions: (tokens, d_model)."""
        x: np.ndarray = self.arrays.embedding(side)[ids]
        if self.config.scale_embeddings:
            x = x * np.float32(math.sqrt(self.config.d_model))
        table = self.arrays.position_table(side, _rows(positions))
        return x if table is None else x + table[np.minimum(positions, len(table) - 1)]

    def encode(self, sources: Sentences) -> np.ndarray:
        """The output of the encoder: (tokens, d_model)."""
        x = self.embed("src", sources.ids, sources.positions)
        for layer in self.encoder:
            x = self.residual(x, partial(self._self_attention, layer, sources), layer.own.norm)
            x = self._feed_forward(x, layer)
        return self.last_normalised(x, "encoder")

    def decode(self, targets: Sentences, memory: np.ndarray, sources: Sentences) -> Decoded:
        """The output of the decoder for whole targets, each of which begins with the start id."""
        x = self.embed("tgt", targets.ids, targets.positions)
        maps: list[list[np.ndarray]] = []
        for layer in self.decoder:
            assert layer.cross is not None
            own = partial(self._self_attention, layer, targets, causal=True)
            cross = partial(self._cross_attention, layer, targets, memory, sources, maps)
            x = self.residual(x, own, layer.own.norm)
            x = self.residual(x, cross, layer.cross.norm)
            x = self._feed_forward(x, layer)
        return Decoded(self.last_normalised(x, "decoder"), maps)

    def logits(self, hidden: np.ndarray) -> np.ndarray:
        """(rows, d_model) -> (rows, vocabulary)"""
        return project(hidden, self.arrays.output)

    def residual(
        self, x: np.ndarray, sublayer: Callable[[np.ndarray], np.ndarray], norm: NormWeights
    ) -> np.ndarray:
        """Add a sublayer's output to `x` and normalise, before or after, as the model does."""
        if self.config.norm_order == "pre":
            summed: np.ndarray = x + sublayer(normalise(x, norm))
            return summed
        return normalise(x + sublayer(x), norm)

    def split_heads(
        self, joined: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Queries, keys and values of self-attention: (tokens, heads, width)."""
        keys = self.config.heads * self.arrays.d_k
        rotations = self.arrays.rotations(_rows(positions))
        query, key = (
            rotated(self.by_head(part), positions, rotations)
            for part in (joined[:, :keys], joined[:, keys : 2 * keys])
        )
        return query, key, self.by_head(joined[:, 2 * keys :])

    def memory_heads(self, layer: LayerArrays, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The keys and values of the encoder's output: (tokens, heads, width)."""
        assert layer.cross is not None
        keys, joined = self.config.heads * self.arrays.d_k, project(memory, layer.cross.memory)
        return self.by_head(joined[:, :keys]), self.by_head(joined[:, keys:])

    def by_head(self, rows: np.ndarray) -> np.ndarray:
        """(tokens, heads * width) -> (tokens, heads, width)"""
        by_head: np.ndarray = rows.reshape(len(rows), self.config.heads, -1)
        return by_head

    def _self_attention(
        self, layer: LayerArrays, sentences: Sentences, y: np.ndarray, *, causal: bool = False
    ) -> np.ndarray:
        """Attention within each sentence: (tokens, d_model) -> (tokens, d_model)."""
        heads = self.split_heads(project(y, layer.own.joined), sentences.positions)
        attended = [
            attend(attention_weights(query, key, causal=causal), value)
            for query, key, value in zip(*map(sentences.split, heads), strict=True)
        ]
        return project(np.concatenate(attended), layer.own.output)

    def _cross_attention(
        self,
        layer: LayerArrays,
        targets: Sentences,
        memory: np.ndarray,
        sources: Sentences,
        maps: list[list[np.ndarray]],
        y: np.ndarray,
    ) -> np.ndarray:
        """Attention to the source; `maps` gets its weights."""
        assert layer.cross is not None
        keys, values = self.memory_heads(layer, memory)
        queries = targets.split(self.by_head(project(y, layer.cross.query)))
        weights = [
            attention_weights(query, key)
            for query, key in zip(queries, sources.split(keys), strict=True)
        ]
        maps.append([pair_weights.mean(axis=0) for pair_weights in weights])
        attended = map(attend, weights, sources.split(values))
        return project(np.concatenate(list(attended)), layer.cross.output)

    def _feed_forward(self, x: np.ndarray, layer: LayerArrays) -> np.ndarray:
        weights, activation = layer.feed_forward, self.config.activation
        return self.residual(x, lambda y: feed_forward(y, weights, activation), weights.norm)

    def last_normalised(self, x: np.ndarray, stack: str) -> np.ndarray:
        """The output of a stack, with the norm that pre-norm has at its end."""
        norm = self.arrays.last_norm(stack)
        return x if norm is None else normalise(x, norm)


def _rows(positions: np.ndarray) -> int:
    """The rows of a position table with all of these."""
    return max(TABLE_ROWS, int(positions.max(initial=0)) + 1)
