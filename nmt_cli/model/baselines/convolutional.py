"""The baseline "conv": convolutions with attention (Gehring et al. 2017, "ConvS2S").

"Convolutional Sequence to Sequence Learning", whose sections the docstrings name. Every sum of two
tensors is scaled by sqrt(0.5), which keeps their variance (section 3.4). There is no weight
normalisation, which Adam with warm-up does not need.
"""

import math
from collections.abc import Iterable
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt_cli.batch import Segments
from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.attention import dot_product_attention
from nmt_cli.model.backends.dispatch import attend
from nmt_cli.model.baselines.state import RowState
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.encoder_decoder import EncoderDecoder, stack_depths
from nmt_cli.model.positions import POSITIONS

# Deviation of embeddings (section 3.5).
EMBEDDING_DEVIATION = 0.1
# No token has this position.
NO_POSITION = torch.iinfo(torch.int64).min


def scaled_sum(x: Tensor, y: Tensor) -> Tensor:
    """(x + y) sqrt(0.5), which has variance 1 if x and y do (section 3.4)."""
    return (x + y) * math.sqrt(0.5)


def unscaled(query: Tensor) -> Tensor:
    """A query multiplied by sqrt(d_k), by which `attend` divides it.

    This model has plain dot products; scaling came with the Transformer (its section 3.2.1).
    """
    return query * math.sqrt(query.shape[-1])


def neighbours(
    x: Float[Tensor, "tokens width"], positions: Int[Tensor, " tokens"], offsets: Iterable[int]
) -> Float[Tensor, "tokens inputs"]:
    """For each token, those at these offsets concatenated; zeros beyond the sentence's ends.

    A token at an offset in the stream is of the same sentence if its position has that offset too.

    >>> neighbours(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([0, 1, 0]), (-1, 0)).tolist()
    [[0.0, 1.0], [1.0, 2.0], [0.0, 3.0]]
    """
    columns = []
    for offset in offsets:
        in_sentence = _shifted(positions, offset, NO_POSITION) == positions + offset
        columns.append(_shifted(x, offset, 0) * in_sentence[:, None])
    return torch.cat(columns, 1)


def _shifted(x: Tensor, offset: int, fill: int) -> Tensor:
    """Element i is x[i + offset], or `fill` beyond the ends."""
    count = min(abs(offset), len(x))
    inside = x[count:] if offset > 0 else x[: len(x) - count]
    beyond = x.new_full((count, *x.shape[1:]), fill)
    return torch.cat([inside, beyond] if offset > 0 else [beyond, inside])


class Block(nn.Module):
    """Section 3.2: a convolution of `kernel_width` tokens, then a gated linear unit."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.convolution = nn.Linear(config.kernel_width * width, 2 * width)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "tokens d_model"], positions: Int[Tensor, " tokens"], offsets: range
    ) -> Float[Tensor, "tokens d_model"]:
        """Over whole sentences; `offsets`: the tokens that each token sees, such as -1, 0, 1."""
        return self.gated(neighbours(self.dropout(x), positions, offsets))

    def gated(self, inputs: Float[Tensor, "tokens inputs"]) -> Float[Tensor, "tokens d_model"]:
        """A * sigmoid(B) of the convolution's two halves A and B."""
        return F.glu(self.convolution(inputs), dim=-1)


class Query(nn.Module):
    """Section 3.3, equation 1: the attention query of a decoder layer, d = W h + b + g."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.projection = nn.Linear(config.d_model, config.d_model)

    def forward(
        self, x: Float[Tensor, "tokens d_model"], embedded: Float[Tensor, "tokens d_model"]
    ) -> Float[Tensor, "tokens d_model"]:
        """`embedded`: g, the embedding of the previous token."""
        return scaled_sum(self.projection(x), embedded)


class DecoderBlock(Block):
    """Section 3.3: each block of the decoder has its own attention ("multi-step attention")."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.query = Query(config)


class Stack(nn.Module):
    """A projection to the blocks' width, the blocks, and a projection back (section 3.2)."""

    def __init__(self, config: ModelConfig, blocks: Iterable[Block]) -> None:
        super().__init__()
        self.input = nn.Linear(config.d_model, config.d_model)
        self.blocks = nn.ModuleList(blocks)
        self.output = nn.Linear(config.d_model, config.d_model)


