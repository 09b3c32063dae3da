"""Plain beam search in the library: a call runs as many steps as it can."""

import ctypes
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from nmt_cli.inference.native.memory import address
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.rooms import Room
from nmt_cli.inference.native.structs import StateStruct
from nmt_cli.search.decoder import Hypothesis, Source, Symbols
from nmt_cli.search.fused_search import PlainBeam

_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p
# Backpointers are allocated for a multiple of this many steps, and have so many 64-bit numbers.
STEPS, BACKPOINTER = 32, 2


class SearchStruct(ctypes.Structure):
    """The struct `beam_search` of beam_search.c; laid_out: set by the library."""

    _fields_ = (
        *((name, _INTEGER) for name in ("slots", "beam", "candidates", "kept", "words", "start")),
        *((name, _INTEGER) for name in ("eos", "bans", "steps", "prefix_steps", "enough", "done")),
        ("min_length", _INTEGER),
        *((name, _POINTER) for name in ("banned", "penalties", "past", "prefixes", "done_slots")),
        ("reward", ctypes.c_float),
        ("laid_out", _POINTER * 20),
    )


class SlotsOfDecoder(Protocol):
    """The decoder whose slots are searched."""

    slots: int
    beam: int
    symbols: Symbols

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Put new sources into free slots."""
        ...

    def retire(self, slots: Sequence[int]) -> None:
        """Free slots."""
        ...

    def reserve_steps(self) -> int:
        """Reserve memory for the next steps; returns how many there is memory for."""
        ...

    def count_steps(self, steps: int) -> None:
        """Count steps that the library has run."""
        ...


class NativeBeamSearch:
    """A `search.fused_search.FusedSearch`."""

    def __init__(
        self, decoder: SlotsOfDecoder, model: NativeModel, state: StateStruct, rules: PlainBeam
    ) -> None:
        """state: of the decoder."""
        self._decoder, self._model, self._rules = decoder, model, rules
        self._room: Room | None = None
        self._library = model.kernels.library
        slots, symbols = decoder.slots, decoder.symbols
        self._banned = np.array(rules.banned_ids, np.int64)
        self._done = np.empty(slots, np.int64)
        self._prefixes = np.empty((slots, 0), np.int64)
        self._past = np.empty((slots, 0, decoder.beam, BACKPOINTER), np.int64)
        self._struct = struct = SearchStruct(
            slots, decoder.beam, rules.candidates, rules.finished, model.words, symbols.start_id,
            symbols.eos_id, len(rules.banned_ids), enough=rules.enough,
            min_length=rules.min_length, banned=address(self._banned),
            done_slots=address(self._done), reward=rules.word_reward,
        )  # fmt: skip
        self._arguments = (
            ctypes.byref(model.decoder_stack.model), ctypes.byref(state), ctypes.byref(struct),
        )  # fmt: skip
        self._room = model.rooms.take(self._library.nmt_search_bytes(self._arguments[2]))
        size = ctypes.sizeof(struct)
        if not self._library.nmt_lay_out_search(self._arguments[2], size, self._room.address):
            raise RuntimeError("the struct of a search has another size in the library")
        self._extend_prefixes(1)

    def __del__(self) -> None:
        if self._room is not None:
            self._model.rooms.give_back(self._room)

    def begin(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """As in FusedSearch."""
        self._decoder.admit(slots, sources)
        # One step more than the limit: EOS.
        longest = max(limits) + 2
        if longest > self._struct.steps:
            self._extend_steps(longest)
        pairs = zip(slots, sources, strict=True)
        prefixed = {slot: source.prefix for slot, source in pairs if source.prefix}
        if prefixed:
            self._extend_prefixes(max(map(len, prefixed.values())) + 1)
        numbers = np.array((slots, limits), np.int64)
        self._library.nmt_begin_search(self._arguments[2], address(numbers), len(slots))
        for slot, prefix in prefixed.items():
            self._prefixes[slot, : len(prefix)] = prefix

    def _extend_steps(self, longest: int) -> None:
        """Make room for hypotheses of `longest` ids."""
        struct, before = self._struct, self._past
        slots, held, beam, size = before.shape
        struct.steps = steps = -(-longest // STEPS) * STEPS
        self._past = np.empty((slots, steps, beam, size), np.int64)
        self._past[:, :held] = before
        self._penalties = self._rules.penalties(steps)
        struct.past, struct.penalties = address(self._past), address(self._penalties)
        # The library writes the finished hypotheses of a slot here.
        hypotheses = self._rules.finished
        self._lengths = np.empty(hypotheses, np.int64)
        self._ids = np.empty((hypotheses, steps), np.int64)
        self._token_scores = np.empty((hypotheses, steps), np.float32)
        self._scores = np.empty((hypotheses, 2), np.float32)
        self._read_addresses = [
            address(array) for array in (self._lengths, self._ids, self._token_scores, self._scores)
        ]

    def _extend_prefixes(self, steps: int) -> None:
        """Make room for prefixes of up to `steps` - 1 ids."""
        slots, held = self._prefixes.shape
        if steps > held:
            longer = np.full((slots, steps), -1, np.int64)
            longer[:, :held] = self._prefixes
            self._prefixes = longer
            self._struct.prefixes, self._struct.prefix_steps = address(longer), steps

    def run(self) -> list[int]:
        """As in FusedSearch."""
        max_steps = self._decoder.reserve_steps()
        kernels = self._model.kernels
        steps = self._library.nmt_run_search(kernels.lanes, *self._arguments, max_steps)
        kernels.require_run(steps)
        self._model.require_embeddings()
        self._decoder.count_steps(steps)
        done: list[int] = self._done[: self._struct.done].tolist()
        return done

    def finished(self, slot: int) -> list[Hypothesis]:
        """As in FusedSearch."""
        count = self._library.nmt_read_finished(self._arguments[2], slot, *self._read_addresses)
        lengths, scores = self._lengths[:count].tolist(), self._scores[:count].tolist()
        return [
            Hypothesis(
                tuple(self._ids[index, :length].tolist()), log_prob, score,
                tuple(self._token_scores[index, :length].tolist()),
            )
            for index, (length, (score, log_prob)) in enumerate(zip(lengths, scores, strict=True))
        ]  # fmt: skip

    def free(self, slots: Sequence[int]) -> None:
        """As in FusedSearch."""
        self._decoder.retire(slots)
