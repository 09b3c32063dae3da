"""Feed everything that reads foreign files with broken ones, and see what it says.

    python tests/faults/fuzz.py [--seconds N] [--count N] [--seed S] [--start N] [PARSER...]

A parser takes its input or raises an NmtError. Everything else is a finding, printed with the
command that repeats it: another exception, a time beyond the limit, memory that grows, the end of
the process. Each input follows from the seed and its number alone. Exit code 1: something found.
"""

import argparse
import contextlib
import mmap
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    # As pytest has it.
    TESTS = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(TESTS), str(TESTS / "support")]

from faults.support.parsers import NAMES, Parser, make_parsers

from nmt_cli.errors import NmtError

LIMIT_SECONDS = 10.0
LIMIT_BYTES = 256 << 20


class Finding(NamedTuple):
    """What went wrong with the input of this number."""

    parser: str
    seed: int
    number: int
    what: str

    def __str__(self) -> str:
        command = f"python tests/faults/fuzz.py --seed {self.seed} --start {self.number} --count 1"
        return f"{self.parser}: {self.what}\n  {command} {self.parser}"


class Hang(BaseException):
    """An input took too long; nothing in the library may catch it."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def end(*_: object) -> None:
        raise Hang(f"more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def try_one(
    parser: Parser, seed: int, number: int, folder: Path, seconds: float = LIMIT_SECONDS
) -> str:
    """What is wrong with how it reads one input; empty: nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    parser.make(random.Random(f"{seed}/{number}"), folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with _limited(seconds):
            parser.read(folder)
    except NmtError as error:
        if not error.message or "Traceback" in error.message:
            return f"an error that says nothing: {error.message!r}"
    except (Exception, Hang) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return (
            f"{type(error).__name__}: {error!s:.200} ({Path(frame.filename).name}:{frame.lineno})"
        )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    return f"memory grew by {grown >> 20} MiB" if grown > LIMIT_BYTES else ""


def fuzz(
    name: str, parser: Parser, seed: int, start: int, go_on: Callable[[int], bool], folder: Path
) -> tuple[int, list[Finding]]:
    """How many inputs were tried, from number `start` on while `go_on`, and what was found.

    A process of its own does it: if an input kills it, another goes on with the next.
    """
    at = mmap.mmap(-1, 8)
    results: list[Finding] = []
    number = start
    while go_on(number - start):
        told, child = _start(name, parser, seed, number, go_on, start, folder, at)
        with os.fdopen(told, encoding="utf-8") as pipe:
            for line in pipe:
                index, _, what = line.rstrip("\n").partition(" ")
                results.append(Finding(name, seed, int(index), what))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        number = int.from_bytes(at[:8], "little")
        if status == 0:
            break
        results.append(Finding(name, seed, number, f"the process ended with {status}"))
        number += 1
    return number - start, results


def _start(
    name: str, parser: Parser, seed: int, number: int, go_on: Callable[[int], bool],
    start: int, folder: Path, at: mmap.mmap,
) -> tuple[int, int]:  # fmt: skip
    ours, theirs = os.pipe()
    child = os.fork()
    if child:
        os.close(theirs)
        return ours, child
    os.close(ours)
    status = 1
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as pipe:
            while go_on(number - start):
                at[:8] = number.to_bytes(8, "little")
                if what := try_one(parser, seed, number, folder / "tried"):
                    print(number, " ".join(ascii(what)[1:-1].split()), file=pipe, flush=True)
                number += 1
        at[:8] = number.to_bytes(8, "little")
        status = 0
    finally:
        os._exit(status)
    raise AssertionError


def main(arguments: list[str]) -> int:
    """Try the parsers one after the other."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("parsers", nargs="*", choices=[*NAMES, []], metavar="PARSER")
    options.add_argument("--seconds", type=float, default=60.0, help="for each parser")
    options.add_argument("--count", type=int, default=0, help="inputs, instead of seconds")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--start", type=int, default=0)
    chosen = options.parse_args(arguments)
    total = 0
    with tempfile.TemporaryDirectory() as name:
        parsers = make_parsers(Path(name))
        for parser in chosen.parsers or NAMES:
            begin = time.monotonic()

            def go_on(done: int, begin: float = begin) -> bool:
                if chosen.count:
                    return done < chosen.count
                return time.monotonic() - begin < chosen.seconds

            tried, result = fuzz(
                parser, parsers[parser], chosen.seed, chosen.start, go_on, Path(name)
            )
            print(f"{parser}: {tried:,} inputs, {len(result)} findings", flush=True)
            for finding in result:
                print(finding, flush=True)
            total += len(result)
    return bool(total)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