class Convolutional(EncoderDecoder):
    """Stacks of blocks over embeddings with positions; each decoder layer attends to the source."""

    def __init__(self, config: ModelConfig) -> None:
        """`config.kernel_width` is odd: a source token sees equally far to both sides."""
        super().__init__(config)
        make_positions = POSITIONS[config.positions]
        self.positions = make_positions(config)
        learned = config.positions == "learned"
        self.tgt_positions = make_positions(config) if learned else self.positions
        layers = stack_depths(config)
        self.encoder = Stack(config, (Block(config) for _ in range(layers[0])))
        self.decoder = Stack(config, (DecoderBlock(config) for _ in range(layers[1])))
        half = config.kernel_width // 2
        self.offsets = range(-half, half + 1)
        self.past_offsets = range(1 - config.kernel_width, 1)

    def encode(self, src: Int[Tensor, " src"], segments: Segments) -> Float[Tensor, "src both"]:
        """Keys z and values z + e of attention, concatenated; e: the embedded source."""
        embedded = self._embed("src", src, segments.positions, segments.max_length)
        x = self.encoder.input(embedded)
        for block in self.encoder.blocks:
            x = scaled_sum(block(x, segments.positions, self.offsets), x)
        keys = self.encoder.output(x)
        if keys.requires_grad:
            # The gradients of all decoder layers add up here (section 3.4).
            keys.register_hook(lambda gradient: gradient / len(self.decoder.blocks))
        return torch.cat([keys, scaled_sum(keys, embedded)], 1)

    def decode(
        self,
        tgt: Int[Tensor, " tgt"],
        segments: Segments,
        memory: Float[Tensor, "src both"],
        memory_segments: Segments,
    ) -> Float[Tensor, "tgt d_model"]:
        """The decoder's output for whole sentences."""
        embedded = self._embed("tgt", tgt, segments.positions, segments.max_length)
        keys, values = memory[:, None].chunk(2, dim=2)
        counts = memory_segments.lengths[:, None].expand(-1, segments.max_length)
        scale = segments.to_stream(counts).to(memory.dtype).sqrt()[:, None]
        x = self.decoder.input(embedded)
        for block in self._decoder_blocks:
            y = block(x, segments.positions, self.past_offsets)
            query = unscaled(block.query(y, embedded))[:, None]
            context = attend(query, keys, values, segments, memory_segments, causal=False)
            x = scaled_sum(scaled_sum(y, context[:, 0] * scale), x)
        return self._output(x)

    def start(self, memory: Float[Tensor, "src both"], segments: Segments) -> RowState:
        """A state of one row for each source and no tokens: the windows of all blocks are zeros."""
        depth, window = len(self.decoder.blocks), self.config.kernel_width - 1
        hidden = memory.new_zeros(segments.sentences, depth, window, self.config.d_model)
        return RowState.begin(hidden, memory, segments)

    def step(
        self, state: RowState, ids: Int[Tensor, " rows"]
    ) -> tuple[Float[Tensor, "rows vocabulary"], RowState]:
        """Logits of the next token after `ids`, and the state with them; consumes `state`."""
        embedded = self._embed("tgt", ids, state.lengths, state.max_length + 1)
        keys, values = state.memory[state.source_of][:, None].chunk(2, dim=3)
        mask = state.memory_mask[state.source_of]
        scale = mask.sum(1, keepdim=True).to(keys.dtype).sqrt()
        x = self.decoder.input(embedded)
        windows = []
        for index, block in enumerate(self._decoder_blocks):
            window = torch.cat([state.hidden[:, index], x[:, None]], 1)
            windows.append(window[:, 1:])
            y = block.gated(window.flatten(1))
            query = unscaled(block.query(y, embedded))[:, None, None]
            context = dot_product_attention(query, keys, values, mask[:, None, None])
            x = scaled_sum(scaled_sum(y, context[:, 0, 0] * scale), x)
        return self.logits(self._output(x)), state.after(torch.stack(windows, 1))

    def start_value(self, name: str, weight: Tensor, generator: torch.Generator) -> None:
        """Section 3.5: each layer keeps the variance; a gated linear unit reduces it to a quarter.

        Dropout raises the variance, for which the weights after it are smaller.
        """
        if name.startswith(("embedding.", "positions.", "tgt_positions.")):
            nn.init.normal_(weight, std=EMBEDDING_DEVIATION, generator=generator)
        elif weight.dim() < 2:
            nn.init.zeros_(weight)
        else:
            gated = name.endswith("convolution.weight")
            variance = 4 * (1 - self.config.dropout) if gated else 1.0
            deviation = math.sqrt(variance / weight.shape[1])
            nn.init.normal_(weight, std=deviation, generator=generator)

    @property
    def _decoder_blocks(self) -> list[DecoderBlock]:
        return [cast(DecoderBlock, block) for block in self.decoder.blocks]

    def _embed(self, side: str, ids: Tensor, positions: Tensor, max_length: int) -> Tensor:
        """Section 3.1: the token's embedding with its absolute position."""
        embedded = F.embedding(ids, self.embedding.matrix(side))
        encoding = self.positions if side == "src" else self.tgt_positions
        return cast(Tensor, self.dropout(encoding.add(embedded, positions, max_length)))

    def _output(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.dropout(self.decoder.output(x)))
