"""Keys and values of a fixed number of slots on a GPU: they stay where they were written."""

from collections.abc import Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.inference.cuda.model import CudaModel


def bucket(length: int) -> int:
    """What a length is rounded up to, so that there are few: 32, 48, 64, 96, 128, 192 ...

    >>> [bucket(length) for length in (1, 32, 33, 50, 65, 97)]
    [32, 32, 48, 64, 96, 128]
    """
    power: int = max(32, 1 << (length - 1).bit_length())
    smaller = power // 4 * 3
    return smaller if length <= smaller and smaller > 32 else power


class Cache:
    """Of every layer the keys and values of the target so far, and of the source.

    own: each (slots, heads, capacity, beam, width); the key that row i of a slot made at step t
    stays at (t, i). cross: each (slots, heads, source capacity, width). source_mask: (slots, 1, 1,
    source capacity), 0 where a source has a token, else -inf. ancestors: (slots, beam, capacity),
    the row that each hypothesis was in at each step; -1 where it has none.
    """

    def __init__(self, model: CudaModel, slots: int, beam: int) -> None:
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
        self.ancestors = torch.zeros(slots, beam, 0, dtype=torch.int16, device=model.device)
        # How often the tensors have moved.
        self.moves = 0

    @property
    def capacity(self) -> int:
        """Steps there is room for."""
        return self.ancestors.shape[2]

    def reserve(self, steps: int, source: int) -> None:
        """Room for so many steps, and source tokens of each slot; mostly there is."""
        if steps > self.capacity:
            self.moves += 1
            missing = max(bucket(steps), 2 * self.capacity) - self.capacity
            self.ancestors = F.pad(self.ancestors, (0, missing), value=-1)
            for layer in self.own:
                layer[:] = [F.pad(one, (0, 0, 0, 0, 0, missing)) for one in layer]
            self._model.reach(self.capacity)
        reached = self.source_mask.shape[3]
        if source > reached:
            self.moves += 1
            missing = max(bucket(source), 2 * reached) - reached
            # A free slot sees something too: a mean of nothing is no number.
            self.source_mask = F.pad(self.source_mask, (0, missing), value=-torch.inf)
            self.source_mask[:, :, :, 0] = 0
            for layer in self.cross:
                layer[:] = [F.pad(one, (0, 0, 0, missing)) for one in layer]

    def admit(self, where: Tensor, ids: Tensor, segments: Segments) -> None:
        """New sources for slots `where`, of which nothing is left."""
        self.ancestors.index_fill_(0, where, -1)
        for layer in self.own:
            for one in layer:
                # What a broken model left there would come through even a weight of 0.
                one.index_fill_(0, where, 0)
        outside = torch.zeros(segments.inside.shape, dtype=self._model.dtype, device=where.device)
        outside.masked_fill_(~segments.inside, -torch.inf)
        self.source_mask.index_fill_(0, where, -torch.inf)
        self.source_mask[:, 0, 0, : segments.max_length][where] = outside
        for layer, made in zip(self.cross, self._model.encode(ids, segments), strict=True):
            for one, stream in zip(layer, made, strict=True):
                one.index_fill_(0, where, 0)
                padded = segments.to_rectangle(stream).transpose(1, 2)
                one[:, :, : segments.max_length][where] = padded

    def follow(self, parents: Tensor, lengths: Tensor, steps: int) -> Tensor:
        """(slots, 1, beam, steps * beam): 0 where a row sees a key, else -inf.

        parents: (slots, beam), the row in its slot that each row goes on from. Rows become their
        parents, at step `lengths[slot]`.
        """
        table = self.ancestors[:, :, :steps]
        own = torch.arange(self._beam, device=parents.device, dtype=table.dtype)
        moved = table.gather(1, parents[:, :, None].expand_as(table))
        here = lengths[:, None, None].expand(-1, self._beam, 1)
        moved.scatter_(2, here, own[:, None].expand(len(here), -1, 1))
        table.copy_(moved)
        sees = moved[..., None] == own
        mask = torch.zeros(sees.shape, dtype=self._model.dtype, device=parents.device)
        return mask.masked_fill_(~sees, -torch.inf).flatten(2)[:, None]


def attend_cached(query: Tensor, cached: Sequence[Tensor], length: int, mask: Tensor) -> Tensor:
    """(rows, heads * d_v): the rows of a slot look at the first `length` steps of its keys.

    query: (slots, heads, beam, d_k).
    """
    keys, values = (one[:, :, :length].flatten(2, -2) for one in cached)
    mask = mask.expand(-1, -1, query.shape[2], -1)
    found = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    return found.transpose(1, 2).reshape(-1, found.shape[1] * found.shape[3])
