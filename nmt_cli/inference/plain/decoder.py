"""The engine in NumPy, for machines with neither a compiled library nor torch: slow, but exact."""

from collections.abc import Sequence

import numpy as np

from nmt_cli.inference.plain.layers import (
    attend,
    attention_weights,
    feed_forward,
    log_sum_exp,
    project,
)
from nmt_cli.inference.plain.model import PlainModel, Sentences
from nmt_cli.inference.weights import LayerArrays
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.decoder import Source, Symbols
from nmt_cli.search.full_distribution import FullDistributionStep

KeysValues = tuple[np.ndarray, np.ndarray]


class _Slot:
    """A source: the keys and values of each layer, and the ids that it allows (None: all).

    own: of the target, (beam, steps, heads, width); cross: of the source, (tokens, heads, width).
    """

    def __init__(self, cross: list[KeysValues], beam: int, allowed: np.ndarray | None) -> None:
        self.cross = cross
        self.allowed = allowed
        self.length = 0
        self.own: list[KeysValues] = [
            (_without_steps(beam, keys), _without_steps(beam, values)) for keys, values in cross
        ]


class PlainDecoder:
    """A `search.decoder.Decoder` over a model in NumPy."""

    check_every = 1

    def __init__(self, model: PlainModel, slots: int, beam: int) -> None:
        self.slots = slots
        self.beam = beam
        self.symbols = Symbols.of(model.config)
        self.arrays = NUMPY
        self._model = model
        self._busy: dict[int, _Slot] = {}

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Encode the sources together."""
        sentences = Sentences.of([source.ids for source in sources])
        memory = self._model.encode(sentences)
        by_layer = [
            list(zip(*map(sentences.split, self._model.memory_heads(layer, memory)), strict=True))
            for layer in self._model.decoder
        ]
        for slot, source, *cross in zip(slots, sources, *by_layer, strict=True):
            self._busy[slot] = _Slot(cross, self.beam, source.allowed)

    def retire(self, slots: Sequence[int]) -> None:
        """Free these slots."""
        for slot in slots:
            del self._busy[slot]

    def step(self, parents: np.ndarray, ids: np.ndarray) -> FullDistributionStep:
        """Reorder the busy rows and compute their next log-probabilities."""
        model, beam = self._model, self.beam
        rows = (np.array(list(self._busy))[:, None] * beam + np.arange(beam)).flatten()
        origins = (parents % beam).reshape(-1, beam)
        positions = np.array([slot.length for slot in self._busy.values()]).repeat(beam)
        x = model.embed("tgt", ids[rows], positions)
        for index, layer in enumerate(model.decoder):
            x = self._apply_layer(x, index, layer, positions, origins)
        for slot in self._busy.values():
            slot.length += 1
        logits = model.logits(model.last_normalised(x, "decoder"))
        self._hide_others(logits)
        log_probs = np.full((len(ids), logits.shape[1]), -np.inf, np.float32)
        log_probs[rows] = logits - log_sum_exp(logits)
        return FullDistributionStep(log_probs)

    def _apply_layer(
        self,
        x: np.ndarray,
        index: int,
        layer: LayerArrays,
        positions: np.ndarray,
        origins: np.ndarray,
    ) -> np.ndarray:
        """One layer for the new id of each busy row; origins: (slots, beam), their parents."""
        model, cross, inner = self._model, layer.cross, layer.feed_forward
        assert cross is not None

        def attend_self(y: np.ndarray) -> np.ndarray:
            heads = model.split_heads(project(y, layer.own.joined), positions)
            attended = [
                _attend_own(self._busy[slot], index, origins[slot], *parts)
                for slot, *parts in zip(self._busy, *map(self._by_slot, heads), strict=True)
            ]
            return project(np.concatenate(attended), layer.own.output)

        def attend_source(y: np.ndarray) -> np.ndarray:
            queries = self._by_slot(model.by_head(project(y, cross.query)))
            attended = [
                attend(attention_weights(query, slot.cross[index][0]), slot.cross[index][1])
                for query, slot in zip(queries, self._busy.values(), strict=True)
            ]
            return project(np.concatenate(attended), cross.output)

        def position_wise(y: np.ndarray) -> np.ndarray:
            return feed_forward(y, inner, model.config.activation)

        x = model.residual(x, attend_self, layer.own.norm)
        x = model.residual(x, attend_source, cross.norm)
        return model.residual(x, position_wise, inner.norm)

    def _by_slot(self, rows: np.ndarray) -> np.ndarray:
        """(rows, ...) -> (busy slots, beam, ...)"""
        return rows.reshape(len(self._busy), self.beam, *rows.shape[1:])

    def _hide_others(self, logits: np.ndarray) -> None:
        """Set the logits of the ids that a source does not allow to -inf."""
        for slot_logits, slot in zip(self._by_slot(logits), self._busy.values(), strict=True):
            if slot.allowed is not None:
                allowed_logits = slot_logits[:, slot.allowed]
                slot_logits[:] = -np.inf
                slot_logits[:, slot.allowed] = allowed_logits


def _without_steps(beam: int, heads: np.ndarray) -> np.ndarray:
    """(beam, 0, heads, width), from an array (tokens, heads, width)."""
    return np.empty((beam, 0, *heads.shape[1:]), np.float32)


def _attend_own(
    slot: _Slot,
    layer: int,
    origins: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
) -> np.ndarray:
    """Self-attention of the rows of a slot, (beam, heads * d_v); their keys and values are kept."""
    keys, values = (
        np.concatenate([old[origins], new[:, None]], axis=1)
        for old, new in zip(slot.own[layer], (key, value), strict=True)
    )
    slot.own[layer] = keys, values
    return attend(attention_weights(query[:, None], keys), values)[:, 0]
