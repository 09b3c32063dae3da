"""Beam search (section 6.1) over all slots of an engine at once, refilled as sentences finish.

Each step looks at the 2 x beam best continuations of a source: those that end go to its pool of
finished hypotheses, the best `beam` of the others live on. A source is done when nothing that lives
can still enter the pool, which log-probabilities, never positive, allow to know for certain.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.config import Search
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Source
from nmt_cli.search.length import length_penalty
from nmt_cli.search.trail import Trail
from nmt_cli.search.waiting import Numbered, Waiting


def search(
    decoder: Decoder, sources: Iterator[Source], config: Search
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """The number and the `n_best` best hypotheses (best first) of each source, as they finish.

    A translation has at most `max_extra_length` ids more than its source, EOS counted in neither;
    there EOS is the only choice left. With beam 1 only the best continuation is followed (greedy).
    """
    beams = Beams(decoder, config)
    waiting = Waiting(sources, config.batch_tokens // config.beam)
    while True:
        new = waiting.take(decoder.slots - len(beams.owners), beams.busy_tokens)
        if new:
            beams.admit(new)
        if not beams.owners:
            return
        yield from beams.advance()


class Candidates(NamedTuple):
    """Continuations of each slot's hypotheses, best first; log_probs are those of the whole."""

    log_probs: Float[Tensor, "slots candidates"]
    token_scores: Float[Tensor, "slots candidates"]
    parents: Int[Tensor, "slots candidates"]
    ids: Int[Tensor, "slots candidates"]


class Pool(NamedTuple):
    """Finished hypotheses of each slot, best first; a missing one scores -inf.

    eos_scores: log-probability of EOS; lengths, parents: of the hypothesis EOS was added to.
    """

    scores: Float[Tensor, "slots finished"]
    log_probs: Float[Tensor, "slots finished"]
    eos_scores: Float[Tensor, "slots finished"]
    lengths: Int[Tensor, "slots finished"]
    parents: Int[Tensor, "slots finished"]

    def best_with(self, other: "Pool") -> "Pool":
        """The best of both, as many as there are here; of equals the earlier one."""
        joined = [torch.cat(pair, dim=1) for pair in zip(self, other, strict=True)]
        order = joined[0].sort(dim=1, descending=True, stable=True).indices
        order = order[:, : self.scores.shape[1]]
        return Pool(*(one.gather(1, order) for one in joined))


