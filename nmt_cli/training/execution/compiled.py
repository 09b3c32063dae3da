"""torch.compile for training: graphs for batches of one shape only, never recompiled."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from nmt_cli.batch import Batch, Shape
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.torch_adapter import no_recompilation


class CompiledHidden:
    """`model.hidden`, compiled for training on batches of `shape`; others are not compiled.

    Raises torch's error where the graph breaks or would have to be compiled again, rather than
    continue slowly without notice.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        shape: Shape,
        backend: str | Callable[..., object] = "inductor",
        *,
        separate_graphs: bool = False,
    ) -> None:
        """separate_graphs: compile encoder and decoder as two graphs.

        All gradients of a graph become ready at its end. With separate graphs, those of the decoder
        are sent during the backward pass of the encoder.
        """
        self.model = model
        self.shape = shape
        self.plain: Callable[[Batch], Tensor] = partial(EncoderDecoder.hidden, model)
        self.compiled: Callable[[Batch], Tensor]
        compiled = partial(torch.compile, fullgraph=True, dynamic=False, backend=backend)
        if separate_graphs:
            self.compiled = partial(_hidden, compiled(model.encode), compiled(model.decode))
        else:
            self.compiled = compiled(self.plain)

    def __call__(self, batch: Batch) -> Tensor:
        """(tgt, d_model), as `EncoderDecoder.hidden`."""
        if not self.model.training or not has_shape(batch, self.shape):
            return self.plain(batch)
        with no_recompilation():
            return self.compiled(batch)


def has_shape(batch: Batch, shape: Shape) -> bool:
    """Whether the tensors of `batch` have the sizes that a graph is compiled for."""
    sizes = len(batch.src), len(batch.tgt_in), batch.tgt_segments.sentences
    return sizes == (shape.src, shape.tgt, shape.pairs)


def _hidden(encode: Callable[..., Tensor], decode: Callable[..., Tensor], batch: Batch) -> Tensor:
    memory = encode(batch.src, batch.src_segments)
    return decode(batch.tgt_in, batch.tgt_segments, memory, batch.src_segments)


def compile_hidden(
    model: EncoderDecoder,
    shape: Shape,
    backend: str | Callable[..., object] = "inductor",
    *,
    separate_graphs: bool = False,
) -> None:
    """Have `model.hidden` compiled at the first batch of `shape` in training."""
    # torch keeps the graphs of an earlier run of this process, and would take a run with another
    # precision for the same function that has to be compiled again.
    torch.compiler.reset()
    compiled = CompiledHidden(model, shape, backend, separate_graphs=separate_graphs)
    model.hidden = compiled  # type: ignore[method-assign]
