"""The lines that an exported model is compared on, and those that calibrate it."""

import contextlib
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from nmt_cli.config.project import PROJECT_FILE
from nmt_cli.config.schema import Config, read_layer
from nmt_cli.data.corpus.layout import test_text
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError, NmtError, NoInputError
from nmt_cli.model_dir import LoadedModel
from nmt_cli.plurals import counted

# The lines of a comparison of probabilities, which may hardly differ.
LINES = 20
# The most lines of a file that the user names, and of a comparison of translations alone.
MOST_LINES = 100
CALIBRATION_LINES = 200
# Longer lines are left out: `nmt translate` splits them.
LONGEST_SUBWORDS = 100
SHORTEST_MADE, LONGEST_MADE = 3, 12


def choose_check_lines(
    loaded: LoadedModel, file: Path | None, precision: str = "float32"
) -> tuple[list[str], str]:
    """The lines to compare, and where they are from.

    These are the lines of `file`, else those of the model's test text, else lines that are made of
    the model's own subwords. precision: weights of a lower one than float32 are compared by the
    share of equal translations, which needs more lines. Raises DataError if `file` has no line
    that fits.
    """
    if file is not None:
        lines = list(islice(_suitable(loaded, file), MOST_LINES))
        if not lines:
            raise DataError(
                f"`{file}` has no line with 1 to {LONGEST_SUBWORDS} subwords to compare",
                "name a file with lines in the model's source language",
            )
        return lines, f"{counted(len(lines), 'line')} of `{file}`"
    count = LINES if precision == "float32" else MOST_LINES
    for name in test_text(loaded.config)[:1]:
        if test := text_of_model(name, loaded):
            lines = _readable(loaded, test, count)
            if lines:
                return lines, f"{counted(len(lines), 'line')} of `{test}`"
    return _made_lines(loaded, LINES), f"{LINES} lines made of the model's subwords"


def calibration_lines(loaded: LoadedModel) -> list[str]:
    """Lines that show how large the numbers inside a model become.

    These are lines of the validation text, else of the test text, else lines that are made of the
    model's own subwords.
    """
    for name in (*loaded.config.data.valid[:1], *test_text(loaded.config)[:1]):
        if text := text_of_model(name, loaded):
            lines = _readable(loaded, text, CALIBRATION_LINES)
            if lines:
                return lines
    return _made_lines(loaded, CALIBRATION_LINES)


def text_of_model(name: str, loaded: LoadedModel) -> Path | None:
    """The text file that the settings of a model name; None if it is not in the model's project.

    A relative path began in the folder where the model was trained. That folder is the one in which
    the model has the path that it was trained with. A model that was copied or renamed is looked up
    in the folder that holds it, with the first folders of the path left out until there is such a
    file, and in the current folder if that holds the model. A folder whose project file names other
    languages is not the model's.
    """
    path, model = Path(name), loaded.directory
    if model is None or path.is_absolute():
        return path if path.is_file() else None
    candidates = [(folder, folder / path) for folder in _trained_in(model, loaded.config)]
    if ".." not in path.parts:
        beside = [model.parent.joinpath(*path.parts[first:]) for first in range(len(path.parts))]
        candidates += [(model.parent, file) for file in beside]
    if model.resolve().is_relative_to(Path().resolve()):
        candidates.append((Path(), path))
    here = Path().absolute()
    for folder, file in candidates:
        if file.is_file() and _fits_languages(folder, loaded.config):
            return file.relative_to(here) if file.is_relative_to(here) else file
    return None


def _trained_in(model: Path, config: Config) -> list[Path]:
    """The folders where `nmt train` may have been run: its path of the model leads to `model`."""
    trained = Path(config.paths.model)
    if trained.is_absolute():
        return []
    # As written first, so that messages name files as the user named the model.
    folders = [Path(), *model.parents, *model.absolute().parents]
    return [folder for folder in folders if (folder / trained).resolve() == model.resolve()]


def _fits_languages(folder: Path, config: Config) -> bool:
    """Whether the project file of `folder`, if there is one, has the languages of the model."""
    languages = {config.languages.src, config.languages.tgt}
    with contextlib.suppress(NmtError):
        values = read_layer(folder / PROJECT_FILE).values
        named = {values.get("languages.src"), values.get("languages.tgt")}
        # The project of a model may also train the other direction.
        return None in named or named == languages
    return True


def _readable(loaded: LoadedModel, file: Path, count: int) -> list[str]:
    """The first `count` lines of a file that fit; none if it cannot be read."""
    with contextlib.suppress(DataError, NoInputError):
        return list(islice(_suitable(loaded, file), count))
    return []


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
