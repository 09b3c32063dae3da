"""A server of one kind, as `python -m lib.serve_worker KIND FOLDER SETTINGS`: see `serve.py`.

All kinds have nmt's HTTP layer; what differs is the engine and how requests share it. It writes its
port as JSON, and answers each line of its input with its memory, open files and threads.
"""

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ctranslate2
import torch

from lib.measure import peak_memory_megabytes
from nmt_cli.config.search import SearchConfig
from nmt_cli.exchange.formats.ctranslate2.translator import CTranslate2Translator
from nmt_cli.search.decoder import Source
from nmt_cli.search.ranking import max_target_length
from nmt_cli.server.app import Server
from nmt_cli.server.limits import Limits
from nmt_cli.server.run import HttpServer, listening_socket
from nmt_cli.server.service import Service
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.continuous.worker import TranslationWorker
from nmt_cli.translation.result import Alternative, Translation
from nmt_cli.translation.translator import Translator

CLIENTS = 128


class ThreadsWorker:
    """In place of nmt's worker: runs each call in one of several threads."""

    is_alive, turn_seconds, steps, busy_slots, restarts = True, 0.0, 0, 0, 0

    def __init__(self, translator: Any, threads: int) -> None:
        self._translator = translator
        self._pool = ThreadPoolExecutor(threads)

    def submit(self, function: Callable[[Any], Any]) -> "Future[Any]":
        """Run a call."""
        return self._pool.submit(function, self._translator)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


class Peer:
    """CTranslate2 with the interface that the server uses of a translator.

    It translates each request when it comes, or (`collects`) all that have come meanwhile together,
    as CTranslate2's documentation advises servers to do.
    """

    def __init__(self, folder: Path, ours: Translator, *, collects: bool) -> None:
        self.config = ours.config
        self.quality = SimpleNamespace(text=None)
        self._peer = CTranslate2Translator(folder)
        self._collects = collects
        self._waiting: queue.SimpleQueue[tuple[list[str], SearchConfig, Future[list[str]]]] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._collect, daemon=True).start()

    def keep_bound(self, constraints: Constraints) -> None:
        """CTranslate2 has no glossary: only that of no terms is taken."""
        assert not constraints.entries

    def translate(self, lines: Sequence[str], *, search: SearchConfig) -> list[Translation]:
        """What the server translates first."""
        return self.translate_window(lines, search=search)

    def translate_window(
        self, lines: Sequence[str], *, search: SearchConfig, constraints: object = None
    ) -> list[Translation]:
        """The translations of the lines of a request."""
        if self._collects:
            future: Future[list[str]] = Future()
            self._waiting.put((list(lines), search, future))
            texts = future.result()
        else:
            texts = self._translated(list(lines), search)
        return [
            Translation(line, text, 0.0, (Alternative(text, 0.0, 0.0),))
            for line, text in zip(lines, texts, strict=True)
        ]

    def _collect(self) -> None:
        while True:
            orders = [self._waiting.get()]
            while not self._waiting.empty():
                orders.append(self._waiting.get())
            texts = self._translated([line for order in orders for line in order[0]], orders[0][1])
            for lines, _, future in orders:
                future.set_result(texts[: len(lines)])
                texts = texts[len(lines) :]

    def _translated(self, lines: list[str], search: SearchConfig) -> list[str]:
        peer = self._peer
        pieces = [peer._pieces(line) for line in lines]
        longest = max(map(len, pieces)) + 1
        results = peer._translator.translate_batch(
            pieces, beam_size=search.beam, patience=search.beam, length_penalty=search.alpha,
            max_decoding_length=max_target_length(Source([0] * longest), search),
            max_batch_size=512, batch_type="tokens", suppress_sequences=peer._suppressed,
        )  # fmt: skip
        return [str(peer._target.decode(result.hypotheses[0])) for result in results]


def service_of(kind: str, folder: Path, search: SearchConfig, ours: Translator) -> Service:
    """The service with the engine of this kind."""
    limits = Limits(requests=4 * CLIENTS)
    if kind == "continuous":
        return Service(ours, search, limits, TranslationWorker)
    if kind == "one at a time":
        return Service(ours, search, limits, lambda each: ThreadsWorker(each, 1))  # type: ignore[arg-type, return-value]
    peer = Peer(folder / "ct2", ours, collects=kind.endswith("collected"))
    return Service(peer, search, limits, lambda each: ThreadsWorker(each, CLIENTS))  # type: ignore[arg-type, return-value]


def resources() -> dict[str, float]:
    """Memory in MB (resident: now, megabytes: at most), open files and threads of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "resident": round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1),
        "megabytes": peak_memory_megabytes(),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(list(Path("/proc/self/task").iterdir())),
    }


def main(kind: str, folder: str, settings: str) -> None:
    """Serve until stdin ends."""
    chosen = json.loads(settings)
    torch.set_num_threads(chosen["threads"])
    ours = Translator.load(chosen["model"])
    search = replace(ours.config.search, length_penalty="power", **chosen["search"])
    listener = listening_socket("127.0.0.1", 0)
    service = service_of(kind, Path(folder), search, ours)
    paths = Server(service)
    server = HttpServer(paths.app(), service.drain, paths.refuse_rest)
    thread = threading.Thread(target=server.answer, args=(listener,), daemon=True)
    thread.start()
    service._ready.result()
    version = ctranslate2.__version__
    print(json.dumps({"port": listener.getsockname()[1], "ctranslate2": version}), flush=True)
    for order in sys.stdin:
        if "\n" in order:
            print(json.dumps(resources()), flush=True)
    server.stop()
    thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
