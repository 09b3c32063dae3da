"""The update of a step in the order of a GPU, forced on the CPU, against that of a CPU."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus
from fake_graphs import NoWaiting
from lanes import slow
from ranks import in_ranks
from runs import assert_same, make_run
from torch import Tensor, nn

from nmt_cli.config.schema import Config, TrainConfig, with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training import step as training_step
from nmt_cli.training import update
from nmt_cli.training.optimizers import adam
from nmt_cli.training.optimizers.factory import make_optimizer, set_learning_rate
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.run import Run
from nmt_cli.training.setup import complete
from nmt_cli.training.step import shard_loss, take_step
from nmt_cli.training.update import clip, clip_on_device, start_reading, updates_before_reading

STEPS = 5
# Below the norms of some steps and above those of others.
MAX_NORM = 1.0


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    return reversal_corpus(tmp_path_factory.mktemp("update"))


def use_order(monkeypatch: pytest.MonkeyPatch, *, of_a_gpu: bool) -> None:
    monkeypatch.setattr(update, "updates_before_reading", lambda _: of_a_gpu)


def poisoned(monkeypatch: pytest.MonkeyPatch, poison: str, factor: float = math.inf) -> None:
    """Make the loss, or the gradient of a weight, infinite or NaN from now on."""

    def loss_of(model, *arguments):
        loss = shard_loss(model, *arguments)
        if poison == "loss":
            return loss._replace(total=loss.total + factor)
        loss.total.register_hook(lambda gradient: gradient * factor)
        return loss

    monkeypatch.setattr(training_step, "shard_loss", loss_of if poison else shard_loss)


def state_of(run: Run) -> dict[str, Tensor]:
    """Weights, optimiser and moving average; a state of zeros is as good as none."""
    found = {f"average/{name}": mean for name, mean in run.ema.weights().items()}
    for name, weight in run.model.named_parameters():
        found[name] = weight.detach().clone()
        for key, value in run.optimizer.state[weight].items():
            if value.any():
                found[f"{name}/{key}"] = value.clone()
    return found


def steps_of_a_run(
    setting, out: Path, monkeypatch, *, of_a_gpu: bool, bad: int, poison: str, **settings
) -> list[tuple[list[object], dict[str, Tensor]]]:
    """After each of five steps: what it gave, the state of the run, and its tensors."""
    values = {
        "train.ema": 0.9, "train.weight_decay": 0.1, "train.max_gradient_norm": MAX_NORM,
        "train.warmup_steps": 2,
    }  # fmt: skip
    config, corpus = setting
    run = make_run(with_values(config, {**values, **settings}), corpus, out)
    use_order(monkeypatch, of_a_gpu=of_a_gpu)
    found = []
    for step in range(1, STEPS + 1):
        kind, _, factor = (poison if step == bad else "").partition(" ")
        poisoned(monkeypatch, kind, float(factor or 1))
        result = run.step(run.position)
        assert result.skipped == (step == bad)
        # As text: NaN is not equal to itself.
        found.append(([repr(result), repr(run.state)], state_of(run)))
    run.close()
    return found


@pytest.mark.parametrize("optimizer", ["adam", "muon", "schedule_free"])
@pytest.mark.parametrize(
    ("bad", "poison"),
    [(3, "gradient inf"), (1, "gradient nan"), slow(3, "gradient nan"), (3, "loss inf"),
     slow(1, "loss nan")],
)  # fmt: skip
def test_the_order_of_a_gpu_gives_the_same_bits(
    setting, tmp_path, monkeypatch, optimizer, bad, poison
) -> None:
    """Also after a step that is skipped, in the middle or before there is any state."""
    settings = {"train.optimizer": optimizer, "train.schedule": "constant"}
    found, expected = (
        steps_of_a_run(
            setting, tmp_path / str(of_a_gpu), monkeypatch,
            of_a_gpu=of_a_gpu, bad=bad, poison=poison, **settings,
        )
        for of_a_gpu in (True, False)
    )  # fmt: skip
    for (texts, tensors), (other_texts, others) in zip(found, expected, strict=True):
        assert texts == other_texts
        assert_same(tensors, others)
