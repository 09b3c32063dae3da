"""Beam search under terms that must come (Post and Vilar 2018, dynamic beam allocation).

Hypotheses compete with those that have come as far with their terms: the beam is dealt out among
these banks in turn. None may end before it holds every term, but at the greatest length.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.search.constraints import NOTHING, ConstraintState, LexicalConstraints, WordIds
from nmt_cli.search.decoder import Edits, Source, Step
from nmt_cli.search.strategy import BeamCandidates, BeamSelection, LiveBeam

FEWEST_ROWS, MOST_ROWS = 4, 64


class ConstrainedCandidate(NamedTuple):
    """A continuation: log-probability of the whole and of its last id, where it comes from."""

    log_prob: float
    token_score: float
    parent: int
    one: int
    progress: ConstraintState


def rows_for(terms: LexicalConstraints, beam: int) -> int:
    """Hypotheses that a source with these terms needs: a power of two, a place for each bank."""
    wanted = max(beam, FEWEST_ROWS, terms.tokens + 1)
    rows: int = 2 ** (wanted - 1).bit_length()
    return max(beam, min(rows, MOST_ROWS))


class ConstrainedBeamSearch:
    """A `search.candidates.Strategy` for sources with terms."""

    starts = 1
    waits = True

    def __init__(self, beam: int, eos_id: int) -> None:
        self._beam = beam
        self._eos_id = eos_id
        self._best = BeamSelection(beam)
        self._terms: dict[int, LexicalConstraints] = {}
        self._progress: dict[int, list[ConstraintState]] = {}
        self._choices: dict[int, list[ConstrainedCandidate]] = {}
        self._inner: tuple[WordIds, Tensor] | None = None

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Nothing of their terms is there yet."""
        for slot, source in zip(slots, sources, strict=True):
            self._terms[slot] = source.terms or LexicalConstraints(())
            self._progress[slot] = [ConstraintState()] * self._beam

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Tensor, "slots beam"]
    ) -> BeamCandidates:
        """The best of all, the best of each hypothesis, and what its terms wait for."""
        best = self._best.expand(step, edits, log_probs)
        first, first_ids = (one.view_as(log_probs) for one in step.top(1, edits))
        first = first.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        full = step.full().view(*log_probs.shape, -1)
        forced = edits.forced.view_as(log_probs)[:, 0].tolist()
        alive = (log_probs > -torch.inf).any(dim=1).tolist()
        self._choices = {}
        for slot in (slot for slot, so in enumerate(alive) if so):
            live = log_probs[slot].tolist()
            rows = [row for row, one in enumerate(live) if one > -torch.inf]
            scores = {
                (parent, one): score
                for parent, one, score in zip(
                    best.parents[slot].tolist(), best.ids[slot].tolist(),
                    best.token_scores[slot].tolist(), strict=True,
                )
            }  # fmt: skip
            ids, values = first_ids[slot].tolist(), first[slot].tolist()
            scores |= {(row, ids[row]): values[row] for row in rows}
            if forced[slot] < 0:
                scores |= self._wanted(slot, rows, full[slot])
                scores |= self._ending(slot, rows, full[slot], edits)
            self._choices[slot] = self._ranked(slot, live, scores, at_end=forced[slot])
        return self._candidates(log_probs)

    def _wanted(
        self, slot: int, rows: Sequence[int], full: Float[Tensor, "beam vocabulary"]
    ) -> dict[tuple[int, int], float]:
        """Log-probabilities, unedited, of the ids that terms wait for."""
        terms, progress = self._terms[slot], self._progress[slot]
        pairs = [(row, one) for row in rows for one in terms.next_ids(progress[row])]
        if not pairs:
            return {}
        places, ids = torch.tensor(pairs, device=full.device).unbind(1)
        scores = full[places, ids].nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        return dict(zip(pairs, scores.tolist(), strict=True))

    def _ending(
        self,
        slot: int,
        rows: Sequence[int],
        full: Float[Tensor, "beam vocabulary"],
        edits: Edits,
    ) -> dict[tuple[int, int], float]:
        """The best id that ends the word where a term was just met: else it might never end."""
        found = {}
        for row in rows:
            if self._progress[slot][row].last == NOTHING:
                continue
            here = edits.rows == slot * self._beam + row
            scores = full[row].index_add(0, edits.ids[here], edits.bias[here])
            scores[self._inner_ids(self._terms[slot].words, scores.device)] = -torch.inf
            value, one = scores.nan_to_num(nan=-torch.inf).max(dim=0)
            found[row, int(one)] = float(value)
        return found

    def _inner_ids(self, words: WordIds, device: torch.device) -> Int[Tensor, " inner"]:
        if self._inner is None or self._inner[0] is not words:
            ids = torch.tensor(sorted(words.inner), dtype=torch.int64, device=device)
            self._inner = words, ids
        return self._inner[1]

    def _ranked(
        self,
        slot: int,
        live: Sequence[float],
        scores: dict[tuple[int, int], float],
        *,
        at_end: int,
    ) -> list[ConstrainedCandidate]:
        terms, progress = self._terms[slot], self._progress[slot]
        choices = []
        for (parent, one), score in scores.items():
            ends = one == self._eos_id
            if ends and terms.missing(progress[parent]) and at_end != self._eos_id:
                continue
            now = progress[parent] if ends else terms.after(progress[parent], one)
            if live[parent] + score > -torch.inf:
                choices.append(ConstrainedCandidate(live[parent] + score, score, parent, one, now))
        return sorted(choices, key=lambda one: (-one.log_prob, one.parent, one.one))

    def _candidates(self, log_probs: Float[Tensor, "slots beam"]) -> BeamCandidates:
        """The choices as tensors; where there is none, -inf."""
        width = max([self._beam, *map(len, self._choices.values())])
        shape = len(log_probs), width
        found = BeamCandidates(
            log_probs.new_full(shape, -torch.inf), log_probs.new_full(shape, -torch.inf),
            *(torch.zeros(shape, dtype=torch.int64, device=log_probs.device) for _ in range(3)),
        )  # fmt: skip
        assert found.missing is not None
        for slot, choices in self._choices.items():
            missing = [self._terms[slot].missing(one.progress) for one in choices]
            columns = [*zip(*(one[:4] for one in choices), strict=True), missing]
            for tensor, column in zip(found, columns if choices else (), strict=bool(choices)):
                assert tensor is not None
                tensor[slot, : len(choices)] = tensor.new_tensor(column)
        return found

    def survive(self, found: BeamCandidates, ended: Bool[Tensor, "slots candidates"]) -> LiveBeam:
        """Of each bank its best, bank after bank, the one with most of its terms first."""
        slots = len(found.log_probs)
        order = found.ids.new_zeros(slots, self._beam)
        log_probs = found.log_probs.new_full((slots, self._beam), -torch.inf)
        for slot, choices in self._choices.items():
            places = self._dealt(self._terms[slot], choices)
            order[slot, : len(places)] = order.new_tensor(places)
            log_probs[slot, : len(places)] = found.log_probs[slot, places]
            now = [choices[place].progress for place in places]
            self._progress[slot] = now + [ConstraintState()] * (self._beam - len(now))
        return LiveBeam(log_probs, order)

    def _dealt(
        self, terms: LexicalConstraints, choices: Sequence[ConstrainedCandidate]
    ) -> list[int]:
        """Places of at most `beam` choices that do not end."""
        banks: dict[int, list[int]] = {}
        for place, one in enumerate(choices):
            if one.one != self._eos_id:
                banks.setdefault(terms.reached(one.progress), []).append(place)
        deal = [
            (turn, -bank, place)
            for bank, places in banks.items()
            for turn, place in enumerate(places[: self._beam])
        ]
        return [place for *_, place in sorted(deal)[: self._beam]]

    def ceiling(self, log_probs: Float[Tensor, "slots beam"]) -> Float[Tensor, " slots"]:
        """Of the best, whichever bank it is in."""
        return log_probs.amax(dim=1)
