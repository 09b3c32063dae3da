"""The files of the weights of a directory: safetensors, else what torch.save writes."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import safetensors.torch
from torch import Tensor

from nmt_cli.errors import DataError, NoInputError
from nmt_cli.exchange.formats.huggingface.json_files import read_json
from nmt_cli.exchange.pickled.reading import read_checkpoint
from nmt_cli.exchange.weight_files import read_weight_files

# In the order in which they are looked for: a file, and the list of several files.
SAFETENSORS = "model.safetensors"
NAMES = (SAFETENSORS, "model.safetensors.index.json")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def locate_weights(path: Path) -> tuple[Path, ...]:
    """The files of the weights; raises NoInputError or DataError."""
    for name, index in (NAMES, PICKLES):
        if (path / name).exists():
            return (path / name,)
        if (path / index).exists():
            return _listed(path, index)
    raise NoInputError(
        f"`{path}` has no weights ({SAFETENSORS} or {PICKLES[0]})", "copy the directory again"
    )


def _listed(path: Path, index: str) -> tuple[Path, ...]:
    parts = read_json(path / index).get("weight_map")
    if not isinstance(parts, dict) or not parts:
        raise DataError(f"`{path / index}` names no files", "copy the directory again")
    names = sorted(set(map(str, parts.values())))
    if any(Path(name).name != name for name in names):
        raise DataError(f"`{path / index}` names files outside its directory")
    return tuple(path / name for name in names)


def is_pickle(path: Path) -> bool:
    """Whether a file of weights is one of torch.save."""
    return path.suffix != ".safetensors"


def read_weights(paths: tuple[Path, ...]) -> dict[str, Tensor]:
    """The tensors of all files; raises NoInputError or DataError. Runs no code of them."""
    if not any(map(is_pickle, paths)):
        return read_weight_files(paths)
    tensors: dict[str, Tensor] = {}
    for path in paths:
        tensors |= read_checkpoint(path).tensors
    return tensors


@contextmanager
def without_pickles(path: Path) -> Iterator[Path]:
    """The directory, or for the time of the block a copy whose weights are safetensors."""
    weight_files = locate_weights(path)
    if not any(map(is_pickle, weight_files)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="nmt-import-") as name:
        folder = Path(name)
        for file in path.iterdir():
            if file.is_file() and file not in weight_files and file.name not in PICKLES:
                (folder / file.name).symlink_to(file.resolve())
        tensors = read_weights(weight_files)
        safetensors.torch.save_file(tensors, folder / SAFETENSORS, {"format": "pt"})
        yield folder
