"""The CPU engine in C: a step is one call of the library, and the KV cache is never moved."""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.inference.native.chunks import SlotChunks
from nmt_cli.inference.native.huge_pages import huge_empty
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.shortlists import Shortlists
from nmt_cli.inference.native.structs import ChoiceStruct, CrossKeysValues, StateStruct
from nmt_cli.inference.packed.head import BLOCK
from nmt_cli.search.decoder import Edits, Source, Symbols

# Steps whose keys and values are allocated together.
GROWTH = 16


class LogitsLayout(NamedTuple):
    """The layout of logits: `beam` rows of each slot, with room for `widest` words in each row.

    lists: the words of each slot; None if every slot has all words.
    """

    beam: int
    widest: int
    lists: Shortlists | None

    @property
    def lists_address(self) -> int | None:
        """The address of the word lists for the library."""
        return None if self.lists is None else ctypes.addressof(self.lists.entries)


class NativeDecoder:
    """A `search.decoder.Decoder`; the keys and values of a slot stay where they were written.

    The library is given the step of each slot, the ancestors of its rows and its source, and finds
    through them the keys that a row attends to.
    """

    check_every = 1

    def __init__(self, model: NativeModel, slots: int, beam: int) -> None:
        self.slots = slots
        self.beam = beam
        self.symbols = Symbols.of(model.config)
        self.device = torch.device("cpu")
        self._model = model
        # The step at which each busy slot began; `_now` counts all steps of this decoder.
        self._begun: dict[int, int] = {}
        self._now = 0
        self._lengths = torch.zeros(slots, dtype=torch.int64)
        self._ancestors = torch.zeros(slots * beam, 0, dtype=torch.int32)
        layers, heads = model.decoder_stack.model.depth, model.config.heads
        size = layers * heads * GROWTH * beam * (model.d_k + model.d_v)
        self._chunks = SlotChunks(model.chunks, slots, size)
        self._sources = (CrossKeysValues * slots)()
        # The keys and values that the entries of `_sources` refer to.
        self._memories: dict[int, tuple[Tensor, Tensor]] = {}
        self._buffers: dict[str, Tensor] = {}
        self._lists = Shortlists(model, slots)
        # The number of steps that memory is reserved for.
        self._reached = 0
        # The step, counted as `_now`, for which some slot has no chunk yet.
        self._full_at = 0
        self._state = StateStruct(
            beam=beam,
            growth=GROWTH,
            lengths=self._lengths.data_ptr(),
            sources=ctypes.addressof(self._sources),
        )
        self._rows, self._row_of = self._find_rows()

    @torch.inference_mode()
    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Encode the sources together."""
        lengths = [len(source.ids) for source in sources]
        ids = torch.tensor([token_id for source in sources for token_id in source.ids])
        encoded = self._model.encode(ids, Segments.from_lengths(lengths))
        # (layers, heads, tokens, width)
        keys, values = (
            torch.stack([tensor.transpose(0, 1) for tensor in layers])
            for layers in zip(*encoded, strict=True)
        )
        first = 0
        for slot, length in zip(slots, lengths, strict=True):
            self._memories[slot] = keys, values
            self._sources[slot] = CrossKeysValues(
                keys[0, 0, first].data_ptr(), values[0, 0, first].data_ptr(), len(ids), length
            )
            self._begun[slot] = self._full_at = self._now
            self._lengths[slot] = 0
            first += length
        self._lists.admit(slots, sources)
        self._rows, self._row_of = self._find_rows()
        self._reserve_rows()

    @torch.inference_mode()
    def retire(self, slots: Sequence[int]) -> None:
        """Free the memory of these slots."""
        for slot in slots:
            del self._begun[slot], self._memories[slot]
            self._chunks.free(slot)
        self._lists.retire(slots)
        self._rows, self._row_of = self._find_rows()
        self._state.busy, self._state.slots = len(self._busy), self._busy.data_ptr()

    def _find_rows(self) -> tuple[Tensor, Tensor]:
        """The indices of the busy rows among all rows, and the inverse: -1 for the other rows."""
        self._busy = torch.tensor(list(self._begun), dtype=torch.int64)
        rows = (self._busy[:, None] * self.beam + torch.arange(self.beam)).flatten()
        row_of = torch.full((self.slots * self.beam,), -1)
        row_of[rows] = torch.arange(len(rows))
        return rows, row_of

    def step(self, parents: Tensor, ids: Tensor) -> "NativeStep":
        """Update the ancestors of the busy rows and compute their next logits.

        The result is valid until the next step.
        """
        parents, ids = parents.contiguous(), ids.contiguous()
        steps = self._now - min(self._begun.values()) + 1
        if steps > self._reached:
            self._reserve(steps)
        if self._now >= self._full_at:
            self._reserve_chunks()
        state, library = self._state, self._model.kernels.library
        state.parents, state.ids = parents.data_ptr(), ids.data_ptr()
        completed = library.nmt_step(
            self._model.kernels.lanes,
            ctypes.byref(self._model.decoder_stack.model),
            ctypes.byref(state),
        )
        if not completed:
            raise RuntimeError(f"no kernels of {self._model.kernels.lanes} lanes here")
        self._now += 1
        lists = self._lists if state.shortlists else None
        layout = LogitsLayout(state.beam, state.widest, lists)
        return NativeStep(self._model, state, self._buffers, self._rows, self._row_of, layout)

    @torch.inference_mode()
    def _reserve(self, steps: int) -> None:
        """Reserve memory for `steps` steps, rounded up to a multiple of GROWTH."""
        model, state = self._model, self._state
        self._reached = steps = -(-steps // GROWTH) * GROWTH
        capacity = self._ancestors.shape[1]
        if steps > capacity:
            longer = self._ancestors.new_zeros(len(self._ancestors), 2 * steps)
            longer[:, :capacity] = self._ancestors
            self._ancestors = longer
            state.capacity, state.ancestors = longer.shape[1], longer.data_ptr()
            self._chunks.extend_table(state.capacity // GROWTH)
            state.chunks = self._chunks.table.ctypes.data
        model.decoder_stack.extend_positions(steps)
        self._reserve_scratch()

    def _reserve_chunks(self) -> None:
        """Give each busy slot memory for the keys and values of its next step."""
        for slot, begun in self._begun.items():
            self._chunks.reserve(slot, (self._now - begun) // GROWTH + 1)
        self._full_at = min(
            self._now + GROWTH - (self._now - begun) % GROWTH for begun in self._begun.values()
        )

    def _reserve_rows(self) -> None:
        """Reserve memory for the results of a step of the busy rows."""
        model, state = self._model, self._state
        state.busy, state.slots = len(self._busy), self._busy.data_ptr()
        listed = self._lists.needed
        state.widest = self._lists.widest if listed else model.padded_words
        state.shortlists = ctypes.addressof(self._lists.entries) if listed else None
        widths = {
            **model.row_widths(),
            "logits": state.widest,
            "maxima": state.widest // BLOCK,
            "sums": state.widest // BLOCK,
            # A byte for each block.
            "written": -(-state.widest // BLOCK // 4),
            "totals": 1,
        }
        rows = len(self._rows)
        for name, width in widths.items():
            held = self._buffers.get(name)
            if held is None or held.numel() < rows * width:
                self._buffers[name] = torch.from_numpy(huge_empty((rows, width)))
                setattr(state, name, self._buffers[name].data_ptr())
        self._reserve_scratch()

    def _reserve_scratch(self) -> None:
        """Reserve the working memory of each thread."""
        state, threads = self._state, torch.get_num_threads()
        longest = max([self._reached, *(self._sources[slot].length for slot in self._begun)])
        if longest > state.longest or threads > state.threads:
            longest = max(longest, state.longest)
            kernels = self._model.kernels.library
            size = kernels.nmt_step_bytes(self._model.decoder_stack.widest, longest, self.beam)
            self._buffers["scratch"] = torch.empty(threads * size, dtype=torch.uint8)
            state.longest, state.scratch_bytes = longest, size
            state.scratch = self._buffers["scratch"].data_ptr()
        state.threads = threads


class NativeStep:
    """A `search.decoder.Step` over the logits of the busy rows."""

    def __init__(
        self,
        model: NativeModel,
        state: StateStruct,
        buffers: dict[str, Tensor],
        rows: Tensor,
        row_of: Tensor,
        layout: LogitsLayout,
    ) -> None:
        """rows: the index of each row of the logits among all rows; row_of: the inverse."""
        self._model = model
        self._state = state
        self._buffers = buffers
        self._rows = rows
        self._row_of = row_of
        self._layout = layout

    def top(self, k: int, edits: Edits) -> tuple[Tensor, Tensor]:
        """The best `k` of each row."""
        k, all_rows, buffers = min(k, self._model.words), len(self._row_of), self._buffers
        values = torch.full((all_rows, k), -torch.inf)
        ids = torch.zeros(all_rows, k, dtype=torch.int64)
        forced, rows = edits.forced.contiguous(), edits.rows.contiguous()
        words, bias = edits.ids.contiguous(), edits.bias.contiguous()
        kept, tops, indices = torch.empty(len(rows)), torch.empty(k), torch.empty_like(ids[0])
        blocks = self._layout.widest // BLOCK
        sizes = len(self._rows), self._model.words, blocks, k, len(rows)
        tensors = (
            self._rows, self._row_of, forced, rows, words, bias, buffers["totals"],
            buffers["logits"], buffers["maxima"], values, kept, tops, ids, indices,
        )  # fmt: skip
        addresses = [tensor.data_ptr() for tensor in tensors]
        layout = self._layout
        choice = ChoiceStruct(*sizes, *addresses, layout.lists_address, layout.beam)
        kernels = self._model.kernels
        kernels.library.nmt_top_k(kernels.lanes, *self._structs(), ctypes.byref(choice))
        return values, ids

    @torch.inference_mode()
    def full(self) -> Tensor:
        """All log-probabilities, without edits.

        A step computes only the logits that a search for the best needs. After the first call of
        this function, the steps of this decoder compute all.
        """
        if not self._state.all_logits:
            self._state.all_logits = True
            kernels = self._model.kernels
            kernels.library.nmt_logits(kernels.lanes, *self._structs())
        beam, widest, lists = self._layout
        logits, totals = self._buffers["logits"].view(-1), self._buffers["totals"].view(-1, 1)
        all_log_probs = torch.full((len(self._row_of), self._model.words), -torch.inf)
        if lists is None:
            logits = logits[: len(self._rows) * widest].view(-1, widest)
            all_log_probs[self._rows] = logits[:, : self._model.words] - totals[: len(logits)]
            return all_log_probs
        for first in range(0, len(self._rows), beam):
            rows = self._rows[first : first + beam]
            ids, width = lists.words_of(int(rows[0]) // beam)
            own = logits[first * widest :][: beam * width].view(beam, width)[:, : len(ids)]
            all_log_probs[rows[:, None], ids] = own - totals[first : first + beam]
        return all_log_probs

    def _structs(self) -> tuple[Any, Any]:
        """The model and the state, for the library."""
        return ctypes.byref(self._model.decoder_stack.model), ctypes.byref(self._state)
