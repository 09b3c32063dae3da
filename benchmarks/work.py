"""Claim: a larger file is translated as fast as a small one and in as much memory; the time of a
long line grows with its length and not faster.

    python benchmarks/work.py --model model --text test.en --out work.json

Made-up lines of the text's words go through `nmt translate`, a process each time; the peer is nmt
itself with the least of them. The time to start is measured with one line and left out of rates.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lib.measure import Json, Results, environment, make_case, measured_with, say

from nmt_cli.data.text.lines import read_lines
from nmt_cli.storage.files import write_text

SHORTEST, LONGEST = 4, 16
# Less work than a start takes is done several times.
FEW = 1_000


class Done(NamedTuple):
    """CPU seconds and the most memory of a process; words it wrote."""

    cpu: float
    megabytes: float
    words: int


def translate(options: argparse.Namespace, file: Path, out: Path) -> Done:
    """Run `nmt translate` on a file."""
    with out.open("wb") as stdout:
        process = subprocess.Popen(
            [sys.executable, "-m", "nmt_cli", "translate", "--model", str(options.model),
             "--beam", str(options.beam), str(file)],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": str(options.threads)},
        )  # fmt: skip
        assert process.stderr is not None
        words = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        # Popen must not wait for a process that is gone.
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"nmt translate: {words[-2_000:]}")
    count = sum(len(line.split()) for line in read_lines(out))
    return Done(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1_024 / 1e6, count)


class Text:
    """Lines of words that were drawn at random."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = sorted(set(words))

    def lines(self, count: int) -> str:
        """So many different lines; the same ones each time."""
        chooser = random.Random(1)
        sizes = (chooser.randint(SHORTEST, LONGEST) for _ in range(count))
        return "".join(" ".join(chooser.choices(self._words, k=size)) + "\n" for size in sizes)

    def line(self, characters: int) -> str:
        """One line of sentences."""
        text = self.lines(1 + characters // 8).replace("\n", ". ")
        return text[:characters] + "\n"


def series(
    options: argparse.Namespace,
    folder: Path,
    amounts: Sequence[int],
    make: Callable[[int], str],
    start: float,
) -> dict[int, Json]:
    """What texts of these sizes cost, beyond the start."""
    costs: dict[int, Json] = {}
    for amount in amounts:
        file, out = folder / f"{amount}.txt", folder / "out.txt"
        write_text(file, make(amount))
        done = min(
            translate(options, file, out) for _ in range(options.turns if amount <= FEW else 1)
        )
        seconds = max(1e-3, done.cpu - start)
        costs[amount] = {
            "cpu_seconds": seconds, "megabytes": done.megabytes, "words": done.words,
            "words_per_cpu_second": done.words / seconds,
        }  # fmt: skip
        say(f"{amount:,}: {costs[amount]}")
    return costs


def cases_of(what: str, costs: dict[int, Json], settings: Json) -> list[Json]:
    """Rate and memory beside those of the least work; a ratio of 1 is flat."""
    least = min(costs)
    return [
        make_case(
            f"{amount:,} {what}: {title}", unit, costs[amount][key], costs[least][key],
            better="higher" if key == "words_per_cpu_second" else "lower",
            settings={**settings, "peer": f"nmt itself, {least:,} {what}"}, **costs[amount],
        )
        for amount in sorted(costs)
        if amount != least
        for key, title, unit in (
            ("words_per_cpu_second", "rate", "words out / CPU s"), ("megabytes", "memory", "MB"),
        )
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    settings = measured_with(options)
    results = Results("work", settings, options.out, environment=environment(options.threads))
    with tempfile.TemporaryDirectory(prefix="work-") as name:
        folder = Path(name)
        if options.tiny:
            from cold_start import make_model

            options.model = make_model(folder, tiny=True)
        text = Text(" ".join(read_lines(options.text)).split() if options.text else ["ab", "cde"])
        write_text(folder / "one", text.lines(1))
        # The first one reads from the disk and compiles the kernels.
        single, out = folder / "one", folder / "out"
        start = min(translate(options, single, out).cpu for _ in range(options.turns))
        lines = series(options, folder, options.lines, text.lines, start)
        results.cases = cases_of("lines", lines, settings)
        results.save()
        characters = series(options, folder, options.characters, text.line, start)
        results.cases += cases_of("characters in a line", characters, settings)
        results.phases["costs"] = {
            "status": "done", "start_cpu_seconds": start, "lines": lines, "characters": characters,
        }  # fmt: skip
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Cost against the amount of work.")
    add = parser.add_argument
    add("--model", type=Path, metavar="DIR", help="a model directory")
    add("--text", type=Path, metavar="FILE", help="whose words make up the lines")
    add("--lines", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    add("--characters", type=int, nargs="+", default=[25_000, 50_000, 100_000])
    add("--beam", type=int, default=4)
    add("--threads", type=int, default=1)
    add("--turns", type=int, default=5, help="of what is little work; the least counts")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="a made-up model: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.lines, options.characters = [2, 40], [100, 300]
        options.beam = options.turns = 1
    elif not (options.model and options.text):
        parser.error("--model and --text are needed (or --tiny)")
    return options


if __name__ == "__main__":
    sys.exit(main())
