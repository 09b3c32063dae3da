"""Claim: training on one GPU is faster than Hugging Face's Marian, eager and compiled.

Correctness first, then the parts, then whole runs. All phases together take a quarter of an hour;
`--part` runs those that fit into one call on a borrowed machine. The JSON file is rewritten after
every phase, so that a call that is cut off loses only the phase it was in.
"""

import argparse
import functools
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from lib.gpu_gates import gates
from lib.gpu_parts import attention, loss_head, machine
from lib.gpu_runs import decode, ours, peer
from lib.gpu_setup import Setup, check_device, stand_in_for_tomli_w
from lib.measure import Json, Results, environment, make_case, measured_with, say, table
from lib.phases import Phase, run_phases

PRESETS = ("base", "big")
PEERS = {"eager": False, "compiled": True}

PHASES = (
    Phase("machine", 40, machine),
    Phase("gates", 180, gates),
    Phase("attention", 60, attention),
    Phase("loss head", 30, loss_head),
    Phase("base", 150, functools.partial(ours, preset="base")),
    Phase("big", 150, functools.partial(ours, preset="big")),
    *(
        Phase(
            f"{preset}, marian {name}",
            60,
            functools.partial(peer, preset=preset, compiled=compiled),
        )
        for name, compiled in PEERS.items()
        for preset in PRESETS
    ),
    Phase("decode", 60, decode),
)
# The phases of one call, each of which fits into the default budget.
PARTS = {
    "correctness": ("machine", "gates", "attention", "loss head"),
    **{
        preset: (preset, *(f"{preset}, marian {name}" for name in PEERS), *more)
        for preset, more in (("base", ("decode",)), ("big", ()))
    },
}


def make_cases(phases: dict[str, Json]) -> list[Json]:
    """The comparisons that the finished phases allow."""
    cases = []
    for preset in PRESETS:
        own = phases.get(preset, {})
        if "tokens_per_second" not in own:
            continue
        for name in PEERS:
            theirs = phases.get(f"{preset}, marian {name}", {})
            cases.append(make_case(
                f"{preset} against MarianMTModel, {name}", "target tokens / s",
                own["tokens_per_second"], theirs.get("tokens_per_second"), better="higher",
                settings=own["settings"], ours_spread=own["spread"],
                peer_spread=theirs.get("spread"), peer_padding=theirs.get("padding"),
                share_of_datasheet_peak=own["share_of_datasheet_peak"],
            ))  # fmt: skip
    return cases + _decoding_cases(phases.get("decode", {})) + _part_cases(phases)


def _decoding_cases(facts: Json) -> list[Json]:
    cases = []
    for name, own in facts.items():
        if name.startswith("ours, ") and "tokens_per_second" in own:
            _, beam, slots = name.split(", ")
            theirs = facts.get(f"marian, {beam}", {})
            cases.append(make_case(
                f"decode base, {beam}, {slots}", "target tokens / s", own["tokens_per_second"],
                theirs.get("tokens_per_second"), better="higher",
                settings={"beam": beam, "sentences": slots, "peer": "generate, 128 at once"},
            ))  # fmt: skip
    return cases


def _part_cases(phases: dict[str, Json]) -> list[Json]:
    """The loss head and attention against what torch offers."""
    times = {
        "loss head": ("ours", "float32 logits", phases.get("loss head", {})),
        **{
            f"attention, {kind}": ("tiles", "fused", facts)
            for kind, facts in phases.get("attention", {}).items()
            if isinstance(facts, dict)
        },
    }
    cases = []
    for name, (own, theirs, facts) in times.items():
        found = [facts.get(name, {}).get("forward_backward_ms") for name in (own, theirs)]
        if found[0] is not None:
            cases.append(make_case(
                name, "ms", found[0], found[1], better="lower",
                settings={"ours": own, "peer": theirs, "passes": "forward and backward"},
            ))  # fmt: skip
    return cases


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    check_device(options.device)
    stand_in_for_tomli_w()
    names = options.only or PARTS.get(options.part)
    chosen = [phase for phase in PHASES if not names or phase.name in names]
    results = Results("train_gpu", measured_with(options), options.out, environment=environment())
    with tempfile.TemporaryDirectory(prefix="train-gpu-") as folder:
        setup = Setup(
            torch.device(options.device), options.tiny, Path(folder),
            dict(setting.split("=", 1) for setting in options.set),
        )  # fmt: skip
        run_phases(setup, results, chosen, options.budget, make_cases)
    if options.json:
        say(table(results.cases))
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--budget", type=float, default=540, metavar="S", help="seconds for all phases together")
    add("--out", type=Path, metavar="FILE", help="write the JSON here, after every phase")
    add("--device", default="cuda")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--part", choices=list(PARTS), help="the phases of one call")
    which.add_argument(
        "--only", action="append", choices=[phase.name for phase in PHASES], help="phases to run"
    )
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of our models")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="everything small: a test of the script")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
