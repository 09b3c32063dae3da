"""Signals that ask to stop, in any phase and on any rank: saved, ended with the right code."""

import hashlib
import importlib
import inspect
import json
import os
import pkgutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest
from corpora import reversal_corpus
from faults.support.forked import become_nmt, ended, forked, start
from faults.tally import fault
from processes import is_alive, wait_until
from ranks import in_ranks
from torch.distributed.elastic.multiprocessing.api import SignalException

from nmt_cli.cli import main
from nmt_cli.cli.environment import LAUNCHER, SERVER, leave
from nmt_cli.cli.signals import StopSignals
from nmt_cli.config.schema import dump, with_values
from nmt_cli.storage.files import sha256_of
from nmt_cli.training.evaluation.model_selection import ModelSelector
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.heartbeat import LostRankError
from nmt_cli.training.parallel.ranks import Ranks, launch
from nmt_cli.training.saving.checkpoints import Checkpoint, Checkpoints

SBATCH = Path(__file__).resolve().parents[3] / "recipes/slurm/train.sbatch"


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    return reversal_corpus(
        tmp_path_factory.mktemp("signals"), train_batch_tokens=100, train_validation_sentences=10
    )


@pytest.fixture
def inside(setting, tmp_path, monkeypatch) -> Path:
    """The directory of a project, whose model is still to be trained."""
    config, corpus = setting
    (tmp_path / "nmt.toml").write_text(
        dump(with_values(config, {"paths.corpus": str(corpus.path)}))
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checkpoints(out: Path) -> list[Checkpoint]:
    return Checkpoints(out / "checkpoints", 5, 1).all()


def state_of(out: Path) -> dict[str, str]:
    """SHA-256 of the weights and the optimiser of the last checkpoint."""
    last = checkpoints(out)[-1]
    places = (last.directory, last.optimizer_directory)
    return {
        path.name: sha256_of(path)
        for directory in places
        for path in directory.glob("*.safetensors")
    }


# Where a signal comes in, and the step that is saved by then; 0: there is nothing to save yet.
PHASES = {
    "settings": ("nmt_cli.cli.settings.resolve_settings", 0),
    "loading": ("nmt_cli.data.corpus.corpus.Corpus.open", 0),
    "beginning": ("nmt_cli.training.run.initialise", 0),
    "first step": ("nmt_cli.training.run.take_step", 0),
    "making a batch": ("nmt_cli.data.corpus.corpus.Pairs.batch", 0),
    "compiling": ("nmt_cli.training.execution.compiled.CompiledHidden.__call__", 0),
    "saving": ("nmt_cli.training.saving.checkpoints.optimizer_tensors", 2),
    "validating": ("nmt_cli.training.evaluation.validation.shard_loss", 2),
    "decoding": ("nmt_cli.translation.translator.Translator.translate_window", 2),
    "last validation": ("nmt_cli.training.evaluation.model_selection.ModelSelector.select", 3),
}
CODES = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGUSR1: 75, signal.SIGHUP: 129}


def disturb(monkeypatch: pytest.MonkeyPatch, phase: str, send: Callable[[], None]) -> list[str]:
    """Call `send` at the first time that the phase comes; what is returned tells who went on."""
    function, _ = PHASES[phase]
    owner, _, name = function.rpartition(".")
    real = inspect.getattr_static(pkgutil.resolve_name(owner), name)
    went_on: list[str] = []
    sent = False

    def disturbed(*arguments, **options):
        nonlocal sent
        if not sent and (phase != "last validation" or arguments[1].step == 3):
            sent = True
            send()
            went_on.append(phase)
        if phase == "compiling":
            return arguments[0].plain(*arguments[1:])
        return real(*arguments, **options)

    if isinstance(real, classmethod):
        real = getattr(pkgutil.resolve_name(owner), name)
        disturbed = staticmethod(disturbed)
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.POLL_SECONDS", 0.0)
    monkeypatch.setattr("nmt_cli.training.evaluation.validation.WINDOW", {"cpu": 4})
    monkeypatch.setattr(function, disturbed)
    return went_on


