"""The lines that an exported model is compared on, and those that calibrate it."""

import contextlib
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from nmt_cli.data.corpus.layout import test_text
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError, NoInputError
from nmt_cli.model_dir import LoadedModel
from nmt_cli.plurals import counted

LINES = 20
# The most lines of a file that the user names.
MOST_LINES = 100
CALIBRATION_LINES = 200
# Longer lines are left out: `nmt translate` splits them.
LONGEST_SUBWORDS = 100
SHORTEST_MADE, LONGEST_MADE = 3, 12


def choose_check_lines(loaded: LoadedModel, file: Path | None) -> tuple[list[str], str]:
    """The lines to compare, and where they are from.

    These are the lines of `file`, else those of the model's test text, else lines that are made of
    the model's own subwords. Raises DataError if `file` has no line that fits.
    """
    if file is not None:
        lines = list(islice(_suitable(loaded, file), MOST_LINES))
        if not lines:
            raise DataError(
                f"`{file}` has no line with 1 to {LONGEST_SUBWORDS} subwords to compare",
                "name a file with lines in the model's source language",
            )
        return lines, f"{counted(len(lines), 'line')} of `{file}`"
    for name in test_text(loaded.config)[:1]:
        test = text_of_model(name, loaded.directory)
        with contextlib.suppress(DataError, NoInputError):
            lines = list(islice(_suitable(loaded, test), LINES))
            if lines:
                return lines, f"{counted(len(lines), 'line')} of `{test}`"
    return _made_lines(loaded, LINES), f"{LINES} lines made of the model's subwords"


def calibration_lines(loaded: LoadedModel) -> list[str]:
    """Lines that show how large the numbers inside a model become.

    These are lines of the validation text, else of the test text, else lines that are made of the
    model's own subwords.
    """
    for name in (*loaded.config.data.valid[:1], *test_text(loaded.config)[:1]):
        with contextlib.suppress(DataError, NoInputError):
            text = text_of_model(name, loaded.directory)
            lines = list(islice(_suitable(loaded, text), CALIBRATION_LINES))
            if lines:
                return lines
    return _made_lines(loaded, CALIBRATION_LINES)


def text_of_model(name: str, model: Path | None) -> Path:
    """The text file that the settings of a model name, which may have been trained elsewhere.

    A relative path that does not exist here is looked for beside the model directory: its parts are
    left out from the front until there is such a file.
    """
    path = Path(name)
    if model is None or path.is_file() or path.is_absolute() or ".." in path.parts:
        return path
    beside = (model.parent.joinpath(*path.parts[first:]) for first in range(len(path.parts)))
    return next((candidate for candidate in beside if candidate.is_file()), path)


def _suitable(loaded: LoadedModel, file: Path) -> Iterator[str]:
    """The lines of a file that have text and are not too long."""
    with read_lines(str(file)) as lines:
        for line in lines:
            if line.strip() and len(loaded.subwords.encode_source([line])[0]) <= LONGEST_SUBWORDS:
                yield line


def _made_lines(loaded: LoadedModel, count: int) -> list[str]:
    """`count` lines of random subwords: they are in the alphabet of the model's language."""
    chooser = random.Random(1)
    subwords = loaded.subwords
    special = set(subwords.special)
    if subwords.joint:
        # Among them entries that no text has.
        special |= set(loaded.config.model.banned_ids)
    ids = [token for token in range(subwords.src_size) if token not in special]
    lengths = [chooser.randint(SHORTEST_MADE, LONGEST_MADE) for _ in range(count)]
    return subwords.decode_source([chooser.choices(ids, k=length) for length in lengths])
