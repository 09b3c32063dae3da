"""Beam search (section 6.1) over all slots of an engine at once, refilled as sentences finish.

At each step a strategy chooses among the continuations of every source: those that end enter the
finished hypotheses of the source, and some of the others stay live. A source is done when no live
hypothesis can enter its finished ones any more, which is certain since log-probabilities are never
positive. With `search.patience` it is also done when this number times the beam size of hypotheses
have ended, of those among the `beam` best candidates of their step (Kasai et al. 2022). The search
asks at each step, or on a GPU only every few steps, which sources are done; until then a source
that is done does not change.
"""

import math
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace

from nmt_cli.array_types import Bool, Float, Int
from nmt_cli.config.search import BATCH_TOKENS, SearchConfig
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.backpointers import Backpointers
from nmt_cli.search.beam_state import BeamState
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Recorder, Source
from nmt_cli.search.fused_search import FusedBeamSearch, is_fused
from nmt_cli.search.logits_processors import (
    LiveHypotheses,
    LogitsProcessor,
    LogitsProcessorList,
    MinimumLength,
    make_logits_processors,
)
from nmt_cli.search.ranking import HypothesisRanker, max_target_length
from nmt_cli.search.sampler import Sampler
from nmt_cli.search.source_queue import IndexedSource, ReadAhead, SourceQueue, WaitingSources
from nmt_cli.search.strategy import (
    MISSING,
    BeamCandidates,
    BeamSelection,
    BeamStrategy,
    FinishedHypotheses,
)

# New sources are admitted once one in this many slots is free.
REFILLED = 8


