"""Ranks: one process for each device, started through torch.distributed's own launcher."""

import contextlib
import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from nmt_cli.errors import NmtError, TryAgainError, UnavailableError
from nmt_cli.machine import child_processes, existing_signals, usable_cores
from nmt_cli.parent_watch import PARENT, request_parent_death_signal
from nmt_cli.plurals import counted
from nmt_cli.training.parallel.heartbeat import Heartbeat, LostRankError, RankStatus

# Exit codes of a rank that ended only because another one did.
CONSEQUENCES = (1, -signal.SIGTERM, 128 + signal.SIGTERM)
# Seconds after which the launcher kills the processes that are left of a failed group.
PATIENCE_SECONDS = 25
SAVING_SECONDS = 300
# torch's timeout comes after the heartbeat's, which can name the rank that is missing.
GRACE_SECONDS = 60
RANK_TIMEOUT = 1_800.0
# Messages between ranks while the first one works; the largest one counts.
DONE, BUSY, STOP = 0, 1, 2
POLL_SECONDS = 1.0
# Not SIGINT: torch's handler would wait for all ranks again when Ctrl-C is pressed twice.
SIGNALS = "SIGTERM,SIGHUP,SIGQUIT,SIGUSR1"


@dataclass(frozen=True)
class Ranks:
    """This process as one of a group; each has a model and a share of every step's shards.

    rank: from 0; world_size: processes in the group; device: of this one; heartbeat: None where the
    group has a single process.
    """

    rank: int = 0
    world_size: int = 1
    device: torch.device = torch.device("cpu")
    heartbeat: Heartbeat | None = None

    def __post_init__(self) -> None:
        """Give a GPU without a number that of the current one: other threads have another one."""
        if self.device.type == "cuda" and self.device.index is None:
            numbered = torch.device("cuda", torch.cuda.current_device())
            object.__setattr__(self, "device", numbered)

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that reports, validates and saves."""
        return self.rank == 0

    def waiting(self) -> contextlib.AbstractContextManager[None]:
        """The context of every collective operation: if it fails, LostRankError names the rank.

        All ranks enter it equally often, and in the same order.
        """
        return nullcontext() if self.heartbeat is None else self.heartbeat.waiting()

    def tree_all_reduce(self, vector: Tensor) -> None:
        """Replace `vector` by its sum over all ranks, a power of two, added up along a fixed tree.

        Rank r and rank r + W/2 first, then W/4 apart, and so on: `parallel.deterministic`. Raises
        LostRankError, here as everywhere, when another rank does not answer.
        """
        half = self.world_size // 2
        with self.waiting():
            while half:
                if self.rank < half:
                    other = torch.empty_like(vector)
                    dist.recv(other, self.rank + half)
                    vector += other
                elif self.rank < 2 * half:
                    dist.send(vector, self.rank - half)
                half //= 2
            if self.world_size > 1:
                dist.broadcast(vector, 0)

    def all_reduce_max(self, value: int) -> int:
        """The largest of all ranks' values."""
        if self.world_size == 1:
            return value
        shared = torch.tensor(value, dtype=torch.int64, device=self.device)
        with self.waiting():
            dist.all_reduce(shared, op=dist.ReduceOp.MAX)
            return int(shared)

    def begin_step(self, step: int, pairs: Iterable[int]) -> None:
        """Publish that this rank begins `step` with these pairs, for errors that name the rank."""
        if self.heartbeat is not None:
            self.heartbeat.begin_step(step, pairs)

    def run_on_first_or_fail(self, work: Callable[[], None]) -> None:
        """Do `work` on the first rank; if it raises an NmtError, every rank ends with its code."""
        failure = None
        if self.is_first:
            try:
                work()
            except NmtError as error:
                failure = error
        code = self.all_reduce_max(failure.exit_code if failure else 0)
        if failure is not None:
            raise failure
        if code:
            stopped = NmtError(f"rank {self.rank} ends because the first rank could not start")
            stopped.exit_code = code
            raise stopped

    def run_on_first(
        self, work: Callable[[Callable[[], bool]], None], stop: Callable[[], bool]
    ) -> bool:
        """Do `work` on the first rank while the others wait; whether any rank wants to stop.

        `work` gets a function to call from time to time; if that returns True, it should end at
        once. The ranks communicate in this function, so that no wait is longer than the timeout
        however long the work takes.
        """
        if not self.is_first:
            while (answer := self.all_reduce_max(STOP if stop() else DONE)) == BUSY:
                pass
            return answer == STOP
        asked = False
        latest = time.monotonic()

        def poll() -> bool:
            nonlocal asked, latest
            if not asked and time.monotonic() - latest >= POLL_SECONDS:
                asked = self.all_reduce_max(STOP if stop() else BUSY) == STOP
                latest = time.monotonic()
            return asked

        work(poll)
        return asked or self.all_reduce_max(DONE) == STOP

    def wait(self) -> None:
        """Wait until all ranks are here: a barrier."""
        if self.world_size > 1:
            self.all_reduce_max(0)


