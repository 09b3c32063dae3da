"""Claim: training on CPU cores is faster than Hugging Face's MarianMTModel in a plain loop.

And than eole, where it is installed. All train a model of one size on the same sentences, in
processes of their own that take turns.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import torch
from lib.measure import (
    Better,
    Json,
    Results,
    environment,
    make_case,
    measured_with,
    median_seconds,
    say,
    spread,
)
from lib.settings import make_config
from lib.training import MODEL, TINY, Trainer, prepare_corpus

from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.model.flops import training_flops
from nmt_cli.model.precision import use_fast_float32
from nmt_cli.training.setup import complete

WARMUP_STEPS = 3
PEERS = {
    "marian": "transformers MarianMTModel, plain loop, fused Adam, eager",
    "eole": "eole train, AdamW",
}
# Peers have no split products, and use float32. A split product is three products in bf16.
DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16, "split": torch.bfloat16}
BF16_PRODUCTS = {"split": 3}


@dataclass(frozen=True)
class Comparison:
    """What is compared: a prepared corpus, settings of the workers, and how long to measure."""

    corpus: Corpus
    settings: Json
    options: argparse.Namespace

    def run(self) -> list[Json]:
        """The cases of one precision."""
        peak = product_peak(self.settings["config"]["train.precision"], self.options)
        starts = self._starts()
        workers = {kind: self._begin(kind) for kind in starts}
        try:
            for worker in workers.values():
                worker.ask(f"steps {WARMUP_STEPS}")
            for index in range(self.options.rounds):
                say(f"round {index + 1} of {self.options.rounds}")
                # Who goes first changes, so that a drift of the machine favours neither.
                for kind in sorted(workers, reverse=index % 2 > 0):
                    workers[kind].train(self.options.steps)
            memory = {kind: worker.ask("memory")["megabytes"] for kind, worker in workers.items()}
        finally:
            for kind, worker in workers.items():
                worker.end()
                starts[kind].append(worker.start)
        peers = [kind for kind in workers if kind != "ours"]
        return [case for peer in peers for case in self._cases(peer, workers, peak, starts, memory)]

    def _begin(self, kind: str) -> Trainer:
        return Trainer(kind, self.corpus.path, self.settings, self.options.threads)

    def _starts(self) -> dict[str, list[tuple[float, float]]]:
        """Fresh processes that end after their first step, in turns."""
        starts: dict[str, list[tuple[float, float]]] = {"ours": [], "marian": []}
        if self.options.eole:
            starts["eole"] = []
        for _ in range(self.options.starts):
            for kind, times in starts.items():
                worker = self._begin(kind)
                times.append(worker.start)
                worker.end()
        return starts

    def _cases(
        self,
        peer: str,
        workers: Mapping[str, Trainer],
        peak: Json,
        starts: Mapping[str, Sequence[tuple[float, float]]],
        memory: Mapping[str, float],
    ) -> list[Json]:
        kinds = ("ours", peer)
        pair = [workers[kind] for kind in kinds]
        last = pair[1].rounds[-1]
        padding = {"peer_padding": last["padding"]} if "padding" in last else {}
        work = self._flops_per_token() / peak["flops_per_second"]
        by_cpu, by_wall = ([worker.rates(clock) for worker in pair] for clock in ("cpu", "wall"))
        shares = [[rate * work for rate in rates] for rates in by_wall]
        wall, cpu = (
            [[start[place] for start in starts[kind]] for kind in kinds] for place in (0, 1)
        )
        megabytes = [[memory[kind]] for kind in kinds]
        make = partial(self._case, peer)
        return [
            make("training", "target tokens / CPU s", by_cpu, "higher", **padding),
            make("training (wall)", "target tokens / s", by_wall, "higher", **padding),
            make("share of the product peak", "1", shares, "higher", peak=peak),
            make("first update (wall)", "s", wall, "lower"),
            make("first update (CPU)", "s", cpu, "lower"),
            make("peak memory", "MB", megabytes, "lower"),
        ]

    def _case(
        self,
        peer: str,
        name: str,
        unit: str,
        values: list[list[float]],
        better: Better,
        **facts: object,
    ) -> Json:
        """Medians of what was measured of both."""
        own, other = (spread(value) for value in values)
        options = self.options
        precision = self.settings["config"]["train.precision"]
        settings = {
            **self.settings["config"], **measured_with(options), "pairs": len(self.corpus.train),
            "peer": PEERS[peer],
        }  # fmt: skip
        return make_case(
            f"{name}, {precision}, {peer}", unit, own["median"], other["median"], better=better,
            settings=settings, ours_spread=own, peer_spread=other, **facts,
        )  # fmt: skip

    def _flops_per_token(self) -> float:
        config = complete(make_config(self.settings["config"]), self.corpus)
        pairs = self.corpus.train
        work = training_flops(config.model, pairs.src_lengths, pairs.tgt_lengths)
        return work / float(pairs.tgt_lengths.sum())


def product_peak(precision: str, options: argparse.Namespace) -> Json:
    """FLOP/s of large products, by the better of the libraries that torch has on a CPU."""
    torch.set_num_threads(options.threads)
    size = 64 if options.tiny else 1_024
    left, right = torch.randn(2, size, size, dtype=DTYPES[precision])
    rates = {}
    before = torch.get_float32_matmul_precision()
    # "medium" selects oneDNN, which on a CPU with AMX would compute in bf16.
    is_bf16 = DTYPES[precision] == torch.bfloat16
    fast = is_bf16 or use_fast_float32(torch.device("cpu"))
    for library in ("highest", "medium") if fast else ("highest",):
        torch.set_float32_matmul_precision(library)
        rates[library] = 2 * size**3 / median_seconds(lambda: left @ right, repeats=5)
    torch.set_float32_matmul_precision(before)
    return {
        "flops_per_second": max(rates.values()) / BF16_PRODUCTS.get(precision, 1), "rates": rates,
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    facts = environment(options.threads)
    results = Results("train_cpu", measured_with(options), options.out, environment=facts)
    if find_spec("transformers") is None:
        print("transformers is not installed: pip install transformers", file=sys.stderr)
        return 69
    with tempfile.TemporaryDirectory(prefix="train-cpu-") as name:
        folder = Path(name)
        corpus = prepare_corpus(options, folder)
        for precision in options.precision:
            say(f"precision {precision}")
            config = {**MODEL, **(TINY if options.tiny else {}), "train.precision": precision}
            settings = {
                "config": {**config, **dict(setting.split("=", 1) for setting in options.set)},
                "folder": str(folder),
                "peer_attention": options.peer_attention,
                "eole": str(options.eole or ""),
            }
            results.cases += Comparison(corpus, settings, options).run()
            results.save()
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="holds train.SRC and train.TGT (plain, .xz, .gz)")
    add("--src", default="en")
    add("--tgt", default="de")
    add("--threads", type=int, default=1, help="of each trainer")
    add("--precision", nargs="+", choices=tuple(DTYPES), default=["float32"])
    add("--rounds", type=int, default=7, help="turns of each trainer")
    add("--steps", type=int, default=6, help="optimiser steps of a turn")
    add("--starts", type=int, default=2, help="more processes timed to their first update")
    add("--peer-attention", default="sdpa", choices=("sdpa", "eager"))
    add("--eole", type=Path, metavar="PYTHON", help="interpreter of an environment with eole")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of both models")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="seconds instead of minutes: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.rounds, options.steps, options.starts = 2, 2, 0
    elif options.data is None:
        parser.error("--data is needed (or --tiny)")
    return options


if __name__ == "__main__":
    sys.exit(main())
