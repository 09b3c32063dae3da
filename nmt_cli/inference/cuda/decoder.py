"""The GPU engine: steps of constant shapes, replayed as CUDA graphs, without synchronising."""

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from nmt_cli.batch import Segments, moved
from nmt_cli.inference.cuda.graphs import Graphs
from nmt_cli.inference.cuda.kernel_choice import find_step_kernels
from nmt_cli.inference.cuda.kv_cache import KVCache, attend_cached, bucket
from nmt_cli.inference.cuda.step import cuda_step
from nmt_cli.inference.logits_step import LogitsStep
from nmt_cli.inference.packed.model import PackedModel
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.decoder import Source, Symbols

# Steps between checks: few sentences are soon done, and superfluous steps cost them most.
CHECK_FEW, CHECK_MANY = 4, 8
FEW_SLOTS = 8
# Attention kernels that accept a mask and are not planned anew for each shape.
KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
# Most translations are not longer than their sources by more than this.
MORE_STEPS = 16


class CudaDecoder:
    """A `search.decoder.Decoder` and `Recorder`; all slots are computed, free ones too.

    The host does not know the lengths: it counts the steps since each slot began and computes as
    many as the oldest may have taken, rounded up by `bucket`.
    """

    def __init__(self, model: PackedModel, slots: int, beam: int) -> None:
        self.slots = slots
        self.beam = beam
        self.symbols = Symbols.of(model.config)
        self.device = model.device
        self.arrays = TorchArrays(self.device)
        self.check_every = CHECK_FEW if slots <= FEW_SLOTS else CHECK_MANY
        self._model = model
        self._kernels = find_step_kernels(self.device, model.dtype, beam, (model.d_k, model.d_v))
        self._cache = KVCache(model, slots, beam)
        self._lengths = torch.zeros(slots, dtype=torch.int64, device=self.device)
        self._busy = torch.zeros_like(self._lengths)
        # (slots, words): True for the ids that a source does not allow; None where all allow all.
        self._forbidden: Tensor | None = None
        self._parents = torch.arange(slots * beam, device=self.device)
        self._all_slots = torch.arange(slots, device=self.device)
        self._first_rows = self._parents.view(slots, beam)[:, :1].clone()
        self._ids = torch.zeros_like(self._parents)
        self._graphs = Graphs(self.device, self._own_step)
        # For each busy slot: the step at which it began, and the number of its source tokens.
        self._begun: dict[int, tuple[int, int]] = {}
        self._now = 0
        # The buckets of target steps and of source tokens that are computed.
        self._steps, self._source = 0, 0
        self._recording = False

    @torch.inference_mode()
    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Encode the sources together."""
        lengths = [len(source.ids) for source in sources]
        segments = Segments.from_lengths(lengths).to(self.device)
        ids = torch.tensor([token_id for source in sources for token_id in source.ids])
        self._cache.reserve(max(lengths) + MORE_STEPS, max(lengths))
        slot_ids = moved(torch.tensor(slots), self.device)
        self._cache.admit(slot_ids, moved(ids, self.device), segments)
        self._lengths.index_fill_(0, slot_ids, 0)
        self._busy.index_fill_(0, slot_ids, 1)
        self._begun |= {
            slot: (self._now, length) for slot, length in zip(slots, lengths, strict=True)
        }
        self._mask_vocabulary(slot_ids, sources)

    def _mask_vocabulary(self, slots: Tensor, sources: Sequence[Source]) -> None:
        if self._forbidden is None:
            if all(source.allowed is None for source in sources):
                return
            self._cache.reallocations += 1
            shape = self.slots, self._model.head.words
            self._forbidden = torch.zeros(shape, dtype=torch.bool, device=self.device)
        rows = torch.zeros(len(sources), self._model.head.words, dtype=torch.bool)
        for row, source in zip(rows, sources, strict=True):
            if source.allowed is not None:
                row.fill_(True)[torch.from_numpy(source.allowed)] = False
        self._forbidden[slots] = moved(rows, self.device)

    @torch.inference_mode()
    def retire(self, slots: Sequence[int]) -> None:
        """Free slots; their rows are still computed, at a step that is overwritten."""
        slot_ids = moved(torch.tensor(slots), self.device)
        self._lengths.index_fill_(0, slot_ids, 0)
        self._busy.index_fill_(0, slot_ids, 0)
        for slot in slots:
            del self._begun[slot]

    @torch.inference_mode()
    def step(self, parents: Tensor, ids: Tensor) -> LogitsStep:
        """Update the ancestors of all rows and compute their next logits.

        The result is valid until the next step.
        """
        if self._recording:
            return self._compute(parents, ids)
        self._parents.copy_(parents)
        self._ids.copy_(ids)
        return self._graphs(*self._begin())

    def record(self, work: Callable[[], None]) -> Callable[[Hashable], None]:
        """A function that does the same as `work`, which contains a step of this engine."""
        graphs = Graphs(self.device, work)

        @torch.inference_mode()
        def replay(shapes: Hashable) -> None:
            key, era = self._begin()
            self._recording = True
            try:
                graphs(key, (era, shapes))
            finally:
                self._recording = False

        return replay

    def _begin(self) -> tuple[Hashable, Hashable]:
        """Reserve memory for a step; return the key and the era of its graph (see `Graphs`)."""
        now = self._now
        oldest = min((begun for begun, _ in self._begun.values()), default=now)
        steps = now - oldest + 1
        self._now += 1
        self._cache.reserve(steps, 1)
        self._steps = min(bucket(steps), self._cache.capacity)
        longest = max((length for _, length in self._begun.values()), default=1)
        self._source = min(bucket(longest), self._cache.source_mask.shape[3])
        return (self._steps, self._source), self._cache.reallocations

    def _own_step(self) -> LogitsStep:
        return self._compute(self._parents, self._ids)

    def _compute(self, parents: Tensor, ids: Tensor) -> LogitsStep:
        """One step of all rows, over the present buckets."""
        model, cache, lengths = self._model, self._cache, self._lengths
        steps, source = self._steps, self._source
        kernels = self._kernels
        cache.update_ancestors(parents.view(self.slots, -1) - self._first_rows, lengths, steps)
        # The kernels read the ancestors themselves.
        mask = cache.own_mask(steps) if kernels is None else cache.ancestors
        src_mask = cache.source_mask[:, :, :, :source]
        positions = lengths[:, None].expand(-1, self.beam).flatten()

        def attend_self(layer: int, joined: Tensor) -> Tensor:
            query, *new = model.inputs.split(joined, "tgt", positions, steps)
            for cached, tensor in zip(cache.own[layer], new, strict=True):
                cached[self._all_slots, :, lengths] = self._by_slot(tensor)
            query = self._by_slot(query)
            if kernels is not None:
                return kernels.attend_own(query, cache.own[layer], cache.ancestors, lengths)
            return attend_cached(query, cache.own[layer], steps, mask)

        def attend_source(layer: int, query: Tensor) -> Tensor:
            query = self._by_slot(model.inputs.by_head(query))
            if kernels is not None:
                return kernels.attend_source(query, cache.cross[layer], cache.source_lengths)
            return attend_cached(query, cache.cross[layer], source, src_mask)

        with sdpa_kernel(KERNELS):
            logits = model.decode(ids, positions, steps, attend_self, attend_source)
        if self._forbidden is not None:
            by_slot = logits[:, : model.head.words].view(self.slots, self.beam, -1)
            by_slot.masked_fill_(self._forbidden[:, None], -torch.inf)
        lengths += self._busy
        free = (self._busy == 0)[:, None].expand(-1, self.beam).flatten()
        return cuda_step(logits, model.head.words, free, kernels)

    def _by_slot(self, rows: Tensor) -> Tensor:
        """(rows, heads, width) -> (slots, heads, beam, width)"""
        return rows.view(self.slots, self.beam, *rows.shape[1:]).transpose(1, 2)
