"""average(): averages checkpoints into one model, as `nmt average` does."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.api.arguments import PathLike, path_text
from nmt_cli.config.python_spelling import python_errors
from nmt_cli.errors import UsageError
from nmt_cli.installation import require_torch
from nmt_cli.plurals import agreeing, counted

_OPTIONS = ("last", "best", "out", "force")


@dataclass(frozen=True)
class AveragedModel:
    """What average() wrote.

    path: the model directory; members: the checkpoints or models whose mean it is; notes: warnings.
    """

    path: Path
    members: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def average(
    models: PathLike | Sequence[PathLike] = "model",
    out: PathLike = "model-average",
    *,
    last: int | None = None,
    best: int | None = None,
    force: bool = False,
) -> AveragedModel:
    """Average checkpoints into one model (section 6.1 of the paper).

    Args:
        models: a model directory, whose last checkpoints are averaged, or one or several
            checkpoints such as "model/checkpoints/step-000001500". Several model directories are
            averaged themselves.
        out: the model directory to write.
        last: average this many of the last checkpoints; by default `train.keep_last` of them.
        best: average this many checkpoints, those whose own weights have the lowest validation
            perplexity.
        force: replace an existing model that was made by averaging.

    Returns:
        The directory and what was averaged.

    Raises:
        TypeError: an argument is of a wrong type.
        NmtError: NoInputError where there is nothing to average, CannotCreateError where `out`
            exists, ConfigError where the models differ, UsageError for both `last` and `best`.
    """
    paths = _paths(models)
    directory = Path(path_text("out", out))
    for name, count in (("last", last), ("best", best)):
        if count is not None and (not isinstance(count, int) or isinstance(count, bool)):
            raise TypeError(f"{name} is a whole number, not {type(count).__name__}")
        if count is not None and count < 1:
            raise UsageError(f"{name} is {count}, which is below its minimum 1")
    if not paths:
        raise UsageError("models is empty", "name a model directory or checkpoints")
    require_torch("average()")
    with python_errors(_OPTIONS):
        require_one_choice(last, best)

        from nmt_cli.training.saving.average import average as write_average

        members = write_average(paths, directory, last=last, best=best, force=force)
    option = f"best={best}" if best else f"last={last}"
    notes = average_notes(option, paths, members, last, best, directory)
    return AveragedModel(directory, tuple(members), notes)


def _paths(models: PathLike | Sequence[PathLike]) -> list[Path]:
    if isinstance(models, str | os.PathLike):
        return [Path(path_text("models", models))]
    if isinstance(models, bytes) or not isinstance(models, Sequence):
        raise TypeError(f"models is a path or a list of paths, not {type(models).__name__}")
    return [Path(path_text("each of models", path)) for path in models]


def require_one_choice(last: int | None, best: int | None) -> None:
    """Raise UsageError if both numbers of checkpoints are given; before torch is loaded."""
    if last is not None and best is not None:
        raise UsageError("--last and --best exclude each other")


def average_notes(
    option: str, models: Sequence[Path], members: Sequence[Path], last: int | None,
    best: int | None, out: Path,
) -> tuple[str, ...]:  # fmt: skip
    """Warnings of an average of `members`, which was asked for with `models` and the rest.

    option: how `last` or `best` was given.
    """
    notes = (
        _missing_members_note(option, models, members, last, best),
        _last_checkpoint_note(models, members, best, out),
        _separate_runs_note(members),
    )
    return tuple(note for note in notes if note)


def _missing_members_note(
    option: str, models: Sequence[Path], members: Sequence[Path], last: int | None, best: int | None
) -> str:
    """A message if fewer checkpoints of `models` were averaged than asked for, else "".

    Where neither `last` nor `best` was given, the model's train.keep_last asks for them.
    """
    from nmt_cli.model_dir import load_config

    wanted = last or best
    copy = " The result is a copy of it." if len(members) == 1 else ""
    if wanted is None:
        if list(members) == list(models):
            return ""
        wanted = load_config(models[0]).train.keep_last
        option = f"train.keep_last is {wanted} in `{models[0]}`"
    if len(members) >= wanted:
        return ""
    if last is None and best is None:
        return f"{option}, but there {_only(len(members))}: training has saved no more.{copy}"
    if best:
        reason = "no more have been validated"
    else:
        reason = (
            "`nmt train` keeps the last ones, as many as the setting `train.keep_last` says, and "
            "those with the best scores"
        )
    if any(model in members for model in models):
        reason += "; of a checkpoint that is named, only itself is averaged"
    return f"{option}, but there {_only(len(members))}: {reason}.{copy}"


def _only(count: int) -> str:
    return f"{agreeing(count, 'is', 'are')} only {counted(count, 'checkpoint')} to average"


def _last_checkpoint_note(
    models: Sequence[Path], members: Sequence[Path], best: int | None, out: Path
) -> str:
    """A message if the last checkpoint of a run was left out, as it is of no interval, else ""."""
    from nmt_cli.training.saving.average import last_checkpoint

    if best or len(models) != 1 or list(members) == list(models):
        return ""
    newest = last_checkpoint(models[0])
    if newest is None or newest in members:
        return ""
    command = shlex.join(["average", *map(str, (*members, newest)), "--out", str(out)])
    return (
        f"`{newest}` is not averaged: training ended there, between two of the checkpoints that it "
        "saves every `train.checkpoint_every` steps. To average it too, name the checkpoints: "
        f"`nmt {command} --force`"
    )


def _separate_runs_note(members: Sequence[Path]) -> str:
    """A message if `members` come from separate runs that did not begin with one model.

    The mean of the weights of models that were trained from random weights is no model of the task.
    """
    from nmt_cli.training.saving.average import runs_of

    models = runs_of(members)
    if not models:
        return ""
    names = " and ".join(f"`{model}`" for model in models[:2])
    ensemble = " ".join(f"--model {shlex.quote(str(model))}" for model in models)
    return (
        f"{names} are separate runs, and the mean of the weights of such models usually translates "
        "far worse than each of them: compare them with `nmt score`, or translate with all "
        f"at once: `nmt translate {ensemble}`"
    )