def is_launched() -> bool:
    """Whether a launcher (of nmt, torchrun or SLURM) has started this process as a rank."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def count_devices(gpus: int | None) -> int:
    """Processes for this machine: `gpus`, or one per GPU; without a GPU, one.

    Several without a GPU are as many CPU processes. Raises UnavailableError where there are fewer
    GPUs than `gpus`, or where torch can use none of them.
    """
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not available:
        _check_hidden_gpus()
    if gpus is None:
        return max(1, available)
    if available and gpus > available:
        raise UnavailableError(
            f"--gpus {gpus}: this machine has {counted(available, 'GPU')}",
            "`nmt doctor` shows the GPUs it finds",
        )
    return max(1, gpus)


def processes_for(gpus: int | None, warn: Callable[[str], None]) -> int:
    """As `count_devices`; warns where `gpus` was given but the machine has none."""
    processes = count_devices(gpus)
    if gpus is not None and not torch.cuda.is_available():
        how = "on the CPU" if gpus == 1 else f"in {gpus} CPU processes"
        warn(
            f"--gpus {gpus}: this machine has no GPU; training runs {how}, "
            f"on {counted(usable_cores(), 'core')}"
        )
    return processes


def _check_hidden_gpus() -> None:
    """Raise UnavailableError where torch cannot use the GPUs that are there and not hidden."""
    present = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if present and torch.version.cuda and "CUDA_VISIBLE_DEVICES" not in os.environ:
        raise UnavailableError(
            f"torch {torch.__version__} can use none of the GPUs of this machine ({present})",
            "`nmt doctor` shows why; set CUDA_VISIBLE_DEVICES=-1 to train on the CPU",
        )


def end_process(error: NmtError) -> NoReturn:
    """Print the error and end at once, without the main thread, which waits for ever."""
    print(f"error: {error.message}", file=sys.stderr, flush=True)  # noqa: T201
    os._exit(error.exit_code)


@contextmanager
def joined_ranks(
    timeout: float = RANK_TIMEOUT, give_up: Callable[[NmtError], None] = end_process
) -> Iterator[Ranks]:
    """The ranks this process belongs to; a group of one where no launcher started it.

    timeout: seconds that ranks wait for one another; then, and when a rank is lost, `give_up` ends
    the process with an error that names it.
    """
    local = int(os.environ.get("LOCAL_RANK", "0"))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if not is_launched() or os.environ["WORLD_SIZE"] == "1":
        yield Ranks(device=device)
        return
    # If another launcher ends; ranks of nmt's own launcher do more than this from their start on.
    request_parent_death_signal(signal.SIGTERM)
    limit = timedelta(seconds=timeout + GRACE_SECONDS)
    store, rank, world_size = next(rendezvous("env://", timeout=limit))
    heartbeat = Heartbeat(RankStatus(rank), world_size, store.clone(), timeout, give_up)
    try:
        dist.init_process_group(
            "nccl" if cuda else "gloo",
            store=store, rank=rank, world_size=world_size, timeout=limit,
        )  # fmt: skip
        yield Ranks(rank, world_size, device, heartbeat)
    except BaseException as error:
        # The group is left as it is: taking it down may wait for a rank that is gone.
        heartbeat.announce_end(error)
        if isinstance(error, LostRankError):
            heartbeat.wait_for_others()
        raise
    heartbeat.announce_end()
    dist.destroy_process_group()


def launch(
    processes: int,
    arguments: Sequence[str],
    restarts: int = 0,
    newest: Callable[[], int] = lambda: 0,
    warn: Callable[[str], None] = lambda _: None,
) -> int:
    """Run `nmt` with `arguments` in this many processes on this machine; their common exit code.

    The exit code is that of the first process that failed for a reason of its own. When a signal
    kills a process, all are started again. After more than `restarts` times in a row in which
    `newest()`, the step of the newest checkpoint, did not grow, LostRankError names the process.
    """
    tried, reached = 0, newest()
    while True:
        try:
            return _launch_once(processes, arguments)
        except LostRankError as error:
            tried = tried + 1 if newest() <= reached else 1
            reached = newest()
            if tried > restarts:
                raise
            warn(f"{error.message}: all start again after step {reached:,} ({tried} of {restarts})")


def _launch_once(processes: int, arguments: Sequence[str]) -> int:
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    share = max(1, usable_cores() // processes)
    threads = os.environ.get("OMP_NUM_THREADS", "")
    os.environ["OMP_NUM_THREADS"] = str(min(share, int(threads)) if threads.isdigit() else share)
    # Read by torch where LaunchConfig has no field for it: ranks need the time to save.
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(SAVING_SECONDS))
    settings = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        signals_to_handle=SIGNALS,
    )

    def interrupt(signum: int, _: object) -> NoReturn:
        signal.signal(signal.SIGINT, kill_all)
        raise SignalException("interrupted", signal.Signals(signum))

    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)
    quiet_launcher()
    # So that ranks which start when this process has already ended notice that.
    os.environ[PARENT] = str(os.getpid())
    try:
        elastic_launch(settings, sys.executable)("-m", "nmt_cli", *arguments)
    except ChildFailedError as error:
        failures = error.failures.items()
        codes = {rank: failure.exitcode for rank, failure in failures}
        return exit_code_of(codes, {rank: failure.timestamp for rank, failure in failures})
    except SignalException as error:
        # The ranks got the signal too, and have saved.
        requeued = error.sigval in existing_signals("SIGUSR1")
        return TryAgainError.exit_code if requeued else 128 + error.sigval
    finally:
        os.environ.pop(PARENT, None)
    return 0


def quiet_launcher() -> None:
    """Keep torch's launcher from logging, unless the user has set LOGLEVEL.

    Its warnings name the signal that each process gets, and its errors the process that failed;
    the ranks report what they do about it, and LostRankError what happened to the others.
    """
    if "LOGLEVEL" not in os.environ:
        for name in [*logging.root.manager.loggerDict]:
            if name.startswith("torch.distributed.elastic."):
                logging.getLogger(name).setLevel(logging.CRITICAL)


def kill_all(*_: object) -> NoReturn:
    """End the processes that this one has started, and this one, at once."""
    # Where the system does not list them, they notice the loss themselves.
    for process in child_processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    os._exit(128 + signal.SIGINT)


def exit_code_of(codes: Mapping[int, int], times: Mapping[int, int]) -> int:
    """The exit code of a group whose ranks failed with `codes` (negative: a signal) at `times`.

    Raises LostRankError, with the exit code, for a rank that a signal killed.
    """
    begun = min(times.values())

    def order(rank: int) -> tuple[bool, int]:
        """Ranks that failed for a reason of their own come first."""
        late = codes[rank] == -signal.SIGKILL and times[rank] - begun >= PATIENCE_SECONDS
        return late or codes[rank] in CONSEQUENCES, times[rank]

    first = min(sorted(codes), key=order)
    code = codes[first]
    if code >= 0:
        return code
    killed = LostRankError(
        f"rank {first} was killed by {signal.Signals(-code).name}",
        "often the system kills a process when memory is full: see `dmesg`" if code == -9 else "",
    )
    killed.exit_code = 128 - code
    raise killed
