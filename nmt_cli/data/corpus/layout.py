"""The files of a prepared corpus and their contents; needs no torch.

::

    corpus/
      config.toml          the settings it was prepared with
      corpus.json          format, pairs, SHA-256 of the inputs, the keys that the project file set,
                           the table of `nmt prepare`
      manifest.json        size and SHA-256 of each file
      subwords/            see data/subwords/model.py
      {split}.{side}.ids       (tokens,) little-endian uint16; uint32 from 65,537 entries on
      {split}.{side}.offsets   (pairs + 1,) int64; pair i is ids[offsets[i]:offsets[i + 1]]
      {split}.{side}.txt       the text: cleaned for train, unchanged for valid
      {split}.origin           (pairs,) uint16; index in data.train of the corpus of a pair
      test.{language}          with data.test_split: the text of the test pairs, cleaned
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.errors import DataError
from nmt_cli.storage.files import read_bytes
from nmt_cli.storage.manifest import check_entry, read_manifest

FORMAT = 1
CONFIG = "config.toml"
DESCRIPTION = "corpus.json"
# An entry of the description: the dotted keys of the settings that the project file set.
PROJECT_SETTINGS = "project_settings"
SUBWORDS = "subwords"
SIDES = ("src", "tgt")
OFFSET_TYPE = np.dtype("<i8")
ORIGIN_TYPE = np.dtype("<u2")


def test_text(config: Config) -> tuple[str, ...]:
    """The files of the test text: those of the settings, else those that `prepare` set apart.

    >>> test_text(Config())
    ()
    """
    if config.data.test or not config.data.test_split:
        return config.data.test
    corpus, languages = Path(config.paths.corpus), config.languages
    return tuple(str(corpus / test_name(language)) for language in (languages.src, languages.tgt))


def test_name(language: str) -> str:
    """The name of the file of the test pairs in `language`."""
    return f"test.{language}"


def id_type(vocab_size: int) -> np.dtype[Any]:
    """Return the smallest integer type that holds all ids.

    >>> id_type(65_536).str, id_type(65_537).str
    ('<u2', '<u4')
    """
    return np.dtype("<u2" if vocab_size <= 1 << 16 else "<u4")


def read_description(path: Path) -> dict[str, Any]:
    """Read `corpus.json`; raises NoInputError or DataError if `path` is not a corpus."""
    read_manifest(path)
    try:
        description = json.loads(read_bytes(path / DESCRIPTION, "corpus", max_bytes=1 << 24))
        if not isinstance(description, dict) or description["format"] != FORMAT:
            raise KeyError
        if not all(isinstance(description[name], int) for name in ("train", "valid")):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"`{path}` is not a corpus of format {FORMAT}", "prepare it again with `nmt prepare`"
        ) from error
    return description


def expected_files(description: dict[str, Any]) -> list[str]:
    """Return the names of the files of a corpus, except those of its subwords."""
    splits = [split for split in ("train", "valid") if description[split]]
    suffixes = ("ids", "offsets", "txt")
    sides = [
        f"{split}.{side}.{suffix}" for split in splits for side in SIDES for suffix in suffixes
    ]
    return [CONFIG, DESCRIPTION, *sides, *(f"{split}.origin" for split in splits)]


def check_corpus_files(path: Path, *, verify: bool = True) -> str:
    """Check the files of a corpus and return the digest of its ids and subwords.

    Without `verify` only names and sizes are checked, not SHA-256. Raises NoInputError or
    DataError, which names the file.
    """
    entries = read_manifest(path)
    for name in expected_files(read_description(path)):
        if name not in entries:
            raise DataError(f"`{path}`: {name} is not listed in its manifest", "copy it again")
    for name, entry in entries.items():
        # The training text is needed only for subword dropout, which checks it itself.
        if verify and not (name.startswith("train.") and name.endswith(".txt")):
            check_entry(path, name, entry)
        elif not (path / name).is_file() or (path / name).stat().st_size != entry.get("bytes"):
            raise DataError(f"`{path / name}` is missing or damaged", "copy the corpus again")
    named = (
        f"{name} {entry['sha256']}\n"
        for name, entry in sorted(entries.items())
        if name.endswith((".ids", ".offsets")) or name.startswith(f"{SUBWORDS}/")
    )
    return hashlib.sha256("".join(named).encode()).hexdigest()
