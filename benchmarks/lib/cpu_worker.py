"""One trainer in a process of its own, which trains so many steps each time it is told to.

    python -m lib.cpu_worker KIND CORPUS SETTINGS

It takes one step, tells so in a line of JSON, and then obeys lines on stdin: `steps N`, `memory`.
"""

import atexit
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lib.measure import Clock, Json, peak_memory_megabytes

NEVER = 1 << 30


def main(arguments: list[str]) -> None:
    """Be the worker `KIND` until stdin ends."""
    kind, corpus, settings = arguments[0], Path(arguments[1]), json.loads(arguments[2])
    answer(KINDS[kind](corpus, settings))


def answer(train: Callable[[int], Json]) -> None:
    """Take the first step, then do what stdin says."""
    tell(train(1))
    for line in sys.stdin:
        command, _, number = line.partition(" ")
        if command == "steps":
            clock = Clock.now()
            facts = train(int(number))
            gone = clock.since()
            # A trainer in a process of its own has its own clocks.
            tell({"wall": gone.wall, "cpu": gone.cpu, **facts})
        else:
            tell({"megabytes": peak_memory_megabytes(), **train(0)})


def tell(facts: Json) -> None:
    """One line for the parent; the processor time of this process so far is always in it."""
    print(json.dumps({"process_cpu": Clock.now().cpu, **facts}), flush=True)


def ours(corpus: Path, settings: Json) -> Callable[[int], Json]:
    """This trainer, with everything around it that `nmt train` has."""
    from nmt_cli.cli.environment import choose_threads

    choose_threads()
    from nmt_cli.machine import keep_freed_memory, without_garbage_collection

    keep_freed_memory()
    with without_garbage_collection():
        from lib.settings import make_config
        from nmt_cli.data.corpus.corpus import Corpus
        from nmt_cli.training.loop import train

    values = {
        **settings["config"],
        "train.max_steps": NEVER,
        "train.checkpoint_every": NEVER,
        "train.log_every": 1,
    }
    folder = Path(tempfile.mkdtemp(dir=settings["folder"]))
    reports = train(make_config(values), Corpus.open(corpus), folder / "model")

    def steps(count: int) -> Json:
        return {"tokens": _follow(reports, count)}

    return steps


def _follow(reports: Iterator[Any], count: int) -> int:
    """Let a run take so many steps; the target tokens it trained on."""
    tokens = 0
    while count:
        report = next(reports)
        tokens += report.tokens
        # Notes come as reports without a step of their own.
        count -= report.tokens > 0
    return tokens


def marian(corpus: Path, settings: Json) -> Callable[[int], Json]:
    """Hugging Face's MarianMTModel in a plain loop."""
    import torch

    from lib.peers import MarianLoop
    from lib.settings import make_config
    from nmt_cli.data.corpus.corpus import Corpus
    from nmt_cli.training.setup import complete

    opened = Corpus.open(corpus)
    config = complete(make_config(settings["config"]), opened)
    loop = MarianLoop(
        config,
        opened.train,
        torch.device("cpu"),
        precision=config.train.precision,
        attention=settings["peer_attention"],
    )

    def steps(count: int) -> Json:
        return {"tokens": loop.steps(count), "padding": loop.buckets.padding}

    return steps


def eole(corpus: Path, settings: Json) -> Callable[[int], Json]:
    """`eole train`, from an environment of its own."""
    from lib.eole_peer import EoleLoop, write_project
    from lib.settings import make_config
    from nmt_cli.data.corpus.corpus import Corpus
    from nmt_cli.training.setup import complete

    opened = Corpus.open(corpus)
    config = complete(make_config(settings["config"]), opened)
    folder = Path(tempfile.mkdtemp(dir=settings["folder"]))
    size = config.model.src_vocab_size
    assert isinstance(size, int)
    loop = EoleLoop(settings["eole"], write_project(config, opened.train, size, folder))
    atexit.register(loop.close)
    return loop.steps


KINDS: dict[str, Callable[[Path, Json], Callable[[int], Json]]] = {
    "ours": ours, "marian": marian, "eole": eole,
}  # fmt: skip

if __name__ == "__main__":
    main(sys.argv[1:])
