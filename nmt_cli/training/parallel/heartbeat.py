"""Heartbeats: every rank tells where it is, so that a rank that dies or hangs can be named."""

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

BEAT_SECONDS = 0.5
# A rank that missed so many beats gives no sign of life; the others are looked at less often.
SILENT_BEATS = 6
BEATS_TO_LOOK = 4
BEATS_WITHOUT_STORE = 20
# A rank that does not even beat is not waited for any longer: it was stopped, or its machine died.
SILENT_SECONDS = 22.0
STORE_TIMEOUT = timedelta(seconds=5)
PAIRS_NAMED = 3


class LostRankError(NmtError):
    """Another rank is gone: this one ends in consequence."""


@dataclass
class RankStatus:
    """What a rank last told.

    beat: how often it did; waits: how many messages it has begun; pairs: the first of its share of
    the step; end: why it ended, because of another rank where it is a consequence; blames: ranks
    it waited for.
    """

    rank: int
    beat: int = 0
    waits: int = 0
    step: int = 0
    pairs: list[int] = field(default_factory=list)
    end: str = ""
    consequence: bool = False
    blames: list[int] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Where the rank was.

        >>> RankStatus(1, step=7, pairs=[4, 8]).place
        'step 7, pairs 5, 9 of the corpus'
        """
        if not self.step:
            return "the start"
        named = f", pairs {named_pairs(self.pairs)}" if self.pairs else ""
        return f"step {self.step:,}{named}"


def named_pairs(ids: Sequence[int], most: int = PAIRS_NAMED) -> str:
    """Pair ids as line numbers of the prepared corpus.

    >>> named_pairs([4, 8, 1, 2])
    '5, 9, 2, ... of the corpus'
    """
    more = ", ..." if len(ids) > most else ""
    return ", ".join(str(one + 1) for one in ids[:most]) + f"{more} of the corpus"


def _reason(error: BaseException | None) -> str:
    """Why a rank ends, in one line."""
    if error is None:
        return "it was done"
    message = error.message if isinstance(error, NmtError) else str(error)
    return message or type(error).__name__


class Heartbeat:
    """One rank's heart, and its eye on the others."""

    def __init__(
        self,
        sign: RankStatus,
        world_size: int,
        store: Store,
        timeout: float,
        give_up: Callable[[NmtError], None],
    ) -> None:
        """timeout: seconds to wait for the others at most.

        give_up: ends this process with an error; called from another thread than the main one,
        which is stuck then.
        """
        self.sign = sign
        self.timeout = timeout
        self._others = [f"nmt/{rank}" for rank in range(world_size) if rank != sign.rank]
        self._store = store
        self._give_up = give_up
        self._waiting = False
        self._waited = 0
        self._untold = 0
        # Of each other rank: its last beat, and the looks since it came.
        self._heard: dict[int, tuple[int, int]] = {}
        self._over = threading.Event()
        store.set_timeout(STORE_TIMEOUT)
        self._tell()
        threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def begins(self, step: int, pairs: Iterable[int]) -> None:
        """This rank begins `step` with these pairs."""
        self.sign.step, self.sign.pairs = step, [int(one) for one in islice(pairs, PAIRS_NAMED)]
        self._tell()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While the block runs this rank waits for all others; raises LostRankError."""
        self.sign.waits += 1
        self._waited, self._waiting = 0, True
        try:
            yield
        except RuntimeError as error:
            self._waiting = False
            raise self._lost(str(error).partition(". ")[0]) from error
        finally:
            self._waiting = False

    def ends(self, error: BaseException | None = None) -> None:
        """Tell the others that this rank leaves, and why."""
        self._over.set()
        self.sign.consequence = isinstance(error, LostRankError)
        self.sign.end = _reason(error)
        self._tell()

    def let_others_look(self) -> None:
        """The first rank takes the store with it, where the others look who is at fault."""
        for _ in range(SILENT_BEATS if self.sign.rank == 0 else 0):
            if all(one.end for one in self._look()):
                break
            time.sleep(BEAT_SECONDS)

    def _tell(self) -> None:
        try:
            self._store.set(f"nmt/{self.sign.rank}", json.dumps(asdict(self.sign)))
            self._untold = 0
        except RuntimeError:
            self._untold += 1

    def _beat(self) -> None:
        self.sign.beat += 1
        self._tell()

    def _look(self) -> list[RankStatus]:
        """What the others told last; nothing where the store is gone."""
        try:
            return [RankStatus(**json.loads(one)) for one in self._store.multi_get(self._others)]
        except RuntimeError:
            return []

    def _watch(self) -> None:
        """The thread: beat, look at the others from time to time, give up where one is lost."""
        while not self._over.wait(BEAT_SECONDS):
            self._beat()
            self._waited += self._waiting
            problem = self._problem() if self.sign.beat % BEATS_TO_LOOK == 0 else None
            if problem is not None and not self._over.is_set():
                self.ends(problem)
                # So that the others see it, wherever the store is.
                time.sleep((BEATS_TO_LOOK + 1) * BEAT_SECONDS)
                self._give_up(problem)

    def _problem(self) -> NmtError | None:
        """Why this rank cannot go on: it is waited for, or the others do not come any more.

        Beats are counted and not seconds: that the machine slept is no reason.
        """
        if self._untold >= BEATS_WITHOUT_STORE:
            return LostRankError(f"rank {self.sign.rank} ends: nothing is heard of the first rank")
        others = self._look()
        silence = self._silence(others)
        if not self._waiting:
            if not any(self.sign.rank in one.blames for one in others):
                return None
            faulthandler.dump_traceback(sys.__stderr__ or 2)
            return UnavailableError(
                f"rank {self.sign.rank} hangs in {self.sign.place}: the others waited for it",
                "train.rank_timeout says how long they wait",
            )
        # As a rule the message itself fails before this is seen.
        lost = None
        if self._waited > BEATS_TO_LOOK and any(one.end for one in others):
            lost = self._lost("a rank has ended")
        elif self._waited * BEAT_SECONDS > self.timeout:
            lost = self._lost(f"no answer for {self.timeout:g} seconds")
        elif silence >= SILENT_SECONDS:
            lost = self._lost(f"no sign of life for {silence:g} seconds")
        return lost if self._waiting else None

    def _silence(self, others: Sequence[RankStatus]) -> float:
        """For how many seconds, as this rank's beats count them, another one did not beat."""
        for one in others:
            beat, looks = self._heard.get(one.rank, (-1, 0))
            self._heard[one.rank] = one.beat, looks + 1 if one.beat == beat else 0
        looks = max((looks for _, looks in self._heard.values()), default=0)
        return looks * BEATS_TO_LOOK * BEAT_SECONDS

    def _lost(self, reason: str) -> LostRankError:
        """The error that names the ranks at fault, as far as they can be known."""
        before = now = {one.rank: one for one in self._look()}
        for _ in range(SILENT_BEATS):
            if any(one.end and not one.consequence for one in now.values()):
                break
            time.sleep(BEAT_SECONDS)
            self._beat()
            now = {one.rank: one for one in self._look()}
        ended = [one for one in now.values() if one.end and not one.consequence]
        alive = [one for one in now.values() if not one.end]
        silent = [one for one in alive if one.rank in before and one.beat == before[one.rank].beat]
        behind = [one for one in alive if one.waits < self.sign.waits]
        found = [
            (ended, "ended in {0.place}: {0.end}"),
            (silent, "gives no sign of life since {0.place}"),
            (behind, "hangs in {0.place}"),
        ]
        guilty, told = next(((one, text) for one, text in found if one), ([], ""))
        self.sign.blames = [one.rank for one in guilty]
        who = "; ".join(f"rank {one.rank} {told.format(one)}" for one in guilty)
        return LostRankError(
            f"rank {self.sign.rank} ends in {self.sign.place}: "
            f"{who or 'the ranks have lost each other'} ({reason})"
        )
