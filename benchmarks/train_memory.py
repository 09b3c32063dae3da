"""Claim: the resident memory of a training on CPU cores is flat after its first minute.

One training runs alone for ten minutes while its memory is sampled; then Hugging Face's
MarianMTModel in a plain loop takes a few steps on the same sentences.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from lib.measure import Json, Results, environment, make_case, measured_with, say
from lib.training import MODEL, TINY, Trainer, prepare_corpus

# Python, torch and the corpus; weights; the first batches of each size.
SETTLING_SECONDS = 60.0


def resident_megabytes(process: int) -> float:
    """The memory that a process holds now, in MB (10^6 bytes)."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1_024 / 1e6
    return 0.0


def sampled(worker: Trainer, seconds: float, interval: float) -> list[Json]:
    """Train for `seconds`; the resident memory every `interval` seconds."""
    samples: list[Json] = []
    ended = threading.Event()
    begun = time.monotonic()

    def sample() -> None:
        while not ended.wait(interval):
            passed = time.monotonic() - begun
            samples.append(
                {"seconds": round(passed, 1), "megabytes": resident_megabytes(worker.process.pid)}
            )

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        while time.monotonic() - begun < seconds:
            worker.train(1)
    finally:
        ended.set()
        thread.join()
    return samples


def growth(samples: Sequence[Json], settling: float) -> float:
    """Per cent by which the largest sample after `settling` seconds exceeds those before.

    >>> rows = [{"seconds": 1, "megabytes": 80}, {"seconds": 2, "megabytes": 100}]
    >>> growth([*rows, {"seconds": 3, "megabytes": 103}], settling=2)
    3.0
    """
    before = max(sample["megabytes"] for sample in samples if sample["seconds"] <= settling)
    after = [sample["megabytes"] for sample in samples if sample["seconds"] > settling]
    return round(100.0 * (max(after, default=before) / before - 1.0), 2)


def measure(options: argparse.Namespace, folder: Path) -> tuple[list[Json], Json]:
    """The cases of one precision, and the curve of the memory."""
    corpus = prepare_corpus(options, folder)
    config = {
        **MODEL, **(TINY if options.tiny else {}), "train.precision": options.precision,
        **dict(setting.split("=", 1) for setting in options.set),
    }  # fmt: skip
    settings: Json = {"config": config, "folder": str(folder), "peer_attention": "sdpa"}
    ours = Trainer("ours", corpus.path, settings, options.threads)
    try:
        say(f"sampling for {options.minutes:g} minutes")
        seconds = 60.0 * options.minutes
        samples = sampled(ours, seconds, seconds / 600)
        peak = ours.ask("memory")["megabytes"]
    finally:
        ours.end()
    say("the peer")
    peer = Trainer("marian", corpus.path, settings, options.threads)
    try:
        peer.train(options.steps)
        peer_peak = peer.ask("memory")["megabytes"]
    finally:
        peer.end()
    facts = {**config, **measured_with(options), "pairs": len(corpus.train)}
    settling = min(SETTLING_SECONDS, seconds / 2)
    cases = [
        make_case(
            "growth of resident memory after the first minute", "%",
            growth(samples, settling), None, better="lower", settings=facts,
        ),
        make_case(
            "peak memory of a training", "MB", peak, peer_peak, better="lower", settings=facts
        ),
    ]  # fmt: skip
    tokens = sum(turn["tokens"] for turn in ours.rounds)
    curve: Json = {
        "status": "done",
        "steps": len(ours.rounds),
        "tokens_per_cpu_second": tokens / sum(turn["cpu"] for turn in ours.rounds),
        "samples": samples,
    }
    return cases, curve


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    if find_spec("transformers") is None:
        print("transformers is not installed: pip install transformers", file=sys.stderr)
        return 69
    facts = environment(options.threads)
    results = Results("train_memory", measured_with(options), options.out, environment=facts)
    with tempfile.TemporaryDirectory(prefix="train-memory-") as name:
        results.cases, results.phases["memory"] = measure(options, Path(name))
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="holds train.SRC and train.TGT (plain, .xz, .gz)")
    add("--src", default="en")
    add("--tgt", default="fr")
    add("--threads", type=int, default=2)
    add("--precision", choices=("float32", "bf16"), default="float32")
    add("--minutes", type=float, default=10.0, help="how long the memory is sampled")
    add("--steps", type=int, default=12, help="optimiser steps of the peer")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of both models")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="seconds instead of minutes: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.minutes, options.steps, options.threads = 0.05, 1, 1
    elif options.data is None:
        parser.error("--data is needed (or --tiny)")
    return options


if __name__ == "__main__":
    sys.exit(main())
