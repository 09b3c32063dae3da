"""Claim: one core makes batches at least ten times as fast as a GPU trains `base` on them.

Ours plans an epoch and gathers its batches; the peer is the loop of a plain training script:
torch's DataLoader without workers, sentences sorted by length in pools, pad_sequence.
"""

import argparse
import itertools
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from lib.measure import Clock, Json, Results, environment, make_case, measured_with, say, spread
from lib.peers import IGNORED, Buckets
from lib.sentences import random_corpus
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

from nmt_cli.data.corpus.batch_plan import BatchPlan, Position, count_shards
from nmt_cli.data.corpus.corpus import Corpus, Pairs
from nmt_cli.data.corpus.packed_plan import PackedPlan
from nmt_cli.data.subwords.segmenters import BOS

# The plans, each with the tokens of a shard that is usual where it is used: on a CPU, on a GPU.
PLANS: dict[str, tuple[type[BatchPlan], int]] = {
    "pairs of one length": (BatchPlan, 4_096),
    "packed": (PackedPlan, 8_192),
}
Sentence = tuple[Tensor, Tensor]
# What a loader gives, one batch after the other: its target tokens.
Loader = Iterator[int]


@dataclass(frozen=True)
class Turn:
    """One turn of a loader: target tokens, CPU seconds of an epoch's plan and of the batches."""

    tokens: int
    plan_seconds: float
    seconds: float

    def rate(self, epoch_tokens: int) -> float:
        """Target tokens a CPU second, with the share of the epoch's plan that these tokens are."""
        return self.tokens / (self.seconds + self.plan_seconds * self.tokens / epoch_tokens)


def our_batches(pairs: Pairs, plan: BatchPlan, epoch: int) -> Loader:
    """The batches of an epoch as the trainer asks for them."""
    for position in plan.positions(Position(epoch, 0)):
        plan.tokens(*position)
        for shard in range(plan.shards):
            ids = plan.epoch(position.epoch).shard(position.batch, shard)
            if len(ids):
                yield pairs.batch(ids, BOS, plan.shape_of(ids)).tokens


class Sentences(Dataset[Sentence]):
    """Pairs as a plain script keeps them: one tensor for each sentence."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, pair: int) -> Sentence:
        """(src ids, tgt ids), int64."""
        src, tgt = self.pairs[pair]
        return torch.from_numpy(src.astype(np.int64)), torch.from_numpy(tgt.astype(np.int64))


def padded(sentences: Sequence[Sentence], pad_id: int = 0) -> tuple[Tensor, ...]:
    """Ids, their mask, the decoder's input and the labels, each (rows, longest)."""
    sources, targets = zip(*sentences, strict=True)
    src = pad_sequence(sources, batch_first=True, padding_value=pad_id)
    labels = pad_sequence(targets, batch_first=True, padding_value=IGNORED)
    shifted = torch.full_like(labels, BOS)
    shifted[:, 1:] = labels[:, :-1]
    return src, src != pad_id, shifted.masked_fill(shifted == IGNORED, pad_id), labels


def their_batches(pairs: Pairs, batch_tokens: int, seed: int) -> Loader:
    """The same sentences through torch's DataLoader, in this process."""
    loader: DataLoader[Sentence] = DataLoader(
        Sentences(pairs),
        batch_sampler=Buckets(pairs, batch_tokens, seed),  # type: ignore[arg-type]
        collate_fn=padded,
    )
    for *_, labels in loader:
        yield int((labels != IGNORED).sum())


def take_turn(loader: Loader, tokens: int) -> Turn:
    """Take batches until there are so many tokens; the plan is made for the first one."""
    clock = Clock.now()
    next(loader)
    planned = clock.since().cpu
    clock = Clock.now()
    done = 0
    while done < tokens:
        done += next(loader)
    return Turn(done, planned, clock.since().cpu)


def compare(options: argparse.Namespace, pairs: Pairs, name: str) -> tuple[Json, Json]:
    """One plan beside the peer, turn by turn: the case, and what else is known of it."""
    kind, micro = PLANS[name]
    batch_tokens = options.batch_tokens
    lengths = pairs.src_lengths, pairs.tgt_lengths
    plan = kind(*lengths, batch_tokens, count_shards(batch_tokens, micro, 1), 1)
    makers: dict[str, Callable[[int], Loader]] = {
        "ours": lambda number: our_batches(pairs, plan, number),
        "peer": lambda number: their_batches(pairs, plan.capacity, number),
    }
    epoch_tokens = int(pairs.tgt_lengths.sum())
    turns: dict[str, list[Turn]] = {"ours": [], "peer": []}
    for number, side in itertools.product(range(options.rounds + 1), makers):
        say(f"{name}, {side}, turn {number}")
        wanted = options.steps * batch_tokens
        turns[side].append(take_turn(makers[side](number), min(wanted, epoch_tokens // 2)))
    rates = {side: [turn.rate(epoch_tokens) for turn in found[1:]] for side, found in turns.items()}
    facts: Json = {
        "status": "done",
        "milliseconds_per_step": 1e3 * batch_tokens / statistics.median(rates["ours"]),
    }
    for side, found in turns.items():
        facts[side] = {
            "plan_seconds": statistics.median(turn.plan_seconds for turn in found[1:]),
            "batches": spread([turn.tokens / turn.seconds for turn in found[1:]]),
        }
    case = make_case(
        f"loading, {name}", "target tokens / CPU s",
        statistics.median(rates["ours"]), statistics.median(rates["peer"]), better="higher",
        settings={
            "batch_tokens": batch_tokens, "shard_tokens": micro, "shards": plan.shards,
            "pairs": len(pairs), "threads": 1, "peer": "DataLoader, pools, pad_sequence",
        },
        ours_spread=spread(rates["ours"]), peer_spread=spread(rates["peer"]),
    )  # fmt: skip
    return case, facts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    torch.set_num_threads(1)
    results = Results("loader", measured_with(options), options.out, environment=environment(1))
    if options.corpus is None:
        corpus = random_corpus(options.pairs, 32_000, 1, Path("random"))
    else:
        corpus = Corpus.open(options.corpus)
    for name in PLANS:
        case, facts = compare(options, corpus.train, name)
        results.cases.append(case)
        results.phases[name] = facts
        results.save()
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--corpus", type=Path, metavar="DIR", help="a prepared corpus; without it random ids")
    add("--pairs", type=int, default=592_000, help="of random ids")
    add("--batch-tokens", type=int, default=25_000, help="of an optimiser step")
    add("--steps", type=int, default=150, help="optimiser steps of a turn")
    add("--rounds", type=int, default=7, help="turns of each, after one that does not count")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="few random ids: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.pairs, options.batch_tokens, options.steps, options.rounds = 2_000, 2_000, 4, 1
    return options


if __name__ == "__main__":
    sys.exit(main())