def every(phase: str) -> int:
    """Steps between checkpoints, where 3 steps are the whole run."""
    return 3 if phase == "last validation" else 2


@fault("S1", "S2", "S4")
@pytest.mark.parametrize(
    ("phase", "signal_number"),
    [(phase, signal.SIGTERM) for phase in PHASES]
    + [(phase, signal_number) for phase in ("loading", "validating") for signal_number in CODES],
)
def test_signal_in_any_phase_saves_and_ends_with_its_code(
    inside, monkeypatch, phase, signal_number
):
    """The same command then goes on and validates what was not validated."""
    sent: list[int] = []

    def send() -> None:
        sent.append(signal_number)
        os.kill(os.getpid(), signal_number)

    options = ["--max-steps", "3", "--set", f"train.checkpoint_every={every(phase)}", "--quiet"]
    if phase == "compiling":
        options += ["--set", "train.packing=packed", "--set", "train.compile=on"]
        # The compiler itself is not called.
        monkeypatch.setattr("nmt_cli.training.loop.check_compile", lambda *_: None)
    step = PHASES[phase][1]
    with monkeypatch.context() as patch:
        went_on = disturb(patch, phase, send)
        assert main(["train", *options]) == CODES[signal_number]
    assert sent == [signal_number]
    # With nothing to save there is nothing to wait for.
    assert went_on == ([phase] if step else [])
    saved = checkpoints(inside / "model")
    assert [checkpoint.step for checkpoint in saved] == ([step] if step else [])
    if phase == "compiling":
        return
    if step:
        assert saved[0].state().validated < step
    assert main(["train", *options]) == 0
    assert checkpoints(inside / "model")[-1].state().validated == 3


# Sends a signal while it is imported, and goes on half loaded, as libraries in C do.
SWALLOWS = """
import os, signal
try:
    os.kill(os.getpid(), signal.{name})
    whole = True
except BaseException:
    pass
print("went on")
"""


@fault("S1", "S3")
@pytest.mark.parametrize(
    ("command", "signal_number", "code"),
    [("train", signal_number, code) for signal_number, code in CODES.items()]
    + [("translate", signal.SIGINT, 130), ("translate", signal.SIGTERM, 143)],
)
def test_signal_during_an_import_ends_cleanly(inside, monkeypatch, command, signal_number, code):
    """Nothing goes on that half a library has been loaded for."""
    (inside / "swallows.py").write_text(SWALLOWS.format(name=signal_number.name))
    monkeypatch.syspath_prepend(inside)
    for module in ("settings", "commands.translate"):
        monkeypatch.setattr(
            f"nmt_cli.cli.{module}.resolve_settings",
            lambda *_, **__: importlib.import_module("swallows"),
        )
    done = forked(command)
    assert (done.code, done.out) == (code, b"")
    message = {130: b"interrupted\n", 143: b"terminated (SIGTERM)\n"}
    assert done.err == (message[code] if command == "translate" else b"")


# A command that loads a library while a pool of processes works, as the demo does.
WITH_POOL = """
import time
from nmt_cli.cli.signals import handle_signals
from nmt_cli.data.process_pool import ProcessPool
handle_signals()
with ProcessPool(2) as pool:
    next(pool.start(time.sleep, [0.0, 60.0]))
    import swallows
"""


@fault("S1")
def test_interrupt_during_an_import_ends_the_pool_and_leaves_no_semaphore(tmp_path):
    """The resource tracker of multiprocessing would write a warning."""
    (tmp_path / "swallows.py").write_text(SWALLOWS.format(name="SIGINT"))
    path = os.pathsep.join([str(tmp_path), *sys.path])
    # Ends when all processes that have its streams have ended.
    done = subprocess.run(
        [sys.executable, "-c", WITH_POOL],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, timeout=50, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"interrupted\n")


@fault("S1")
def test_interrupt_before_the_demo_trains_ends_it_at_once(tmp_path, monkeypatch):
    def interrupted(*_: object, **__: object) -> NoReturn:
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the command went on")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nmt_cli.extras.demo.files.TRAIN_PAIRS", 100)
    monkeypatch.setattr("nmt_cli.extras.demo.run.prepare", interrupted)
    done = forked("demo", "demo")
    assert done.code == 130
    assert done.err.endswith(b"$ nmt prepare\ninterrupted\n")


