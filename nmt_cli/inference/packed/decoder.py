"""The CPU engine without kernels of its own: torch alone, keys and values that never move."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.inference.packed.head import BlockStep
from nmt_cli.inference.packed.model import PackedModel
from nmt_cli.inference.vocabulary_mask import VocabularyMask
from nmt_cli.search.decoder import Source, Symbols

# Steps that room is made for at a time.
GROWTH = 16


class PackedDecoder:
    """A `search.decoder.Decoder`; the busy slots lie side by side in the first places.

    The key that row i of a place made at step t stays at (t, i). Which of them a row sees is in the
    ancestor table: (places, beam, capacity), the row that its hypothesis was in at each step; -1
    where it has none.
    """

    check_every = 1

    def __init__(self, model: PackedModel, slots: int, beam: int) -> None:
        self.slots = slots
        self.beam = beam
        self.symbols = Symbols.of(model.config)
        self.device = torch.device("cpu")
        self._model = model
        self._owners: list[int] = []
        self._allowed = VocabularyMask(model.head.words, self.device)
        self._lengths = torch.zeros(0, dtype=torch.int64)
        self._src_lengths = torch.zeros(0, dtype=torch.int64)
        self._ancestors = torch.zeros(0, beam, 0, dtype=torch.int64)
        layers, heads = len(model.decoder), model.config.heads
        widths = model.d_k, model.d_v
        # Of each layer: keys and values by (place, head, step and row), and of the source.
        self._own = [[torch.zeros(0, heads, 0, width) for width in widths] for _ in range(layers)]
        self._cross = [[torch.zeros(0, heads, 0, width) for width in widths] for _ in range(layers)]

    @torch.inference_mode()
    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Encode the sources together and give each the next free place."""
        lengths = [len(source.ids) for source in sources]
        ids = torch.tensor([one for source in sources for one in source.ids])
        segments = Segments.from_lengths(lengths)
        first, last = len(self._owners), len(self._owners) + len(slots)
        self._owners += slots
        self._allowed.admit(slots, sources)
        self._reserve(last, 1, int(segments.max_length))
        self._lengths[first:last] = 0
        self._src_lengths[first:last] = segments.lengths
        self._ancestors[first:last] = -1
        for cached, made in zip(self._cross, self._model.encode(ids, segments), strict=True):
            for one, stream in zip(cached, made, strict=True):
                padded = segments.to_rectangle(stream).transpose(1, 2)
                one[first:last] = 0
                one[first:last, :, : padded.shape[2]] = padded
        for cached in self._own:
            for one in cached:
                # What a broken model left there would come through even a weight of 0.
                one[first:last] = 0

    @torch.inference_mode()
    def retire(self, slots: Sequence[int]) -> None:
        """Free their places; the last ones move there."""
        self._allowed.retire(slots)
        for slot in slots:
            place, last = self._owners.index(slot), len(self._owners) - 1
            self._owners[place] = self._owners[last]
            self._owners.pop()
            if place == last:
                continue
            for one in self._by_place():
                one[place] = one[last]

    def _by_place(self) -> list[Tensor]:
        cached = [one for layer in (*self._own, *self._cross) for one in layer]
        return [self._lengths, self._src_lengths, self._ancestors, *cached]

    def _reserve(self, places: int, steps: int, src: int) -> None:
        """Room for so many places, steps, and source tokens of each."""
        places = max(places, len(self._lengths))
        if places > len(self._lengths):
            places = min(self.slots, max(places, 2 * len(self._lengths)))
            self._lengths = _grown(self._lengths, places)
            self._src_lengths = _grown(self._src_lengths, places)
        capacity = self._ancestors.shape[2]
        steps = capacity if steps <= capacity else steps - 1 + GROWTH
        self._ancestors = _grown(self._ancestors, places, self.beam, steps, empty=-1)
        src = max(src, self._cross[0][0].shape[2])
        heads = self._model.config.heads
        for cached, length in ((self._own, steps * self.beam), (self._cross, src)):
            for layer in cached:
                layer[:] = [_grown(one, places, heads, length, one.shape[3]) for one in layer]

    @torch.inference_mode()
    def step(self, parents: Tensor, ids: Tensor) -> BlockStep:
        """Note the ancestors of the busy rows and compute their next logits."""
        busy = len(self._owners)
        owners = torch.tensor(self._owners)
        lengths = self._lengths[:busy]
        longest = int(lengths.max()) + 1
        self._reserve(busy, longest, 0)
        rows = owners[:, None] * self.beam + torch.arange(self.beam)
        seen = self._note_ancestors(parents[rows] - rows[:, :1], lengths, longest)
        places = torch.arange(busy)
        position = lengths.repeat_interleave(self.beam)

        def attend_self(layer: int, joined: Tensor) -> Tensor:
            query, *new = self._model.split(joined, "tgt", position, longest)
            for cached, one in zip(self._own[layer], new, strict=True):
                heads, width = cached.shape[1], cached.shape[3]
                by_step = cached.view(len(cached), heads, -1, self.beam, width)
                by_step[places, :, lengths] = self._by_place_and_head(one)
            return self._attend(query, self._own[layer], longest * self.beam, seen)

        longest_src = int(self._src_lengths[:busy].max())
        inside = torch.arange(longest_src) < self._src_lengths[:busy, None]
        src_mask = torch.zeros(inside.shape).masked_fill_(~inside, -torch.inf)[:, None, None]

        def attend_source(layer: int, query: Tensor) -> Tensor:
            query = self._model.by_head(query)
            return self._attend(query, self._cross[layer], longest_src, src_mask)

        logits = self._model.decode(
            ids[rows.flatten()], position, longest, attend_self, attend_source
        )
        logits = self._allowed.hide_others(logits, self._owners)
        lengths += 1
        words, all_rows = self._model.head.words, self.slots * self.beam
        return BlockStep(logits, words, rows.flatten(), all_rows)

    def _note_ancestors(self, parents: Tensor, lengths: Tensor, longest: int) -> Tensor:
        """(busy, 1, beam, steps and rows): 0 where a row sees a key, else -inf."""
        busy = len(parents)
        table = self._ancestors[:busy, :, :longest]
        table[:] = table.gather(1, parents[:, :, None].expand_as(table))
        own = torch.arange(self.beam)
        table[torch.arange(busy), :, lengths] = own
        sees = table[..., None] == own
        mask = torch.zeros(sees.shape).masked_fill_(~sees, -torch.inf)
        return mask.flatten(2)[:, None]

    def _attend(self, query: Tensor, cached: list[Tensor], length: int, mask: Tensor) -> Tensor:
        """(rows, heads * d_v): all rows of a place look at its keys; the mask hides the others'."""
        busy = len(self._owners)
        keys, values = (one[:busy, :, :length] for one in cached)
        looking = self._by_place_and_head(query * query.shape[-1] ** -0.5)
        scores = (looking @ keys.transpose(2, 3)).add_(mask)
        return (scores.softmax(-1) @ values).transpose(1, 2).flatten(2).flatten(0, 1)

    def _by_place_and_head(self, rows: Tensor) -> Tensor:
        """(busy, heads, beam, width) of (rows, heads, width)."""
        return rows.view(len(self._owners), self.beam, *rows.shape[1:]).transpose(1, 2)


def _grown(tensor: Tensor, *sizes: int, empty: int = 0) -> Tensor:
    """The tensor, or a larger one that begins with what it holds; the rest is `empty`."""
    if tuple(tensor.shape) == sizes:
        return tensor
    larger = tensor.new_full(sizes, empty)
    larger[tuple(slice(size) for size in tensor.shape)] = tensor
    return larger
