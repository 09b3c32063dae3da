"""The CPU engine in C: a step is one call of the library, and the KV cache is never moved."""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.inference.native.chunks import SlotChunks
from nmt_cli.inference.native.linear import BLOCK
from nmt_cli.inference.native.memory import address
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.rooms import Room
from nmt_cli.inference.native.search.beam_search import NativeBeamSearch
from nmt_cli.inference.native.shortlists import Shortlists
from nmt_cli.inference.native.structs import ChoiceStruct, CrossKeysValues, StateStruct
from nmt_cli.machine import kernel_threads
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.decoder import Edits, Source, Symbols
from nmt_cli.search.fused_search import PlainBeam

# The most blocks of logits that a step writes for each row, those with the best; as in kernels.h.
KEPT = 16
# Steps whose keys and values are allocated together.
GROWTH = 16
# How many numbers of 32 bits a cache line holds.
CACHE_LINE = 16


class LogitsLayout(NamedTuple):
    """The layout of logits: `beam` rows of each slot, with room for `widest` words in each row.

    slots: of the decoder; lists: the words of each slot; None if every slot has all words.
    """

    slots: int
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
        self._model = model
        self._rooms: dict[str, Room] = {}
        self.slots = slots
        self.beam = beam
        self.symbols = Symbols.of(model.config)
        self.arrays = NUMPY
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
        self._memories: dict[int, np.ndarray] = {}
        self._lists = Shortlists(model, slots)
        # The rows that there is room for, and their logits.
        self._rows, self._width = 0, 0
        self._threads = 0
        self._places: dict[str, slice] = {}
        # The number of steps that memory is reserved for.
        self._reached = 0
        # The step, counted as `_now`, for which some slot has no chunk yet.
        self._full_at = 0
        self._state = StateStruct(
            beam=beam,
            slot_rows=beam,
            kept=KEPT,
            growth=GROWTH,
            lengths=address(self._lengths),
            sources=ctypes.addressof(self._sources),
        )

    def __del__(self) -> None:
        for room in self._rooms.values():
            self._model.rooms.give_back(room)

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Encode the sources together."""
        lengths = [len(source.ids) for source in sources]
        ids = np.array([token_id for source in sources for token_id in source.ids], np.int64)
        state, model = self._state, self._model
        threads = kernel_threads()
        memory, keys, values = model.encode(ids, np.array(lengths, np.int64), threads)
        for slot, length in zip(slots, lengths, strict=True):
            self._memories[slot] = memory
            self._sources[slot] = CrossKeysValues(keys, values, len(ids), length)
            self._begun[slot] = self._full_at = self._now
            self._lengths[slot] = 0
            keys += length * model.d_k * memory.itemsize
            values += length * model.d_v * memory.itemsize
        self._lists.admit(slots, sources)
        self._find_busy()
        self._reserve_rows()
        self._reserve_scratch(max(*lengths, state.longest, GROWTH), threads)

    def retire(self, slots: Sequence[int]) -> None:
        """Free the memory of these slots."""
        for slot in slots:
            del self._begun[slot], self._memories[slot]
            self._chunks.free(slot)
        self._lists.retire(slots)
        self._find_busy()

    def _find_busy(self) -> None:
        """Tell the library which slots are busy."""
        self._busy = np.array(list(self._begun), np.int64)
        self._state.busy, self._state.slots = len(self._busy), address(self._busy)

    def step(self, parents: np.ndarray, ids: np.ndarray) -> "NativeStep":
        """Update the ancestors of the busy rows and compute their next logits.

        The result is valid until the next step.
        """
        parents, ids = np.ascontiguousarray(parents), np.ascontiguousarray(ids)
        self.reserve_steps()
        state, library = self._state, self._model.kernels.library
        state.parents, state.ids = address(parents), address(ids)
        completed = library.nmt_step(
            self._model.kernels.lanes,
            ctypes.byref(self._model.decoder_stack.model),
            ctypes.byref(state),
        )
        self._model.kernels.require_run(completed)
        self._model.require_embeddings()
        self.count_steps(1)
        lists = self._lists if state.shortlists else None
        layout = LogitsLayout(self.slots, self.beam, state.widest, lists)
        numbers = self._rooms["rows"].memory.view(np.float32)
        buffers = {name: numbers[place] for name, place in self._places.items()}
        return NativeStep(self._model, state, buffers, self._busy, layout)

    def fused_search(self, rules: PlainBeam) -> NativeBeamSearch:
        """As in `search.fused_search.FusedDecoder`."""
        return NativeBeamSearch(self, self._model, self._state, rules)

    def count_steps(self, steps: int) -> None:
        """Count steps that the library has run."""
        self._now += steps

    def reserve_steps(self) -> int:
        """Reserve memory for the next steps; returns how many there is memory for."""
        begun = min(self._begun.values())
        if self._now - begun >= self._reached:
            self._reserve(self._now - begun + 1)
        if self._now >= self._full_at:
            self._reserve_chunks()
        return min(self._full_at, begun + self._reached) - self._now

    def _reserve(self, steps: int) -> None:
        """Reserve memory for `steps` steps, rounded up to a multiple of GROWTH."""
        state = self._state
        self._reached = steps = -(-steps // GROWTH) * GROWTH
        capacity = self._ancestors.shape[1]
        if steps > capacity:
            longer = np.zeros((len(self._ancestors), 2 * steps), np.int32)
            longer[:, :capacity] = self._ancestors
            self._ancestors = longer
            state.capacity, state.ancestors = longer.shape[1], address(longer)
            self._chunks.extend_table(state.capacity // GROWTH)
            state.chunks = address(self._chunks.table)
        self._model.decoder_stack.extend_positions(steps)
        self._reserve_scratch(max(steps, state.longest), state.threads)

    def _reserve_chunks(self) -> None:
        """Give each busy slot memory for the keys and values of its next step."""
        for slot, begun in self._begun.items():
            self._chunks.reserve(slot, (self._now - begun) // GROWTH + 1)
        self._full_at = min(
            self._now + GROWTH - (self._now - begun) % GROWTH for begun in self._begun.values()
        )

    def _reserve_rows(self) -> None:
        """Reserve memory for the results of a step of the busy rows."""
        model, state, listed = self._model, self._state, self._lists.needed
        state.widest = self._lists.widest if listed else model.padded_words
        state.shortlists = ctypes.addressof(self._lists.entries) if listed else None
        rows = len(self._busy) * self.beam
        if rows <= self._rows and state.widest <= self._width:
            return
        self._rows, self._width = max(rows, self._rows), max(state.widest, self._width)
        widths = {
            **model.row_widths(),
            "logits": self._width,
            "maxima": self._width // BLOCK,
            "sums": self._width // BLOCK,
            # A byte for each block.
            "written": -(-self._width // BLOCK // 4),
            "totals": 1,
        }
        first = 0
        for name, width in widths.items():
            self._places[name] = slice(first, first + self._rows * width)
            first += -(-self._rows * width // CACHE_LINE) * CACHE_LINE
        room = self._take("rows", 4 * first)
        for name, place in self._places.items():
            setattr(state, name, room.address + 4 * place.start)

    def _reserve_scratch(self, longest: int, threads: int) -> None:
        """Reserve the working memory of threads, for sentences of up to this length."""
        state, model = self._state, self._model
        if longest > state.longest or threads > self._threads:
            self._threads = max(threads, self._threads)
            size = model.kernels.library.nmt_step_bytes(
                model.decoder_stack.widest, longest, self.beam
            )
            state.longest, state.scratch_bytes = longest, size
            state.scratch = self._take("scratch", self._threads * size).address
        state.threads = threads

    def _take(self, name: str, size: int) -> Room:
        """Take a room of at least this size in place of the one that had this name."""
        rooms, before = self._model.rooms, self._rooms.pop(name, None)
        if before is not None:
            rooms.give_back(before)
        room = self._rooms[name] = rooms.take(size)
        return room


class NativeStep:
    """A `search.decoder.Step` over the logits of the busy rows."""

    def __init__(
        self,
        model: NativeModel,
        state: StateStruct,
        buffers: dict[str, np.ndarray],
        busy: np.ndarray,
        layout: LogitsLayout,
    ) -> None:
        """buffers: what the library has written; busy: the slots that it has rows of."""
        self._model = model
        self._state = state
        self._buffers = buffers
        self._layout = layout
        # The index of each row of the logits among all rows, and the inverse: -1 for other rows.
        self._rows = (busy[:, None] * layout.beam + np.arange(layout.beam)).flatten()
        self._row_of = np.full(layout.slots * layout.beam, -1)
        self._row_of[self._rows] = np.arange(len(self._rows))

    def top(self, k: int, edits: Edits) -> tuple[np.ndarray, np.ndarray]:
        """The best `k` of each row."""
        k, all_rows, buffers = min(k, self._model.words), len(self._row_of), self._buffers
        values = np.full((all_rows, k), -np.inf, np.float32)
        ids = np.zeros((all_rows, k), np.int64)
        forced, rows, words, bias = map(
            np.ascontiguousarray, (edits.forced, edits.rows, edits.ids, edits.bias)
        )
        saved, block_maxima, block_ids = (
            np.empty(size, kind)
            for size, kind in ((len(rows), np.float32), (k, np.float32), (k, np.int64))
        )
        blocks = self._layout.widest // BLOCK
        sizes = len(self._rows), self._model.words, blocks, k, len(rows)
        arrays = (
            self._rows, self._row_of, forced, rows, words, bias, buffers["totals"],
            buffers["logits"], buffers["maxima"], values, saved, block_maxima, ids, block_ids,
        )  # fmt: skip
        addresses = map(address, arrays)
        layout = self._layout
        choice = ChoiceStruct(*sizes, *addresses, layout.lists_address, layout.beam)
        kernels = self._model.kernels
        kernels.library.nmt_top_k(kernels.lanes, *self._structs(), ctypes.byref(choice))
        return values, ids

    def full(self, rows: np.ndarray | None = None) -> np.ndarray:
        """All log-probabilities of some rows, or of all, without edits.

        A step computes only the logits that a search for the best needs. After the first call of
        this function, the steps of this decoder compute all.
        """
        if not self._state.all_logits:
            self._state.all_logits = True
            kernels = self._model.kernels
            kernels.library.nmt_logits(kernels.lanes, *self._structs())
        _, beam, widest, lists = self._layout
        # The rows of the logits, and which of the wanted rows they are; others are of free slots.
        logit_rows = self._row_of if rows is None else self._row_of[rows]
        [busy] = (logit_rows >= 0).nonzero()
        logit_rows = logit_rows[busy]
        logits = self._buffers["logits"][: len(self._rows) * widest].reshape(-1, widest)
        totals = self._buffers["totals"][:, None]
        log_probs = np.full(
            (len(self._row_of) if rows is None else len(rows), self._model.words),
            -np.inf,
            np.float32,
        )
        if lists is None:
            log_probs[busy] = logits[logit_rows, : self._model.words] - totals[logit_rows]
            return log_probs
        slots = self._rows[logit_rows] // beam
        for slot in np.unique(slots):
            ids, width = lists.words_of(int(slot))
            [in_slot] = (slots == slot).nonzero()
            first = self._row_of[slot * beam]
            slot_logits = logits[first : first + beam].reshape(-1)[: beam * width]
            slot_logits = slot_logits.reshape(beam, width)
            slot_rows = logit_rows[in_slot]
            log_probs[busy[in_slot, None], ids] = (
                slot_logits[slot_rows - first, : len(ids)] - totals[slot_rows]
            )
        return log_probs

    def _structs(self) -> tuple[Any, Any]:
        """The model and the state, for the library."""
        return ctypes.byref(self._model.decoder_stack.model), ctypes.byref(self._state)