class Beams:
    """Live and finished hypotheses of every slot.

    owners: the number and the source of each busy slot. log_probs, ids, parents: (slots, beam), of
    the live hypotheses, -inf where there is none; lengths: (slots,) ids they have; limits: (slots,)
    ids they may have; busy: (slots,) 1 or 0.
    """

    def __init__(self, decoder: Decoder, config: Search) -> None:
        self.decoder = decoder
        self.config = config
        self.owners: dict[int, Numbered] = {}
        slots, device = decoder.slots, decoder.device
        self.log_probs = torch.full((slots, config.beam), -torch.inf, device=device)
        self.ids = torch.full_like(self.log_probs, decoder.symbols.start_id, dtype=torch.int64)
        self.parents = torch.zeros_like(self.ids)
        self.lengths, self.limits, self.busy = self.ids.new_zeros(3, slots)
        none = torch.full((slots, config.n_best), -torch.inf, device=device)
        nowhere = torch.zeros_like(none, dtype=torch.int64)
        self.pool = Pool(none, none, none, nowhere, nowhere)
        self.trail = Trail(slots, config.beam, device)
        self.first_rows = torch.arange(slots, device=device)[:, None] * config.beam
        self.edits = Edits.ban(decoder.symbols.banned_ids, self.ids.numel(), device)

    @property
    def busy_tokens(self) -> int:
        """Source tokens in the slots."""
        return sum(len(source.ids) for _, source in self.owners.values())

    @torch.inference_mode()
    def admit(self, new: Sequence[Numbered]) -> None:
        """Begin with sources in free slots; one hypothesis of each lives, and is empty."""
        free = (slot for slot in range(self.decoder.slots) if slot not in self.owners)
        admitted = dict(zip(free, new, strict=False))
        slots, sources = list(admitted), [source for _, source in new]
        self.owners.update(admitted)
        self.decoder.admit(slots, sources)
        limits = [len(source.ids) - 1 + self.config.max_extra_length for source in sources]
        self.trail.reserve(max(limits) + 1)
        where = torch.tensor(slots, device=self.ids.device)
        self.limits[where] = torch.tensor(limits, device=where.device)
        self.lengths[where] = 0
        self.busy[where] = 1
        self.log_probs[where] = -torch.inf
        self.log_probs[where, 0] = 0.0
        self.ids[where] = self.decoder.symbols.start_id
        self.parents[where] = 0
        scores = self.pool.scores.clone()
        scores[where] = -torch.inf
        self.pool = self.pool._replace(scores=scores)

    def advance(self) -> list[tuple[int, list[Hypothesis]]]:
        """One step of every slot; the sources that are done with it leave."""
        done = [slot for slot in self._step() if slot in self.owners]
        results = [(self.owners.pop(slot)[0], self._hypotheses(slot)) for slot in done]
        if done:
            self.decoder.retire(done)
            self._silence(done)
        return results

    @torch.inference_mode()
    def _step(self) -> list[int]:
        """Lengthen every hypothesis by one id; the slots that need no further step."""
        found = self._candidates()
        ended = found.ids == self.decoder.symbols.eos_id
        self._finish(found, ended)
        self._live_on(found, ended)
        self.lengths += self.busy
        bound = self.log_probs[:, 0] / length_penalty(self.limits + 1, self.config.alpha)
        done = self.pool.scores[:, -1] >= bound
        return [slot for slot, one in enumerate(done.tolist()) if one]

    def _candidates(self) -> Candidates:
        """The best continuations of each slot."""
        beam, eos = self.config.beam, self.decoder.symbols.eos_id
        at_limit = (self.lengths == self.limits).repeat_interleave(beam)
        self.edits.forced[:] = torch.where(at_limit, eos, -1)
        step = self.decoder.step((self.first_rows + self.parents).flatten(), self.ids.flatten())
        count = 2 * beam if beam > 1 else 1
        scores, ids = step.top(count, self.edits)
        # A model with broken numbers finds nothing, but comes to an end.
        scores = scores.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        log_probs = (self.log_probs.flatten()[:, None] + scores).view(len(self.log_probs), -1)
        log_probs, places = log_probs.sort(dim=1, descending=True, stable=True)
        log_probs, places = log_probs[:, :count], places[:, :count]
        token_scores = scores.reshape(len(places), -1).gather(1, places)
        found_ids = ids.reshape(len(places), -1).gather(1, places)
        return Candidates(log_probs, token_scores, places // scores.shape[1], found_ids)

    def _finish(self, found: Candidates, ended: Bool[Tensor, "slots candidates"]) -> None:
        """Put the candidates that end into the pool, if they are good enough."""
        penalty = length_penalty(self.lengths + 1, self.config.alpha)[:, None]
        scores = torch.where(ended, found.log_probs / penalty, -torch.inf)
        lengths = self.lengths[:, None].expand_as(found.parents)
        new = Pool(scores, found.log_probs, found.token_scores, lengths, found.parents)
        self.pool = self.pool.best_with(new)

    def _live_on(self, found: Candidates, ended: Bool[Tensor, "slots candidates"]) -> None:
        """The best candidates that do not end become the live hypotheses."""
        left = found.log_probs.masked_fill(ended, -torch.inf)
        left, order = left.sort(dim=1, descending=True, stable=True)
        order = order[:, : self.config.beam]
        self.log_probs = left[:, : self.config.beam].clone()
        self.ids, self.parents = found.ids.gather(1, order), found.parents.gather(1, order)
        self.trail.write(self.lengths, self.ids, self.parents, found.token_scores.gather(1, order))

    @torch.inference_mode()
    def _silence(self, slots: Sequence[int]) -> None:
        where = torch.tensor(slots, device=self.ids.device)
        self.busy[where] = 0
        self.lengths[where] = 0
        self.log_probs[where] = -torch.inf

    def _hypotheses(self, slot: int) -> list[Hypothesis]:
        """What the pool of a slot holds."""
        columns = [column[slot].tolist() for column in self.pool]
        ends = [one for one in zip(*columns, strict=True) if one[0] > -torch.inf]
        paths = self.trail.paths(slot, [(length, parent) for *_, length, parent in ends])
        return [
            Hypothesis(
                (*ids, self.decoder.symbols.eos_id), log_prob, score, (*token_scores, eos_score)
            )
            for (score, log_prob, eos_score, *_), (ids, token_scores) in zip(
                ends, paths, strict=True
            )
        ]
