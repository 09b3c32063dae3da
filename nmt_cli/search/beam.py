"""Beam search (section 6.1) over all slots of an engine at once, refilled as sentences finish.

At each step a strategy looks at continuations of every source: those that end go to its pool of
finished hypotheses, some of the others live on. A source is done when nothing that lives can still
enter the pool, which log-probabilities, never positive, allow to know for certain. It rests then
until it is asked about, which an engine on a GPU wants only every few steps.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.batch import moved
from nmt_cli.config.search import BATCH_TOKENS, SearchConfig
from nmt_cli.search.backpointers import Backpointers
from nmt_cli.search.beam_state import BeamState
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Recorder, Source
from nmt_cli.search.logits_processors import (
    LiveHypotheses,
    LogitsProcessor,
    LogitsProcessorList,
    make_logits_processors,
)
from nmt_cli.search.ranking import HypothesisRanker, max_target_length
from nmt_cli.search.sampler import Sampler
from nmt_cli.search.source_queue import Numbered, SourceQueue
from nmt_cli.search.strategy import (
    MISSING,
    BeamCandidates,
    BeamSelection,
    BeamStrategy,
    FinishedHypotheses,
)

# Of the slots, the part that must be free before they are refilled.
REFILLED = 8


def search(
    decoder: Decoder,
    sources: Iterator[Source],
    config: SearchConfig,
    rules: Sequence[LogitsProcessor] = (),
    strategy: BeamStrategy | None = None,
    allowed: Set[int] = frozenset(),
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """The number and the `finished` best hypotheses (best first) of each source, as they finish.

    rules: beside those of the settings. strategy: another one than the settings name; the engine
    has as many rows as it needs. allowed: ids that may come although the model bans them. A
    translation has at most as many ids as `limits.longest` says; there only EOS is left.
    """
    return Searcher(decoder, config, rules, strategy, allowed).run(sources)


class Searcher:
    """A search that can be run again and again; arguments are those of `search`."""

    def __init__(
        self,
        decoder: Decoder,
        config: SearchConfig,
        rules: Sequence[LogitsProcessor] = (),
        strategy: BeamStrategy | None = None,
        allowed: Set[int] = frozenset(),
    ) -> None:
        symbols = decoder.symbols
        banned = [one for one in symbols.banned_ids if one not in allowed]
        rules = [*make_logits_processors(config, symbols.eos_id), *rules]
        editor = LogitsProcessorList(banned, rules, decoder.slots * decoder.beam, decoder.device)
        self._decoder = decoder
        tokens = BATCH_TOKENS if config.batch_tokens == "auto" else config.batch_tokens
        self._budget = tokens // decoder.beam
        # Where a question to the device is dear, so is an encoder that runs for a few sources.
        self._fewest = max(1, decoder.slots // REFILLED) if decoder.check_every > 1 else 1
        self._beams = BeamSearch(decoder, config, editor, strategy or make_strategy(config))

    def run(
        self, sources: Iterator[Source], advanced: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """As `search`; a run that was left before its end is dropped.

        advanced: called after each step, or after several where the engine groups them.
        """
        beams, slots = self._beams, self._decoder.slots
        beams.drop()
        waiting = SourceQueue(sources, self._budget, self._fewest)
        while True:
            new = waiting.take(slots - len(beams.owners), beams.busy_tokens)
            if new:
                beams.admit(new)
            if not beams.owners:
                return
            finished = beams.advance()
            advanced()
            yield from finished


def make_strategy(config: SearchConfig) -> BeamStrategy:
    """The one that the settings name."""
    return Sampler(config) if config.sample else BeamSelection(config.rows)


class BeamSearch:
    """Live and finished hypotheses of every slot.

    owners: the number and the source of each busy slot. limits: (slots,) ids that hypotheses may
    have; prefixes: (slots, steps) ids that are forced, or -1.
    """

    def __init__(
        self,
        decoder: Decoder,
        config: SearchConfig,
        editor: LogitsProcessorList,
        strategy: BeamStrategy,
    ) -> None:
        self.decoder = decoder
        self.strategy = strategy
        self.ranker = HypothesisRanker(config)
        self.config = config
        self.owners: dict[int, Numbered] = {}
        slots, device = decoder.slots, decoder.device
        self.state = BeamState.empty(decoder, config.finished)
        self.limits = torch.zeros_like(self.state.lengths)
        self.first_rows = torch.arange(slots, device=device)[:, None] * decoder.beam
        self.editor = editor
        self.trail = Backpointers(slots, decoder.beam, device, whole=editor.looks_back)
        self.prefixes = self.limits.new_full((slots, 1), -1)
        self.recorded: Callable[[Hashable], None] | None = None
        if isinstance(decoder, Recorder) and not (strategy.waits or editor.looks_back):
            self.recorded = decoder.record(lambda: self.state.become(self._step(self.state)))

    @property
    def busy_tokens(self) -> int:
        """Source tokens in the slots."""
        return sum(len(source.ids) for _, source in self.owners.values())

    @torch.inference_mode()
    def admit(self, new: Sequence[Numbered]) -> None:
        """Begin with sources in free slots."""
        free = (slot for slot in range(self.decoder.slots) if slot not in self.owners)
        admitted = dict(zip(free, new, strict=False))
        slots, sources = list(admitted), [source for _, source in new]
        self.owners.update(admitted)
        self.decoder.admit(slots, sources)
        limits = [max_target_length(source, self.config) for source in sources]
        self.strategy.admit(slots, sources, limits)
        # One step more than there may be: a slot that is done writes there until it is asked.
        self.trail.reserve(max(limits) + 2)
        self.ranker.reserve(self.trail.capacity, self.decoder.device)
        where = self._numbers(slots)
        self.limits[where] = self._numbers(limits)
        self.state.admit(where, self.decoder.symbols.start_id, self.strategy.starts)
        self._force_prefixes(where, [source.prefix for source in sources])

    def _numbers(self, numbers: Sequence[int]) -> Int[Tensor, " numbers"]:
        return moved(torch.tensor(numbers), self.decoder.device)

    def _force_prefixes(
        self, where: Int[Tensor, " new"], prefixes: Sequence[tuple[int, ...]]
    ) -> None:
        missing = max(map(len, prefixes)) + 1 - self.prefixes.shape[1]
        if missing > 0:
            self.prefixes = torch.nn.functional.pad(self.prefixes, (0, missing), value=-1)
        steps = self.prefixes.shape[1]
        padded = torch.tensor([[*one, *[-1] * (steps - len(one))] for one in prefixes])
        self.prefixes[where] = moved(padded, self.decoder.device)

    def advance(self) -> list[tuple[int, list[Hypothesis]]]:
        """Some steps of every slot; the sources that are done leave."""
        for _ in range(self.decoder.check_every):
            if self.recorded is not None:
                self.recorded((self.trail.capacity, self.prefixes.shape[1]))
            else:
                self.state = self._step(self.state)
        busy = self.state.busy.tolist()
        done = sorted(slot for slot in self.owners if not busy[slot])
        if not done:
            return []
        hypotheses = self._hypotheses(done)
        numbers = [self.owners[slot][0] for slot in done]
        self._retire(done)
        return list(zip(numbers, hypotheses, strict=True))

    def drop(self) -> None:
        """Forget the sources that have not finished."""
        if self.owners:
            self._retire(list(self.owners))

    @torch.inference_mode()
    def _retire(self, slots: Sequence[int]) -> None:
        self.decoder.retire(slots)
        self.state.retire(self._numbers(slots))
        for slot in slots:
            del self.owners[slot]

    @torch.inference_mode()
    def _step(self, state: BeamState) -> BeamState:
        """Lengthen every hypothesis by one id; slots that need no further step come to rest."""
        edits = self._edits(state)
        rows = (self.first_rows + state.parents).flatten()
        step = self.decoder.step(rows, state.ids.flatten())
        found = self.strategy.expand(step, edits, state.log_probs)
        ended = found.ids == self.decoder.symbols.eos_id
        pool = self._finished(state, found, ended)
        log_probs, order = self.strategy.survive(found, ended)
        ids, parents = found.ids.gather(1, order), found.parents.gather(1, order)
        self.trail.write(state.lengths, ids, parents, found.token_scores.gather(1, order))
        lengths = state.lengths + state.busy
        done = self._done(log_probs, lengths, pool)
        log_probs = log_probs.masked_fill(done[:, None], -torch.inf)
        return BeamState(log_probs, ids, parents, lengths, state.busy.masked_fill(done, 0), pool)

    def _edits(self, state: BeamState) -> Edits:
        """What the rules change at this step, and which ids are forced."""
        steps, beam = self.prefixes.shape[1], self.decoder.beam
        place = state.lengths.clamp(max=steps - 1)[:, None]
        forced = self.prefixes.gather(1, place)[:, 0]
        forced = forced.masked_fill(state.lengths == self.limits, self.decoder.symbols.eos_id)
        forced = forced[:, None].expand(-1, beam).flatten()
        if not self.editor.rules and steps == 1:
            return self.editor.plain(forced)
        lengths = state.lengths[:, None].expand(-1, beam).flatten()
        return self.editor.edits(LiveHypotheses(self.trail.written(), lengths), forced)

    def _finished(
        self, state: BeamState, found: BeamCandidates, ended: Bool[Tensor, "slots candidates"]
    ) -> FinishedHypotheses:
        """The pool with the candidates that end, if they are good enough."""
        scores = self.ranker.score(found.log_probs, state.lengths[:, None] + 1)
        missing = found.missing
        if missing is None:
            missing = torch.zeros_like(found.ids)
        else:
            scores = scores - MISSING * missing
        scores = scores.masked_fill(~ended, -torch.inf)
        lengths = state.lengths[:, None].expand_as(found.parents)
        token_scores, parents = found.token_scores, found.parents
        return state.pool.best_with(
            FinishedHypotheses(scores, found.log_probs, token_scores, lengths, parents, missing)
        )

    def _done(
        self,
        log_probs: Float[Tensor, "slots beam"],
        lengths: Int[Tensor, " slots"],
        pool: FinishedHypotheses,
    ) -> Bool[Tensor, " slots"]:
        ceiling = self.strategy.ceiling(log_probs)
        if ceiling is None:
            return log_probs.amax(dim=1).isneginf()
        bound = self.ranker.bound(ceiling, lengths + 1, self.limits + 1)
        return pool.scores[:, -1] >= bound

    @torch.inference_mode()
    def _hypotheses(self, slots: Sequence[int]) -> list[list[Hypothesis]]:
        """What the pools of these slots hold."""
        where, eos = self._numbers(slots), self.decoder.symbols.eos_id
        pools = zip(*(column[where].tolist() for column in self.state.pool), strict=True)
        ends = [
            (number, *end)
            for number, pool in enumerate(pools)
            for end in zip(*pool, strict=True)
            if end[0] > -torch.inf
        ]
        paths = self.trail.paths(where, [(end[0], end[4], end[5]) for end in ends])
        found: list[list[Hypothesis]] = [[] for _ in slots]
        for end, (ids, token_scores) in zip(ends, paths, strict=True):
            number, score, log_prob, eos_score, _, _, missing = end
            one = Hypothesis((*ids, eos), log_prob, score, (*token_scores, eos_score), missing)
            found[number].append(self._rescored(one) if missing else one)
        return found

    def _rescored(self, one: Hypothesis) -> Hypothesis:
        """With the score that it has by itself."""
        log_prob, length = torch.tensor(one.log_prob), torch.tensor(len(one.ids))
        return replace(one, score=float(HypothesisRanker(self.config).score(log_prob, length)))
