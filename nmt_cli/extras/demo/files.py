"""The demo's directory: text files of the grammar's sentences, their labels, and nmt.toml."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from nmt_cli.extras.demo.folder import claim_folder, write_texts
from nmt_cli.extras.demo.grammar.pairs import LabelledPair, Split, make_pairs
from nmt_cli.extras.project import PROJECT_NAME, Project, write_project

SEED = 1
TRAIN_PAIRS = 60_000
VALID_PAIRS = 400
TEST_PAIRS = 1_000
HELD_OUT_PAIRS = 200
LABELS = "labels"


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


def write_demo(
    folder: Path, progress: Callable[[str, int, int | None], None] | None = None
) -> None:
    """Fill `folder` with the demo's sentences, the same on every machine.

    Raises CannotCreateError, before anything is written, if `folder` was not made by the demo, or
    if one of the files has been changed since.
    """
    claim_folder(folder)
    sizes: dict[Split, int] = {
        "train": TRAIN_PAIRS,
        "valid": VALID_PAIRS,
        "test": TEST_PAIRS,
        "held_out": HELD_OUT_PAIRS,
    }
    texts: dict[str, bytes] = {}
    for split, count in sizes.items():
        texts |= _texts(split, _made(split, count, progress))
    write_texts(folder, texts)


def _made(
    split: Split, count: int, progress: Callable[[str, int, int | None], None] | None
) -> list[LabelledPair]:
    """Return the pairs of a split; `progress` is called at every thousandth pair."""
    pairs = []
    for done, pair in enumerate(make_pairs(count, seed=SEED, split=split)):
        if progress is not None and done % 1_000 == 0:
            progress(f"make sentences ({split})", done, count)
        pairs.append(pair)
    return pairs


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