class Interrupting:
    """Gets a signal while it is deleted, where Python ignores exceptions."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)
        time.sleep(0)


@fault("S1", "S3")
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, b"interrupted\n"), (signal.SIGTERM, 143, b"terminated (SIGTERM)\n")],
)
def test_interrupt_in_a_destructor_ends_the_command(inside, monkeypatch, number, code, message):
    def resolve_settings(*_: object, **__: object) -> NoReturn:
        Interrupting(number)
        raise AssertionError("the command went on")

    monkeypatch.setattr("nmt_cli.cli.commands.translate.resolve_settings", resolve_settings)
    done = forked("translate")
    assert (done.code, done.out, done.err) == (code, b"", message)


ON_RANKS = ("first step", "making a batch", "saving", "validating", "decoding", "last validation")


@fault("S1")
@pytest.mark.slow
@pytest.mark.parametrize("phase", ON_RANKS)
def test_signal_to_any_rank_ends_all_ranks(setting, tmp_path, monkeypatch, phase, checks):
    """It comes to one of three ranks while the first one is in that phase."""
    config, corpus = setting
    values = {"train.max_steps": 3, "train.checkpoint_every": every(phase)}
    config = with_values(config, {**values, "train.micro_batch_tokens": 40})
    # These ranks wait for the end of the first step.
    step = max(1, PHASES[phase][1])
    for signalled in range(3):
        folder = tmp_path / str(signalled)
        folder.mkdir()

        def work(ranks: Ranks, signalled=signalled, folder=folder) -> int:
            (folder / f"rank-{ranks.rank}").write_text(str(os.getpid()))
            stop = StopSignals()
            ranks.wait()
            if ranks.is_first:
                other = int((folder / f"rank-{signalled}").read_text())
                disturb(monkeypatch, phase, lambda: os.kill(other, signal.SIGTERM))
            for _ in train(config, corpus, folder / "model", ranks, stop):
                pass
            return stop.exit_code

        ends = in_ranks(work, count=3)
        assert [end.error for end in ends] == [None] * 3
        assert [end.result for end in ends] == [
            143 if rank == signalled else 0 for rank in range(3)
        ]
        assert [checkpoint.step for checkpoint in checkpoints(folder / "model")] == [step]
        checks()


@fault("S1")
@pytest.mark.parametrize("signalled", range(3))
def test_signal_to_any_rank_before_first_step_leaves_no_process(
    setting, tmp_path, monkeypatch, signalled
):
    config, corpus = setting

    def work(ranks: Ranks) -> None:
        stop = StopSignals(at_once=True)
        if ranks.rank == signalled:
            disturb(monkeypatch, "beginning", lambda: os.kill(os.getpid(), signal.SIGTERM))
        for _ in train(config, corpus, tmp_path / "model", ranks, stop):
            pass

    ends = in_ranks(work, count=3)
    assert isinstance(ends[signalled].error, SystemExit)
    assert ends[signalled].error.code == 143
    for end in ends[:signalled] + ends[signalled + 1 :]:
        assert isinstance(end.error, LostRankError)
        # What ranks tell each other goes through the first one.
        assert not signalled or f"rank {signalled} ended in the start: 143" in str(end.error)
    assert checkpoints(tmp_path / "model") == []


@fault("S1")
def test_stop_during_validation_is_immediate_and_validated_later(setting, tmp_path, monkeypatch):
    """Given up while the model holds the mean of checkpoints; a later run validates."""
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.POLL_SECONDS", 0.0)
    config, corpus = setting
    values = {"train.checkpoint_every": 4, "train.validate_every": 10}
    config = with_values(config, {**values, "train.validation_sentences": 0})
    out, undisturbed = tmp_path / "model", tmp_path / "undisturbed"
    list(train(config, corpus, undisturbed))
    asked = False
    real = ModelSelector._validate

    def disturbed(self, candidate, *others):
        nonlocal asked
        asked = candidate.kind == "mean"
        return real(self, candidate, *others)

    with monkeypatch.context() as patch:
        patch.setattr(ModelSelector, "_validate", disturbed)
        for _ in train(config, corpus, out, stop=lambda: asked):
            pass
    saved = checkpoints(out)[-1]
    assert (saved.step, saved.state().validated) == (10, 0)
    list(train(config, corpus, out))
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records if "validation" in record] == [10, 20]
    assert state_of(out) == state_of(undisturbed)
    assert checkpoints(out)[-1].state().scores == checkpoints(undisturbed)[-1].state().scores


# The task of a job, which gets the signal of a time limit once, when it has come to step 7.
SRUN = """#!/usr/bin/env bash
while [[ $1 == --* ]]; do [[ $1 == --output=* ]] && log=${1#--output=}; shift; done
SLURM_PROCID=0 SLURM_LOCALID=0 "$@" >> "${log//%t/0}" 2>&1 &
while ! [ -e reached ] && kill -0 $!; do sleep 0.05; done
[ -e sent ] || { kill -USR1 $!; touch sent; }
wait $!
"""
SCONTROL = """#!/usr/bin/env bash
if [ "$1 $2" = "show hostnames" ]; then echo first; else echo "$*" >> requeued; fi
"""
NMT = """#!{python}
import sys, time
from pathlib import Path
from nmt_cli.cli import run as nmt
from nmt_cli.training import run
real = run.take_step
def step(*given):
    if given[7] == 7:
        Path("reached").touch()
        while not Path("sent").exists():
            time.sleep(0.01)
    return real(*given)
run.take_step = step
nmt()
"""


@fault("S2")
@pytest.mark.slow
def test_preemption_by_scheduler_loses_no_step(setting, inside, checks):
    """The batch file of the recipes; the state at the end is that of an undisturbed run."""
    config, corpus = setting
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("nmt", NMT)):
        (inside / name).write_text(text.replace("{python}", sys.executable))
        (inside / name).chmod(0o755)
    root = str(SBATCH.parents[2])
    environment = {
        **os.environ, "PATH": f"{inside}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": root,
        "SLURM_JOB_ID": "41234", "SLURM_NTASKS": "1", "SLURM_JOB_NODELIST": "node1",
    }  # fmt: skip
    codes = []
    while not codes or (len(codes) < 5 and (inside / "requeued").exists()):
        (inside / "requeued").unlink(missing_ok=True)
        codes.append(subprocess.run([SBATCH], env=environment, capture_output=True).returncode)
    assert codes == [75, 0], (inside / "logs/41234/rank-0.log").read_text()
    checks()
    list(train(config, corpus, inside / "undisturbed"))
    assert state_of(inside / "model") == state_of(inside / "undisturbed")
    checks()


def nmt_train(*options: str) -> int:
    """The number of a forked `nmt train`; its stderr goes to the file `said`."""

    def work() -> NoReturn:
        file = os.open("said", os.O_WRONLY | os.O_CREAT)
        become_nmt(["train", *options], (os.open(os.devnull, os.O_RDONLY), file, file))

    return start(work)


def pausing_step(monkeypatch: pytest.MonkeyPatch, at: int, seconds: float) -> None:
    """Let a step last long; the file `at` tells when it has begun."""
    real = pkgutil.resolve_name("nmt_cli.training.run.take_step")

    def step(*arguments):
        if arguments[7] == at:
            Path("at").touch()
            end = time.monotonic() + seconds
            while time.monotonic() < end and not Path("go").exists():
                time.sleep(0.01)
        return real(*arguments)

    monkeypatch.setattr("nmt_cli.training.run.take_step", step)


@fault("S3")
@pytest.mark.parametrize(
    ("number", "code", "again"),
    [
        (signal.SIGINT, 130, "press Ctrl-C again to stop at once"),
        # Its sender may have no terminal.
        (signal.SIGTERM, 143, "after SIGTERM, `kill -INT {}` stops at once"),
    ],
)
def test_signal_saves_and_what_stops_at_once_is_explained(inside, monkeypatch, number, code, again):
    pausing_step(monkeypatch, 3, 30)
    process = nmt_train("--set", "train.checkpoint_every=100", "--max-steps", "100")
    wait_until(Path("at").exists)
    os.kill(process, number)
    wait_until(lambda: again.format(process).encode() in Path("said").read_bytes())
    assert Path("said").read_bytes().count(b"stops at once") == (number == signal.SIGTERM)
    Path("go").touch()
    assert ended(process) == code
    assert [checkpoint.step for checkpoint in checkpoints(inside / "model")] == [3]


def compute(*_: object) -> NoReturn:
    """Like an operation of torch's: for a minute Python does not get its turn in this thread."""
    Path("at").touch()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 200_000_000)
    os._exit(1)


