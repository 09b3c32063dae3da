"""The CPU engine in C: a step is one call of the library, and the KV cache is never moved."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.inference.native.chunks import SlotChunks
from nmt_cli.inference.native.huge_pages import huge_empty
from nmt_cli.inference.native.linear import BLOCK
from nmt_cli.inference.native.memory import address, empty
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.search.beam_step import BeamStep
from nmt_cli.inference.native.shortlists import Shortlists
from nmt_cli.inference.native.structs import ChoiceStruct, CrossKeysValues, StateStruct
from nmt_cli.machine import kernel_threads
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.decoder import Edits, Source, Symbols
from nmt_cli.search.fused_step import PlainBeam, StepArrays

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
        self.arrays = NUMPY
        self._model = model
        # The step at which each busy slot began; `_now` counts all steps of this decoder.
        self._begun: dict[int, int] = {}
        self._now = 0
        self._lengths = np.zeros(slots, np.int64)
        self._ancestors = np.zeros((slots * beam, 0), np.int32)
        layers, heads = model.decoder_stack.model.depth, model.config.heads
        size = layers * heads * GROWTH * beam * (model.d_k + model.d_v)
        self._chunks = SlotChunks(model.chunks, slots, size)
        self._sources = (CrossKeysValues * slots)()
        # The keys and values that the entries of `_sources` refer to.
        self._memories: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._buffers: dict[str, np.ndarray] = {}
        self._lists = Shortlists(model, slots)
        # The number of steps that memory is reserved for.
        self._reached = 0
        # The step, counted as `_now`, for which some slot has no chunk yet.
        self._full_at = 0
        self._state = StateStruct(
            beam=beam,
            growth=GROWTH,
            lengths=address(self._lengths),
            sources=ctypes.addressof(self._sources),
        )
        self._rows, self._row_of = self._find_rows()

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Encode the sources together."""
        lengths = [len(source.ids) for source in sources]
        ids = np.array([token_id for source in sources for token_id in source.ids], np.int64)
        # (layers, heads, tokens, width)
        keys, values = self._model.encode(ids, lengths)
        first = 0
        for slot, length in zip(slots, lengths, strict=True):
            self._memories[slot] = keys, values
            self._sources[slot] = CrossKeysValues(
                address(keys[0, 0, first]), address(values[0, 0, first]), len(ids), length
            )
            self._begun[slot] = self._full_at = self._now
            self._lengths[slot] = 0
            first += length
        self._lists.admit(slots, sources)
        self._rows, self._row_of = self._find_rows()
        self._reserve_rows()

    def retire(self, slots: Sequence[int]) -> None:
        """Free the memory of these slots."""
        for slot in slots:
            del self._begun[slot], self._memories[slot]
            self._chunks.free(slot)
        self._lists.retire(slots)
        self._rows, self._row_of = self._find_rows()
        self._state.busy, self._state.slots = len(self._busy), address(self._busy)

    def _find_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The indices of the busy rows among all rows, and the inverse: -1 for the other rows."""
        self._busy = np.array(list(self._begun), np.int64)
        rows = (self._busy[:, None] * self.beam + np.arange(self.beam)).flatten()
        row_of = np.full(self.slots * self.beam, -1)
        row_of[rows] = np.arange(len(rows))
        return rows, row_of

    def step(self, parents: np.ndarray, ids: np.ndarray) -> "NativeStep":
        """Update the ancestors of the busy rows and compute their next logits.

        The result is valid until the next step.
        """
        parents, ids = np.ascontiguousarray(parents), np.ascontiguousarray(ids)
        self._reserve_step()
        state, library = self._state, self._model.kernels.library
        state.parents, state.ids = address(parents), address(ids)
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

    def fused_step(self, rules: PlainBeam) -> Callable[[StepArrays], None]:
        """As in `search.fused_step.FusedDecoder`."""
        step = BeamStep(self._model, self._state, self.slots, self.symbols, rules)

        def run(arrays: StepArrays) -> None:
            self._reserve_step()
            step.run(arrays)
            self._now += 1

        return run

    def _reserve_step(self) -> None:
        """Reserve the memory that the next step needs."""
        steps = self._now - min(self._begun.values()) + 1
        if steps > self._reached:
            self._reserve(steps)
        if self._now >= self._full_at:
            self._reserve_chunks()

    def _reserve(self, steps: int) -> None:
        """Reserve memory for `steps` steps, rounded up to a multiple of GROWTH."""
        model, state = self._model, self._state
        self._reached = steps = -(-steps // GROWTH) * GROWTH
        capacity = self._ancestors.shape[1]
        if steps > capacity:
            longer = np.zeros((len(self._ancestors), 2 * steps), np.int32)
            longer[:, :capacity] = self._ancestors
            self._ancestors = longer
            state.capacity, state.ancestors = longer.shape[1], address(longer)
            self._chunks.extend_table(state.capacity // GROWTH)
            state.chunks = address(self._chunks.table)
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
        state.busy, state.slots = len(self._busy), address(self._busy)
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
            if held is None or held.size < rows * width:
                self._buffers[name] = huge_empty((rows, width))
                setattr(state, name, address(self._buffers[name]))
        self._reserve_scratch()

    def _reserve_scratch(self) -> None:
        """Reserve the working memory of each thread."""
        state, threads = self._state, kernel_threads()
        longest = max([self._reached, *(self._sources[slot].length for slot in self._begun)])
        if longest > state.longest or threads > state.threads:
            longest = max(longest, state.longest)
            kernels = self._model.kernels.library
            size = kernels.nmt_step_bytes(self._model.decoder_stack.widest, longest, self.beam)
            self._buffers["scratch"] = empty(threads * size, np.uint8)
            state.longest, state.scratch_bytes = longest, size
            state.scratch = address(self._buffers["scratch"])
        state.threads = threads


class NativeStep:
    """A `search.decoder.Step` over the logits of the busy rows."""

    def __init__(
        self,
        model: NativeModel,
        state: StateStruct,
        buffers: dict[str, np.ndarray],
        rows: np.ndarray,
        row_of: np.ndarray,
        layout: LogitsLayout,
    ) -> None:
        """rows: the index of each row of the logits among all rows; row_of: the inverse."""
        self._model = model
        self._state = state
        self._buffers = buffers
        self._rows = rows
        self._row_of = row_of
        self._layout = layout

    def top(self, k: int, edits: Edits) -> tuple[np.ndarray, np.ndarray]:
        """The best `k` of each row."""
        k, all_rows, buffers = min(k, self._model.words), len(self._row_of), self._buffers
        values = np.full((all_rows, k), -np.inf, np.float32)
        ids = np.zeros((all_rows, k), np.int64)
        forced, rows, words, bias = map(
            np.ascontiguousarray, (edits.forced, edits.rows, edits.ids, edits.bias)
        )
        kept, tops, indices = (
            np.empty(size, kind)
            for size, kind in ((len(rows), np.float32), (k, np.float32), (k, np.int64))
        )
        blocks = self._layout.widest // BLOCK
        sizes = len(self._rows), self._model.words, blocks, k, len(rows)
        arrays = (
            self._rows, self._row_of, forced, rows, words, bias, buffers["totals"],
            buffers["logits"], buffers["maxima"], values, kept, tops, ids, indices,
        )  # fmt: skip
        addresses = map(address, arrays)
        layout = self._layout
        choice = ChoiceStruct(*sizes, *addresses, layout.lists_address, layout.beam)
        kernels = self._model.kernels
        kernels.library.nmt_top_k(kernels.lanes, *self._structs(), ctypes.byref(choice))
        return values, ids

    def full(self) -> np.ndarray:
        """All log-probabilities, without edits.

        A step computes only the logits that a search for the best needs. After the first call of
        this function, the steps of this decoder compute all.
        """
        if not self._state.all_logits:
            self._state.all_logits = True
            kernels = self._model.kernels
            kernels.library.nmt_logits(kernels.lanes, *self._structs())
        beam, widest, lists = self._layout
        logits, totals = self._buffers["logits"].ravel(), self._buffers["totals"].reshape(-1, 1)
        shape = len(self._row_of), self._model.words
        all_log_probs = np.full(shape, -np.inf, np.float32)
        if lists is None:
            by_row = logits[: len(self._rows) * widest].reshape(-1, widest)
            all_log_probs[self._rows] = by_row[:, : self._model.words] - totals[: len(by_row)]
            return all_log_probs
        for first in range(0, len(self._rows), beam):
            rows = self._rows[first : first + beam]
            ids, width = lists.words_of(int(rows[0]) // beam)
            own = logits[first * widest :][: beam * width].reshape(beam, width)[:, : len(ids)]
            all_log_probs[rows[:, None], ids] = own - totals[first : first + beam]
        return all_log_probs

    def _structs(self) -> tuple[Any, Any]:
        """The model and the state, for the library."""
        return ctypes.byref(self._model.decoder_stack.model), ctypes.byref(self._state)
