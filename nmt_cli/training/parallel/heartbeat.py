"""Heartbeats: every rank reports its status, so that a rank that dies or hangs can be named."""

import faulthandler
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from itertools import islice

from torch.distributed.distributed_c10d import Store

from nmt_cli.errors import NmtError, UnavailableError
from nmt_cli.plurals import written

BEAT_SECONDS = 0.5
# A rank that missed this many beats counts as silent; the statuses of the others are read once in
# BEATS_BETWEEN_READS beats.
SILENT_BEATS = 6
BEATS_BETWEEN_READS = 4
BEATS_WITHOUT_STORE = 20
# After this time, a rank that sends no beats is given up: it was stopped, or its machine died.
SILENT_SECONDS = 22.0
STORE_TIMEOUT = timedelta(seconds=5)
PAIRS_NAMED = 3


class LostRankError(NmtError):
    """Another rank ended or does not answer, so that this one ends, too."""


@dataclass
class RankStatus:
    """What a rank last published.

    beat: how many statuses it has published; collectives_started: how many collective operations it
    has begun; pairs: the first of its share of the step; end: why it ended; consequence: whether it
    ended because of another rank; suspects: the ranks that it waited for without an answer.
    """

    rank: int
    beat: int = 0
    collectives_started: int = 0
    step: int = 0
    pairs: list[int] = field(default_factory=list)
    end: str = ""
    consequence: bool = False
    suspects: list[int] = field(default_factory=list)

    @property
    def location(self) -> str:
        """The step and the pairs that the rank is at.

        >>> RankStatus(1, step=7, pairs=[4, 8]).location
        'step 7, pairs 5, 9 of the corpus'
        """
        if not self.step:
            return "the start"
        named = f", pairs {named_pairs(self.pairs)}" if self.pairs else ""
        return f"step {self.step:,}{named}"


def named_pairs(ids: Sequence[int], limit: int = PAIRS_NAMED) -> str:
    """The first pair ids, as line numbers of the prepared corpus.

    >>> named_pairs([4, 8, 1, 2])
    '5, 9, 2, ... of the corpus'
    """
    more = ", ..." if len(ids) > limit else ""
    return ", ".join(str(pair + 1) for pair in ids[:limit]) + f"{more} of the corpus"


def _reason(error: BaseException | None) -> str:
    """Why a rank ends, in one line."""
    if error is None:
        return "it was done"
    message = error.message if isinstance(error, NmtError) else str(error)
    return message or type(error).__name__


