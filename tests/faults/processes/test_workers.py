"""Processes that work beside training: killed ones are told, and no shared memory is needed."""

import ctypes
import os
import signal
import traceback
from pathlib import Path
from typing import NoReturn

import pytest
from corpora import reversal_pairs, tiny_config, write_pairs
from faults.support.forked import ended, start
from faults.tally import fault
from ranks import in_ranks

from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.errors import TryAgainError
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.saving.checkpoints import Checkpoints

NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000


@pytest.fixture
def spread_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes for the first task already."""
    monkeypatch.setattr("nmt_cli.data.process_pool.ALONE_SECONDS", -1.0)


def die(number: int) -> int:
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@fault("S8")
@pytest.mark.slow
def test_killed_worker_is_reported(spread_at_once):
    with (
        ProcessPool(2) as workers,
        pytest.raises(TryAgainError, match="worker process was killed") as caught,
    ):
        list(workers.map(die, range(9)))
    assert caught.value.exit_code == 75
    assert "--workers 1" in caught.value.hint


@fault("S8")
def test_training_saves_and_resumes_after_killed_worker(tmp_path, monkeypatch):
    """At the second epoch, which has its subwords drawn anew."""
    words = [(src.replace(" ", ""), tgt.replace(" ", "")) for src, tgt in reversal_pairs(200, 1)]
    pairs = write_pairs(tmp_path, "train", words)
    config = tiny_config(
        data_train=[pairs], data_subwords="bpe", data_vocab_size=40, train_subword_dropout=0.1,
        train_checkpoint_every=100,
    )  # fmt: skip
    prepare(config, tmp_path / "corpus", workers=1)
    corpus = Corpus.open(tmp_path / "corpus")
    real = ProcessPool.map
    epochs: list[int] = []

    def broken(self, function, tasks):
        epochs.append(1)
        # Both sides of the first epoch, which is drawn before training too.
        if len(epochs) > 4:
            raise TryAgainError("a worker process was killed: was there too little memory?")
        return real(self, function, tasks)

    with monkeypatch.context() as patch:
        patch.setattr(ProcessPool, "map", broken)
        with pytest.raises(TryAgainError, match="worker process was killed"):
            list(train(config, corpus, tmp_path / "model"))
    (saved,) = Checkpoints(tmp_path / "model/checkpoints", 5, 1).all()
    assert saved.step > 1
    reports = list(train(config, corpus, tmp_path / "model"))
    assert reports[0].note == f"continues after step {saved.step}"
    assert reports[-1].step == 20


def own_shared_memory(size: str) -> str:
    """Give this process, alone, a /dev/shm of that size; why that cannot be, or nothing."""
    library = ctypes.CDLL(None, use_errno=True)
    flags = NEW_MOUNTS if os.getuid() == 0 else NEW_MOUNTS | NEW_USER
    if library.unshare(flags):
        return os.strerror(ctypes.get_errno())
    private = 1 << 18 | 1 << 14
    library.mount(b"none", b"/", None, private, None)
    if library.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, f"size={size}".encode()):
        return os.strerror(ctypes.get_errno())
    return ""


@fault("S9")
@pytest.mark.slow
def test_prepare_and_train_need_little_shared_memory(tmp_path, spread_at_once):
    """Prepare with processes in a megabyte; train on two ranks when that is full, too."""
    pairs = write_pairs(tmp_path, "train", reversal_pairs(2_000, 1))
    config = tiny_config(data_train=[pairs], data_drop_duplicates=False, train_max_steps=4)
    config = with_values(config, {"train.micro_batch_tokens": 75})

    def work() -> NoReturn:
        try:
            if why := own_shared_memory("1m"):
                print(f"no /dev/shm of its own: {why}")
                os._exit(77)
            assert os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize == 1 << 20
            prepare(config, tmp_path / "corpus", workers=2)
            with pytest.raises(OSError, match="No space"):
                (Path("/dev/shm") / "filled").write_bytes(b"x" * (2 << 20))
            corpus = Corpus.open(tmp_path / "corpus")

            def steps(ranks: Ranks) -> int:
                return [report.step for report in train(config, corpus, tmp_path / "m", ranks)][-1:]

            first, second = in_ranks(steps)
            assert (first.error, second.error) == (None, None)
            assert first.result == [4]
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    code = ended(start(work))
    if code == 77:
        pytest.skip("no mounts of its own for an ordinary user here")
    assert code == 0
