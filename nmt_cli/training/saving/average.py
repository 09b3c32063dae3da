"""`nmt average`: the mean of several checkpoints' weights (section 6.1)."""

import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.config.automatic import Intervals
from nmt_cli.config.schema import Config, flatten
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.lexical.shortlist import vocabulary_digest
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import (
    CannotCreateError,
    ConfigError,
    DataError,
    NmtError,
    NoInputError,
    TryAgainError,
)
from nmt_cli.model_dir import load_config, load_model, load_subwords, read_metadata, save_model
from nmt_cli.plurals import agreeing, counted
from nmt_cli.storage import files, manifest
from nmt_cli.storage.output_directory import (
    AVERAGED,
    AVERAGED_RUN,
    CHECKPOINTS,
    DirectoryKind,
    new_directory,
    require_free,
)
from nmt_cli.training.saving.checkpoints import OPTIMIZER_ENDING, WEIGHTS, Checkpoints
from nmt_cli.training.saving.separate_runs import separate_runs
from nmt_cli.training.saving.tensor_files import model_weights, read_tensors
from nmt_cli.translation.quality.checker import Confidence


def average(
    paths: Sequence[Path],
    out: Path,
    *,
    last: int | None = None,
    best: int | None = None,
    force: bool = False,
) -> list[Path]:
    """Write the mean of models or checkpoints as the model directory `out`; returns their paths.

    A single model directory stands for its checkpoints: the `last` ones, the `best` ones, or as
    many as its settings say. Raises NoInputError where there are none, ConfigError where they do
    not fit each other, and CannotCreateError where `out` exists, unless `force`, which replaces
    an average.
    """
    if len(paths) > 1:
        # `checkpoints/*` names the states of the optimiser, too.
        paths = [path for path in paths if path.suffix != OPTIMIZER_ENDING] or paths
    for path in paths:
        if not path.exists():
            # Named before `out`, which is as it should be where a name is mistyped.
            _read_description(path)
    files.require_creatable(out)
    require_free(out, DirectoryKind.AVERAGE, force=force)
    first = _read_description(_model_of(paths[0]))
    inside = [path for path in paths if path.resolve().is_relative_to(out.resolve())]
    if force and out.exists() and inside:
        raise CannotCreateError(
            f"`{out}` holds what is to be averaged, `{inside[0]}`, and is not replaced",
            "choose another --out",
        )
    if len(paths) == 1 and not _is_checkpoint(paths[0]):
        paths = _choose(paths[0], first, last, best)
    for path in paths[1:]:
        _check_same(paths[0], first, path, _read_description(_model_of(path)))
    weights = average_weights(paths, _read)
    metadata = {AVERAGED: ", ".join(path.name for path in paths)}
    if runs := dict.fromkeys(_run_named_by(path) for path in paths if _is_checkpoint(path)):
        metadata[AVERAGED_RUN] = ", ".join(runs)
    confidence = _confidence({_model_of(path).resolve() for path in paths})
    if confidence is not None:
        metadata["confidence"] = str(confidence)
    text = TextStatistics.load(_model_of(paths[0]))
    with new_directory(out, DirectoryKind.AVERAGE, force=force) as directory:
        save_model(directory, weights, first.config, first.subwords, metadata, text=text)
    return list(paths)


def _confidence(models: Iterable[Path]) -> Confidence | None:
    """The usual log-probabilities of translations; None if no model has recorded them.

    Checkpoints do not have it: it was measured at the validation of the weights that their model
    directory publishes, the best of the run, which the mean resembles most. Of several runs the
    lowest value counts, so that only what all of them would flag is flagged.
    """
    parsed = [Confidence.parse(read_metadata(model).get("confidence", "")) for model in models]
    known = [confidence for confidence in parsed if confidence is not None]
    if not known:
        return None
    return Confidence(
        min(confidence.mean for confidence in known),
        min(confidence.lowest for confidence in known),
    )


class _ModelDescription(NamedTuple):
    """The settings and subwords of a model, whose weights may not be published yet."""

    config: Config
    subwords: Subwords


def _read_description(directory: Path) -> _ModelDescription:
    return _ModelDescription(load_config(directory), load_subwords(directory))


def _is_checkpoint(path: Path) -> bool:
    return (path / WEIGHTS).is_file()


def runs_of(members: Iterable[Path]) -> list[Path]:
    """The model directories of `members` if they are of separate runs, as in `separate_runs`."""
    return separate_runs(members, _model_of, _read)


def last_checkpoint(model: Path) -> Path | None:
    """The newest checkpoint in a model directory, or None."""
    checkpoints = Checkpoints(model / CHECKPOINTS, 1, 1).all()
    return checkpoints[-1].directory if checkpoints else None


def _model_of(path: Path) -> Path:
    """The model directory that a checkpoint belongs to; a model directory is its own.

    A checkpoint in the folder of a run still belongs to it after training has removed it.
    """
    real = path.resolve()
    is_one = _is_checkpoint(path) or real.parent.name == CHECKPOINTS
    return real.parent.parent if is_one else path


