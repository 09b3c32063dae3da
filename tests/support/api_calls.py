"""Settings and files for calls of the public functions, tiny enough for a test."""

import hashlib
from pathlib import Path

from corpora import reversal_pairs, tiny_config, write_pairs

from nmt_cli.config.schema import Config, flatten

DEFAULTS = flatten(Config())
# What `tiny_config` sets, for the argument `settings` and for --set.
TINY = {
    key: value
    for key, value in flatten(tiny_config()).items()
    if value != DEFAULTS[key] and key != "train.preset"
}


def write_texts(folder: Path) -> None:
    """Text of the reversal task: train.src, train.tgt, and the same for valid and test."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, count) in enumerate((("train", 400), ("valid", 20), ("test", 5)), 1):
        write_pairs(folder, name, reversal_pairs(count, seed))


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file below `folder`, by its path there."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
