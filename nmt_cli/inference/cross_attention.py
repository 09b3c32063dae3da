"""Which source ids a model looks at for each target id, in one pass over whole sentences.

Models have no output for it: what their attention computes is watched while they run.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from nmt_cli.batch import Batch
from nmt_cli.model.attention import MultiHeadAttention, attention_weights
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.transformer import Transformer

if TYPE_CHECKING:
    from nmt_cli.model.baselines.convolutional import Convolutional, DecoderBlock
    from nmt_cli.model.baselines.recurrent import Recurrent

# Of each pair of the batch, given the memory: (target ids, source ids), rows sum to one.
Looks = Callable[[Batch, Tensor], Iterator[Tensor]]


@contextmanager
def captured_cross_attention(model: EncoderDecoder) -> Iterator[Looks]:
    """What tells where `model` looked in the one `decode` that is done in this context."""
    with ExitStack() as hooks:
        yield WATCHERS[model.config.kind](model, hooks)


@contextmanager
def outputs_of(layer: nn.Module) -> Iterator[list[Tensor]]:
    """What `layer` gives as long as the context lasts."""
    outputs: list[Tensor] = []
    handle = layer.register_forward_hook(lambda *call: outputs.append(call[-1]))
    try:
        yield outputs
    finally:
        handle.remove()


def cross_attention_of(model: Transformer) -> MultiHeadAttention:
    """The cross-attention that tells most of alignment: of the last layer but one.

    (Garg et al. 2019: its heads together find more of the alignments than the last layer's.)
    """
    layers = model.decoder_layers
    return layers[max(0, len(layers) - 2)].cross_attention


def _watch_transformer(model: EncoderDecoder, hooks: ExitStack) -> Looks:
    """The mean of the heads of one layer."""
    layer = cross_attention_of(cast(Transformer, model))
    queries = hooks.enter_context(outputs_of(layer.query))

    def looks(batch: Batch, memory: Tensor) -> Iterator[Tensor]:
        key = layer.project_keys_values(memory).key
        query = queries[0].view(len(queries[0]), layer.heads, -1)
        for one, seen in _by_pair(batch, query, key):
            weights = attention_weights(one.transpose(0, 1), seen.transpose(0, 1))
            yield weights.float().mean(dim=0)

    return looks


def _watch_rnn(model: EncoderDecoder, hooks: ExitStack) -> Looks:
    """Bahdanau et al. 2014, section 3.1: the weights are the alignment."""
    steps = hooks.enter_context(outputs_of(cast("Recurrent", model).attention))

    def looks(batch: Batch, memory: Tensor) -> Iterator[Tensor]:
        del memory
        of_pairs = torch.stack(steps, 1).float()
        lengths = batch.tgt_segments.lengths.tolist(), batch.src_segments.lengths.tolist()
        for weights, tgt, src in zip(of_pairs, *lengths, strict=True):
            yield weights[:tgt, :src]

    return looks


def _watch_conv(model: EncoderDecoder, hooks: ExitStack) -> Looks:
    """The mean of the layers, each of which has one attention."""
    from nmt_cli.model.baselines.convolutional import unscaled

    blocks = [cast("DecoderBlock", one) for one in cast("Convolutional", model).decoder.blocks]
    queries = [hooks.enter_context(outputs_of(one.query)) for one in blocks]

    def looks(batch: Batch, memory: Tensor) -> Iterator[Tensor]:
        keys = memory.chunk(2, dim=1)[0]
        layers = torch.stack([unscaled(one[0]) for one in queries], 1)
        for one, seen in _by_pair(batch, layers, keys):
            weights = attention_weights(one.transpose(0, 1), seen.expand(len(blocks), -1, -1))
            yield weights.float().mean(dim=0)

    return looks


def _by_pair(batch: Batch, tgt: Tensor, src: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The parts of two streams that belong to each pair."""
    sizes = batch.tgt_segments.lengths.tolist(), batch.src_segments.lengths.tolist()
    return zip(torch.split(tgt, sizes[0]), torch.split(src, sizes[1]), strict=True)


WATCHERS: Mapping[str, Callable[[EncoderDecoder, ExitStack], Looks]] = {
    "transformer": _watch_transformer,
    "rnn": _watch_rnn,
    "conv": _watch_conv,
}