class Heartbeat:
    """Publishes the status of one rank, and monitors the statuses of the others."""

    def __init__(
        self,
        status: RankStatus,
        world_size: int,
        store: Store,
        timeout: float,
        give_up: Callable[[NmtError], None],
    ) -> None:
        """timeout: seconds to wait for the others at most.

        give_up: ends this process with an error; called from another thread than the main one,
        which is stuck then.
        """
        self.status = status
        self.timeout = timeout
        self._others = [f"nmt/{rank}" for rank in range(world_size) if rank != status.rank]
        self._store = store
        self._give_up = give_up
        self._waiting = False
        self._beats_waited = 0
        self._failed_publishes = 0
        # By rank: its last beat, and how often the statuses were read since it came.
        self._last_beats: dict[int, tuple[int, int]] = {}
        self._over = threading.Event()
        store.set_timeout(STORE_TIMEOUT)
        self._publish()
        threading.Thread(target=self._monitor, name="heartbeat", daemon=True).start()

    def begin_step(self, step: int, pairs: Iterable[int]) -> None:
        """Publish that this rank begins `step` with these pairs."""
        self.status.step = step
        self.status.pairs = [int(pair) for pair in islice(pairs, PAIRS_NAMED)]
        self._publish()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While the block runs this rank waits for all others; raises LostRankError."""
        self.status.collectives_started += 1
        self._beats_waited, self._waiting = 0, True
        try:
            yield
        except RuntimeError as error:
            self._waiting = False
            raise self._lost_rank_error(str(error).partition(". ")[0]) from error
        finally:
            self._waiting = False

    def announce_end(self, error: BaseException | None = None) -> None:
        """Publish that this rank ends, and why."""
        self._over.set()
        self.status.consequence = isinstance(error, LostRankError)
        self.status.end = _reason(error)
        self._publish()

    def wait_for_others(self) -> None:
        """Let the first rank, whose process holds the store, wait until the others have read it."""
        for _ in range(SILENT_BEATS if self.status.rank == 0 else 0):
            if all(status.end for status in self._read_others()):
                break
            time.sleep(BEAT_SECONDS)

    def _publish(self) -> None:
        try:
            self._store.set(f"nmt/{self.status.rank}", json.dumps(asdict(self.status)))
            self._failed_publishes = 0
        except RuntimeError:
            self._failed_publishes += 1

    def _beat(self) -> None:
        self.status.beat += 1
        self._publish()

    def _read_others(self) -> list[RankStatus]:
        """The last statuses of the other ranks; none where the store is gone."""
        try:
            records = self._store.multi_get(self._others)
        except RuntimeError:
            return []
        return [RankStatus(**json.loads(record)) for record in records]

    def _monitor(self) -> None:
        """The thread: beat, read the others from time to time, give up when one is lost."""
        while not self._over.wait(BEAT_SECONDS):
            self._beat()
            self._beats_waited += self._waiting
            problem = self._problem() if self.status.beat % BEATS_BETWEEN_READS == 0 else None
            if problem is not None and not self._over.is_set():
                self.announce_end(problem)
                # Time for the others to read it, in whichever process the store is.
                time.sleep((BEATS_BETWEEN_READS + 1) * BEAT_SECONDS)
                self._give_up(problem)

    def _problem(self) -> NmtError | None:
        """Why this rank cannot continue: the others wait for it, or they no longer answer.

        Beats are counted and not seconds, so that a machine that slept is not a problem.
        """
        if self._failed_publishes >= BEATS_WITHOUT_STORE:
            return LostRankError(
                f"rank {self.status.rank} ends: the first rank sends no heartbeats"
            )
        others = self._read_others()
        silence = self._longest_silence(others)
        if not self._waiting:
            if not any(self.status.rank in other.suspects for other in others):
                return None
            faulthandler.dump_traceback(sys.__stderr__ or 2)
            return UnavailableError(
                f"rank {self.status.rank} hangs in {self.status.location}: "
                "the others waited for it",
                "train.rank_timeout says how long they wait",
            )
        # As a rule the collective operation itself fails before this is seen.
        lost = None
        if self._beats_waited > BEATS_BETWEEN_READS and any(other.end for other in others):
            lost = self._lost_rank_error("a rank has ended")
        elif self._beats_waited * BEAT_SECONDS > self.timeout:
            lost = self._lost_rank_error(f"no answer for {written(f'{self.timeout:g}', 'second')}")
        elif silence >= SILENT_SECONDS:
            lost = self._lost_rank_error(f"no heartbeat for {written(f'{silence:g}', 'second')}")
        return lost if self._waiting else None

    def _longest_silence(self, others: Sequence[RankStatus]) -> float:
        """The longest time without a beat of another rank, in seconds of this rank's own beats."""
        for other in others:
            beat, reads = self._last_beats.get(other.rank, (-1, 0))
            self._last_beats[other.rank] = other.beat, reads + 1 if other.beat == beat else 0
        reads = max((reads for _, reads in self._last_beats.values()), default=0)
        return reads * BEATS_BETWEEN_READS * BEAT_SECONDS

    def _lost_rank_error(self, reason: str) -> LostRankError:
        """The error that names the ranks at fault, as far as they can be known."""
        before = now = {status.rank: status for status in self._read_others()}
        for _ in range(SILENT_BEATS):
            if any(status.end and not status.consequence for status in now.values()):
                break
            time.sleep(BEAT_SECONDS)
            self._beat()
            now = {status.rank: status for status in self._read_others()}
        ended = [status for status in now.values() if status.end and not status.consequence]
        alive = [status for status in now.values() if not status.end]
        silent = [
            status
            for status in alive
            if status.rank in before and status.beat == before[status.rank].beat
        ]
        started = self.status.collectives_started
        behind = [status for status in alive if status.collectives_started < started]
        explanations = [
            (ended, "ended in {0.location}: {0.end}"),
            (silent, "has sent no heartbeat since {0.location}"),
            (behind, "hangs in {0.location}"),
        ]
        suspects, text = next((pair for pair in explanations if pair[0]), ([], ""))
        self.status.suspects = [status.rank for status in suspects]
        who = "; ".join(f"rank {status.rank} {text.format(status)}" for status in suspects)
        return LostRankError(
            f"rank {self.status.rank} ends in {self.status.location}: "
            f"{who or 'the ranks have lost their connection'} ({reason})"
        )
