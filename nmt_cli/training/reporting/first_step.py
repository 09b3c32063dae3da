"""How long the first step takes, told after its first passes: `base` on a CPU needs minutes for it.

Counted work of the passes that are done, and the time they took, give the speed. Nothing that
training computes depends on it.
"""

import threading
import time
from collections.abc import Callable

from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.training.gradient_accumulation import MicroBatch
from nmt_cli.training.reporting.cost import pairs_flops, step_flops
from nmt_cli.training.run import Run

# With more of the step done than this there is little left to wait for.
MOST_DONE = 0.75


class FirstStepEstimate:
    """Listens to the crew of a CPU's first rank during one step.

    A step along the tree of `train.deterministic` has no crew, and a GPU's passes are only queued
    when they return: nothing is told there.
    """

    def __init__(self, run: Run, tell: Callable[[float], None]) -> None:
        """tell: is given the expected seconds of the whole step, once, on any thread."""
        self._run = run
        self._tell = tell
        self._lock = threading.Lock()
        self._begun = 0.0
        self._all = self._done = 0.0
        self._parts = 0

    def begin(self, position: Position) -> None:
        """The step at `position` begins now."""
        run = self._run
        if run.ranks.device.type == "cpu" and run.ranks.is_first and not run.compiles:
            self._begun = time.monotonic()
            self._all = step_flops(run.config, run.plan, position) / run.ranks.world_size
            run.crew.part_done = self._part_done

    def end(self) -> None:
        """The step is over."""
        self._run.crew.part_done = None

    def _part_done(self, part: MicroBatch) -> None:
        """Called by the threads of the crew; when each has done one part, the speed is known."""
        with self._lock:
            run = self._run
            self._parts += 1
            self._done += pairs_flops(run.config, run.plan, part.ids)
            if self._parts == len(run.crew.models) and 0 < self._done < MOST_DONE * self._all:
                self._tell((time.monotonic() - self._begun) * self._all / self._done)
