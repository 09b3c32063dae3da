"""The update of a step in the order of a GPU, forced on the CPU, against that of a CPU."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from corpora import reversal_corpus
from fake_graphs import NoWaiting
from lanes import slow
from ranks import in_ranks
from runs import assert_same, assert_same_run, go, make_run
from torch import Tensor

from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training import run as training_run
from nmt_cli.training import step as training_step
from nmt_cli.training import update
from nmt_cli.training.loss.cross_entropy import Loss
from nmt_cli.training.optimizers import adam
from nmt_cli.training.optimizers.factory import make_optimizer
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.run import Run
from nmt_cli.training.setup import complete
from nmt_cli.training.step import shard_loss, take_step
from nmt_cli.training.update import clip, clip_on_device, start_reading, updates_before_reading

STEPS = 5
# Below the norms of some steps and above those of others.
MAX_NORM = 1.75


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
    means = {} if run.ema is None else run.ema.weights()
    found = {f"average/{name}": mean for name, mean in means.items()}
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
        "train.weight_decay": 0.1, "train.max_gradient_norm": MAX_NORM,
        "train.warmup_steps": 2,
    }  # fmt: skip
    config, corpus = setting
    run = make_run(with_values(config, {**values, **settings}), corpus, out)
    use_order(monkeypatch, of_a_gpu=of_a_gpu)
    norms, found = [], []
    for step in range(1, STEPS + 1):
        kind, _, factor = (poison if step == bad else "").partition(" ")
        poisoned(monkeypatch, kind, float(factor or 1))
        result = run.step(run.position)
        assert result.skipped == (step == bad)
        # As text: NaN is not equal to itself.
        norms.append(result.gradient_norm)
        found.append(([repr(result), repr(run.state)], state_of(run)))
    run.close()
    assert any(norm > MAX_NORM for norm in norms)
    assert any(norm < MAX_NORM for norm in norms)
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
    settings = {
        "train.optimizer": optimizer, "train.schedule": "constant",
        # Schedule-Free is an average itself.
        "train.ema": 0.0 if optimizer == "schedule_free" else 0.9,
    }  # fmt: skip
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


@pytest.mark.parametrize("of_a_gpu", [False, True])
def test_a_run_resumes_after_a_skipped_first_step(setting, tmp_path, monkeypatch, of_a_gpu) -> None:
    """The optimiser has no state then, or one of zeros."""
    use_order(monkeypatch, of_a_gpu=of_a_gpu)
    config = with_values(setting[0], {"train.max_steps": 4, "train.ema": 0.9})
    for out, stops in ((tmp_path / "resumed", [1, 0]), (tmp_path / "whole", [0])):
        poisons = iter(["loss"])
        poison_first = lambda *given, poisons=poisons: (  # noqa: E731
            poisoned(monkeypatch, next(poisons, "")) or take_step(*given)
        )
        monkeypatch.setattr(training_run, "take_step", poison_first)
        for stop in stops:
            go(config, setting[1], out, stop)
    assert_same_run(tmp_path / "resumed", tmp_path / "whole")


def steps_of_ranks(setting, ranks: Ranks, monkeypatch, *, of_a_gpu: bool, **settings) -> list:
    """Three steps, the second with an infinite loss on the last rank; what they gave, weights."""
    config, corpus = setting
    config = complete(with_values(config, settings), corpus)
    model = initialise(Transformer(config.model), 1)
    optimizer = make_optimizer(model, config)
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 300, 4, 1)
    use_order(monkeypatch, of_a_gpu=of_a_gpu)
    gradient_sync = training_step.make_gradient_sync(config, ranks, model)
    found: list[object] = []
    for step in range(1, 4):
        is_bad = step == 2 and ranks.rank == ranks.world_size - 1
        poisoned(monkeypatch, "loss" if is_bad else "")
        result = take_step(
            model, optimizer, config, ranks, corpus.train, plan, Position(0, step), step,
            gradient_sync=gradient_sync,
        )  # fmt: skip
        found.append(repr(result))
    tensors = [*model.parameters(), *(v for s in optimizer.state.values() for v in s.values())]
    return [*found, *(tensor.detach().numpy().tobytes() for tensor in tensors)]


@pytest.mark.parametrize("deterministic", [False, True])
def test_ranks_skip_together_in_the_order_of_a_gpu(setting, monkeypatch, deterministic) -> None:
    """The sums of several ranks are on the CPU already, or, with --deterministic, on the device."""
    settings = {"train.deterministic": deterministic, "train.max_gradient_norm": 0.1}
    steps = lambda ranks, of_a_gpu: steps_of_ranks(  # noqa: E731
        setting, ranks, monkeypatch, of_a_gpu=of_a_gpu, **settings
    )
    late, plain = (
        [outcome.result for outcome in in_ranks(lambda ranks, yes=yes: steps(ranks, yes))]
        for yes in (True, False)
    )
    assert ["skipped=True" in line for line in late[0][:3]] == [False, True, False]
    assert late == plain
    assert late[0] == late[1]


def gradients_of_seed(seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=generator) for size in (1, 70, 300)]


@pytest.mark.parametrize("max_norm", [0.0, 1e-3, 0.3, 1.7, 19.0, 1e9])
def test_clipping_by_a_tensor_gives_the_same_bits(max_norm) -> None:
    changed = 0
    for seed in range(50):
        gradients, expected = gradients_of_seed(seed), gradients_of_seed(seed)
        norm = torch.nn.utils.get_total_norm(gradients)
        clip(expected, norm.item(), max_norm)
        clip_on_device(gradients, norm, max_norm)
        assert all(map(torch.equal, gradients, expected))
        changed += not all(map(torch.equal, gradients, gradients_of_seed(seed)))
    assert (changed > 0) == (0.0 < max_norm < 1e9)


def test_clipping_by_a_tensor_divides_as_python_does() -> None:
    """With a product with the reciprocal of 3.0, the factor would be 0.5."""
    gradients, expected = [torch.tensor([3.0])], [torch.tensor([3.0])]
    max_norm = float.fromhex("0x1.8000018000001p+0")
    clip(expected, 3.0, max_norm)
    clip_on_device(gradients, torch.tensor(3.0), max_norm)
    assert gradients[0].item() == expected[0].item() > 1.5


def test_a_gradient_of_the_largest_norm_is_not_clipped() -> None:
    """Zeros stay zeros, too: they are not divided by their norm."""
    for gradients, max_norm in (([torch.tensor([3.0, 4.0])], 5.0), ([torch.zeros(2)], 1.0)):
        before = gradients[0].clone()
        clip_on_device(gradients, torch.nn.utils.get_total_norm(gradients), max_norm)
        assert torch.equal(gradients[0], before)


def test_only_a_gpu_updates_before_reading() -> None:
    assert updates_before_reading(torch.device("cuda", 0))
    assert not updates_before_reading(torch.device("cpu"))


class FakeNumbers:
    """Numbers on a GPU: what is asked of it and of its stream, in order."""

    is_cuda = True
    device = torch.device("cuda", 3)

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[object] = []
        monkeypatch.setattr(torch.cuda, "current_stream", self._stream)

    def to(self, device: str, *, non_blocking: bool) -> "FakeNumbers":
        self.events.append(("copy", device, non_blocking))
        return self

    def _stream(self, device: torch.device) -> "FakeNumbers":
        self.events.append(("stream", device.index))
        return self

    def record_event(self) -> "FakeNumbers":
        self.events.append("record")
        return self

    def synchronize(self) -> None:
        self.events.append("wait")

    def tolist(self) -> list[float]:
        self.events.append("read")
        return [1.0, 2.0]


def test_reading_waits_for_the_copy_alone(monkeypatch) -> None:
    numbers = FakeNumbers(monkeypatch)
    read = start_reading(numbers)
    started = [("copy", "cpu", True), ("stream", 3), "record"]
    assert numbers.events == started
    assert read() == [1.0, 2.0]
    assert numbers.events == [*started, "wait", "read"]


def noted(events: list[str], name: str, work: Callable) -> Callable:
    def call(*arguments, **options):
        events.append(name)
        return work(*arguments, **options)

    return call


def simple_loss(model: Transformer, *_: object) -> Loss:
    """A loss without a batch: that of a batch has its own parts on a CPU."""
    total = torch.stack([weight.square().sum() for weight in model.parameters()]).sum()
    return Loss(total, total.detach(), total.detach())


def test_the_copy_is_started_before_the_update_and_read_after_it(setting, monkeypatch) -> None:
    """Nothing else in the step waits: an item, a tensor made of numbers, a size that depends."""
    config, corpus = setting
    config = complete(with_values(config, {"train.max_gradient_norm": 0.1}), corpus)
    model = initialise(Transformer(config.model), 1)
    optimizer = make_optimizer(model, config)
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 300, 2, 1)
    use_order(monkeypatch, of_a_gpu=True)
    events: list[str] = []
    read_later = lambda numbers: noted(events, "read", start_reading(numbers))  # noqa: E731
    monkeypatch.setattr(update, "start_reading", noted(events, "copy", read_later))
    monkeypatch.setattr(update, "clip_on_device", noted(events, "clip", clip_on_device))
    monkeypatch.setattr(adam, "adamw", noted(events, "adam", adam.adamw))
    monkeypatch.setattr(torch.Tensor, "tolist", noted(events, "list", torch.Tensor.tolist))
    monkeypatch.setattr(training_step, "shard_loss", simple_loss)
    batches = SimpleNamespace(batch=lambda *_: None)
    for step in (1, 2):
        events.clear()
        with NoWaiting():
            take_step(model, optimizer, config, Ranks(), batches, plan, Position(0, step), step)
        # Matrices and vectors.
        assert events == ["copy", "clip", "adam", "adam", "read", "list"]
