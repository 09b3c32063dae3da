"""Finds out whether a corpus that is about to be replaced is used by models of the project."""

import contextlib
from itertools import count
from pathlib import Path

from nmt_cli.config.schema import read_layer
from nmt_cli.data.corpus.layout import SUBWORDS
from nmt_cli.errors import NmtError, TryAgainError
from nmt_cli.storage.files import lock_holder
from nmt_cli.storage.model_check import CONFIG, is_model_directory
from nmt_cli.storage.nearby_models import models_inside


def refuse_in_use(corpus: Path, model: Path) -> None:
    """Raise TryAgainError if a training in the model directory is using the corpus."""
    holder = lock_holder(model) if is_trained_on(model, corpus) else ""
    if holder:
        raise TryAgainError(
            f"`{corpus}` is in use: `{model}` is being trained on it by {holder}",
            "wait for it or stop it, or prepare into another directory with --out",
        )


def replacement_warning(corpus: Path, model: Path) -> str:
    """Return the warning before replacing the corpus that the model was trained on, or ""."""
    if not is_trained_on(model, corpus) or not _have_same_subwords(model, corpus):
        return ""
    return (
        f"`{model}` was trained on `{corpus}`, which is replaced: unless the new corpus is the "
        "same, train into another directory (`nmt train --out MODEL`)"
    )


def new_model(corpus: Path, model: Path) -> Path | None:
    """A free name for a model directory, such as `model-2`, if `model` is one of this corpus.

    Once the corpus is replaced, the training of `model` cannot go on.
    """
    return free_name(model) if is_trained_on(model, corpus) else None


def free_name(model: Path) -> Path:
    """A name for another directory beside `model`, such as `model-2`, that is not taken."""
    names = (model.with_name(f"{model.name}-{number}") for number in count(2))
    return next(name for name in names if not name.exists())


def has_models(corpus: Path, model: Path) -> bool:
    """Whether a model was trained on the corpus, or has begun to be.

    model: that of the project. Others are looked for beside it, beside the corpus, and in the
    folders there, such as `runs`.
    """

    def is_user(path: Path) -> bool:
        return is_trained_on(path, corpus)

    beside = {path.parent.resolve() for path in (model, corpus)}
    folders = [
        *beside,
        *(child for folder in beside for child in models_inside(folder, Path.is_dir)),
    ]
    return is_user(model) or any(models_inside(folder, is_user) for folder in folders)


def is_trained_on(model: Path, corpus: Path) -> bool:
    """Return whether `model` is a model directory whose settings name this corpus."""
    if not is_model_directory(model):
        return False
    with contextlib.suppress(NmtError):
        named = read_layer(model / CONFIG).values.get("paths.corpus")
        return isinstance(named, str) and Path(named).resolve() == corpus.resolve()
    return False


def _have_same_subwords(model: Path, corpus: Path) -> bool:
    contents = [
        {path.name: path.read_bytes() for path in (folder / SUBWORDS).glob("*") if path.is_file()}
        for folder in (model, corpus)
    ]
    return contents[0] == contents[1]
