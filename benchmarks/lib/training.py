"""What the benchmarks of training on CPU cores share: the model, its corpus, and a trainer."""

import argparse
import time
from pathlib import Path

from lib.measure import Json, say
from lib.sentences import prepare_folder, write_random_text
from lib.workers import Worker
from nmt_cli.data.corpus.corpus import Corpus

MODEL = {"train.preset": "paper-small", "model.dropout": 0.1}
TINY = {
    "model.layers": 1, "model.d_model": 16, "model.d_ff": 32, "model.heads": 2,
    "train.batch_tokens": 200,
}  # fmt: skip


class Trainer(Worker):
    """A trainer in a process of its own; start: seconds (wall, CPU) to the end of its first step.

    rounds: what it answered to each `steps`.
    """

    def __init__(self, kind: str, corpus: Path, settings: Json, threads: int) -> None:
        """Start it and wait for its first step."""
        begun = time.monotonic()
        super().__init__("cpu_worker", kind, corpus, settings, threads)
        self.start: tuple[float, float] = time.monotonic() - begun, self.first["process_cpu"]
        self.rounds: list[Json] = []

    def train(self, steps: int) -> None:
        """Train for one round of `steps` steps."""
        self.rounds.append(self.ask(f"steps {steps}"))

    def rates(self, clock: str) -> list[float]:
        """Target tokens per second of each round, by `wall` or `cpu`."""
        return [answer["tokens"] / answer[clock] for answer in self.rounds]


def prepare_corpus(options: argparse.Namespace, folder: Path) -> Corpus:
    """Prepare the corpus that all trainers read: `options.data`, or random text with --tiny."""
    say("preparing the corpus")
    if options.tiny:
        text = write_random_text(folder / "text", 300, seed=1)
        return prepare_folder(text, ("xx", "yy"), folder / "corpus", subwords="bytes")
    languages = (options.src, options.tgt)
    return prepare_folder(options.data, languages, folder / "corpus", vocab_size=8_000)
