"""A model that is a table of random numbers, and searches of it that cannot go wrong."""

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.arrays.torch_top_k import top_k
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Edits, Hypothesis, Source, Symbols

PAD, UNK, BOS, EOS = range(4)
SYMBOLS = Symbols(BOS, EOS, (PAD, UNK, BOS))


@dataclass(frozen=True)
class Table:
    """Log-probabilities of the next id by source and prefix: random, and the same every time."""

    vocabulary: int
    seed: int = 0
    end: float = 0.0  # added to the logit of EOS

    def row(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> Tensor:
        return _table_row(self, source, prefix)


@cache
def _table_row(table: Table, source: tuple[int, ...], prefix: tuple[int, ...]) -> Tensor:
    chooser = random.Random(str((table.seed, source, prefix)))
    logits = torch.tensor([chooser.gauss(0, 2) for _ in range(table.vocabulary)])
    logits[EOS] += table.end
    return logits.log_softmax(0)


class TableStep:
    def __init__(self, log_probs: Tensor) -> None:
        self.log_probs = log_probs

    def top(self, k: int, edits: Edits) -> tuple[Tensor, Tensor]:
        edited = self.log_probs.clone()
        edited.index_put_((edits.rows, edits.ids), edits.bias, accumulate=True)
        for row, forced in enumerate(edits.forced.tolist()):
            if forced >= 0:
                only = edited[row, forced].clone()
                edited[row] = -torch.inf
                edited[row, forced] = only
        return top_k(edited, k)

    def full(self, rows: Tensor | None = None) -> Tensor:
        return self.log_probs if rows is None else self.log_probs[rows]


class TableDecoder:
    """An engine that looks its numbers up, and checks that the search keeps to the protocol."""

    check_every = 1

    def __init__(self, table: Table, slots: int, beam: int, symbols: Symbols = SYMBOLS) -> None:
        self.table = table
        self.slots = slots
        self.beam = beam
        self.symbols = symbols
        self.arrays = TorchArrays("cpu")
        self.sources: dict[int, tuple[int, ...]] = {}
        self.prefixes: dict[int, list[tuple[int, ...]]] = {}
        self.steps = 0
        self.rows_computed = 0

    def admit(self, slots, sources) -> None:
        assert len(slots) == len(sources)
        for slot, source in zip(slots, sources, strict=True):
            assert 0 <= slot < self.slots
            assert slot not in self.sources
            self.sources[slot] = tuple(source.ids)
            self.prefixes[slot] = [()] * self.beam

    def retire(self, slots) -> None:
        for slot in slots:
            del self.sources[slot]
            del self.prefixes[slot]

    def step(self, parents: Tensor, ids: Tensor) -> TableStep:
        assert parents.shape == ids.shape == (self.slots * self.beam,)
        self.steps += 1
        log_probs = torch.full((len(ids), self.table.vocabulary), -torch.inf)
        for slot, source in self.sources.items():
            first = slot * self.beam
            rows = range(first, first + self.beam)
            old = self.prefixes[slot]
            self.prefixes[slot] = [(*old[int(parents[row]) - first], int(ids[row])) for row in rows]
            for row, prefix in zip(rows, self.prefixes[slot], strict=True):
                assert prefix[0] == self.symbols.start_id
                log_probs[row] = self.table.row(source, prefix[1:])
                self.rows_computed += 1
        return TableStep(log_probs)


def run(
    decoder, sources, config: SearchConfig, processors: Sequence = (), strategy=None
) -> list[list[Hypothesis]]:
    given = [source if isinstance(source, Source) else Source(source) for source in sources]
    results = dict(search(decoder, iter(given), config, processors, strategy))
    assert sorted(results) == list(range(len(sources)))
    return [results[index] for index in range(len(sources))]


def penalty(length: int, config: SearchConfig) -> float:
    forms = {"gnmt": (5 + length) / 6, "power": float(length), "none": 1.0}
    return forms[config.length_penalty] ** config.alpha


# The change of the log-probability of an id after what was written; None forbids it.
Bias = Callable[[tuple[int, ...], int], float | None]


def exhaustive(
    table: Table,
    source: tuple[int, ...],
    config: SearchConfig,
    symbols: Symbols = SYMBOLS,
    bias: Bias = lambda written, token: 0.0,
    limit: int | None = None,
) -> list[tuple[float, tuple[int, ...]]]:
    """Every sequence up to the limit that ends in EOS, with its score, best first."""
    allowed = [
        token for token in range(table.vocabulary)
        if token not in symbols.banned_ids and token != symbols.eos_id
    ]  # fmt: skip
    results = []
    limit = len(source) - 1 + config.max_extra_length if limit is None else limit
    for length in range(limit + 1):
        for words in itertools.product(allowed, repeat=length):
            ids = (*words, symbols.eos_id)
            biases = [bias(ids[:n], token_id) for n, token_id in enumerate(ids)]
            if None in biases:
                continue
            log_prob = sum(
                table.row(source, ids[:n])[token_id].item() for n, token_id in enumerate(ids)
            )
            log_prob += sum(biases)
            score = log_prob / penalty(len(ids), config) + config.word_reward * len(ids)
            results.append((score, ids))
    return sorted(results, key=lambda hypothesis: -hypothesis[0])
