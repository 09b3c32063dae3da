"""Fixtures that several test files share; torch is imported only by the tests that ask for it."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sys

# Commands of hints are run by a shell, where they call `nmt`.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])  # noqa: PTH120
# Tiny models lose by threads; set before torch is loaded, for commands started by tests too.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Triton reads this once, when it is first imported, by torch too: no single test could set it in
# time. Kernels then run on the CPU; nothing else uses Triton here. 0 tests them on a GPU.
os.environ.setdefault("TRITON_INTERPRET", "1")
# torch reads this once, too: tests that compare a run of this process with a command's, bit by bit,
# need the value that training sets (model/precision.py), whichever test comes first.
from nmt_cli.kernels.training import can_have_training_kernels

os.environ.setdefault(
    "TORCH_MKLDNN_MATMUL_MIN_SIZE", "2000000" if can_have_training_kernels() else "16000000"
)

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jaxtyping
import pytest
from hypothesis import settings
from variants import Settings, model_config

if TYPE_CHECKING:
    from nmt_cli.batch import Batch
    from nmt_cli.config.schema import ModelConfig
    from nmt_cli.model.transformer import Transformer

pytest_plugins = ["faults.tally", "faults.network", "pytester"]

# A busy machine is no failure, and the same run twice gives the same answer.
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.load_profile("suite")

# Behind `nohup` or a shell's `&` these are ignored: so they would be in the commands under test.
HANDLERS = {
    signal.SIGINT: signal.default_int_handler,
    **dict.fromkeys((signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1), signal.SIG_DFL),
}

# A collection takes a tenth of a second.
IS_TIME_TO_FREE = itertools.cycle([*[False] * 7, True])

# Checking the shape of each argument doubles the time of a search. It is done where the model and
# the search are tested themselves, and in all slow tests.
TESTS_OF_SHAPES = (
    "golden", "learning", "model", "oracles", "paper", "search", "training",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check shapes (jaxtyping) in some tests only; before their fixtures."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    checks = folder in TESTS_OF_SHAPES or item.get_closest_marker("slow") is not None
    jaxtyping.config.update("jaxtyping_disable", not checks)


def pytest_runtest_teardown() -> None:
    """Free the models that commands have frozen, which expect the end of their process."""
    if gc.get_freeze_count() and next(IS_TIME_TO_FREE):
        gc.unfreeze()
        gc.collect()


def set_handlers() -> None:
    """Let signals do what they do in a process that has just begun."""
    for signal_number, handler in HANDLERS.items():
        signal.signal(signal_number, handler)


set_handlers()


@pytest.fixture(autouse=True)
def own_process() -> Iterator[None]:
    """What a command under test does with signals, and with its children, ends with the test."""
    safe = os.environ.get("PYTHONSAFEPATH")
    yield
    set_handlers()
    if safe is None:
        os.environ.pop("PYTHONSAFEPATH", None)


@pytest.fixture
def make_model() -> Callable[[Settings], Transformer]:
    """A tiny float64 model whose every weight, biases and norms too, is random."""
    import torch

    from nmt_cli.model.transformer import Transformer

    def make(settings: Settings) -> Transformer:
        generator = torch.Generator().manual_seed(7)
        model = Transformer(model_config(settings)).double().eval()
        for path, weight in model.named_parameters():
            mean = 1.0 if path.endswith("norm.weight") else 0.0
            torch.nn.init.normal_(weight, mean, 0.4, generator=generator)
        return model

    return make


@pytest.fixture
def random_batch() -> Callable[[ModelConfig, Sequence[int], Sequence[int]], Batch]:
    """A batch of random ids with the given source and target lengths."""
    import numpy as np

    from nmt_cli.batch import make_batch

    def make(config: ModelConfig, src_lengths: Sequence[int], tgt_lengths: Sequence[int]) -> Batch:
        chooser = np.random.default_rng(5)
        sizes = config.src_vocab_size, config.tgt_vocab_size
        sides = [
            [chooser.integers(4, size, length) for length in lengths]
            for size, lengths in zip(sizes, (src_lengths, tgt_lengths), strict=True)
        ]
        return make_batch(*sides, range(len(src_lengths)), config.bos_id)

    return make


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache folder during the tests: kernels are compiled there once, not at home."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # The folder of all workers.
        folder = folder.parent
    folder = folder / "cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder / "nmt"
