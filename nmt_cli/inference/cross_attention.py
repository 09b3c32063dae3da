"""The cross-attention weights of each target id, in one pass over whole sentences.

Models do not return them: they are computed from the outputs of layers, captured by hooks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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

# (batch, memory) -> for each pair: (target ids, source ids), rows sum to one.
CrossAttention = Callable[[Batch, Tensor], Iterator[Tensor]]


@contextmanager
def captured_cross_attention(
    model: EncoderDecoder, last_layers: int = 0
) -> Iterator[CrossAttention]:
    """A function that gives the cross-attention of the one `decode` call within this context.

    last_layers: of a Transformer, the mean of this many last layers; 0: the layer of
    `cross_attention_of`.
    """
    with ExitStack() as hooks:
        if last_layers and isinstance(model, Transformer):
            layers = model.decoder_layers[-last_layers:]
            yield _capture_layers([layer.cross_attention for layer in layers], hooks)
            return
        yield CAPTURES[model.config.kind](model, hooks)


@contextmanager
def outputs_of(layer: nn.Module) -> Iterator[list[Tensor]]:
    """The outputs of `layer` within this context."""
    outputs: list[Tensor] = []
    handle = layer.register_forward_hook(lambda *call: outputs.append(call[-1]))
    try:
        yield outputs
    finally:
        handle.remove()


def cross_attention_of(model: Transformer) -> MultiHeadAttention:
    """The cross-attention that word alignment is taken from: that of the last layer but one.

    (Garg et al. 2019: its heads together find more alignments than those of the last layer.)
    """
    layers = model.decoder_layers
    return layers[max(0, len(layers) - 2)].cross_attention


def _capture_transformer(model: EncoderDecoder, hooks: ExitStack) -> CrossAttention:
    """The mean of the heads of one layer."""
    return _capture_layers([cross_attention_of(cast(Transformer, model))], hooks)


def _capture_layers(layers: Sequence[MultiHeadAttention], hooks: ExitStack) -> CrossAttention:
    """The mean of the heads of these layers."""
    queries = [hooks.enter_context(outputs_of(layer.query)) for layer in layers]

    def cross_attention(batch: Batch, memory: Tensor) -> Iterator[Tensor]:
        weights_of_layers = [
            _attention_of(layer, outputs[0], batch, memory)
            for layer, outputs in zip(layers, queries, strict=True)
        ]
        for pair_weights in zip(*weights_of_layers, strict=True):
            yield pair_weights[0] if len(layers) == 1 else torch.stack(pair_weights).mean(dim=0)

    return cross_attention


def _attention_of(
    layer: MultiHeadAttention, queries: Tensor, batch: Batch, memory: Tensor
) -> Iterator[Tensor]:
    """The mean of the heads of a layer, for each pair."""
    key = layer.project_keys_values(memory).key
    query = queries.view(len(queries), layer.heads, -1)
    for queries_of_pair, keys_of_pair in _by_pair(batch, query, key):
        weights = attention_weights(queries_of_pair.transpose(0, 1), keys_of_pair.transpose(0, 1))
        yield weights.float().mean(dim=0)


def _capture_rnn(model: EncoderDecoder, hooks: ExitStack) -> CrossAttention:
    """The attention weights (Bahdanau et al. 2014, section 3.1)."""
    steps = hooks.enter_context(outputs_of(cast("Recurrent", model).attention))

    def cross_attention(batch: Batch, memory: Tensor) -> Iterator[Tensor]:
        del memory
        by_pair = torch.stack(steps, 1).float()
        lengths = batch.tgt_segments.lengths.tolist(), batch.src_segments.lengths.tolist()
        for weights, tgt, src in zip(by_pair, *lengths, strict=True):
            yield weights[:tgt, :src]

    return cross_attention


def _capture_conv(model: EncoderDecoder, hooks: ExitStack) -> CrossAttention:
    """The mean of the layers, each of which has a single head."""
    from nmt_cli.model.baselines.convolutional import unscaled

    blocks = [cast("DecoderBlock", block) for block in cast("Convolutional", model).decoder.blocks]
    queries = [hooks.enter_context(outputs_of(block.query)) for block in blocks]

    def cross_attention(batch: Batch, memory: Tensor) -> Iterator[Tensor]:
        keys = memory.chunk(2, dim=1)[0]
        # (target tokens, layers, width)
        layers = torch.stack([unscaled(outputs[0]) for outputs in queries], 1)
        for queries_of_pair, keys_of_pair in _by_pair(batch, layers, keys):
            weights = attention_weights(
                queries_of_pair.transpose(0, 1), keys_of_pair.expand(len(blocks), -1, -1)
            )
            yield weights.float().mean(dim=0)

    return cross_attention


def _by_pair(batch: Batch, tgt: Tensor, src: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The tokens of two streams that belong to each pair."""
    tgt_lengths = batch.tgt_segments.lengths.tolist()
    src_lengths = batch.src_segments.lengths.tolist()
    return zip(torch.split(tgt, tgt_lengths), torch.split(src, src_lengths), strict=True)


CAPTURES: Mapping[str, Callable[[EncoderDecoder, ExitStack], CrossAttention]] = {
    "transformer": _capture_transformer,
    "rnn": _capture_rnn,
    "conv": _capture_conv,
}