def compute_in_a_crew(*_: object) -> None:
    ThreadPoolExecutor(1, "replica").submit(compute).result()


@fault("S1", "S3")
@pytest.mark.parametrize("step", [compute, compute_in_a_crew])
def test_interrupt_in_the_first_step_ends_at_once(inside, monkeypatch, step):
    """There is nothing to save: the end of the step is not waited for."""
    monkeypatch.setattr("nmt_cli.training.run.take_step", step)
    process = nmt_train("--max-steps", "4")
    wait_until(Path("at").exists)
    os.kill(process, signal.SIGINT)
    assert ended(process) == 130
    assert b"nothing was trained yet" in Path("said").read_bytes()
    assert checkpoints(inside / "model") == []


@fault("S3")
def test_interrupt_does_not_wait_for_computing_threads(monkeypatch):
    codes: list[int] = []
    go_on = threading.Event()
    monkeypatch.setattr(os, "_exit", codes.append)
    # Another test may have started ranks or a server in this process.
    for module in (LAUNCHER, SERVER):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with ThreadPoolExecutor(1, "replica") as pool:
        pool.submit(go_on.wait, 30)
        with pytest.raises(SystemExit):
            leave(130)
        go_on.set()
    with pytest.raises(SystemExit):
        leave(130)
    assert codes == [130]


