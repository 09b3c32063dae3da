"""An estimate of how long the first step takes, made during it: `base` on a CPU needs minutes.

The speed is the counted work of the first passes divided by their time. Nothing that training
computes depends on it.
"""

import threading
import time
from collections.abc import Callable

from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.training.gradient_accumulation import MicroBatch
from nmt_cli.training.reporting.cost import pairs_flops, step_flops
from nmt_cli.training.run import Run

# With a larger share of the step done, an estimate is no longer useful.
MAX_SHARE_DONE = 0.75


class FirstStepEstimate:
    """Listens to the replicas of a CPU's first rank during one step.

    There is no estimate with `train.deterministic`, which does not use the replicas, nor on a GPU,
    where a pass is only queued when the call returns.
    """

    def __init__(self, run: Run, on_estimate: Callable[[float], None]) -> None:
        """on_estimate: called once with the expected seconds of the step, on any thread."""
        self._run = run
        self._on_estimate = on_estimate
        self._lock = threading.Lock()
        self._start_time = 0.0
        self._total_flops = self._done_flops = 0.0
        self._micro_batches = 0

    def begin(self, position: Position) -> None:
        """The step at `position` begins now."""
        run = self._run
        if run.ranks.device.type == "cpu" and run.ranks.is_first and not run.execution.compiled:
            self._start_time = time.monotonic()
            self._total_flops = step_flops(run.config, run.plan, position) / run.ranks.world_size
            run.replicas.on_item_done = self._on_micro_batch

    def end(self) -> None:
        """The step is over."""
        self._run.replicas.on_item_done = None

    def _on_micro_batch(self, micro_batch: MicroBatch) -> None:
        """Called by all threads; once there is a micro-batch per thread, the speed is known."""
        with self._lock:
            run = self._run
            self._micro_batches += 1
            self._done_flops += pairs_flops(run.config, run.plan, micro_batch.ids)
            if (
                self._micro_batches == len(run.replicas.models)
                and 0 < self._done_flops < MAX_SHARE_DONE * self._total_flops
            ):
                self._on_estimate(
                    (time.monotonic() - self._start_time) * self._total_flops / self._done_flops
                )
