"""Sums of gradients over all ranks, sent while the backward pass goes on.

Gradients travel in buckets, each when its last one is ready. All ranks send the same buckets in the
same order, whatever happens: one that has no shard in a step sends zeros, and one that runs out of
memory with some of its buckets gone finishes the round, says so, and all send once more.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nmt_cli.training.parallel.ranks import Ranks

# Large enough for the full speed of a network, small enough that the first one starts early.
BUCKET_BYTES = 25 << 20
# What a backward pass reaches later than the decoder; the names are the model's.
STAGES = {"encoder": 1, "encoder_norm": 1, "embedding": 2, "positions": 2, "tgt_positions": 2}


class GradientBucket:
    """Gradients that travel together; `flat` holds their sums when they have come back."""

    def __init__(self, weights: Sequence[nn.Parameter]) -> None:
        self.weights = weights
        sizes = [weight.numel() for weight in weights]
        self.flat = torch.zeros(sum(sizes), dtype=weights[0].dtype, device=weights[0].device)
        pieces = torch.split_with_sizes(self.flat, sizes)
        self.views = [one.view_as(weight) for one, weight in zip(pieces, weights, strict=True)]

    def pack(self) -> None:
        """Copy the gradients of this rank into `flat`; zeros where there are none."""
        pairs = list(zip(self.views, self.weights, strict=True))
        own = [(view, weight.grad) for view, weight in pairs if weight.grad is not None]
        none = [view for view, weight in pairs if weight.grad is None]
        if own:
            torch._foreach_copy_([view for view, _ in own], [grad for _, grad in own])
        if none:
            torch._foreach_zero_(none)

    def hand_over(self) -> None:
        """Make the sums the gradients of the weights, without a copy."""
        for weight, view in zip(self.weights, self.views, strict=True):
            weight.grad = view


class BucketedGradientSync:
    """Adds up the gradients of a model over all ranks, step after step."""

    def __init__(self, ranks: Ranks, model: nn.Module, bucket_bytes: int = BUCKET_BYTES) -> None:
        """`model` is where it will be trained. Memory for one more set of gradients is kept."""
        self._ranks = ranks
        alone = ranks.world_size == 1
        weights = [] if alone else make_buckets(ready_order(model), bucket_bytes)
        self._buckets = [GradientBucket(one) for one in weights]
        self._works: list[dist.Work] = []
        self._missing: list[int] = []
        self._listens = False
        self._spoiled = False
        for number, bucket in enumerate(self._buckets):
            for weight in bucket.weights:
                weight.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                    self._hook(number)
                )

    @contextmanager
    def last_shard(self) -> Iterator[None]:
        """The backward pass after which this rank's gradients are complete; buckets leave in it.

        An attempt that fails may be repeated, in parts too.
        """
        self._missing = [len(bucket.weights) for bucket in self._buckets]
        # What has been sent cannot be called back: the next attempt's gradients go out at the end.
        self._listens = not self._spoiled
        try:
            yield
        except BaseException:
            self._spoiled = bool(self._works)
            raise
        finally:
            self._listens = False

    def finish(self, sums: Tensor) -> list[float]:
        """Replace every gradient by its sum over all ranks; returns those of `sums`, a vector.

        Raises LostRankError when another rank does not answer.
        """
        if not self._buckets:
            return [float(one) for one in sums.tolist()]
        *found, spoiled = self._end_round(sums)
        if spoiled:
            self._end_round(sums)
        for bucket in self._buckets:
            bucket.hand_over()
        return found

    def _end_round(self, sums: Tensor) -> list[float]:
        """Send what is left and wait for all; the sums, and how many ranks spoiled the round."""
        while len(self._works) < len(self._buckets):
            self._send()
        message = torch.cat([sums, sums.new_tensor([self._spoiled])])
        with self._ranks.waiting():
            for work in self._works:
                work.wait()
            dist.all_reduce(message)
            # On a GPU this is where the waiting is done.
            found = [float(one) for one in message.tolist()]
        self._works = []
        self._spoiled = False
        return found

    def _hook(self, number: int) -> Callable[[Tensor], None]:
        def ready(_: Tensor) -> None:
            if not self._listens:
                return
            self._missing[number] -= 1
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


def ready_order(model: nn.Module) -> list[nn.Parameter]:
    """Weights about as a backward pass reaches them: the decoder's end first, embeddings last.

    It depends on the names alone: a resumed run sends the same buckets, so sums have the same bits.
    """
    named = list(model.named_parameters())[::-1]
    named.sort(key=lambda one: STAGES.get(one[0].partition(".")[0], 0))
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
