"""What every benchmark needs: cases, clocks, facts about the machine, JSON that is always whole."""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from nmt_cli.storage.files import write_text

SCHEMA = 1
PACKAGES = ("torch", "triton", "numpy", "transformers", "sentencepiece", "sacrebleu")
Better = Literal["higher", "lower"]
Json = dict[str, Any]


def make_case(
    name: str,
    unit: str,
    ours: float,
    peer: float | None,
    *,
    better: Better,
    settings: Mapping[str, object],
    **facts: object,
) -> Json:
    """One comparison. `ratio` is how many times better ours is: above 1 always means ahead of it.

    For rates (higher is better) it is ours / peer, for costs (lower is better) peer / ours. A case
    without a peer (`peer` None) has no ratio. `facts` stand beside the agreed keys.

    >>> make_case("speed", "tokens/s", 300, 100, better="higher", settings={})["ratio"]
    3.0
    >>> make_case("start", "s", 2, 8, better="lower", settings={})["ratio"]
    4.0
    """
    ratio = None
    if peer is not None:
        above, below = (ours, peer) if better == "higher" else (peer, ours)
        ratio = round(above / below, 4) if below else None
    return {
        "name": name,
        "unit": unit,
        "better": better,
        "ours": ours,
        "peer": peer,
        "ratio": ratio,
        "settings": dict(settings),
        **facts,
    }


@dataclass
class Results:
    """The JSON document of one benchmark; `out`: the file that is rewritten at each change."""

    benchmark: str
    settings: Mapping[str, object]
    out: Path | None = None
    cases: list[Json] = field(default_factory=list)
    phases: dict[str, Json] = field(default_factory=dict)
    complete: bool = False
    environment: Json = field(default_factory=dict)

    def as_json(self) -> Json:
        """The whole document; `complete` is False where a part failed or had no time."""
        return {
            "schema": SCHEMA,
            "benchmark": self.benchmark,
            "complete": self.complete,
            "settings": dict(self.settings),
            "environment": self.environment,
            "cases": self.cases,
            "phases": self.phases,
        }

    def save(self) -> None:
        """Write the document, if it has a file."""
        if self.out is not None:
            write_text(self.out, json.dumps(self.as_json(), indent=1) + "\n")

    def finish(self, *, as_json: bool) -> int:
        """Write the document for the last time and show it; the exit code."""
        found = {phase["status"] for phase in self.phases.values()}
        self.complete = found <= {"done"}
        self.save()
        print(json.dumps(self.as_json()) if as_json else table(self.cases))
        return 1 if "failed" in found else 0


def table(cases: Sequence[Json]) -> str:
    """The cases for a person to read."""
    rows = [("case", "unit", "ours", "peer", "ratio")]
    for case in cases:
        ratio = "" if case["ratio"] is None else f"{case['ratio']:.2f}x"
        rows.append((case["name"], case["unit"], _short(case["ours"]), _short(case["peer"]), ratio))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = []
    for name, unit, *numbers in rows:
        right = [text.rjust(width) for text, width in zip(numbers, widths[2:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), unit.ljust(widths[1]), *right]).rstrip())
    return "\n".join(lines)


def _short(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:,.0f}" if abs(number) >= 1_000 else f"{number:.4g}"


def spread(values: Sequence[float]) -> Json:
    """Median, smallest and largest of some measurements, and how many there are."""
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "count": len(values),
    }


@dataclass(frozen=True)
class Clock:
    """Seconds on the wall and of the processor (all threads of this process)."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> "Clock":
        """The present time, for differences only."""
        return cls(time.monotonic(), time.process_time())

    def since(self) -> "Clock":
        """What has gone by since."""
        now = Clock.now()
        return Clock(now.wall - self.wall, now.cpu - self.cpu)


def median_seconds(
    work: Callable[[], object],
    *,
    repeats: int,
    warmup: int = 1,
    finish: Callable[[], object] = lambda: None,
) -> float:
    """The median duration of `work`; `finish` waits until a device has done what was asked of it.

    Short work is repeated within one measurement, so that the clock's own cost does not count.
    """
    for _ in range(warmup):
        work()
    finish()
    begun = time.perf_counter()
    work()
    finish()
    inner = max(1, int(0.005 / max(1e-7, time.perf_counter() - begun)))
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        for _ in range(inner):
            work()
        finish()
        times.append((time.perf_counter() - begun) / inner)
    return statistics.median(times)


def peak_memory_megabytes(process: int | str = "self") -> float:
    """The largest resident memory a process has had, in MB (10^6 bytes)."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1_024 / 1e6
    return 0.0


def environment(threads: int | None = None) -> Json:
    """What a reader needs to judge the numbers: processor, versions, commit; nothing personal."""
    facts: Json = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "commit": _commit(),
    }
    if threads is not None:
        facts["threads"] = threads
    for name in PACKAGES:
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            facts[name] = None
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    wanted = ("vendor_id", "cpu family", "model", "model name")
    known = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): value.strip() for key, value in known.items()}
    return ", ".join(facts[key] for key in wanted if key in facts)


def _commit() -> str:
    """The commit that is measured, with + where files differ from it; empty outside git."""
    root = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=root, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return ""
    return done.stdout.strip()


def measured_with(options: argparse.Namespace) -> Json:
    """The options of a benchmark that say what was measured; of a path, only its last name."""
    return {
        key: value.name if isinstance(value, Path) else value
        for key, value in vars(options).items()
        if key not in ("json", "out")
    }


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the body when it has run for so long (main thread only)."""
    import signal

    def ring(*_: object) -> None:
        raise TimeoutError(f"longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def say(text: str) -> None:
    """Tell how far a benchmark is; stdout is for its results."""
    print(text, file=sys.stderr, flush=True)
