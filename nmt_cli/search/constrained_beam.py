"""Lexically constrained beam search with dynamic beam allocation (Post and Vilar 2018).

Hypotheses compete with those that have matched as many tokens of their constraints: the beam is
allocated to these banks in turn. No hypothesis may end before it meets every constraint, except at
the maximum length.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.search.constraints import NOTHING, ConstraintState, LexicalConstraints, WordIds
from nmt_cli.search.decoder import Edits, Source, Step
from nmt_cli.search.strategy import BeamCandidates, BeamSelection, LiveBeam

MIN_ROWS, MAX_ROWS = 4, 64


class ConstrainedCandidate(NamedTuple):
    """A continuation of hypothesis `parent` by `token_id`; `log_prob` is that of the whole."""

    log_prob: float
    token_score: float
    parent: int
    token_id: int
    state: ConstraintState


def required_rows(constraints: LexicalConstraints, beam: int) -> int:
    """The beam that a source with these constraints needs: a power of two, with room for each bank.

    It is at most MAX_ROWS, unless `beam` is larger.
    """
    wanted = max(beam, MIN_ROWS, constraints.tokens + 1)
    rows: int = 2 ** (wanted - 1).bit_length()
    return max(beam, min(rows, MAX_ROWS))


class ConstrainedBeamSearch:
    """A `search.strategy.BeamStrategy` for sources with lexical constraints."""

    initial_hypotheses = 1
    synchronizes = True

    def __init__(self, beam: int, eos_id: int) -> None:
        self._beam = beam
        self._eos_id = eos_id
        self._unconstrained = BeamSelection(beam)
        self._constraints: dict[int, LexicalConstraints] = {}
        # For each slot: the constraint state of every hypothesis, and the sorted candidates.
        self._states: dict[int, list[ConstraintState]] = {}
        self._candidates: dict[int, list[ConstrainedCandidate]] = {}
        self._inner: tuple[WordIds, Tensor] | None = None

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Begin with sources, none of whose constraints is met yet."""
        for slot, source in zip(slots, sources, strict=True):
            self._constraints[slot] = source.constraints or LexicalConstraints(())
            self._states[slot] = [ConstraintState()] * self._beam

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Tensor, "slots beam"]
    ) -> BeamCandidates:
        """The best continuations of a slot and of each hypothesis, and those for constraints.

        (Post and Vilar 2018, section 3.1)
        """
        best = self._unconstrained.expand(step, edits, log_probs)
        # (slots * beam, 1) -> (slots, beam)
        first, first_ids = (tensor.view_as(log_probs) for tensor in step.top(1, edits))
        first = first.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        full = step.full().view(*log_probs.shape, -1)
        forced = edits.forced.view_as(log_probs)[:, 0].tolist()
        alive = (log_probs > -torch.inf).any(dim=1).tolist()
        self._candidates = {}
        for slot in (slot for slot, is_alive in enumerate(alive) if is_alive):
            live = log_probs[slot].tolist()
            rows = [row for row, log_prob in enumerate(live) if log_prob > -torch.inf]
            scores = {
                (parent, token_id): score
                for parent, token_id, score in zip(
                    best.parents[slot].tolist(), best.ids[slot].tolist(),
                    best.token_scores[slot].tolist(), strict=True,
                )
            }  # fmt: skip
            ids, values = first_ids[slot].tolist(), first[slot].tolist()
            scores |= {(row, ids[row]): values[row] for row in rows}
            if forced[slot] < 0:
                scores |= self._constraint_scores(slot, rows, full[slot])
                scores |= self._word_end_scores(slot, rows, full[slot], edits)
            self._candidates[slot] = self._sorted(slot, live, scores, forced[slot])
        return self._as_tensors(log_probs)

    def _constraint_scores(
        self, slot: int, rows: Sequence[int], full: Float[Tensor, "beam vocabulary"]
    ) -> dict[tuple[int, int], float]:
        """Unedited log-probabilities of the ids that begin or continue a constraint."""
        constraints, states = self._constraints[slot], self._states[slot]
        pairs = [(row, token_id) for row in rows for token_id in constraints.next_ids(states[row])]
        if not pairs:
            return {}
        pair_rows, ids = torch.tensor(pairs, device=full.device).unbind(1)
        scores = full[pair_rows, ids].nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        return dict(zip(pairs, scores.tolist(), strict=True))

    def _word_end_scores(
        self,
        slot: int,
        rows: Sequence[int],
        full: Float[Tensor, "beam vocabulary"],
        edits: Edits,
    ) -> dict[tuple[int, int], float]:
        """The best id that ends the word in which a constraint was just met.

        Without it every candidate might continue the word, and the constraint would be unmet again.
        """
        result = {}
        for row in rows:
            if self._states[slot][row].last_met == NOTHING:
                continue
            of_row = edits.rows == slot * self._beam + row
            scores = full[row].index_add(0, edits.ids[of_row], edits.bias[of_row])
            scores[self._inner_ids(self._constraints[slot].words, scores.device)] = -torch.inf
            value, token_id = scores.nan_to_num(nan=-torch.inf).max(dim=0)
            result[row, int(token_id)] = float(value)
        return result

    def _inner_ids(self, words: WordIds, device: torch.device) -> Int[Tensor, " inner"]:
        if self._inner is None or self._inner[0] is not words:
            ids = torch.tensor(sorted(words.inner), dtype=torch.int64, device=device)
            self._inner = words, ids
        return self._inner[1]

    def _sorted(
        self, slot: int, live: Sequence[float], scores: dict[tuple[int, int], float], forced_id: int
    ) -> list[ConstrainedCandidate]:
        """Candidates best first, without those that end before all constraints are met."""
        constraints, states = self._constraints[slot], self._states[slot]
        candidates = []
        for (parent, token_id), score in scores.items():
            state, ends = states[parent], token_id == self._eos_id
            if ends and constraints.missing(state) and forced_id != self._eos_id:
                continue
            if not ends:
                state = constraints.advance(state, token_id)
            log_prob = live[parent] + score
            if log_prob > -torch.inf:
                candidates.append(ConstrainedCandidate(log_prob, score, parent, token_id, state))
        return sorted(
            candidates,
            key=lambda candidate: (-candidate.log_prob, candidate.parent, candidate.token_id),
        )

    def _as_tensors(self, log_probs: Float[Tensor, "slots beam"]) -> BeamCandidates:
        """The candidates of all slots, padded with -inf."""
        width = max([self._beam, *map(len, self._candidates.values())])
        shape = len(log_probs), width
        result = BeamCandidates(
            log_probs.new_full(shape, -torch.inf), log_probs.new_full(shape, -torch.inf),
            *(torch.zeros(shape, dtype=torch.int64, device=log_probs.device) for _ in range(3)),
        )  # fmt: skip
        assert result.missing is not None
        for slot, candidates in self._candidates.items():
            constraints = self._constraints[slot]
            missing = [constraints.missing(candidate.state) for candidate in candidates]
            columns = [*zip(*(candidate[:4] for candidate in candidates), strict=True), missing]
            if candidates:
                for tensor, column in zip(result, columns, strict=True):
                    assert tensor is not None
                    tensor[slot, : len(candidates)] = tensor.new_tensor(column)
        return result

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Tensor, "slots candidates"]
    ) -> LiveBeam:
        """The best of each bank in turn, beginning with the bank that has matched most."""
        slots = len(candidates.log_probs)
        order = candidates.ids.new_zeros(slots, self._beam)
        log_probs = candidates.log_probs.new_full((slots, self._beam), -torch.inf)
        for slot, of_slot in self._candidates.items():
            indices = self._allocate(self._constraints[slot], of_slot)
            order[slot, : len(indices)] = order.new_tensor(indices)
            log_probs[slot, : len(indices)] = candidates.log_probs[slot, indices]
            states = [of_slot[index].state for index in indices]
            self._states[slot] = states + [ConstraintState()] * (self._beam - len(states))
        return LiveBeam(log_probs, order)

    def _allocate(
        self, constraints: LexicalConstraints, candidates: Sequence[ConstrainedCandidate]
    ) -> list[int]:
        """Indices of at most `beam` candidates that do not end."""
        banks: dict[int, list[int]] = {}
        for index, candidate in enumerate(candidates):
            if candidate.token_id != self._eos_id:
                banks.setdefault(constraints.matched_tokens(candidate.state), []).append(index)
        turns = [
            (turn, -bank, index)
            for bank, indices in banks.items()
            for turn, index in enumerate(indices[: self._beam])
        ]
        return [index for *_, index in sorted(turns)[: self._beam]]

    def max_log_prob(self, log_probs: Float[Tensor, "slots beam"]) -> Float[Tensor, " slots"]:
        """The greatest of the beam, whichever bank it is in."""
        return log_probs.amax(dim=1)
