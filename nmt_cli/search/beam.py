"""Beam search (section 6.1) over all slots of an engine at once, refilled as sentences finish.

Each step the 2 x beam best continuations of a source are looked at: those that end go to its pool
of finished hypotheses, the best `beam` of the others live on. A source is done when nothing that
lives can still enter the pool, which log-probabilities (never positive) allow to know for certain.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.config import Search
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Source
from nmt_cli.search.length import length_penalty

REFILL_BELOW = 0.75


def search(
    decoder: Decoder, sources: Iterator[Source], config: Search
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """The number and the `n_best` best hypotheses (best first) of each source, as they finish.

    A translation has at most `max_extra_length` ids more than its source, EOS counted in neither;
    there EOS is the only choice left. With beam 1 only the best continuation is followed (greedy).
    """
    beams = Beams(decoder, config)
    waiting = Waiting(sources)
    while True:
        new = waiting.take(beams)
        if new:
            beams.admit(new)
        if not beams.owners:
            return
        yield from beams.advance()


class Waiting:
    """The sources that have not begun, read one ahead of what fits."""

    def __init__(self, sources: Iterator[Source]) -> None:
        self._numbered = enumerate(sources)
        self._next = next(self._numbered, None)

    def take(self, beams: "Beams") -> list[tuple[int, Source]]:
        """What to admit now; waits for enough room, as one source at a time would cost more."""
        budget = beams.config.batch_tokens // beams.config.beam
        used = sum(len(source.ids) for _, source in beams.owners.values())
        free = beams.decoder.slots - len(beams.owners)
        if beams.owners and used > REFILL_BELOW * budget:
            return []
        new: list[tuple[int, Source]] = []
        while self._next is not None and len(new) < free:
            used += len(self._next[1].ids)
            if used > budget and (beams.owners or new):
                break
            new.append(self._next)
            self._next = next(self._numbered, None)
        return new


class Candidates(NamedTuple):
    """Continuations of each slot's hypotheses, best first; log_probs are those of the whole."""

    log_probs: Float[Tensor, "slots candidates"]
    token_scores: Float[Tensor, "slots candidates"]
    parents: Int[Tensor, "slots candidates"]
    ids: Int[Tensor, "slots candidates"]


class Finished(NamedTuple):
    """Finished hypotheses of each slot, best first; a missing one scores -inf.

    eos_scores: log-probability of EOS; lengths: n, EOS counted; parents: what EOS was added to.
    """

    scores: Float[Tensor, "slots finished"]
    log_probs: Float[Tensor, "slots finished"]
    eos_scores: Float[Tensor, "slots finished"]
    lengths: Int[Tensor, "slots finished"]
    parents: Int[Tensor, "slots finished"]

    def best_with(self, other: "Finished") -> "Finished":
        """The best of both, as many as there are here; of equals the earlier one."""
        joined = [torch.cat(pair, dim=1) for pair in zip(self, other, strict=True)]
        order = joined[0].sort(dim=1, descending=True, stable=True).indices
        order = order[:, : self.scores.shape[1]]
        return Finished(*(one.gather(1, order) for one in joined))


class Beams:
    """Live hypotheses, finished ones, and the way back through their ids, for every slot.

    log_probs: (slots, beam), -inf where nothing lives; lengths: (slots,) ids so far; limits: (slots,)
    ids allowed before EOS; owners: the number and source that each busy slot works on.
    history: (slots, capacity, beam) of each step: the ids, their parents and token scores.
    """

    def __init__(self, decoder: Decoder, config: Search) -> None:
        self.decoder = decoder
        self.config = config
        self.owners: dict[int, tuple[int, Source]] = {}
        self.candidates = 2 * config.beam if config.beam > 1 else 1
        shape, device = (decoder.slots, config.beam), decoder.device
        self.log_probs = torch.full(shape, -torch.inf, device=device)
        self.ids = torch.full(shape, decoder.symbols.start_id, device=device)
        self.parents = torch.zeros_like(self.ids)
        self.first_rows = torch.arange(decoder.slots, device=device)[:, None] * config.beam
        self.lengths = torch.zeros(decoder.slots, dtype=torch.int64, device=device)
        self.limits = torch.zeros_like(self.lengths)
        self.busy = torch.zeros_like(self.lengths)
        numbers = torch.full((decoder.slots, config.n_best), -torch.inf, device=device)
        places = torch.zeros_like(numbers, dtype=torch.int64)
        self.finished = Finished(numbers, numbers, numbers, places, places)
        self.history = [torch.zeros(decoder.slots, 0, config.beam, device=device)] * 3
        self.edits = Edits.ban(decoder.symbols.banned_ids, self.ids.numel(), device)

    @torch.inference_mode()
    def admit(self, new: Sequence[tuple[int, Source]]) -> None:
        """Begin with numbered sources in free slots; only one row of each lives at first."""
        free = [slot for slot in range(self.decoder.slots) if slot not in self.owners]
        slots, sources = free[: len(new)], [source for _, source in new]
        self.decoder.admit(slots, sources)
        self.owners.update(zip(slots, new, strict=True))
        extra = self.config.max_extra_length
        limits = torch.tensor([len(one.ids) - 1 + extra for one in sources])
        capacity = max(self.history[0].shape[1], int(limits.max()))
        for number, kind in enumerate((torch.int64, torch.int64, torch.float32)):
            longer = self.log_probs.new_zeros(
                (self.decoder.slots, capacity, self.config.beam), dtype=kind
            )
            longer[:, : self.history[number].shape[1]] = self.history[number]
            self.history[number] = longer
        where = torch.tensor(slots, device=self.ids.device)
        self.limits[where] = limits.to(where.device)
        self.lengths[where] = 0
        self.busy[where] = 1
        self.log_probs[where] = -torch.inf
        self.log_probs[where, 0] = 0.0
        self.ids[where] = self.decoder.symbols.start_id
        self.parents[where] = 0
        self.finished.scores[where] = -torch.inf