@fault("S3")
def test_second_interrupt_ends_at_once(inside, monkeypatch):
    """In the midst of a step; what was saved before stays good, and the next run goes on."""
    pausing_step(monkeypatch, 3, 15)
    process = nmt_train("--set", "train.checkpoint_every=2", "--max-steps", "4")
    wait_until(Path("at").exists)
    os.kill(process, signal.SIGINT)
    wait_until(lambda: b"at once" in Path("said").read_bytes())
    os.kill(process, signal.SIGINT)
    assert ended(process) == -signal.SIGINT
    assert [checkpoint.step for checkpoint in checkpoints(inside / "model")] == [2]
    Path("go").touch()
    assert forked("train", "--set", "train.checkpoint_every=2", "--max-steps", "4").code == 0
    assert [checkpoint.step for checkpoint in checkpoints(inside / "model")] == [2, 4]


@fault("S3")
def test_second_interrupt_of_launcher_ends_all_ranks_at_once(tmp_path, monkeypatch):
    """After the first one it waits for ranks that save."""

    class Launch:
        def __init__(self, *_):
            pass

        def __call__(self, *_):
            rank = subprocess.Popen(["sleep", "60"], start_new_session=True)
            (tmp_path / "rank").write_text(f"{rank.pid}")
            try:
                time.sleep(60)
            except SignalException:
                (tmp_path / "waits").touch()
                time.sleep(60)

    def work() -> NoReturn:
        os._exit(launch(2, []))

    monkeypatch.setattr("torch.distributed.launcher.api.elastic_launch", Launch)
    process = start(work)
    wait_until(lambda: (tmp_path / "rank").exists() and (tmp_path / "rank").read_text() != "")
    os.kill(process, signal.SIGINT)
    wait_until((tmp_path / "waits").exists)
    os.kill(process, signal.SIGINT)
    assert ended(process) == 130
    rank = int((tmp_path / "rank").read_text())
    try:
        wait_until(lambda: not is_alive(rank), 5)
    finally:
        if is_alive(rank):
            os.kill(rank, signal.SIGKILL)


