"""Experiment trackers: TensorBoard, Weights & Biases, MLflow and Trackio behind three calls.

Each is an optional library, which is imported when its tracker is made.
"""

import os
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from nmt_cli.errors import UnavailableError, UsageError, did_you_mean
from nmt_cli.installation import install_command

PROJECT = "nmt"


class Tracker(Protocol):
    """What receives a run. Any call may fail or take long: it is made in a thread of its own."""

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Record numbers of a step, by names such as `validation/bleu`."""

    def text(self, step: int, name: str, text: str) -> None:
        """Record a text of a step, such as a sample translation."""

    def close(self) -> None:
        """Write everything, and end the run."""


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker shows about a run.

    name: the model directory as it was given; settings: by dotted key; target: the directory,
    project or experiment to write to, "" for the default of the tracker.
    """

    name: str
    settings: Mapping[str, object]
    target: str = ""


class TensorBoard:
    """Event files in a directory for each run: `tensorboard --logdir tensorboard` shows them."""

    def __init__(self, run: TrackedRun) -> None:
        from tensorboardX import SummaryWriter

        relative = Path(run.name).name if Path(run.name).is_absolute() else run.name
        self._writer = SummaryWriter(run.target or str(Path("tensorboard") / relative))
        rows = [f"| {key} | {value} |" for key, value in run.settings.items()]
        table = "\n".join(["| setting | value |", "|---|---|", *rows])
        self._writer.add_text("settings", table, 0)

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Record numbers as scalars."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def text(self, step: int, name: str, text: str) -> None:
        """Record a text."""
        self._writer.add_text(name, text, step)

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases; a resumed training is another run of the same group."""

    def __init__(self, run: TrackedRun) -> None:
        import wandb

        offline = os.environ.get("WANDB_MODE", "online") != "online"
        if not offline and not wandb.api.api_key:
            # wandb would ask for it at the terminal, in the middle of training.
            raise UnavailableError("not logged in; run `wandb login`, or set WANDB_MODE=offline")
        self._run: Any = wandb.init(
            project=run.target or os.environ.get("WANDB_PROJECT", PROJECT), name=run.name,
            group=run.name, config=dict(run.settings),
            settings=wandb.Settings(console="off", silent=True),
        )  # fmt: skip

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Record numbers."""
        self._run.log(dict(values), step=step)

    def text(self, step: int, name: str, text: str) -> None:
        """Record a text as HTML, without marks of its own."""
        import html

        import wandb

        self._run.log({name: wandb.Html(f"<pre>{html.escape(text)}</pre>")}, step=step)

    def close(self) -> None:
        """Upload the rest, or finish the files."""
        self._run.finish()


class MLflow:
    """A run of an MLflow experiment, at MLFLOW_TRACKING_URI or else in ./mlruns."""

    def __init__(self, run: TrackedRun) -> None:
        from mlflow import MlflowClient

        # Calls of the client name their run; those of the module are bound to a thread.
        self._client: Any = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or _local_store())
        name = run.target or os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        existing = self._client.get_experiment_by_name(name)
        experiment_id = existing.experiment_id if existing else self._client.create_experiment(name)
        self._id: str = self._client.create_run(experiment_id, run_name=run.name).info.run_id
        for key, value in run.settings.items():
            self._client.log_param(self._id, key, str(value)[:500])

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Record numbers as metrics."""
        for name, value in values.items():
            self._client.log_metric(self._id, name, value, step=step)

    def text(self, step: int, name: str, text: str) -> None:
        """Record a text as an artifact."""
        self._client.log_text(self._id, text, f"{name}/{step:08d}.txt")

    def close(self) -> None:
        """End the run."""
        self._client.set_terminated(self._id)


def _local_store() -> str:
    # MLflow 3 refuses a folder of files as its store unless it is told that this is meant.
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    return Path("mlruns").absolute().as_uri()


class Trackio:
    """A run of Trackio, on this machine unless a Space is set by its own variables."""

    def __init__(self, run: TrackedRun) -> None:
        import trackio

        # It prints to stdout, where --json writes the reports.
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "trackio":
                vars(module).setdefault("print", _print_nothing)
        self._trackio: Any = trackio
        self._run: Any = trackio.init(
            project=run.target or PROJECT, name=run.name.replace("/", "-"), group=run.name,
            config={key: str(value) for key, value in run.settings.items()}, embed=False,
        )  # fmt: skip

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Record numbers."""
        self._run.log(dict(values), step=step)

    def text(self, step: int, name: str, text: str) -> None:
        """Record a text."""
        self._run.log({name: text}, step=step)

    def close(self) -> None:
        """Write the rest."""
        self._run.finish()


def _print_nothing(*_: object, **__: object) -> None:
    """Print nothing."""


class TrackerKind(NamedTuple):
    """A kind of tracker. make: begins a run in it; module: what has to be installed."""

    make: Callable[[TrackedRun], Tracker]
    module: str


TRACKERS: Mapping[str, TrackerKind] = types.MappingProxyType(
    {
        "tensorboard": TrackerKind(TensorBoard, "tensorboardX"),
        "wandb": TrackerKind(WeightsAndBiases, "wandb"),
        "mlflow": TrackerKind(MLflow, "mlflow"),
        "trackio": TrackerKind(Trackio, "trackio"),
    }
)


def parse_trackers(texts: list[str]) -> dict[str, str]:
    """The targets of `--track NAME[=TARGET]` by the names of the trackers.

    Raises UsageError for an unknown tracker, UnavailableError if its library is not installed.
    """
    chosen: dict[str, str] = {}
    for text in texts:
        name, _, target = text.partition("=")
        if name not in TRACKERS:
            raise UsageError(
                f"--track: there is no tracker `{name}`", did_you_mean(name, list(TRACKERS))
            )
        module = TRACKERS[name].module
        if find_spec(module) is None:
            raise UnavailableError(
                f"--track {name} needs the library {module}", install_command(name)
            )
        chosen[name] = target
    return chosen
