"""Memory, or the process, that ends in the middle of a backward pass."""

import os
import signal
from collections.abc import Callable

import torch

import nmt_cli.training.step
from nmt_cli.batch import Batch

real_loss = nmt_cli.training.step.shard_loss


def hooked_loss(make_hook: Callable[[Batch], Callable]) -> Callable:
    """A `shard_loss` with a forward hook on the encoder's last layer, made for each batch."""

    def shard_loss(model, config, batch, device):
        handle = model.encoder[-1].register_forward_hook(make_hook(batch))
        try:
            return real_loss(model, config, batch, device)
        finally:
            handle.remove()

    return shard_loss


class RunsOut(torch.autograd.Function):
    """Ends memory, or the process, in the middle of a backward pass."""

    @staticmethod
    def forward(ctx, hidden, happens):
        ctx.happens = happens
        return hidden.clone()

    @staticmethod
    def backward(ctx, gradient):
        if ctx.happens == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if ctx.happens:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return gradient, None


def failing_loss(happens: Callable[[int], object]) -> Callable:
    """A `shard_loss` that fails at the encoder, if `happens` with so many pairs."""

    def make_hook(batch: Batch) -> Callable:
        now = happens(len(batch.pair_ids))
        return lambda module, inputs, output: RunsOut.apply(output, now)

    return hooked_loss(make_hook)


def little_memory(pairs: int) -> Callable:
    """A `shard_loss` that fails in its backward pass for more than so many pairs."""
    return failing_loss(lambda count: count > pairs)
