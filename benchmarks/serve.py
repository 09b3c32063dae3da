"""Claim: requests that share one search are answered sooner than requests that wait in turn.

    python benchmarks/serve.py --model MODEL --test test.en --out serve.json
    python benchmarks/serve.py --model MODEL --test test.en --soak 100000 --out serve_soak.json

A number of clients send one line at a time and wait for its translation. The servers have the same
HTTP layer, weights, search settings and number of threads: nmt's continuous batching, nmt with one
request at a time, CTranslate2 with one request at a time, and CTranslate2 with the requests that
came meanwhile collected into a batch. They are processes of their own and take turns.

With --soak N, nmt's server alone answers N requests of short lines, and its memory is noted.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lib.measure import Better, Json, Results, environment, make_case, measured_with, say, spread
from lib.workers import Worker

KINDS = ("continuous", "one at a time", "ctranslate2", "ctranslate2, collected")
# The memory is noted so many times.
SAMPLES = 50
SEARCH = {"beam": 4, "alpha": 1.0, "markup": "off", "sentences": "line"}


@dataclass
class Load:
    """What some clients saw: seconds of each request, translations by line, wall seconds."""

    seconds: list[float] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    wall: float = 0.0

    def quantile(self, share: float) -> float:
        """Milliseconds that this share of the requests took at most."""
        ordered = sorted(self.seconds)
        return 1_000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


FIGURES: tuple[tuple[str, Better, Callable[[Load], float]], ...] = (
    ("lines / s", "higher", lambda load: len(load.seconds) / load.wall),
    ("p50, ms", "lower", lambda load: load.quantile(0.5)),
    ("p99, ms", "lower", lambda load: load.quantile(0.99)),
)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: str) -> str:
    """The translation of a line, over a connection that stays open."""
    body = json.dumps({"lines": [line]}).encode()
    head = f"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(answer.decode())
    [length] = [
        int(header.split(b":")[1])
        for header in answer.split(b"\r\n")
        if header.lower().startswith(b"content-length")
    ]
    document = json.loads(await reader.readexactly(length))
    text: str = document["translations"][0]["text"]
    return text


async def load(port: int, lines: Sequence[str], clients: int, requests: int) -> Load:
    """So many requests by so many clients, each of which waits for its answer."""
    result, numbers = Load(), iter(range(requests))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            line = number % len(lines)
            begun = time.perf_counter()
            result.texts[line] = await ask(reader, writer, lines[line])
            result.seconds.append(time.perf_counter() - begun)
        writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    result.wall = time.perf_counter() - begun
    return result


class Alone:
    """The translator without a server."""

    def __init__(self, options: argparse.Namespace) -> None:
        from dataclasses import replace

        from nmt_cli.translation.translator import Translator

        self._translator = Translator.load(options.model)
        settings = self._translator.config.search
        self._search = replace(settings, length_penalty="power", **SEARCH)
        self.rounds: list[float] = []

    def measure(self, lines: Sequence[str]) -> None:
        """Note the median of the milliseconds for a line."""
        seconds = []
        for line in lines:
            begun = time.perf_counter()
            self._translator.translate(line, search=self._search)
            seconds.append(time.perf_counter() - begun)
        self.rounds.append(1_000 * statistics.median(seconds))


def measure(
    workers: dict[str, Worker], alone: Alone, lines: Sequence[str], options: argparse.Namespace
) -> dict[tuple[str, int], list[Load]]:
    """The loads of each kind and number of clients, in rounds."""
    loads: dict[tuple[str, int], list[Load]] = {}
    for index in range(options.rounds):
        alone.measure(lines[: options.requests[0]])
        for clients, requests in zip(options.clients, options.requests, strict=True):
            for kind in sorted(workers, reverse=index % 2 > 0):
                say(f"{clients} clients, {kind}")
                done = asyncio.run(load(workers[kind].first["port"], lines, clients, requests))
                loads.setdefault((kind, clients), []).append(done)
    return loads


def cases_of(loads: dict[tuple[str, int], list[Load]], clients: int, settings: Json) -> list[Json]:
    """Rates and latencies of continuous batching against each other kind."""
    cases = []
    ours = loads["continuous", clients]
    for kind in [kind for kind, number in loads if number == clients and kind != "continuous"]:
        other = loads[kind, clients]
        shared = [line for line in ours[-1].texts if line in other[-1].texts]
        equal = statistics.mean(ours[-1].texts[line] == other[-1].texts[line] for line in shared)
        figures = {
            ("lines / s", "higher"): [
                [len(a.seconds) / a.wall for a in side] for side in (ours, other)
            ],
            ("p50, ms", "lower"): [[a.quantile(0.5) for a in side] for side in (ours, other)],
            ("p99, ms", "lower"): [[a.quantile(0.99) for a in side] for side in (ours, other)],
        }
        for (unit, better), (mine, theirs) in figures.items():
            cases.append(
                make_case(
                    f"{clients} clients, {kind}: {unit}", unit, spread(mine)["median"],
                    spread(theirs)["median"], better=better,
                    settings={**settings, "clients": clients, "peer": kind},
                    ours_spread=spread(mine), peer_spread=spread(theirs), equal_outputs=equal,
                )
            )  # fmt: skip
    return cases


def soak(options: argparse.Namespace, lines: Sequence[str], results: Results) -> None:
    """Add how the memory of the server grows over `--soak` requests of the shortest lines.

    The parts of the run are compared after the first tenth, which fills caches and the allocator.
    """
    settings = {"model": str(options.model), "threads": options.threads, "search": SEARCH}
    short = sorted(lines, key=len)[: max(1, len(lines) // 4)]
    part = max(1, options.soak // SAMPLES)
    worker = Worker("serve_worker", "continuous", options.model, settings, options.threads)
    samples: list[Json] = []
    try:
        for number in range(1, SAMPLES + 1):
            done = asyncio.run(load(worker.first["port"], short, options.clients[-1], part))
            # The server has then seen that the clients have left.
            time.sleep(0.1)
            samples.append(
                {"requests": number * part, "seconds": round(done.wall, 2), **worker.ask("memory")}
            )
            say(json.dumps(samples[-1]))
    finally:
        worker.end()
    settled = samples[SAMPLES // 10 - 1]
    for unit in ("resident", "files", "threads"):
        results.cases.append(
            make_case(
                f"{unit} after {samples[-1]['requests']:,} requests, and after a tenth of them",
                {"resident": "MB"}.get(unit, unit), samples[-1][unit], settled[unit],
                better="lower", settings={**settings, "model": options.model.name},
                largest=max(sample[unit] for sample in samples[SAMPLES // 10 :]),
            )
        )  # fmt: skip
    results.cases[0]["samples"] = samples


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    from nmt_cli.exchange.export import export_model

    options = parse(arguments)
    lines = options.test.read_text(encoding="utf-8").splitlines()
    settings = {"model": str(options.model), "threads": options.threads, "search": SEARCH}
    shown = {**settings, "model": options.model.name}
    results = Results("serve", measured_with(options), options.out, environment=environment(1))
    if options.soak:
        soak(options, lines, results)
        return results.finish(as_json=options.json)
    with tempfile.TemporaryDirectory(prefix="serve-") as name:
        folder = Path(name)
        export_model(options.model, "ctranslate2", folder / "ct2", check=False)
        alone = Alone(options)
        alone.measure(lines[: options.warm_up])
        alone.rounds.clear()
        workers: dict[str, Worker] = {}
        try:
            for kind in KINDS:
                workers[kind] = Worker("serve_worker", kind, folder, settings, options.threads)
            for worker in workers.values():
                asyncio.run(load(worker.first["port"], lines, 4, options.warm_up))
            loads = measure(workers, alone, lines, options)
            for clients in options.clients:
                results.cases += cases_of(loads, clients, shown)
            served = spread(
                [each.quantile(0.5) for each in loads["continuous", options.clients[0]]]
            )
            engine = spread(alone.rounds)
            results.cases.append(
                make_case(
                    "the translator without a server: p50, ms", "p50, ms", served["median"],
                    engine["median"], better="lower", settings=shown,
                    ours_spread=served, peer_spread=engine,
                )
            )  # fmt: skip
        finally:
            for worker in workers.values():
                worker.end()
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="DIR")
    add("--test", type=Path, required=True, metavar="FILE", help="lines to translate")
    add("--threads", type=int, default=1, help="of each engine")
    add("--clients", nargs="+", type=int, default=[1, 8, 64])
    add("--requests", nargs="+", type=int, default=[200, 600, 1_200], help="for each of --clients")
    add("--rounds", type=int, default=3, help="turns of each server")
    add("--warm-up", type=int, default=40, help="requests to each server that are not measured")
    add("--soak", type=int, default=0, metavar="N", help="only watch the memory over N requests")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="seconds instead of minutes: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.clients, options.requests, options.rounds, options.warm_up = [1, 4], [4, 8], 1, 4
    return options


if __name__ == "__main__":
    sys.exit(main())