@fault("S13")
def test_further_signals_do_not_disturb_the_end_of_a_command(inside, monkeypatch):
    """`timeout` sends SIGTERM to the command, and then to its whole group."""

    def resolve_settings(*_: object, **__: object) -> NoReturn:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        finally:
            for number in (signal.SIGTERM, signal.SIGHUP):
                os.kill(os.getpid(), number)
            Path("removed").touch()
        raise AssertionError("the command went on")

    monkeypatch.setattr("nmt_cli.cli.commands.translate.resolve_settings", resolve_settings)
    done = forked("translate")
    assert (done.code, done.out, done.err) == (143, b"", b"terminated (SIGTERM)\n")
    assert Path("removed").exists()


@fault("S4")
def test_ignored_signal_stays_ignored():
    """As under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = StopSignals()
    stop()
    os.kill(os.getpid(), signal.SIGHUP)
    assert not stop()
    os.kill(os.getpid(), signal.SIGTERM)
    assert stop()


@fault("S4")
@pytest.mark.slow
def test_ranks_continue_after_stop_and_continue_signals(checks):
    """For longer than they wait for one another; two of them in the midst of a message."""

    def work(ranks: Ranks) -> int:
        for step in range(1, 6):
            ranks.begin_step(step, [step])
            if step == 3:
                if ranks.is_first:
                    time.sleep(1)
                    send_later(14, signal.SIGCONT)
                    os.kill(os.getpid(), signal.SIGSTOP)
                    # Long enough for the others to look, twice, at how long they have waited.
                    time.sleep(6.5)
                else:
                    send_later(0.5, signal.SIGSTOP)
                    send_later(14, signal.SIGCONT)
            ranks.wait()
        return step

    ends = in_ranks(work, count=3, timeout=12.0)
    assert [end.error for end in ends] == [None] * 3
    assert [end.result for end in ends] == [5] * 3
    checks(3)


def send_later(seconds: float, signal_number: int) -> None:
    """Have another process send this one a signal."""
    subprocess.Popen(["bash", "-c", f"sleep {seconds}; kill -{int(signal_number)} {os.getpid()}"])


@fault("S4")
def test_training_continues_after_stop_and_continue_signals(setting, inside, monkeypatch):
    """Ctrl-Z and `fg`: the result is the same."""
    config, corpus = setting
    pausing_step(monkeypatch, 3, 30)
    process = nmt_train("--max-steps", "5")
    # As a shell does; what has no shell above it is not stopped by the terminal.
    os.setpgid(process, process)
    wait_until(Path("at").exists)
    os.kill(process, signal.SIGTSTP)
    assert os.WIFSTOPPED(os.waitpid(process, os.WUNTRACED)[1])
    Path("go").touch()
    os.kill(process, signal.SIGCONT)
    assert ended(process) == 0
    monkeypatch.undo()
    list(train(with_values(config, {"train.max_steps": 5}), corpus, inside / "undisturbed"))
    assert state_of(inside / "model") == state_of(inside / "undisturbed")


@fault("S5")
@pytest.mark.parametrize("signal_number", [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT])
def test_launcher_gives_ranks_minutes_to_save(monkeypatch, signal_number):
    given = []

    class Launch:
        def __init__(self, settings, *_):
            given.append(settings)

        def __call__(self, *_):
            if signal_number == signal.SIGINT:
                os.kill(os.getpid(), signal_number)
            raise SignalException("told to stop", signal_number)

    monkeypatch.setattr("torch.distributed.launcher.api.elastic_launch", Launch)
    monkeypatch.delenv("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert launch(2, []) == CODES[signal_number]
    assert os.environ["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "300"
    assert getattr(given[0], "shutdown_timeout", 300) == 300
    assert (signal_number.name in given[0].signals_to_handle.split(",")) == (
        signal_number != signal.SIGINT
    )
    # torch would start ranks again with nobody who saw why they ended; `launch` does that itself.
    assert given[0].max_restarts == 0
