"""Beam search (section 6.1) over all slots of an engine at once, refilled as sentences finish.

At each step a strategy looks at continuations of every source: those that end go to its pool of
finished hypotheses, some of the others live on. A source is done when nothing that lives can still
enter the pool, which log-probabilities, never positive, allow to know for certain.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

import torch
from jaxtyping import Bool
from torch import Tensor

from nmt_cli.config import Search
from nmt_cli.search.best_first import BestFirst
from nmt_cli.search.candidates import MISSING, Candidates, Pool, Strategy
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Source
from nmt_cli.search.edits import Editor, Live, Rule, make_rules
from nmt_cli.search.limits import longest
from nmt_cli.search.ranker import Ranker
from nmt_cli.search.sampler import Sampler
from nmt_cli.search.trail import Trail
from nmt_cli.search.waiting import Numbered, Waiting


def search(
    decoder: Decoder,
    sources: Iterator[Source],
    config: Search,
    rules: Sequence[Rule] = (),
    strategy: Strategy | None = None,
    allowed: Set[int] = frozenset(),
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """The number and the `finished` best hypotheses (best first) of each source, as they finish.

    rules: beside those of the settings. strategy: another one than the settings name; the engine
    has as many rows as it needs. allowed: ids that may come although the model bans them. A
    translation has at most as many ids as `limits.longest` says; there only EOS is left.
    """
    symbols = decoder.symbols
    banned = [one for one in symbols.banned_ids if one not in allowed]
    rules = [*make_rules(config, symbols.eos_id), *rules]
    editor = Editor(banned, rules, decoder.slots * decoder.beam, decoder.device)
    beams = Beams(decoder, config, editor, strategy or make_strategy(config))
    waiting = Waiting(sources, config.batch_tokens // decoder.beam)
    while True:
        new = waiting.take(decoder.slots - len(beams.owners), beams.busy_tokens)
        if new:
            beams.admit(new)
        if not beams.owners:
            return
        yield from beams.advance()


def make_strategy(config: Search) -> Strategy:
    """The one that the settings name."""
    return Sampler(config) if config.sample else BestFirst(config.rows)


class Beams:
    """Live and finished hypotheses of every slot.

    owners: the number and the source of each busy slot. log_probs, ids, parents: (slots, beam), of
    the live hypotheses, -inf where there is none; lengths: (slots,) ids they have; limits: (slots,)
    ids they may have; busy: (slots,) 1 or 0; prefixes: (slots, steps) ids that are forced, or -1.
    """

    def __init__(
        self, decoder: Decoder, config: Search, editor: Editor, strategy: Strategy
    ) -> None:
        self.decoder = decoder
        self.strategy = strategy
        self.ranker = Ranker(config)
        self.config = config
        self.owners: dict[int, Numbered] = {}
        slots, device = decoder.slots, decoder.device
        self.log_probs = torch.full((slots, decoder.beam), -torch.inf, device=device)
        self.ids = torch.full_like(self.log_probs, decoder.symbols.start_id, dtype=torch.int64)
        self.parents = torch.zeros_like(self.ids)
        self.lengths, self.limits, self.busy = self.ids.new_zeros(3, slots)
        self.pool = Pool.empty(slots, config.finished, device)
        self.first_rows = torch.arange(slots, device=device)[:, None] * decoder.beam
        self.editor = editor
        self.trail = Trail(slots, decoder.beam, device, whole=editor.looks_back)
        self.prefixes = self.ids.new_full((slots, 1), -1)

    @property
    def busy_tokens(self) -> int:
        """Source tokens in the slots."""
        return sum(len(source.ids) for _, source in self.owners.values())

    @torch.inference_mode()
    def admit(self, new: Sequence[Numbered]) -> None:
        """Begin with sources in free slots; a hypothesis that lives is empty."""
        free = (slot for slot in range(self.decoder.slots) if slot not in self.owners)
        admitted = dict(zip(free, new, strict=False))
        slots, sources = list(admitted), [source for _, source in new]
        self.owners.update(admitted)
        self.decoder.admit(slots, sources)
        limits = [longest(source, self.config) for source in sources]
        self.strategy.admit(slots, sources, limits)
        self.trail.reserve(max(limits) + 1)
        where = torch.tensor(slots, device=self.ids.device)
        self.limits[where] = torch.tensor(limits, device=where.device)
        self.lengths[where] = 0
        self.busy[where] = 1
        self.log_probs[where] = -torch.inf
        self.log_probs[where, : self.strategy.starts] = 0.0
        self.ids[where] = self.decoder.symbols.start_id
        self.parents[where] = 0
        scores = self.pool.scores.clone()
        scores[where] = -torch.inf
        self.pool = self.pool._replace(scores=scores)
        self._force_prefixes(slots, sources)

    def _force_prefixes(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        missing = max(len(source.prefix) for source in sources) + 1 - self.prefixes.shape[1]
        if missing > 0:
            self.prefixes = torch.nn.functional.pad(self.prefixes, (0, missing), value=-1)
        for slot, source in zip(slots, sources, strict=True):
            self.prefixes[slot] = -1
            self.prefixes[slot, : len(source.prefix)] = self.ids.new_tensor(source.prefix)

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
        edits = self._edits()
        step = self.decoder.step((self.first_rows + self.parents).flatten(), self.ids.flatten())
        found = self.strategy.expand(step, edits, self.log_probs)
        ended = found.ids == self.decoder.symbols.eos_id
        self._finish(found, ended)
        survivors = self.strategy.survive(found, ended)
        self.log_probs, order = survivors
        self.ids, self.parents = found.ids.gather(1, order), found.parents.gather(1, order)
        self.trail.write(self.lengths, self.ids, self.parents, found.token_scores.gather(1, order))
        self.lengths += self.busy
        return [slot for slot, one in enumerate(self._done().tolist()) if one]

    def _edits(self) -> Edits:
        """What the rules change at this step, and which ids are forced."""
        steps = self.prefixes.shape[1]
        place = self.lengths.clamp(max=steps - 1)[:, None]
        forced = -1 if steps == 1 else self.prefixes.gather(1, place)[:, 0]
        forced = torch.where(self.lengths == self.limits, self.decoder.symbols.eos_id, forced)
        forced = forced.repeat_interleave(self.decoder.beam)
        if not self.editor.rules and self.prefixes.shape[1] == 1:
            return self.editor.plain(forced)
        lengths = self.lengths.repeat_interleave(self.decoder.beam)
        return self.editor.edits(Live(self.trail.written(), lengths), forced)

    def _finish(self, found: Candidates, ended: Bool[Tensor, "slots candidates"]) -> None:
        """Put the candidates that end into the pool, if they are good enough."""
        scores = self.ranker.score(found.log_probs, self.lengths[:, None] + 1)
        missing = found.missing
        if missing is None:
            missing = torch.zeros_like(found.ids)
        else:
            scores = scores - MISSING * missing
        scores = torch.where(ended, scores, -torch.inf)
        lengths = self.lengths[:, None].expand_as(found.parents)
        token_scores, parents = found.token_scores, found.parents
        new = Pool(scores, found.log_probs, token_scores, lengths, parents, missing)
        self.pool = self.pool.best_with(new)

    def _done(self) -> Bool[Tensor, " slots"]:
        ceiling = self.strategy.ceiling(self.log_probs)
        if ceiling is None:
            return self.log_probs.amax(dim=1).isneginf()
        bound = self.ranker.bound(ceiling, self.lengths + 1, self.limits + 1)
        return self.pool.scores[:, -1] >= bound

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
        paths = self.trail.paths(slot, [(length, parent) for *_, length, parent, _ in ends])
        eos = self.decoder.symbols.eos_id
        found = [
            Hypothesis((*ids, eos), log_prob, score, (*token_scores, eos_score), missing)
            for (score, log_prob, eos_score, _, _, missing), (ids, token_scores) in zip(
                ends, paths, strict=True
            )
        ]
        return [self._rescored(one) if one.missing else one for one in found]

    def _rescored(self, one: Hypothesis) -> Hypothesis:
        """With the score that it has by itself."""
        log_prob, length = torch.tensor(one.log_prob), torch.tensor(len(one.ids))
        return replace(one, score=float(self.ranker.score(log_prob, length)))
