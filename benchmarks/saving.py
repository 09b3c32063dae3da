"""Claim: at most 1 % of training time goes into checkpoints, however fast the steps are.

Ours copies weights and optimiser, and a thread writes them, with checksums, to stay; training waits
for the copy only. The peer is the usual torch.save of both state_dicts in the loop.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from lib.measure import Clock, Json, Results, environment, make_case, measured_with, say, spread
from torch import nn

from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import Config, with_values
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.optimizers.factory import make_optimizer, set_learning_rate
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.state import TrainState


def make_run(options: argparse.Namespace) -> tuple[nn.Module, Optimizer, Config]:
    """A model of the preset after one step, so that the optimiser has its state."""
    values = {
        **PRESETS[options.preset],
        "model.src_vocab_size": options.vocab_size,
        "model.tgt_vocab_size": options.vocab_size,
    }
    config = with_values(Config(), values)
    model = Transformer(config.model)
    initialise(model, 1)
    model.to(options.device)
    optimizer = make_optimizer(model, config)
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, 1e-3)
    set_learning_rate(optimizer, 1e-4)
    optimizer.step()
    return model, optimizer, config


def measure(options: argparse.Namespace, folder: Path) -> tuple[Json, Json]:
    """Both ways to save, turn by turn: the case, and what else is known of it."""
    model, optimizer, config = make_run(options)
    checkpoints = Checkpoints(folder / "checkpoints", keep_last=2, keep_best=1)
    stalls, writes, plain = [], [], []
    for index in range(options.rounds + 1):
        say(f"turn {index}")
        clock = Clock.now()
        checkpoints.save(model, optimizer, TrainState(step=index + 1), member=True)
        stalls.append(clock.since().wall)
        checkpoints.flush()
        writes.append(clock.since().wall)
        clock = Clock.now()
        state = {
            "model": model.state_dict(),
            "optimizer": dict(enumerate(optimizer.state.values())),
        }
        torch.save(state, folder / "plain.pt")
        plain.append(clock.since().wall)
    stalls, writes, plain = stalls[1:], writes[1:], plain[1:]
    every = config.train.checkpoint_every
    stall = statistics.median(stalls)
    facts: Json = {
        "status": "done",
        "megabytes": sum(path.stat().st_size for path in folder.rglob("*")) / 1e6,
        "until_written": spread(writes),
        # Training is faster than this when one step takes less: then more than 1 % is waited for.
        "shortest_step_for_1_percent": stall / (0.01 * every),
    }
    case = make_case(
        f"training waits for a checkpoint of {options.preset}", "s",
        stall, statistics.median(plain), better="lower",
        settings={"device": options.device, "steps_between": every, "peer": "torch.save"},
        ours_spread=spread(stalls), peer_spread=spread(plain),
    )  # fmt: skip
    return case, facts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    results = Results("saving", measured_with(options), options.out, environment=environment())
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        case, facts = measure(options, Path(folder))
    results.cases.append(case)
    results.phases["saving"] = facts
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--preset", choices=sorted(PRESETS), default="base")
    add("--vocab-size", type=int, default=37_000)
    add("--device", default="cpu")
    add("--rounds", type=int, default=5, help="turns of each, after one that does not count")
    add("--folder", type=Path, metavar="DIR", help="on the disk to write to; default: temporary")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="a small model: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.preset, options.vocab_size, options.rounds = "tiny", 100, 1
    return options


if __name__ == "__main__":
    sys.exit(main())
