"""Lexically constrained beam search with dynamic beam allocation (Post and Vilar 2018).

Hypotheses compete with those that have matched as many tokens of their constraints: the beam is
allocated to these banks in turn. No hypothesis may end before it meets every constraint, except at
the maximum length.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.array_types import Bool, Float, Int
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array
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
        self._inner: tuple[WordIds, Array] | None = None

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Begin with sources, none of whose constraints is met yet."""
        for slot, source in zip(slots, sources, strict=True):
            self._constraints[slot] = source.constraints or LexicalConstraints(())
            self._states[slot] = [ConstraintState()] * self._beam

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Array, "slots beam"]
    ) -> BeamCandidates:
        """The best continuations of a slot and of each hypothesis, and those for constraints.

        (Post and Vilar 2018, section 3.1)
        """
        best = self._unconstrained.expand(step, edits, log_probs)
        # (slots * beam, 1) -> (slots, beam)
        shape, without_nan = log_probs.shape, arrays_of(log_probs).without_nan
        first, first_ids = (column.reshape(shape) for column in step.top(1, edits))
        first = without_nan(first)
        full = step.full().reshape(*shape, -1)
        forced = edits.forced.reshape(shape)[:, 0].tolist()
        alive = (log_probs > -math.inf).any(1).tolist()
        self._candidates = {}
        for slot in (slot for slot, is_alive in enumerate(alive) if is_alive):
            live = log_probs[slot].tolist()
            rows = [row for row, log_prob in enumerate(live) if log_prob > -math.inf]
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
        return self._padded(log_probs)

    def _constraint_scores(
        self, slot: int, rows: Sequence[int], full: Float[Array, "beam vocabulary"]
    ) -> dict[tuple[int, int], float]:
        """Unedited log-probabilities of the ids that begin or continue a constraint."""
        constraints, states = self._constraints[slot], self._states[slot]
        pairs = [(row, token_id) for row in rows for token_id in constraints.next_ids(states[row])]
        if not pairs:
            return {}
        arrays = arrays_of(full)
        pair_rows, ids = arrays.integers(list(zip(*pairs, strict=True)))
        scores = arrays.without_nan(full[pair_rows, ids])
        return dict(zip(pairs, scores.tolist(), strict=True))

    def _word_end_scores(
        self,
        slot: int,
        rows: Sequence[int],
        full: Float[Array, "beam vocabulary"],
        edits: Edits,
    ) -> dict[tuple[int, int], float]:
        """The best id that ends the word in which a constraint was just met.

        Without it every candidate might continue the word, and the constraint would be unmet again.
        """
        result, arrays = {}, arrays_of(full)
        for row in rows:
            if self._states[slot][row].last_met == NOTHING:
                continue
            of_row = edits.rows == slot * self._beam + row
            scores = arrays.copied(full[row : row + 1])
            ids = edits.ids[of_row]
            arrays.add_at(scores, (ids * 0, ids), edits.bias[of_row])
            scores[0, self._inner_ids(self._constraints[slot].words, scores)] = -math.inf
            scores = arrays.without_nan(scores)[0]
            token_id = int(scores.argmax())
            result[row, token_id] = float(scores[token_id])
        return result

    def _inner_ids(self, words: WordIds, like: Array) -> Int[Array, " inner"]:
        if self._inner is None or self._inner[0] is not words:
            self._inner = words, arrays_of(like).integers(sorted(words.inner))
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
            if log_prob > -math.inf:
                candidates.append(ConstrainedCandidate(log_prob, score, parent, token_id, state))
        return sorted(
            candidates,
            key=lambda candidate: (-candidate.log_prob, candidate.parent, candidate.token_id),
        )

    def _padded(self, log_probs: Float[Array, "slots beam"]) -> BeamCandidates:
        """The candidates of all slots, padded with -inf."""
        width = max([self._beam, *map(len, self._candidates.values())])
        shape = len(log_probs), width
        arrays = arrays_of(log_probs)
        result = BeamCandidates(
            *(arrays.filled_floats(shape, -math.inf) for _ in range(2)),
            *(arrays.filled(shape, 0) for _ in range(3)),
        )
        makers = [arrays.floats] * 2 + [arrays.integers] * 3
        for slot, candidates in self._candidates.items():
            constraints = self._constraints[slot]
            missing = [constraints.missing(candidate.state) for candidate in candidates]
            columns = [*zip(*(candidate[:4] for candidate in candidates), strict=True), missing]
            if candidates:
                for array, column, make in zip(result, columns, makers, strict=True):
                    array[slot, : len(candidates)] = make(column)
        return result

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Array, "slots candidates"]
    ) -> LiveBeam:
        """The best of each bank in turn, beginning with the bank that has matched most."""
        slots = len(candidates.log_probs)
        arrays = arrays_of(ended)
        order = arrays.filled((slots, self._beam), 0)
        log_probs = arrays.filled_floats((slots, self._beam), -math.inf)
        for slot, of_slot in self._candidates.items():
            indices = self._allocate(self._constraints[slot], of_slot)
            chosen = arrays.integers(indices)
            order[slot, : len(indices)] = chosen
            log_probs[slot, : len(indices)] = candidates.log_probs[slot, chosen]
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

    def max_log_prob(self, log_probs: Float[Array, "slots beam"]) -> Float[Array, " slots"]:
        """The greatest of the beam, whichever bank it is in."""
        return arrays_of(log_probs).maxima(log_probs)
