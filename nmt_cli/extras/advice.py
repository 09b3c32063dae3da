"""The preset that `nmt init` chooses by the text and the machine, and the reason for it."""

import math
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.config import automatic
from nmt_cli.config.presets import PRESETS
from nmt_cli.machine import usable_cores
from nmt_cli.plurals import counted

if TYPE_CHECKING:
    from nmt_cli.data.text.tables.columns import TableColumns

# More pairs than this are estimated from the first ones and the size of the file.
MOST_COUNTED = 300_000
# The least number of pairs for which the paper's base model is chosen, on a GPU.
PAIRS_FOR_BASE = 1_000_000
# Presets of the paper's size.
LARGE_PRESETS = ("base", "big", "modern")
# A word has 1 + BEYOND_ONE subwords, EOS included, at a vocabulary of AT_VOCABULARY entries; what
# is beyond one falls with the power FALL of the size. Measured on French laws and captions with 500
# to 8,000 entries, where it is exact to a tenth. It is only used to announce the number of steps.
BEYOND_ONE, AT_VOCABULARY, FALL = 0.56, 4_000, 0.45


class TextSize(NamedTuple):
    """The size of a text: pairs of lines, words of both sides together, words of the target."""

    pairs: int
    words: int
    tgt_words: int

    def without(self, pairs: int) -> "TextSize":
        """The size after so many pairs of usual length are set apart.

        >>> TextSize(1_000, 10_000, 5_000).without(100)
        TextSize(pairs=900, words=9000, tgt_words=4500)
        """
        share = max(0.0, 1 - pairs / max(1, self.pairs))
        return TextSize(*(round(share * count) for count in self))


class Advice(NamedTuple):
    """A preset, and one line that says what was chosen and why."""

    preset: str
    reason: str


def advise(size: TextSize, root: Path = Path("/")) -> Advice:
    """The preset for training text of this size on this machine."""
    preset = "base" if has_gpu(root) and size.pairs >= PAIRS_FOR_BASE else "small"
    return Advice(
        preset,
        f"preset {preset} for {counted(size.pairs, 'training pair')} on {_processor(root)}: "
        f"{plan(preset, size)}",
    )


def _processor(root: Path) -> str:
    """What a training would run on, for messages."""
    return "a GPU" if has_gpu(root) else counted(usable_cores(), "CPU core")


def unsuitable(preset: str, size: TextSize, root: Path = Path("/")) -> str:
    """A note if a preset of the paper's size was chosen for little text or a CPU, else ""."""
    if preset not in LARGE_PRESETS or advise(size, root).preset != "small":
        return ""
    return (
        f"preset {preset} is made for millions of pairs and GPUs; here are "
        f"{counted(size.pairs, 'pair')} and {_processor(root)}, for which `nmt init` chooses small "
        "if --preset is left out"
    )


def plan(preset: str, size: TextSize) -> str:
    """Vocabulary size and steps of `preset` for a text of this size."""
    values = PRESETS[preset]
    vocabulary = values.get("data.vocab_size", 37_000)
    steps = values["train.max_steps"]
    if vocabulary == "auto":
        vocabulary = automatic.vocabulary_size(size.words)
    if steps == "auto":
        steps = automatic.training_steps(round(size.tgt_words * subwords_per_word(int(vocabulary))))
    stopping = ", early stopping" if values.get("train.patience") else ""
    return f"a vocabulary of about {vocabulary:,}, about {steps:,} steps{stopping}"


def subwords_per_word(vocabulary: int) -> float:
    """The approximate number of subwords per word, for European languages and this vocabulary size.

    >>> round(subwords_per_word(1_000), 2), round(subwords_per_word(8_000), 2)
    (2.04, 1.41)
    """
    return 1 + BEYOND_ONE * math.exp(FALL * math.log(AT_VOCABULARY / vocabulary))


def has_gpu(root: Path = Path("/")) -> bool:
    """Whether the system has an NVIDIA GPU; does not load torch, which takes seconds."""
    gpus = root / "proc/driver/nvidia/gpus"
    return gpus.is_dir() and any(gpus.iterdir())


def measure(entries: Sequence[Sequence[str]], tsv_columns: str = "") -> TextSize:
    """Measure the text in `entries` (two files or one TSV file each).

    tsv_columns: the setting of this name.

    Of long files only the first 300,000 pairs are counted, and the rest is estimated from the sizes
    of the files. Raises DataError or NoInputError where the text cannot be read.
    """
    from nmt_cli.data.text.tables.columns import TableColumns

    columns = TableColumns.of_training(tsv_columns, entries)
    sizes = [_measure_entry(entry, columns) for entry in entries]
    return TextSize(*(sum(column) for column in zip(*sizes, strict=True)))


def _measure_entry(paths: Sequence[str], columns: "TableColumns") -> TextSize:
    from nmt_cli.data.languages.unspaced import length_in_words
    from nmt_cli.data.text.line_pairs import read_pairs

    src_words = tgt_words = 0
    with closing(read_pairs(tuple(paths), columns, keep_bad_rows=True)) as pairs:
        for src, tgt in islice(pairs, MOST_COUNTED):
            tgt_words += length_in_words(tgt)
            src_words += length_in_words(src)
        counts = pairs.count, src_words + tgt_words, tgt_words
        if pairs.count < MOST_COUNTED or not pairs.src.bytes_read:
            return TextSize(*counts)
        share = max(1.0, pairs.src.size / pairs.src.bytes_read)
    return TextSize(*(round(share * count) for count in counts))