def _run_named_by(checkpoint: Path) -> str:
    """The model directory of a checkpoint as it was named; of an absolute path the last folder.

    The model may be published, in which folders of this machine are of no use.
    """
    named = checkpoint.parent.parent
    return str(named) if named.name and not named.is_absolute() else _model_of(checkpoint).name


def _read(path: Path) -> dict[str, Tensor]:
    """The weights of a model or checkpoint; raises TryAgainError if it was removed meanwhile."""
    try:
        if not _is_checkpoint(path):
            return model_weights(load_model(path).model)
        manifest.check_manifest(path)
        return read_tensors(path / WEIGHTS)
    except NmtError as error:
        if path.exists():
            raise
        raise TryAgainError(
            f"`{path}` was removed while it was to be averaged: a run that goes on keeps only "
            "its newest and best checkpoints",
            "run the same command again",
        ) from error


def _choose(path: Path, model: _ModelDescription, last: int | None, best: int | None) -> list[Path]:
    """The checkpoints of a model directory to average; raises NoInputError if they are not there.

    last, best: how many of the last or of the best ones; None for both: as the settings say.
    """
    train = model.config.train
    checkpoints = Checkpoints(path / CHECKPOINTS, train.keep_last, train.keep_best)
    members = checkpoints.members()
    if not members:
        raise _nothing_to_average(path, checkpoints)
    if best is None:
        return [checkpoint.directory for checkpoint in members[-(last or train.keep_last) :]]
    # A step that was validated is of the run itself, even if its checkpoint is not of the interval.
    saved = checkpoints.all()
    state = saved[-1].state()
    ranked = state.best_steps(best)
    chosen = [checkpoint.directory for checkpoint in saved if checkpoint.step in ranked]
    if len(chosen) < len(ranked) or not chosen:
        by_last = f"average the last with --last {min(len(members), train.keep_last)}"
        hint = (
            f"training keeps train.keep_best={train.keep_best} of them and the last "
            f"{train.keep_last}: {by_last}, or train with the setting train.keep_best={best}"
        )
        intervals = Intervals.of(train)
        if intervals.validate % intervals.checkpoint:
            hint = (
                f"there is a checkpoint every {counted(intervals.checkpoint, 'step')}, a "
                f"validation every {intervals.validate:,}: {by_last}, or train with a multiple as "
                "train.validate_every"
            )
        missing = ", ".join(
            f"step {step:,} (perplexity {math.exp(min(-state.scores[str(step)], 700.0)):.2f})"
            for step in ranked
            if checkpoints.at(step).directory not in chosen
        )
        raise NoInputError(
            f"only {len(chosen)} of the {best} best checkpoints of `{path}` "
            f"{agreeing(len(chosen), 'is', 'are')} still there"
            + (f"; missing: {missing}" if missing else ""),
            hint,
        )
    return chosen


def _nothing_to_average(path: Path, checkpoints: Checkpoints) -> NoInputError:
    """The error that says why there is nothing to average, and what would work."""
    others = checkpoints.all()
    if not others:
        return NoInputError(
            f"`{path}` has no checkpoints", "`nmt train` writes them every train.checkpoint_every"
        )
    names = ", ".join(f"`{checkpoint.directory.name}`" for checkpoint in others)
    return NoInputError(
        f"`{path}` has no checkpoint of an interval (train.checkpoint_every), "
        f"only what was saved to resume from: {names}",
        f"`nmt average {shlex.quote(str(others[-1].directory))} --out MODEL` makes a model of "
        "the last one",
    )


def _check_same(
    path: Path, model: _ModelDescription, other_path: Path, other: _ModelDescription
) -> None:
    settings, others = flatten(model.config), flatten(other.config)
    differing = [
        key for key in settings if key.startswith("model.") and settings[key] != others[key]
    ]
    if vocabulary_digest(model.subwords) != vocabulary_digest(other.subwords):
        differing.append("the subwords")
    if differing:
        raise ConfigError(
            f"`{other_path}` is another model than `{path}`: {', '.join(differing)} differ",
            "average checkpoints of one run",
        )


def average_weights(
    paths: Sequence[Path], read: Callable[[Path], dict[str, Tensor]]
) -> dict[str, Tensor]:
    """The mean of each weight over the checkpoints at `paths`, summed in float64.

    Holds one checkpoint and the sum in memory. Raises ConfigError naming the first file whose
    names or shapes differ from the others', DataError where a weight is not finite.
    """
    total: dict[str, Tensor] = {}
    for path in paths:
        weights = read(path)
        if not total:
            total = {name: weight.double() for name, weight in weights.items()}
            shapes = {name: weight.shape for name, weight in weights.items()}
        elif {name: weight.shape for name, weight in weights.items()} != shapes:
            raise ConfigError(
                f"`{path}` holds another model than `{paths[0]}`: names or shapes differ",
                "average checkpoints of one run",
            )
        else:
            for name, weight in weights.items():
                total[name] += weight
        wrong = next(
            (name for name, weight in weights.items() if not torch.isfinite(weight).all()), None
        )
        if wrong:
            raise DataError(f"`{path}`: `{wrong}` holds NaN or infinite values")
    return {name: (weight / len(paths)).float() for name, weight in total.items()}
