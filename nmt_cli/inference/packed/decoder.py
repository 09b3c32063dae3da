"""The CPU engine in torch, for machines without a C compiler; its KV cache is never moved."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.inference.logits_step import BusyRows, LogitsStep
from nmt_cli.inference.packed.head import block_step
from nmt_cli.inference.packed.model import PackedModel
from nmt_cli.inference.vocabulary_mask import VocabularyMask
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.decoder import Source, Symbols

# The number of steps by which the KV cache grows.
GROWTH = 16


class PackedDecoder:
    """A `search.decoder.Decoder`; the busy slots occupy the first entries of the KV cache.

    The key that row i of an entry computed at step t stays at (t, i). The ancestor table tells
    which of them a row attends to: (entries, beam, capacity), the row that its hypothesis was in at
    each step, or -1.
    """

    check_every = 1

    def __init__(self, model: PackedModel, slots: int, beam: int) -> None:
        self.slots = slots
        self.beam = beam
        self.symbols = Symbols.of(model.config)
        self.device = torch.device("cpu")
        self.arrays = TorchArrays(self.device)
        self._model = model
        self._owners: list[int] = []
        self._allowed = VocabularyMask(model.head.words, self.device)
        self._lengths = torch.zeros(0, dtype=torch.int64)
        self._src_lengths = torch.zeros(0, dtype=torch.int64)
        self._ancestors = torch.zeros(0, beam, 0, dtype=torch.int64)
        layers, heads = len(model.decoder), model.config.heads
        widths = model.d_k, model.d_v
        # Self- and cross-attention: keys and values of each layer: (entry, head, position, width).
        self._own = [[torch.zeros(0, heads, 0, width) for width in widths] for _ in range(layers)]
        self._cross = [[torch.zeros(0, heads, 0, width) for width in widths] for _ in range(layers)]

    @torch.inference_mode()
    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Encode the sources together and give each the next free entry."""
        lengths = [len(source.ids) for source in sources]
        ids = torch.tensor([token_id for source in sources for token_id in source.ids])
        segments = Segments.from_lengths(lengths)
        first, last = len(self._owners), len(self._owners) + len(slots)
        self._owners += slots
        self._allowed.admit(slots, sources)
        self._reserve(last, 1, int(segments.max_length))
        self._lengths[first:last] = 0
        self._src_lengths[first:last] = segments.lengths
        self._ancestors[first:last] = -1
        for cached, new in zip(self._cross, self._model.encode(ids, segments), strict=True):
            for tensor, stream in zip(cached, new, strict=True):
                # (sources, length, heads, width) -> (sources, heads, length, width)
                padded = segments.to_rectangle(stream).transpose(1, 2)
                tensor[first:last] = 0
                tensor[first:last, :, : padded.shape[2]] = padded
        for cached in self._own:
            for tensor in cached:
                # Otherwise NaN that a broken model left there would spread: 0 times NaN is NaN.
                tensor[first:last] = 0

    @torch.inference_mode()
    def retire(self, slots: Sequence[int]) -> None:
        """Free the entries of these slots; the last ones move there."""
        self._allowed.retire(slots)
        for slot in slots:
            entry, last = self._owners.index(slot), len(self._owners) - 1
            self._owners[entry] = self._owners[last]
            self._owners.pop()
            if entry == last:
                continue
            for tensor in self._by_entry():
                tensor[entry] = tensor[last]

    def _by_entry(self) -> list[Tensor]:
        cached = [tensor for layer in (*self._own, *self._cross) for tensor in layer]
        return [self._lengths, self._src_lengths, self._ancestors, *cached]

    def _reserve(self, entries: int, steps: int, src: int) -> None:
        """Grow the cache to at least these entries, and steps and source tokens of each."""
        entries = max(entries, len(self._lengths))
        if entries > len(self._lengths):
            entries = min(self.slots, max(entries, 2 * len(self._lengths)))
            self._lengths = _grown(self._lengths, entries)
            self._src_lengths = _grown(self._src_lengths, entries)
        capacity = self._ancestors.shape[2]
        steps = capacity if steps <= capacity else steps - 1 + GROWTH
        self._ancestors = _grown(self._ancestors, entries, self.beam, steps, empty=-1)
        src = max(src, self._cross[0][0].shape[2])
        heads = self._model.config.heads
        for cached, length in ((self._own, steps * self.beam), (self._cross, src)):
            for layer in cached:
                layer[:] = [
                    _grown(tensor, entries, heads, length, tensor.shape[3]) for tensor in layer
                ]

    @torch.inference_mode()
    def step(self, parents: Tensor, ids: Tensor) -> LogitsStep:
        """Update the ancestors of the busy rows and compute their next logits."""
        busy = len(self._owners)
        owners = torch.tensor(self._owners)
        lengths = self._lengths[:busy]
        longest = int(lengths.max()) + 1
        self._reserve(busy, longest, 0)
        rows = owners[:, None] * self.beam + torch.arange(self.beam)
        mask = self._update_ancestors(parents[rows] - rows[:, :1], lengths, longest)
        entries = torch.arange(busy)
        position = lengths.repeat_interleave(self.beam)

        def attend_self(layer: int, joined: Tensor) -> Tensor:
            query, *new = self._model.inputs.split(joined, "tgt", position, longest)
            for cached, tensor in zip(self._own[layer], new, strict=True):
                heads, width = cached.shape[1], cached.shape[3]
                # (entries, heads, steps * beam, width) -> (entries, heads, steps, beam, width)
                by_step = cached.view(len(cached), heads, -1, self.beam, width)
                by_step[entries, :, lengths] = self._by_entry_and_head(tensor)
            return self._attend(query, self._own[layer], longest * self.beam, mask)

        longest_src = int(self._src_lengths[:busy].max())
        inside = torch.arange(longest_src) < self._src_lengths[:busy, None]
        src_mask = torch.zeros(inside.shape).masked_fill_(~inside, -torch.inf)[:, None, None]

        def attend_source(layer: int, query: Tensor) -> Tensor:
            query = self._model.inputs.by_head(query)
            return self._attend(query, self._cross[layer], longest_src, src_mask)

        logits = self._model.decode(
            ids[rows.flatten()], position, longest, attend_self, attend_source
        )
        logits = self._allowed.hide_others(logits, self._owners)
        lengths += 1
        busy_rows = BusyRows(rows.flatten(), self.slots * self.beam)
        return block_step(logits, self._model.head.words, busy_rows)

    def _update_ancestors(self, parents: Tensor, lengths: Tensor, longest: int) -> Tensor:
        """(busy, 1, beam, steps * beam): 0 where a row attends to a key, else -inf."""
        busy = len(parents)
        table = self._ancestors[:busy, :, :longest]
        table[:] = table.gather(1, parents[:, :, None].expand_as(table))
        own = torch.arange(self.beam)
        table[torch.arange(busy), :, lengths] = own
        # (busy, beam, steps, beam)
        visible = table[..., None] == own
        mask = torch.zeros(visible.shape).masked_fill_(~visible, -torch.inf)
        return mask.flatten(2)[:, None]

    def _attend(self, query: Tensor, cached: list[Tensor], length: int, mask: Tensor) -> Tensor:
        """(rows, heads * d_v): the rows of an entry attend to its keys, as the mask allows."""
        busy = len(self._owners)
        keys, values = (tensor[:busy, :, :length] for tensor in cached)
        scaled = self._by_entry_and_head(query * query.shape[-1] ** -0.5)
        # (busy, heads, beam, length)
        scores = (scaled @ keys.transpose(2, 3)).add_(mask)
        # (busy, heads, beam, d_v) -> (rows, heads * d_v)
        return (scores.softmax(-1) @ values).transpose(1, 2).flatten(2).flatten(0, 1)

    def _by_entry_and_head(self, rows: Tensor) -> Tensor:
        """(rows, heads, width) -> (busy, heads, beam, width)"""
        return rows.view(len(self._owners), self.beam, *rows.shape[1:]).transpose(1, 2)


def _grown(tensor: Tensor, *sizes: int, empty: int = 0) -> Tensor:
    """The tensor, or a larger one that begins with its values and is filled with `empty`."""
    if tuple(tensor.shape) == sizes:
        return tensor
    larger = tensor.new_full(sizes, empty)
    larger[tuple(slice(size) for size in tensor.shape)] = tensor
    return larger
