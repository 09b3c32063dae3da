"""Each exit code of the table is reached by a real way, and the table holds all there are."""

import os
import signal
from pathlib import Path

import pytest
from corpora import reversal_corpus
from faults.support.forked import forked

import nmt_cli.training.step
from nmt_cli import errors
from nmt_cli.cli import app, environment, settings, signals
from nmt_cli.cli.docs import guide
from nmt_cli.cli.exit_codes import OTHERS, STABLE, exit_codes
from nmt_cli.data.text.streams import STDIN
from nmt_cli.storage.locks import locked
from nmt_cli.training.parallel import ranks

PROMISED = {
    0, 1, 2, 3, 4, 65, 66, 69, 73, 74, 75, 78, 129, 130, 137, 141, 143,
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _, made = reversal_corpus(tmp_path_factory.mktemp("corpus"), pairs=40)
    return made.path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").write_text("a dog\n")
    (tmp_path / "copy").write_text("a dog\n")
    (tmp_path / "two").write_text("a dog\na cat\n")
    return tmp_path


def training(corpus: Path, *more: str) -> list[str]:
    """A command that trains a tiny model."""
    config = corpus / "config.toml"
    return ["train", "--config", str(config), "--corpus", str(corpus), "--out", "model",
            "--max-steps", "60", *more]  # fmt: skip


def test_exit_code_table_is_the_documented_one() -> None:
    assert set(exit_codes()) == PROMISED
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    assert {kind.exit_code for kind in kinds} == PROMISED - set(OTHERS) | {1}
    assert set(signals.EXIT_CODES.values()) <= PROMISED
    assert signals.INTERRUPTED in PROMISED
    assert {environment.EXIT_BROKEN_PIPE, environment.EXIT_WRITE_ERROR} <= PROMISED
    for signal_number, code in signals.EXIT_CODES.items():
        assert code in (75, 128 + signal_number)


def test_meaning_of_a_code_is_that_of_the_most_general_error() -> None:
    assert exit_codes()[errors.TryAgainError.exit_code].startswith("a temporary failure")


def test_exit_code_table_is_in_the_cli_guide() -> None:
    text = guide()
    assert STABLE in text
    assert "semantic versioning" in STABLE
    for code, meaning in exit_codes().items():
        assert f"| {code} | {meaning} |\n" in text


WAYS = [
    (0, ["--version"]),
    (2, ["trian"]),
    (2, ["score", "--nonsense"]),
    (3, ["score", "one", "copy", "--max", "ter=-1"]),
    (65, ["score", "one", "two"]),
    (66, ["score", "one", "absent"]),
    (66, ["translate", "--model", "absent", "one"]),
    (69, ["score", "one", "one", "--tokenize", "flores101"]),
    (73, ["prepare", "--train", "one", "copy", "--out", "one"]),
    (78, ["config", "show", "--set", "model.heads=x"]),
    (78, ["translate", "--model", ".", "one"]),
]


@pytest.mark.parametrize(("code", "arguments"), WAYS)
def test_each_exit_code_can_be_provoked(
    code: int, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if code == 69:
        # Its tokenizer's file would have to be fetched.
        monkeypatch.setenv("SACREBLEU", "/dev/null/absent")
    ended = forked(*arguments)
    assert ended.code == code, ended.err
    assert (b"error: " in ended.err) == (code not in (0,))


def test_exit_code_of_a_bug_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "invoke", lambda arguments: 1 / 0)
    ended = forked("score", "one", "one")
    assert ended.code == 1
    assert b"this is a bug in nmt" in ended.err


@pytest.mark.slow
def test_exit_code_of_diverged_training_is_4(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = nmt_cli.training.step.shard_loss
    monkeypatch.setattr(
        nmt_cli.training.step, "shard_loss", lambda *rest: _without_numbers(real(*rest))
    )
    ended = forked(*training(corpus, "--set", "train.checkpoint_every=1000"))
    assert ended.code == 4, ended.err


def _without_numbers(loss: object) -> object:
    total, *rest = loss  # type: ignore[misc]
    return type(loss)(total * float("nan"), *rest)


def test_exit_code_of_a_full_disk_is_74() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        assert forked("config", "show", stdout=full).code == 74
    finally:
        os.close(full)


def test_exit_code_of_a_locked_directory_is_75(corpus: Path) -> None:
    Path("model").mkdir()
    with locked(Path("model")):
        ended = forked(*training(corpus))
    assert ended.code == 75, ended.err
    assert b"in use" in ended.err


def test_exit_code_of_a_killed_rank_is_137(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_: object) -> int:
        return ranks.exit_code_of({0: -9, 1: 0}, {0: 1, 1: 1})

    monkeypatch.setattr(ranks, "launch", launch)
    ended = forked(*training(corpus, "--gpus", "2"))
    assert ended.code == 137, ended.err


def test_exit_code_of_a_broken_pipe_is_141() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        ended = forked("config", "show", stdout=theirs)
    finally:
        os.close(theirs)
    assert (ended.code, ended.err) == (141, b"")


@pytest.mark.parametrize(
    ("signal_number", "code"),
    [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 75)],
)
def test_exit_codes_of_training_stopped_by_signals(
    signal_number: signal.Signals, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        settings, "resolve_settings", lambda *_, **__: os.kill(os.getpid(), signal_number)
    )
    assert forked("train").code == code


def test_exit_code_of_ctrl_c_is_130_for_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        settings, "resolve_settings", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)
    )
    assert forked("score", "one", STDIN).code == 130