def search(
    decoder: Decoder,
    sources: Iterator[Source],
    config: SearchConfig,
    processors: Sequence[LogitsProcessor] = (),
    strategy: BeamStrategy | None = None,
    unbanned_ids: Set[int] = frozenset(),
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """The index and the `config.finished` best hypotheses of each source, as sources finish.

    processors: logits processors beside those of the settings. strategy: used in place of the one
    that the settings name; the engine must have the beam it needs. unbanned_ids: ids that may be
    produced although the model bans them. A translation has at most `ranking.max_target_length`
    ids; then EOS is forced.
    """
    return Searcher(decoder, config, processors, strategy, unbanned_ids).run(sources)


class Searcher:
    """A search that can be run several times; the arguments are those of `search`."""

    def __init__(
        self,
        decoder: Decoder,
        config: SearchConfig,
        processors: Sequence[LogitsProcessor] = (),
        strategy: BeamStrategy | None = None,
        unbanned_ids: Set[int] = frozenset(),
    ) -> None:
        symbols = decoder.symbols
        banned_ids = [
            banned_id for banned_id in symbols.banned_ids if banned_id not in unbanned_ids
        ]
        processors = [*make_logits_processors(config, symbols.eos_id), *processors]
        # Of these, an engine's own search knows the minimum length alone.
        is_plain = all(isinstance(processor, MinimumLength) for processor in processors)
        strategy = strategy or make_strategy(config)
        self._decoder = decoder
        tokens = BATCH_TOKENS if config.batch_tokens == "auto" else config.batch_tokens
        # If synchronising with the device is slow, so is running the encoder for a few sources.
        min_free_slots = max(1, decoder.slots // REFILLED) if decoder.check_every > 1 else 1
        self._queue = SourceQueue(tokens // decoder.beam, min_free_slots)
        self._beams: BeamSearch | FusedBeamSearch
        slots, rows = decoder.slots, decoder.slots * decoder.beam
        if type(strategy) is BeamSelection and is_plain and is_fused(decoder):
            self._beams = FusedBeamSearch(decoder, slots, config, strategy.candidates, banned_ids)
        else:
            processor_list = LogitsProcessorList(banned_ids, processors, rows, decoder.arrays)
            self._beams = BeamSearch(decoder, config, processor_list, strategy)

    def run(
        self, sources: Iterator[Source], on_step: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Like `search`. Sources of an earlier run that was not exhausted are dropped.

        on_step: called after each step, or after several where the engine groups them.
        """
        self.drop()
        waiting = ReadAhead(sources)
        while self.admit(waiting):
            finished = self.advance()
            on_step()
            yield from finished

    def admit(self, waiting: WaitingSources) -> bool:
        """Put waiting sources into free slots; returns whether any slot is busy."""
        beams, slots = self._beams, self._decoder.slots
        new = self._queue.take(waiting, slots - len(beams.active), beams.busy_tokens)
        if new:
            beams.admit(new)
        return bool(beams.active)

    def advance(self) -> list[tuple[int, list[Hypothesis]]]:
        """Run a step of the busy slots, or several; the sources that are done, as in `run`."""
        return self._beams.advance()

    def drop(self, indices: Set[int] | None = None) -> None:
        """Free the slots of the sources with these indices; None: of all sources."""
        self._beams.drop(indices)

    @property
    def busy(self) -> int:
        """The number of busy slots."""
        return len(self._beams.active)


def make_strategy(config: SearchConfig) -> BeamStrategy:
    """The strategy that the settings name."""
    return Sampler(config) if config.sample else BeamSelection(config.rows)


class BeamSearch:
    """The live and the finished hypotheses of every slot.

    active: the index and the source of each busy slot. limits: (slots,), the largest number of ids
    of a hypothesis; prefixes: (slots, steps), ids that are forced, or -1.
    """

    def __init__(
        self,
        decoder: Decoder,
        config: SearchConfig,
        processors: LogitsProcessorList,
        strategy: BeamStrategy,
    ) -> None:
        self.decoder = decoder
        self.strategy = strategy
        self.ranker = HypothesisRanker(config)
        self.config = config
        # Samples and hypotheses with constraints are not counted.
        self._enough = config.enough if type(strategy) is BeamSelection else 0
        self.active: dict[int, IndexedSource] = {}
        self.arrays = arrays = decoder.arrays
        self.state = BeamState.empty(decoder, config.finished)
        self.limits = arrays.filled((decoder.slots,), 0)
        self.first_rows = arrays.arange(decoder.slots)[:, None] * decoder.beam
        self.processors = processors
        self.backpointers = Backpointers(
            decoder.slots, decoder.beam, arrays, keep_history=processors.needs_history
        )
        self.prefixes = arrays.filled((decoder.slots, 1), -1)
        self._run_step = self._choose_step()

    def _choose_step(self) -> Callable[[], None]:
        """What extends every hypothesis by one id: the engine as far as it can, else `_step`."""
        decoder = self.decoder
        can_record = not (self.strategy.synchronizes or self.processors.needs_history)
        if isinstance(decoder, Recorder) and can_record:
            replay = decoder.record(self._step_in_place)
            return lambda: replay((self.backpointers.capacity, self.prefixes.shape[1]))
        return self._step_anew

    @property
    def busy_tokens(self) -> int:
        """The source tokens of all busy slots."""
        return sum(len(source.ids) for _, source in self.active.values())

    def _step_in_place(self) -> None:
        with self.arrays.inference():
            self.state.become(self._step(self.state))

    def _step_anew(self) -> None:
        with self.arrays.inference():
            self.state = self._step(self.state)

    def admit(self, new: Sequence[IndexedSource]) -> None:
        """Put sources into free slots."""
        with self.arrays.inference():
            self._admit(new)

    def _admit(self, new: Sequence[IndexedSource]) -> None:
        free = (slot for slot in range(self.decoder.slots) if slot not in self.active)
        admitted = dict(zip(free, new, strict=False))
        slots, sources = list(admitted), [source for _, source in new]
        self.active.update(admitted)
        self.decoder.admit(slots, sources)
        limits = [max_target_length(source, self.config) for source in sources]
        self.strategy.admit(slots, sources, limits)
        # One step more than the limit: a slot that is done still writes there until it is retired.
        self.backpointers.reserve(max(limits) + 2)
        self.ranker.reserve(self.backpointers.capacity, self.arrays)
        slot_ids = self.arrays.integers(slots)
        self.limits[slot_ids] = self.arrays.integers(limits)
        self.state.admit(slot_ids, self.decoder.symbols.start_id, self.strategy.initial_hypotheses)
        self._force_prefixes(slot_ids, [source.prefix for source in sources])

    def _force_prefixes(
        self, slots: Int[Array, " new"], prefixes: Sequence[tuple[int, ...]]
    ) -> None:
        missing = max(map(len, prefixes)) + 1 - self.prefixes.shape[1]
        if missing > 0:
            self.prefixes = self.arrays.padded(self.prefixes, 1, missing, -1)
        steps = self.prefixes.shape[1]
        padded = [[*prefix, *[-1] * (steps - len(prefix))] for prefix in prefixes]
        self.prefixes[slots] = self.arrays.integers(padded)

    def advance(self) -> list[tuple[int, list[Hypothesis]]]:
        """Run a step of every slot, or several; return the sources that are done and free them."""
        for _ in range(self.decoder.check_every):
            self._run_step()
        busy = self.state.busy.tolist()
        done = sorted(slot for slot in self.active if not busy[slot])
        if not done:
            return []
        with self.arrays.inference():
            hypotheses = self._finished_hypotheses(done)
        indices = [self.active[slot][0] for slot in done]
        self._retire(done)
        return list(zip(indices, hypotheses, strict=True))

    def drop(self, indices: Set[int] | None = None) -> None:
        """Free the slots of the sources with these indices; None: of all sources."""
        slots = [
            slot for slot, (index, _) in self.active.items() if indices is None or index in indices
        ]
        if slots:
            self._retire(slots)

    def _retire(self, slots: Sequence[int]) -> None:
        self.decoder.retire(slots)
        with self.arrays.inference():
            self.state.retire(self.arrays.integers(slots))
        for slot in slots:
            del self.active[slot]

    def _step(self, state: BeamState) -> BeamState:
        """Extend every hypothesis by one id; slots that are done do not change any more."""
        edits = self._edits(state)
        rows = (self.first_rows + state.parents).flatten()
        step = self.decoder.step(rows, state.ids.flatten())
        candidates = self.strategy.expand(step, edits, state.log_probs)
        ended = candidates.ids == self.decoder.symbols.eos_id
        finished = self._add_finished(state, candidates, ended)
        ends = self._count_ends(state, candidates, ended)
        log_probs, order = self.strategy.select_live(candidates, ended)
        chosen, replaced = self.arrays.chosen, self.arrays.replaced
        ids, parents = chosen(candidates.ids, order), chosen(candidates.parents, order)
        token_scores = chosen(candidates.token_scores, order)
        self.backpointers.write(state.lengths, ids, parents, token_scores)
        lengths = state.lengths + state.busy
        done = self._done(log_probs, lengths, finished)
        if self._enough:
            done = done | (ends >= self._enough)
        log_probs = replaced(log_probs, done[:, None], -math.inf)
        busy = replaced(state.busy, done, 0)
        return BeamState(log_probs, ids, parents, lengths, busy, ends, finished)

    def _count_ends(
        self,
        state: BeamState,
        candidates: BeamCandidates,
        ended: Bool[Array, "slots candidates"],
    ) -> Int[Array, " slots"]:
        """The hypotheses that have finished among the `beam` best candidates of each step."""
        if not self._enough:
            return state.ends
        counted = ended & (candidates.log_probs > -math.inf)
        return state.ends + counted[:, : self.decoder.beam].sum(1)

    def _edits(self, state: BeamState) -> Edits:
        """The changes of all logits processors at this step, and the ids that are forced."""
        steps, beam, arrays = self.prefixes.shape[1], self.decoder.beam, self.arrays
        position = arrays.at_most(state.lengths, steps - 1)[:, None]
        forced = arrays.chosen(self.prefixes, position)[:, 0]
        at_limit = state.lengths == self.limits
        forced = arrays.replaced(forced, at_limit, self.decoder.symbols.eos_id)
        # (slots,) -> (slots * beam,)
        forced = arrays.repeated(forced, beam)
        if not self.processors.processors and steps == 1:
            return self.processors.bans_only(forced)
        lengths = arrays.repeated(state.lengths, beam)
        return self.processors.edits(LiveHypotheses(self.backpointers.live_ids(), lengths), forced)

    def _add_finished(
        self,
        state: BeamState,
        candidates: BeamCandidates,
        ended: Bool[Array, "slots candidates"],
    ) -> FinishedHypotheses:
        """The finished hypotheses with the candidates that end, where those are good enough."""
        scores = self.ranker.score(candidates.log_probs, state.lengths[:, None] + 1)
        arrays, missing = self.arrays, candidates.missing
        none = arrays.filled(ended.shape, 0)
        if missing is None:
            missing = none
        else:
            scores = scores - MISSING * arrays.as_floats(missing)
        scores = arrays.replaced(scores, ~ended, -math.inf)
        lengths = state.lengths[:, None] + none
        new = FinishedHypotheses(
            scores, candidates.log_probs, candidates.token_scores, lengths, candidates.parents,
            missing,
        )  # fmt: skip
        return state.finished.best_with(new)

    def _done(
        self,
        log_probs: Float[Array, "slots beam"],
        lengths: Int[Array, " slots"],
        finished: FinishedHypotheses,
    ) -> Bool[Array, " slots"]:
        greatest = self.strategy.max_log_prob(log_probs)
        if greatest is None:
            return self.arrays.maxima(log_probs) == -math.inf
        bound = self.ranker.upper_bound(greatest, lengths + 1, self.limits + 1)
        return finished.scores[:, -1] >= bound

    def _finished_hypotheses(self, slots: Sequence[int]) -> list[list[Hypothesis]]:
        """The finished hypotheses of these slots, best first."""
        slot_ids, eos_id = self.arrays.integers(slots), self.decoder.symbols.eos_id
        by_slot = zip(*(column[slot_ids].tolist() for column in self.state.finished), strict=True)
        ends = [
            (index, *end)
            for index, finished in enumerate(by_slot)
            for end in zip(*finished, strict=True)
            if end[0] > -math.inf
        ]
        paths = self.backpointers.paths(slot_ids, [(end[0], end[4], end[5]) for end in ends])
        result: list[list[Hypothesis]] = [[] for _ in slots]
        for end, (ids, token_scores) in zip(ends, paths, strict=True):
            index, score, log_prob, eos_score, _, _, missing = end
            hypothesis = Hypothesis(
                (*ids, eos_id), log_prob, score, (*token_scores, eos_score), missing
            )
            result[index].append(self._rescored(hypothesis) if missing else hypothesis)
        return result

    def _rescored(self, hypothesis: Hypothesis) -> Hypothesis:
        """The hypothesis with its score before `MISSING` was subtracted."""
        score = self.ranker.score_of(hypothesis.log_prob, len(hypothesis.ids))
        return replace(hypothesis, score=score)
