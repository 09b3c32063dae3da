"""The demo's directory: text files of the grammar's sentences, their labels, and nmt.toml."""

from collections.abc import Sequence
from pathlib import Path

from nmt_cli import files
from nmt_cli.extras.demo.grammar import LabelledPair, Split, make_pairs
from nmt_cli.extras.project import PROJECT_NAME, Project, write_project

SEED = 1
TRAIN_PAIRS = 60_000
VALID_PAIRS = 400
TEST_PAIRS = 1_000
HELD_OUT_PAIRS = 200
LABELS = "labels"


def make_project(folder: Path) -> Path:
    """The demo's nmt.toml in `folder`, written if it is not there."""
    path = folder / PROJECT_NAME
    if not path.exists():
        project = Project(
            "en", "de", (("train.en", "train.de"),), ("valid.en", "valid.de"),
            ("test.en", "test.de"), preset="tiny",
        )  # fmt: skip
        write_project(folder, project)
    return path


def write_demo(folder: Path) -> None:
    """Fill `folder` with the demo's sentences, the same on every machine."""
    files.make_directory(folder)
    sizes: dict[Split, int] = {
        "train": TRAIN_PAIRS,
        "valid": VALID_PAIRS,
        "test": TEST_PAIRS,
        "held_out": HELD_OUT_PAIRS,
    }
    for split, count in sizes.items():
        _write_split(folder, split, list(make_pairs(count, seed=SEED, split=split)))


def _write_split(folder: Path, split: str, made: Sequence[LabelledPair]) -> None:
    texts = {
        "en": [pair.src for pair in made],
        "de": [pair.tgt for pair in made],
        LABELS: [" ".join(sorted(pair.labels)) for pair in made],
    }
    for suffix, lines in texts.items():
        files.write_text(folder / f"{split}.{suffix}", "".join(line + "\n" for line in lines))
