"""Adam is torch's, to the last bit, without what torch's class brings along."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus
from lanes import slow
from torch import nn

from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.training.optimizers.factory import make_optimizer, set_learning_rate

TRAIN = TrainConfig(beta1=0.8, beta2=0.95, epsilon=1e-6, weight_decay=0.1)


def layers() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 2, bias=False))


def test_adam_steps_equal_torch_adamw() -> None:
    """A weight without a gradient keeps its count of steps; matrices alone decay."""
    ours, theirs = layers(), layers()
    optimizer = make_optimizer(ours, Config(train=TRAIN))
    matrices = [parameter for parameter in theirs.parameters() if parameter.dim() == 2]
    vectors = [parameter for parameter in theirs.parameters() if parameter.dim() == 1]
    reference = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
        betas=(0.8, 0.95), eps=1e-6, fused=True,
    )  # fmt: skip
    for step in range(1, 5):
        rate = 0.01 * step
        set_learning_rate(optimizer, rate)
        for group in reference.param_groups:
            group["lr"] = rate
        for index, pair in enumerate(zip(ours.parameters(), theirs.parameters(), strict=True)):
            gradient = torch.randn_like(pair[0]) if index != step else None
            for weight in pair:
                weight.grad = gradient
        optimizer.step()
        reference.step()
    for weight, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(weight, other)
        state, expected = optimizer.state[weight], reference.state[other]
        assert state.keys() == expected.keys()
        assert all(torch.equal(state[key], expected[key]) for key in state)


@pytest.mark.parametrize("kind", ["adam", "muon", "schedule_free"])
def test_zero_grad_drops_all_gradients(kind) -> None:
    model = layers()
    optimizer = make_optimizer(model, Config(train=TrainConfig(optimizer=kind)))
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    optimizer.zero_grad()
    assert [weight.grad for weight in model.parameters()] == [None] * 5


@pytest.mark.parametrize("kind", [slow("adam"), "muon", slow("schedule_free")])
def test_training_on_a_cpu_does_not_load_torch_s_compiler(kind, tmp_path: Path) -> None:
    """It would take longer than all else at the start."""
    settings = {"train_optimizer": kind, "train_schedule": "constant"}
    reversal_corpus(tmp_path, **settings)
    program = (
        "import sys; from pathlib import Path; from nmt_cli.data.corpus.corpus import Corpus; "
        "from corpora import tiny_config; from nmt_cli.training.loop import train; "
        "folder = Path(sys.argv[1]); corpus = Corpus.open(folder / 'corpus'); "
        f"config = tiny_config(train_max_steps=3, **{settings!r}); "
        "list(train(config, corpus, folder / 'model')); "
        "print([name for name in sys.modules if name in ('torch._dynamo', 'sympy', 'triton')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"
