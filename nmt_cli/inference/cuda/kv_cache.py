"""The KV cache of a fixed number of slots on a GPU: keys and values stay where they are written."""

from collections.abc import Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.inference.packed.model import PackedModel


def bucket(length: int) -> int:
    """A length rounded up, so that there are few different ones: 32, 48, 64, 96, 128, 192 ...

    >>> [bucket(length) for length in (1, 32, 33, 50, 65, 97)]
    [32, 32, 48, 64, 96, 128]
    """
    power: int = max(32, 1 << (length - 1).bit_length())
    smaller = power // 4 * 3
    return smaller if length <= smaller and smaller > 32 else power


class KVCache:
    """The keys and values of the target so far, and of the source, of every layer.

    own: each (slots, heads, capacity, beam, width); the key that row i of a slot computed at step t
    stays at (t, i). cross: each (slots, heads, source capacity, width). source_mask: (slots, 1, 1,
    source capacity), 0 where a source has a token, else -inf; source_lengths: (slots,), how many
    tokens that are, for a free slot one. ancestors: (slots, beam, capacity),
    the row that each hypothesis was in at each step, or -1.
    """

    def __init__(self, model: PackedModel, slots: int, beam: int) -> None:
        self._model = model
        self._beam = beam
        layers, heads = len(model.decoder), model.config.heads
        zeros = partial(torch.zeros, dtype=model.dtype, device=model.device)
        widths = model.d_k, model.d_v
        self.own = [
            [zeros(slots, heads, 0, beam, width) for width in widths] for _ in range(layers)
        ]
        self.cross = [[zeros(slots, heads, 0, width) for width in widths] for _ in range(layers)]
        self.source_mask = zeros(slots, 1, 1, 0)
        self.source_lengths = torch.ones(slots, dtype=torch.int64, device=model.device)
        self.ancestors = torch.zeros(slots, beam, 0, dtype=torch.int16, device=model.device)
        # How often the tensors were reallocated.
        self.reallocations = 0

    @property
    def capacity(self) -> int:
        """The number of steps that the cache holds."""
        return self.ancestors.shape[2]

    def reserve(self, steps: int, source: int) -> None:
        """Grow to `steps` steps and `source` source tokens of each slot, if it is smaller."""
        if steps > self.capacity:
            self.reallocations += 1
            missing = max(bucket(steps), 2 * self.capacity) - self.capacity
            self.ancestors = F.pad(self.ancestors, (0, missing), value=-1)
            for layer in self.own:
                layer[:] = [F.pad(tensor, (0, 0, 0, 0, 0, missing)) for tensor in layer]
            self._model.inputs.extend_positions(self.capacity)
        reached = self.source_mask.shape[3]
        if source > reached:
            self.reallocations += 1
            missing = max(bucket(source), 2 * reached) - reached
            # A free slot attends to one position, as the softmax over no position is NaN.
            self.source_mask = F.pad(self.source_mask, (0, missing), value=-torch.inf)
            self.source_mask[:, :, :, 0] = 0
            for layer in self.cross:
                layer[:] = [F.pad(tensor, (0, 0, 0, missing)) for tensor in layer]

    def admit(self, slots: Tensor, ids: Tensor, segments: Segments) -> None:
        """Encode new sources for these slots, whose old contents are erased."""
        self.ancestors.index_fill_(0, slots, -1)
        for layer in self.own:
            for tensor in layer:
                # Otherwise NaN that a broken model left there would spread: 0 times NaN is NaN.
                tensor.index_fill_(0, slots, 0)
        mask = torch.zeros(segments.inside.shape, dtype=self._model.dtype, device=slots.device)
        mask.masked_fill_(~segments.inside, -torch.inf)
        self.source_mask.index_fill_(0, slots, -torch.inf)
        self.source_mask[:, 0, 0, : segments.max_length][slots] = mask
        self.source_lengths[slots] = segments.lengths
        for layer, new in zip(self.cross, self._model.encode(ids, segments), strict=True):
            for tensor, stream in zip(layer, new, strict=True):
                tensor.index_fill_(0, slots, 0)
                # (sources, length, heads, width) -> (sources, heads, length, width)
                padded = segments.to_rectangle(stream).transpose(1, 2)
                tensor[:, :, : segments.max_length][slots] = padded

    def update_ancestors(self, parents: Tensor, lengths: Tensor, steps: int) -> None:
        """Rows take over the ancestors of their parents, and are their own at `lengths[slot]`.

        parents: (slots, beam), the row within its slot that each row continues. steps: as many as
        are computed.
        """
        table = self.ancestors[:, :, :steps]
        own = torch.arange(self._beam, device=parents.device, dtype=table.dtype)
        moved = table.gather(1, parents[:, :, None].expand_as(table))
        here = lengths[:, None, None].expand(-1, self._beam, 1)
        moved.scatter_(2, here, own[:, None].expand(len(here), -1, 1))
        table.copy_(moved)

    def own_mask(self, steps: int) -> Tensor:
        """(slots, 1, beam, steps * beam): 0 where a row attends to a key, else -inf."""
        table = self.ancestors[:, :, :steps]
        own = torch.arange(self._beam, device=table.device, dtype=table.dtype)
        # (slots, beam, steps, beam)
        visible = table[..., None] == own
        mask = torch.zeros(visible.shape, dtype=self._model.dtype, device=table.device)
        return mask.masked_fill_(~visible, -torch.inf).flatten(2)[:, None]


def attend_cached(query: Tensor, cached: Sequence[Tensor], length: int, mask: Tensor) -> Tensor:
    """(rows, heads * d_v): the rows of a slot attend to the first `length` steps of its keys.

    query: (slots, heads, beam, d_k).
    """
    keys, values = (tensor[:, :, :length].flatten(2, -2) for tensor in cached)
    mask = mask.expand(-1, -1, query.shape[2], -1)
    attended = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    # (slots, heads, beam, d_v) -> (slots * beam, heads * d_v)
    return attended.transpose(1, 2).reshape(-1, attended.shape[1] * attended.shape[3])
