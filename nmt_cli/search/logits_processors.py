"""Changes of log-probabilities before the best are chosen: each a small rule, put together here."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.decoder import Edits


class LiveHypotheses(NamedTuple):
    """The live hypotheses, as far as rules look at them.

    written: their ids, kept only where a rule asks for it; lengths: how many of them count.
    """

    written: Int[Tensor, "rows steps"]
    lengths: Int[Tensor, " rows"]


class LogitsEdits(NamedTuple):
    """`bias` is added to the log-probability of `ids` in `rows`; -inf forbids."""

    rows: Int[Tensor, " changes"]
    ids: Int[Tensor, " changes"]
    bias: Float[Tensor, " changes"]


@runtime_checkable
class LogitsProcessor(Protocol):
    """looks_back: whether it needs what was written; one that does not must not ask the device."""

    looks_back: bool

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """Its changes for the next id of every row."""
        ...


def forbid(rows: Tensor, ids: Tensor) -> LogitsEdits:
    """These ids in these rows."""
    return LogitsEdits(rows, ids, torch.full(rows.shape, -torch.inf, device=rows.device))


class MinimumLength:
    """No end before so many ids; where the limit is less, EOS is forced, which wins."""

    looks_back = False

    def __init__(self, length: int, eos_id: int) -> None:
        self._length = length
        self._eos_id = eos_id

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """Forbid EOS in short rows; in the others nothing is added to it."""
        rows = torch.arange(len(live.lengths), device=live.lengths.device)
        bias = torch.zeros(rows.shape, device=rows.device)
        bias.masked_fill_(live.lengths < self._length, -torch.inf)
        return LogitsEdits(rows, torch.full_like(rows, self._eos_id), bias)


class NoRepeat:
    """No `size` ids in a row twice."""

    looks_back = True

    def __init__(self, size: int) -> None:
        self._size = size

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """Forbid what followed wherever the last ids of a row stood before."""
        lengths, size = live.lengths[:, None], self._size
        if live.written.shape[1] < size:
            nowhere = live.lengths[:0]
            return forbid(nowhere, nowhere)
        runs = live.written.unfold(1, size, 1)
        last = lengths - size + 1 + torch.arange(size - 1, device=lengths.device)
        begun = live.written.gather(1, last.clamp(min=0))
        ends = torch.arange(runs.shape[1], device=lengths.device) + size
        same = (runs[:, :, :-1] == begun[:, None]).all(dim=2) & (ends <= lengths)
        rows, places = same.nonzero().unbind(1)
        return forbid(rows, runs[rows, places, -1])


class RepetitionPenalty:
    """Ids that a row holds already are less likely.

    Their probability is divided by `factor`, whatever it is. (Dividing logits, as in Keskar et al.
    2019, changes with a constant added to all of them; dividing log-probabilities hardly touches an
    id that is nearly certain, which is what a model that is stuck gives.)
    """

    looks_back = True

    def __init__(self, factor: float) -> None:
        self._bias = -math.log(factor)

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """The same for each id that a row holds, once or more often."""
        places = torch.arange(live.written.shape[1], device=live.lengths.device)
        rows, where = (places < live.lengths[:, None]).nonzero().unbind(1)
        pairs = torch.unique(torch.stack([rows, live.written[rows, where]], dim=1), dim=0)
        bias = torch.full((len(pairs),), self._bias, device=rows.device)
        return LogitsEdits(pairs[:, 0], pairs[:, 1], bias)


def make_logits_processors(config: SearchConfig, eos_id: int) -> list[LogitsProcessor]:
    """The rules that the settings ask for."""
    rules: list[LogitsProcessor] = []
    if config.min_length:
        rules.append(MinimumLength(config.min_length, eos_id))
    if config.no_repeat_ngram:
        rules.append(NoRepeat(config.no_repeat_ngram))
    if config.repetition_penalty != 1.0:
        rules.append(RepetitionPenalty(config.repetition_penalty))
    return rules


class LogitsProcessorList:
    """All changes of a step: ids never produced, the rules, and ids that are forced."""

    def __init__(
        self,
        banned_ids: Sequence[int],
        rules: Iterable[LogitsProcessor],
        rows: int,
        device: torch.device,
    ) -> None:
        self._always = Edits.ban(banned_ids, rows, device)
        self.rules = list(rules)
        self.looks_back = any(rule.looks_back for rule in self.rules)

    def plain(self, forced: Int[Tensor, " rows"]) -> Edits:
        """Without the rules; where nothing is forced but EOS, which is never banned."""
        return replace(self._always, forced=forced)

    def edits(self, live: LiveHypotheses, forced: Int[Tensor, " rows"]) -> Edits:
        """`forced` ids (-1: none) win over every rule."""
        always = self._always
        changes = [LogitsEdits(always.rows, always.ids, always.bias)]
        changes += [rule(live) for rule in self.rules]
        rows, ids, bias = (torch.cat(kind) for kind in zip(*changes, strict=True))
        return Edits(rows, ids, bias.masked_fill(forced[rows] >= 0, 0.0), forced)
