"""Ranks: one process for each device, started through torch.distributed's own launcher."""

import os
import signal
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from nmt_cli.cores import usable_cores
from nmt_cli.errors import NmtError, UnavailableError

# How a rank ends that only lost its neighbour, or was ended because of it.
CONSEQUENCES = (1, -signal.SIGTERM, 128 + signal.SIGTERM)


@dataclass(frozen=True)
class Ranks:
    """This process among its equals."""

    rank: int = 0
    world_size: int = 1
    device: torch.device = torch.device("cpu")

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that reports, validates and saves."""
        return self.rank == 0

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor by its sum over all ranks; one message for all of them."""
        if self.world_size == 1:
            return
        own = list(tensors)
        flat = torch.cat([tensor.reshape(-1) for tensor in own])
        dist.all_reduce(flat)
        start = 0
        for tensor in own:
            tensor.copy_(flat[start : start + tensor.numel()].view_as(tensor))
            start += tensor.numel()

    def agree(self, number: int) -> int:
        """The largest of all ranks' numbers."""
        if self.world_size == 1:
            return number
        shared = torch.tensor(number, dtype=torch.int64, device=self.device)
        dist.all_reduce(shared, op=dist.ReduceOp.MAX)
        return int(shared)

    def first_alone(self, work: Callable[[], None]) -> None:
        """Do `work` on the first rank; where it fails with an NmtError, every rank ends with it."""
        problem = None
        if self.is_first:
            try:
                work()
            except NmtError as error:
                problem = error
        code = self.agree(problem.exit_code if problem else 0)
        if problem is not None:
            raise problem
        if code:
            stopped = NmtError(f"rank {self.rank} ends because the first rank could not begin")
            stopped.exit_code = code
            raise stopped

    def wait(self) -> None:
        """Until all ranks are here."""
        if self.world_size > 1:
            self.agree(0)


def is_launched() -> bool:
    """Whether a launcher (ours, torchrun, SLURM's) has started this process as a rank."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def count_devices(gpus: int | None) -> int:
    """Processes for this machine: `gpus`, or every GPU there is; one where there is none.

    Asking for several without a GPU gives as many CPU processes.
    """
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if gpus is None:
        return max(1, available)
    if available and gpus > available:
        raise UnavailableError(
            f"--gpus {gpus}: this machine shows {available}", "`nmt doctor` tells what it sees"
        )
    return max(1, gpus)


@contextmanager
def joined() -> Iterator[Ranks]:
    """The ranks this process belongs to; a group of one where no launcher started it."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if not is_launched() or os.environ["WORLD_SIZE"] == "1":
        yield Ranks(device=device)
        return
    dist.init_process_group("nccl" if cuda else "gloo")
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size(), device)
    finally:
        dist.destroy_process_group()


def launch(processes: int, arguments: Sequence[str]) -> int:
    """Run `nmt` with `arguments` in so many processes on this machine; the exit code of all.

    The exit code is that of the first process that failed for a reason of its own.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    share = max(1, usable_cores() // processes)
    threads = os.environ.get("OMP_NUM_THREADS", "")
    os.environ["OMP_NUM_THREADS"] = str(min(share, int(threads)) if threads.isdigit() else share)
    settings = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
    )
    try:
        elastic_launch(settings, sys.executable)("-m", "nmt_cli", *arguments)
    except ChildFailedError as error:
        first = min(
            error.failures.values(),
            key=lambda failure: (failure.exitcode in CONSEQUENCES, failure.timestamp),
        )
        return first.exitcode if first.exitcode > 0 else 128 - first.exitcode
    except SignalException as error:
        # The ranks were told too, and have saved.
        return 128 + error.sigval
    return 0
