"""All-reduce of gradients over all ranks, in buckets that are sent during the backward pass.

A bucket is sent when its last gradient is ready. All ranks send the same buckets in the same order,
whatever happens: a rank without a shard in a step sends zeros. A rank that runs out of memory after
it has sent some buckets sends the others too and reports it; then all ranks send all of them again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nmt_cli.model.torch_adapter import foreach_copy_, foreach_zero_
from nmt_cli.training.gradient_accumulation import Backward, MicroBatch, accumulate_gradients
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool

# Large enough for the full speed of a network, small enough that the first one starts early.
BUCKET_BYTES = 25 << 20
# What a backward pass reaches later than the decoder; the names are the model's.
STAGES = {"encoder": 1, "encoder_norm": 1, "embedding": 2, "positions": 2, "tgt_positions": 2}


# Where the number of failed ranks is in the totals of a step.
FAILURES = 3


class StepSums(NamedTuple):
    """Sums over all ranks in one step.

    totals: (4,), loss and nll over target tokens, how many shards were split, and on how many ranks
    a single pair did not fit into memory; they are not read before they are needed, because on a
    GPU the CPU would wait for them. too_large: that pair, if it was on this rank.
    """

    totals: Tensor
    too_large: int | None = None


class GradientSync(Protocol):
    """Computes the gradients of a step and adds them up over all ranks."""

    def sum_gradients(self, shards: Sequence[MicroBatch], backward: Backward) -> StepSums:
        """Call `backward` on this rank's shards, and give the model the sums over all ranks.

        shards: in order, and empty where the batch has fewer pairs than shards. Raises
        LostRankError when another rank does not answer.
        """


class GradientBucket:
    """Gradients that are sent together; `flat` holds their sums after the all-reduce."""

    def __init__(self, weights: Sequence[nn.Parameter]) -> None:
        self.weights = weights
        sizes = [weight.numel() for weight in weights]
        self.flat = torch.zeros(sum(sizes), dtype=weights[0].dtype, device=weights[0].device)
        pieces = torch.split_with_sizes(self.flat, sizes)
        self.views = [piece.view_as(weight) for piece, weight in zip(pieces, weights, strict=True)]

    def pack(self) -> None:
        """Copy the gradients of this rank into `flat`; zeros where there are none."""
        pairs = list(zip(self.views, self.weights, strict=True))
        present = [(view, weight.grad) for view, weight in pairs if weight.grad is not None]
        absent = [view for view, weight in pairs if weight.grad is None]
        if present:
            foreach_copy_([view for view, _ in present], [grad for _, grad in present])
        if absent:
            foreach_zero_(absent)

    def assign_gradients(self) -> None:
        """Make the sums the gradients of the weights, without a copy."""
        for weight, view in zip(self.weights, self.views, strict=True):
            weight.grad = view


class BucketedGradientSync:
    """Adds up the gradients of a model over all ranks, step after step.

    Within a rank, gradients are accumulated over its shards by its replicas.
    """

    def __init__(
        self,
        ranks: Ranks,
        model: nn.Module,
        replicas: ReplicaThreadPool | None = None,
        bucket_bytes: int = BUCKET_BYTES,
    ) -> None:
        """model: on the device that it will be trained on; replicas: of this model.

        With several ranks, memory for one more set of gradients is kept.
        """
        self._ranks = ranks
        self._replicas = replicas or ReplicaThreadPool(model)
        alone = ranks.world_size == 1
        groups = [] if alone else make_buckets(ready_order(model), bucket_bytes)
        self._buckets = [GradientBucket(weights) for weights in groups]
        self._works: list[dist.Work] = []
        # By bucket: gradients that are not ready yet.
        self._missing: list[int] = []
        self._sends_when_ready = False
        self._must_resend = False
        for index, bucket in enumerate(self._buckets):
            for weight in bucket.weights:
                weight.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                    self._hook(index)
                )

    def sum_gradients(self, shards: Sequence[MicroBatch], backward: Backward) -> StepSums:
        """As GradientSync; a shard that does not fit into memory is split in two."""
        filled = [shard for shard in shards if len(shard.ids)]
        accumulated = accumulate_gradients(
            self._replicas, filled, backward, self._ranks.device, self.last_shard
        )
        sums, splits, too_large = accumulated
        return StepSums(self.finish(_joined(sums, splits, too_large is not None)), too_large)

    @contextmanager
    def last_shard(self) -> Iterator[None]:
        """The backward pass that completes this rank's gradients; buckets are sent during it.

        An attempt that fails may be repeated, also in several smaller passes.
        """
        self._missing = [len(bucket.weights) for bucket in self._buckets]
        # Sent buckets cannot be called back: after a failure all gradients are sent at the end.
        self._sends_when_ready = not self._must_resend
        try:
            yield
        except BaseException:
            self._must_resend = bool(self._works)
            raise
        finally:
            self._sends_when_ready = False

    def finish(self, sums: Tensor) -> Tensor:
        """Replace every gradient by its sum over all ranks; returns those of `sums`, a vector.

        Raises LostRankError when another rank does not answer.
        """
        if not self._buckets:
            return sums
        *totals, resends = self._end_round(sums)
        if resends:
            self._end_round(sums)
        for bucket in self._buckets:
            bucket.assign_gradients()
        return torch.tensor(totals, dtype=sums.dtype)

    def _end_round(self, sums: Tensor) -> list[float]:
        """Send the remaining buckets and wait for all; the sums, and how many ranks must resend."""
        while len(self._works) < len(self._buckets):
            self._send()
        message = _joined(sums, self._must_resend)
        with self._ranks.waiting():
            for work in self._works:
                work.wait()
            dist.all_reduce(message)
            # On a GPU this is where the waiting is done.
            totals = [float(value) for value in message.tolist()]
        self._works = []
        self._must_resend = False
        return totals

    def _hook(self, index: int) -> Callable[[Tensor], None]:
        def ready(_: Tensor) -> None:
            if not self._sends_when_ready:
                return
            self._missing[index] -= 1
            # A bucket waits for those before it: the order is the same on all ranks.
            while (sent := len(self._works)) < len(self._buckets) and not self._missing[sent]:
                self._send()

        return ready

    def _send(self) -> None:
        bucket = self._buckets[len(self._works)]
        bucket.pack()
        with self._ranks.waiting():
            work = dist.all_reduce(bucket.flat, async_op=True)
        assert work is not None
        self._works.append(work)


def _joined(sums: Tensor, *counts: float) -> Tensor:
    """`sums`, a vector, followed by these numbers."""
    # Filled, as a copy from the CPU would wait until a GPU has done the backward pass.
    return torch.cat([sums, *(sums.new_full((1,), count) for count in counts)])


def ready_order(model: nn.Module) -> list[nn.Parameter]:
    """Weights in about the order of a backward pass: the decoder's end first, embeddings last.

    The order depends on the names alone: a resumed run sends the same buckets, so its sums have the
    same bits.
    """
    named = list(model.named_parameters())[::-1]
    named.sort(key=lambda item: STAGES.get(item[0].partition(".")[0], 0))
    return [weight for _, weight in named]


def make_buckets(weights: Sequence[nn.Parameter], bucket_bytes: int) -> list[list[nn.Parameter]]:
    """`weights` in order, in groups of at most `bucket_bytes`; a larger one is by itself."""
    groups: list[list[nn.Parameter]] = []
    room = 0
    for weight in weights:
        size = weight.numel() * weight.element_size()
        if size > room:
            groups.append([])
            room = bucket_bytes
        groups[-1].append(weight)
        room -= size
    return groups


def gradients_of(model: nn.Module) -> list[Tensor]:
    """Every gradient; zeros where a weight has none, as on a rank without a shard in this step."""
    gradients = []
    for weight in model.parameters():
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        gradients.append(weight.grad)
    return gradients
