"""Finds the models of a project that were trained on a corpus, such as one to be replaced."""

import contextlib
from itertools import count
from pathlib import Path

from nmt_cli.config.schema import read_layer
from nmt_cli.data.corpus.layout import SUBWORDS
from nmt_cli.errors import NmtError, TryAgainError
from nmt_cli.storage.locks import lock_holder
from nmt_cli.storage.model_check import CONFIG, WEIGHTS, is_model_directory
from nmt_cli.storage.nearby_models import MOST_NAMED, models_inside
from nmt_cli.storage.output_directory import CHECKPOINTS, LOG


def refuse_in_use(corpus: Path, model: Path) -> None:
    """Raise TryAgainError if a training is using the corpus; model: that of the project."""
    for user in users_of(corpus, model):
        if holder := lock_holder(user):
            raise TryAgainError(
                f"`{corpus}` is in use: `{user}` is being trained on it by {holder}",
                "wait for it or stop it, or prepare into another directory with --out",
            )


def replacement_warning(corpus: Path, model: Path) -> str:
    """Return the warning before replacing the corpus that runs were trained on, or "".

    model: that of the project.
    """
    runs = [
        f"`{user}`"
        for user in users_of(corpus, model)
        if (user == model or _is_run(user)) and _have_same_subwords(user, corpus)
    ]
    if not runs:
        return ""
    verb = "was" if len(runs) == 1 else "were"
    if runs[MOST_NAMED:]:
        runs[MOST_NAMED:] = [f"{len(runs) - MOST_NAMED:,} more"]
    named = " and ".join(filter(None, [", ".join(runs[:-1]), runs[-1]]))
    return (
        f"{named} {verb} trained on `{corpus}`, which is replaced: unless the new corpus is the "
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


def users_of(corpus: Path, model: Path) -> list[Path]:
    """The models that were trained on the corpus, or have begun to be.

    model: that of the project, which comes first. Others are looked for beside it, beside the
    corpus, and in the folders there, such as `runs`.
    """

    def is_user(path: Path) -> bool:
        return is_trained_on(path, corpus)

    beside = {path.resolve(): path for path in (corpus.parent, model.parent)}.values()
    folders = [
        *beside,
        *(child for folder in beside for child in models_inside(folder, Path.is_dir)),
    ]
    found = [path for folder in folders for path in models_inside(folder, is_user)]
    users: dict[Path, Path] = {}
    for path in [*([model] if is_user(model) else []), *found]:
        users.setdefault(path.resolve(), path)
    return list(users.values())


def later_run(model: Path) -> Path | None:
    """The training run on the corpus of `model` whose weights were written last, if after its own.

    Copies and averages are no runs.
    """
    with contextlib.suppress(NmtError, OSError):
        corpus = read_layer(model / CONFIG).values.get("paths.corpus")
        if not isinstance(corpus, str):
            return None
        runs = [run for run in users_of(Path(corpus), model) if (run / LOG).is_file()]
        written = {run: _written(run) for run in runs if (run / WEIGHTS).is_file()}
        last = max(written, key=lambda run: written[run], default=model)
        return last if written.get(last, 0) > _written(model) else None
    return None


def _written(model: Path) -> float:
    return (model / WEIGHTS).stat().st_mtime


def is_trained_on(model: Path, corpus: Path) -> bool:
    """Return whether `model` is a model directory whose settings name this corpus."""
    if not is_model_directory(model):
        return False
    with contextlib.suppress(NmtError):
        named = read_layer(model / CONFIG).values.get("paths.corpus")
        return isinstance(named, str) and Path(named).resolve() == corpus.resolve()
    return False


def _is_run(model: Path) -> bool:
    """Whether a model is of a training run, which may go on, and no copy or average."""
    return any((model / name).exists() for name in (LOG, CHECKPOINTS))


def _have_same_subwords(model: Path, corpus: Path) -> bool:
    contents = [
        {path.name: path.read_bytes() for path in (folder / SUBWORDS).glob("*") if path.is_file()}
        for folder in (model, corpus)
    ]
    return contents[0] == contents[1]
