"""The demo's directory: text files of the grammar's sentences, their labels, and nmt.toml."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.extras.demo.folder import claim_folder, write_texts
from nmt_cli.extras.demo.grammar.pairs import LabelledPair, Split, make_pairs
from nmt_cli.extras.project import PROJECT_NAME, Project, write_project

SEED = 1
TRAIN_PAIRS = 60_000
VALID_PAIRS = 400
TEST_PAIRS = 1_000
HELD_OUT_PAIRS = 200
LABELS = "labels"
PAIRS_OF_TASK = 2_000
# Starting processes would take longer than making fewer pairs in this one.
PAIRS_WORTH_PROCESSES = 10_000


def make_project(folder: Path) -> Path:
    """Return the path of the demo's nmt.toml in `folder`, which is written if it is missing.

    Raises CannotCreateError if `folder` was not made by the demo.
    """
    claim_folder(folder)
    path = folder / PROJECT_NAME
    if not os.path.lexists(path):
        project = Project(
            "en", "de", (("train.en", "train.de"),), ("valid.en", "valid.de"),
            ("test.en", "test.de"), preset="tiny",
        )  # fmt: skip
        write_project(folder, project)
    return path


class DemoTexts:
    """The demo's sentences, the same on every machine; use it in a `with` block.

    They are made from the beginning of the block on, in other processes where there are several
    cores, so that torch can be loaded meanwhile. started: when it began, on the monotonic clock.
    """

    def __init__(self, workers: int = 0) -> None:
        """workers: processes, 0 for one per usable core."""
        self._sizes: dict[Split, int] = {
            "train": TRAIN_PAIRS,
            "valid": VALID_PAIRS,
            "test": TEST_PAIRS,
            "held_out": HELD_OUT_PAIRS,
        }
        small = sum(self._sizes.values()) < PAIRS_WORTH_PROCESSES
        self._pool = ProcessPool(1 if small else workers)
        self._parts: Iterator[list[LabelledPair]] = iter(())
        self.started = time.monotonic()

    def __enter__(self) -> "DemoTexts":
        tasks = [
            (split, range(start, min(start + PAIRS_OF_TASK, count)))
            for split, count in self._sizes.items()
            for start in range(0, count, PAIRS_OF_TASK)
        ]
        self._parts = self._pool.start(_make_part, tasks)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def collect(
        self, progress: Callable[[str, int, int | None], None] | None = None
    ) -> dict[str, bytes]:
        """The content of each file, by name; can be called once.

        progress: called with a stage, the pairs made so far, and all.
        """
        texts: dict[str, bytes] = {}
        for split, count in self._sizes.items():
            pairs: list[LabelledPair] = []
            while len(pairs) < count:
                if progress is not None:
                    progress(f"make sentences ({split})", len(pairs), count)
                pairs += next(self._parts)
            texts |= _texts(split, pairs)
        self._pool.close()
        return texts


def _make_part(task: tuple[Split, range]) -> list[LabelledPair]:
    """The pairs with some indices of a split; runs in another process."""
    split, indices = task
    return list(make_pairs(len(indices), seed=SEED, split=split, first=indices.start))


def write_demo(
    folder: Path,
    texts: DemoTexts | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> None:
    """Fill `folder` with the demo's sentences.

    texts: those that are being made already. Raises CannotCreateError, before anything is written,
    where `folder` is not the demo's own, or one of the files has been changed since.
    """
    claim_folder(folder)
    if texts is None:
        with DemoTexts(workers=1) as texts:
            write_texts(folder, texts.collect(progress))
    else:
        write_texts(folder, texts.collect(progress))


def _texts(split: str, pairs: Sequence[LabelledPair]) -> dict[str, bytes]:
    """The content of each file of a split."""
    texts = {
        "en": [pair.src for pair in pairs],
        "de": [pair.tgt for pair in pairs],
        LABELS: [" ".join(sorted(pair.labels)) for pair in pairs],
    }
    return {
        f"{split}.{suffix}": "".join(line + "\n" for line in lines).encode("utf-8")
        for suffix, lines in texts.items()
    }
