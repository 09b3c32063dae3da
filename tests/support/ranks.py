"""Several gloo ranks on this machine, forked from the test: starting them takes no second."""

import multiprocessing
import os
import socket
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple, NoReturn

import torch

from nmt_cli.errors import NmtError
from nmt_cli.training.parallel.ranks import Ranks, joined_ranks


class Outcome(NamedTuple):
    """How a rank ended: what `work` returned or the error it ended with; both None: killed."""

    result: object = None
    error: BaseException | None = None
    gave_up: bool = False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def in_ranks(
    work: Callable[[Ranks], object], count: int = 2, timeout: float = 60.0, seconds: float = 60.0
) -> list[Outcome]:
    """Do `work` in each of `count` ranks; how they ended. None may be alive after `seconds`."""
    context = multiprocessing.get_context("fork")
    port = free_port()
    pipes = [context.Pipe(duplex=False) for _ in range(count)]
    processes = [
        context.Process(target=_be_rank, args=(rank, count, port, timeout, work, pipes[rank][1]))
        for rank in range(count)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for process in processes:
            process.start()
    for _, end in pipes:
        end.close()
    try:
        return [_outcome(pipes[rank][0], seconds) for rank in range(count)]
    finally:
        for process in processes:
            process.join(1)
            process.kill()


def _outcome(pipe: Connection, seconds: float) -> Outcome:
    assert pipe.poll(seconds), "a rank hangs"
    try:
        return pipe.recv()
    except EOFError:
        return Outcome()


def _be_rank(
    rank: int, count: int, port: int, timeout: float, work: Callable[[Ranks], object],
    pipe: Connection,
) -> None:  # fmt: skip
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )  # fmt: skip

    def give_up(error: NmtError) -> NoReturn:
        pipe.send(Outcome(error=error, gave_up=True))
        os._exit(1)

    # Threads that torch started before the fork are not here, and OpenMP would wait for them.
    torch.set_num_threads(1)
    try:
        with joined_ranks(timeout, give_up) as ranks:
            outcome = Outcome(work(ranks))
    except BaseException as error:
        outcome = Outcome(error=error)
    pipe.send(outcome)
    os._exit(0)
