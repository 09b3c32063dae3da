"""Claim: translating on one GPU is 20 times as fast as Hugging Face's generate, the same weights.

    python benchmarks/decode_gpu.py --part speed --out decode_gpu.json
    python benchmarks/decode_gpu.py --part plain --out decode_gpu-plain.json

Correctness first; the JSON file is rewritten after every phase. The model is planted: it copies.
All phases together take ten minutes; `--part` runs those that fit into one call on a borrowed
machine.
"""

import argparse
import functools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from lib.gpu_decoding import Decoding, bulk, gates, machine, peer, plain, single
from lib.gpu_setup import check_device, stand_in_for_tomli_w
from lib.measure import Json, Results, environment, make_case, measured_with, say, table
from lib.phases import Phase, run_phases

# Of the base model in bf16 on one H200.
TARGETS = {
    "tokens / s, beam 4": 200_000, "tokens / s, beam 1": 500_000, "ms of one sentence, beam 4": 15,
    "times generate": 20,
}  # fmt: skip
PHASES = (
    Phase("machine", 40, machine),
    Phase("gates", 90, gates),
    Phase("single", 60, single),
    Phase("beam 4", 120, functools.partial(bulk, beam=4)),
    Phase("peer", 150, peer),
    Phase("beam 1", 70, functools.partial(bulk, beam=1)),
    Phase("plain", 60, plain),
)
# The phases of one call, each of which fits into the default budget.
PARTS = {
    "speed": ("machine", "gates", "single", "beam 4", "peer", "beam 1"),
    "plain": ("plain",),
}


def make_cases(phases: dict[str, Json]) -> list[Json]:
    """The comparisons that the finished phases allow."""
    return [case for beam in (4, 1) for case in (*_bulk(phases, beam), *_single(phases, beam))]


def _bulk(phases: dict[str, Json], beam: int) -> Iterator[Json]:
    """Our best against generate with the first of its batch sizes, and with its best."""
    own, peers = phases.get(f"beam {beam}", {}), phases.get("peer", {})
    at_once = best_of(own)
    if not at_once:
        return
    theirs = {name: case for name, case in peers.items() if name.startswith(f"beam {beam}, ")}
    for name in dict.fromkeys([*list(theirs)[:1], best_of(theirs)]):
        yield make_case(
            f"bulk, beam {beam}; generate {name.partition(', ')[2] or 'not measured'}",
            "target tokens / s", own[at_once]["tokens_per_second"],
            theirs[name]["tokens_per_second"] if name else None, better="higher",
            settings={"ours": at_once, "sentences": own[at_once]["sentences"]},
            ours_spread=own[at_once]["spread"], target=TARGETS[f"tokens / s, beam {beam}"],
            target_ratio=TARGETS["times generate"],
        )  # fmt: skip


def _single(phases: dict[str, Json], beam: int) -> Iterator[Json]:
    alone = phases.get("single", {}).get(f"beam {beam}")
    if alone:
        theirs = phases.get("peer", {}).get(f"beam {beam}", {})
        yield make_case(
            f"one sentence, beam {beam}", "ms", alone["milliseconds"], theirs.get("milliseconds"),
            better="lower", settings={"tokens": alone["tokens"]}, ours_spread=alone["spread"],
            target=TARGETS["ms of one sentence, beam 4"] if beam == 4 else None,
        )  # fmt: skip


def best_of(facts: Json) -> str:
    """The name of what has the greatest rate, or ""."""
    rates = {
        name: fact["tokens_per_second"]
        for name, fact in facts.items()
        if isinstance(fact, dict) and "tokens_per_second" in fact
    }
    return max(rates, key=lambda name: rates[name], default="")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    check_device(options.device)
    stand_in_for_tomli_w()
    run = Decoding(torch.device(options.device), options.tiny)
    names = options.only or PARTS.get(options.part)
    chosen = [phase for phase in PHASES if not names or phase.name in names]
    settings = {**run.settings, **measured_with(options), "precision": str(run.dtype)}
    settings["targets"] = TARGETS
    results = Results("decode_gpu", settings, options.out, environment=environment())
    run_phases(run, results, chosen, options.budget, make_cases)
    if options.json:
        say(table(results.cases))
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--budget", type=float, default=540, metavar="S", help="seconds for all phases together")
    add("--out", type=Path, metavar="FILE", help="write the JSON here, after every phase")
    add("--device", default="cuda")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--part", choices=list(PARTS), help="the phases of one call")
    which.add_argument(
        "--only", action="append", choices=[phase.name for phase in PHASES], help="phases to run"
    )
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="everything small: a test of the script")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
