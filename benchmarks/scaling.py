"""Claim: two processes train faster than one; a larger corpus costs neither start-up nor memory.

It runs the `nmt` command as a user does and reads its reports; there is no peer but `nmt` itself.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lib.measure import Json, Results, environment, make_case, measured_with, say

from nmt_cli.data.text.lines import read_lines
from nmt_cli.storage.files import make_directory, writing

MODEL = ["--preset", "paper-small"]
TINY = [
    "--set", "model.layers=1", "--set", "model.d_model=16", "--set", "model.d_ff=32",
    "--set", "model.heads=2", "--set", "train.batch_tokens=400",
]  # fmt: skip
SUBWORDS = ["--vocab-size", "8000"]
TINY_SUBWORDS = ["--subwords", "bytes"]
NEVER = 1 << 30


@dataclass(frozen=True)
class Done:
    """One `nmt` command: seconds on the wall, CPU seconds and the largest process's memory of all
    its processes; lines: when each line of stdout came, and the line.
    """

    seconds: float
    cpu_seconds: float
    megabytes: float
    lines: list[tuple[float, str]]


def run_nmt(arguments: Sequence[str], folder: Path, threads: int) -> Done:
    """Run `nmt` in `folder`; raises RuntimeError with its last words where it fails."""
    begun = time.monotonic()
    with (folder / "stderr").open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "nmt_cli", *arguments], cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": ""},
        )  # fmt: skip
        assert process.stdout is not None
        lines = [(time.monotonic() - begun, line) for line in process.stdout]
        _, status, usage = os.wait4(process.pid, 0)
        # Popen must not wait for a process that is gone.
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"nmt {' '.join(arguments)}: {errors.read()[-2_000:]}")
    return Done(
        time.monotonic() - begun,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1_024 / 1e6,
        lines,
    )


def write_text(options: argparse.Namespace, pairs: int, folder: Path) -> list[str]:
    """Two files of exactly so many lines, the given ones again and again; their paths."""
    paths = []
    for side in (options.src, options.tgt):
        path = folder / f"{pairs}.{side}"
        with writing(path) as file:
            for line in itertools.islice(_endless(options, side), pairs):
                file.write(line.encode() + b"\n")
        paths.append(str(path))
    return paths


def _endless(options: argparse.Namespace, side: str) -> Iterable[str]:
    if options.tiny:
        return itertools.cycle(f"{side} {index} {index * index}" for index in range(50))
    from lib.sentences import find_text

    path = find_text(options.data, f"train.{side}")
    return itertools.chain.from_iterable(read_lines(path) for _ in itertools.count())


def prepare(options: argparse.Namespace, pairs: int, folder: Path) -> Json:
    """Prepare a corpus of that many pairs; what it cost."""
    say(f"preparing {pairs:,} pairs")
    subwords = TINY_SUBWORDS if options.tiny else SUBWORDS
    done = run_nmt(
        [
            "prepare", "--train", *write_text(options, pairs, folder), "--out", f"corpus-{pairs}",
            *subwords, "--set", "data.drop_duplicates=false",
        ],
        folder, options.threads,
    )  # fmt: skip
    return {"seconds": done.seconds, "cpu_seconds": done.cpu_seconds, "megabytes": done.megabytes}


def train(options: argparse.Namespace, pairs: int, processes: int, folder: Path) -> Json:
    """Train for some steps; seconds to the first update, speed after the first reports, memory."""
    say(f"training on {pairs:,} pairs with {processes} processes")
    out = f"model-{pairs}-{processes}-{time.monotonic_ns()}"
    done = run_nmt(
        [
            "train", "--corpus", f"corpus-{pairs}", "--out", out, "--gpus", str(processes),
            "--json", "--max-steps", str(options.steps), *MODEL, *(TINY if options.tiny else []),
            "--set", "train.log_every=1", "--set", f"train.checkpoint_every={NEVER}",
        ],
        folder, options.threads,
    )  # fmt: skip
    steps = [(when, report["tokens"]) for when, report in _reports(done) if report["tokens"]]
    warmup = max(1, len(steps) // 5)
    tokens = sum(count for _, count in steps[warmup:])
    return {
        "first_update_seconds": steps[0][0],
        "tokens_per_second": tokens / (steps[-1][0] - steps[warmup - 1][0]),
        "cpu_seconds": done.cpu_seconds,
        "megabytes": done.megabytes,
        "steps": len(steps),
    }


def _reports(done: Done) -> Iterable[tuple[float, Json]]:
    for when, line in done.lines:
        yield when, json.loads(line)


def process_cases(options: argparse.Namespace, one: Json, several: Json) -> list[Json]:
    """What more processes give."""
    facts = {"threads": options.threads, "steps": options.steps, "backend": "gloo, CPU"}
    settings = {**facts, "peer": "nmt itself, 1 process"}
    return [
        make_case(
            f"training with {options.processes} processes", "target tokens / s",
            several["tokens_per_second"], one["tokens_per_second"], better="higher",
            settings=settings,
        ),
        make_case(
            f"first update with {options.processes} processes", "s",
            several["first_update_seconds"], one["first_update_seconds"], better="lower",
            settings=settings,
        ),
    ]  # fmt: skip


def corpus_cases(options: argparse.Namespace, costs: dict[int, dict[str, Json]]) -> list[Json]:
    """What larger corpora cost, beside the smallest: a ratio of 1 is flat."""
    smallest = min(costs)
    rows = (
        ("train", "first_update_seconds", "first update", "s"),
        ("train", "megabytes", "memory of training", "MB"),
        ("prepare", "megabytes", "memory of prepare", "MB"),
        ("prepare", "cpu_seconds", "CPU time of prepare", "s"),
    )
    return [
        make_case(
            f"{name}, {pairs:,} pairs", unit, costs[pairs][command][key],
            costs[smallest][command][key], better="lower",
            settings={"threads": options.threads, "peer": f"nmt itself, {smallest:,} pairs"},
        )
        for command, key, name, unit in rows
        for pairs in sorted(costs)
        if pairs != smallest
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    results = Results(
        "scaling", measured_with(options), options.out, environment=environment(options.threads)
    )
    costs: dict[int, dict[str, Json]] = {}
    with tempfile.TemporaryDirectory(prefix="scaling-") as name:
        folder = make_directory(Path(name) / "work")
        for pairs in options.pairs:
            costs[pairs] = {
                "prepare": prepare(options, pairs, folder),
                "train": train(options, pairs, 1, folder),
            }
            results.phases[f"{pairs} pairs"] = {"status": "done", **costs[pairs]}
            results.cases = corpus_cases(options, costs)
            results.save()
        pairs = min(options.pairs)
        several = train(options, pairs, options.processes, folder)
        results.phases[f"{options.processes} processes"] = {"status": "done", **several}
        results.cases = process_cases(options, costs[pairs]["train"], several) + results.cases
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="holds train.SRC and train.TGT; repeated if short")
    add("--src", default="en")
    add("--tgt", default="de")
    add("--pairs", type=int, nargs="+", default=[10_000, 100_000, 592_000])
    add("--processes", type=int, default=2)
    add("--threads", type=int, default=1, help="of each process")
    add("--steps", type=int, default=25, help="optimiser steps of a run")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="made-up text: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.pairs, options.steps, options.src, options.tgt = [100, 200], 4, "xx", "yy"
    elif options.data is None:
        parser.error("--data is needed (or --tiny)")
    return options


if __name__ == "__main__":
    sys.exit(main())
