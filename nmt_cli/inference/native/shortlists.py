"""Shortlists: the words that the source in each slot allows, with their output weights."""

from collections.abc import Sequence

import numpy as np

from nmt_cli.inference.native.linear import BLOCK, Linear
from nmt_cli.inference.native.memory import address
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.packing.packer import copy_outputs
from nmt_cli.inference.native.structs import WordList
from nmt_cli.search.decoder import Source


class Shortlists:
    """The word lists for the library, which multiplies a row with the words of its slot only.

    entries: the struct `shortlist` of each slot, with all words where its source allows all.
    """

    def __init__(self, model: NativeModel, slots: int) -> None:
        self.entries = (WordList * slots)()
        # The words of each busy slot, None for all.
        self.ids: dict[int, np.ndarray | None] = {}
        self._model = model
        # Keeps the arrays alive that the entries point to.
        self._kept: dict[int, tuple[np.ndarray | None, ...]] = {}

    @property
    def needed(self) -> bool:
        """Whether any source does not allow all words."""
        return any(ids is not None for ids in self.ids.values())

    @property
    def widest(self) -> int:
        """The most words, in whole blocks, that a row has logits for."""
        return max((self.entries[slot].head.outputs for slot in self.ids), default=0)

    def words_of(self, slot: int) -> tuple[np.ndarray, int]:
        """The words of a slot, and the number of logits of its rows, in whole blocks."""
        ids = self.ids[slot]
        ids = np.arange(self._model.words) if ids is None else ids
        return ids, self.entries[slot].head.outputs

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Pack the output weights of the words that new sources allow."""
        model, listed = self._model, {}
        for slot, source in zip(slots, sources, strict=True):
            self.ids[slot] = source.allowed
            if source.allowed is None:
                self.entries[slot] = WordList(model.decoder_stack.model.head, None, model.words)
            else:
                listed[slot] = np.ascontiguousarray(source.allowed, np.int64)
        if listed:
            self._pack(listed)

    def retire(self, slots: Sequence[int]) -> None:
        """Free the weights of these slots."""
        for slot in slots:
            del self.ids[slot]
            self._kept.pop(slot, None)

    def _pack(self, listed: dict[int, np.ndarray]) -> None:
        """Pack all lists at once, each in whole blocks filled up with logits of -inf."""
        model = self._model
        blocks = [-(-len(ids) // BLOCK) for ids in listed.values()]
        joined = np.zeros((sum(blocks), BLOCK), np.int64)
        bias = np.full(joined.shape, -np.inf, np.float32)
        first = 0
        for ids, count in zip(listed.values(), blocks, strict=True):
            joined[first : first + count].reshape(-1)[: len(ids)] = ids
            inside = bias[first : first + count].reshape(-1)
            inside[: len(ids)] = 0.0 if model.bias is None else model.bias[ids]
            first += count
        layer = copy_outputs(model.kernels.library, model.head, joined.flatten())
        # A row for each block.
        arrays = [
            None if array is None else array.reshape(sum(blocks), -1)
            for array in layer._replace(bias=bias)[:4]
        ]
        first = 0
        for (slot, ids), count in zip(listed.items(), blocks, strict=True):
            slot_arrays = [
                None if array is None else array[first : first + count] for array in arrays
            ]
            head = Linear(*map(address, slot_arrays), layer.inputs, count * BLOCK, layer.kind)
            self.entries[slot] = WordList(head, address(ids), len(ids))
            self._kept[slot] = *slot_arrays, ids
            first += count
