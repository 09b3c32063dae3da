"""What the Transformer replaced: convolutions with attention (Gehring et al. 2017, "ConvS2S").

"Convolutional Sequence to Sequence Learning", whose sections the docstrings name. Every sum of two
is scaled by sqrt(0.5), so that its variance is that of its parts (section 3.4). Weights are not
normalised, for which Adam with its warm-up has no need.
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
# No token has this place in its sentence.
NOWHERE = torch.iinfo(torch.int64).min


def scaled_sum(x: Tensor, y: Tensor) -> Tensor:
    """(x + y) sqrt(0.5): of variance 1 where x and y have it (section 3.4)."""
    return (x + y) * math.sqrt(0.5)


def unscaled(query: Tensor) -> Tensor:
    """A query whose products with keys `attend` leaves as they are: it divides by sqrt(d_k).

    (That came with the Transformer, whose section 3.2.1 says why; here are plain products.)
    """
    return query * math.sqrt(query.shape[-1])


def neighbours(
    x: Float[Tensor, "tokens width"], positions: Int[Tensor, " tokens"], reach: Iterable[int]
) -> Float[Tensor, "tokens inputs"]:
    """Side by side, the tokens of the same sentence that stand so far off; zeros beyond its ends.

    A token at that distance in the stream is of the same sentence if its position says so.

    >>> neighbours(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([0, 1, 0]), (-1, 0)).tolist()
    [[0.0, 1.0], [1.0, 2.0], [0.0, 3.0]]
    """
    columns = []
    for offset in reach:
        same = _moved(positions, offset, NOWHERE) == positions + offset
        columns.append(_moved(x, offset, 0) * same[:, None])
    return torch.cat(columns, 1)


def _moved(x: Tensor, offset: int, fill: int) -> Tensor:
    """Element i is x[i + offset], or `fill` beyond the ends."""
    count = min(abs(offset), len(x))
    kept = x[count:] if offset > 0 else x[: len(x) - count]
    beyond = x.new_full((count, *x.shape[1:]), fill)
    return torch.cat([kept, beyond] if offset > 0 else [beyond, kept])


class Block(nn.Module):
    """Section 3.2: a convolution of `kernel_width` tokens, then a gated linear unit."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.convolution = nn.Linear(config.kernel_width * width, 2 * width)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "tokens d_model"], positions: Int[Tensor, " tokens"], reach: range
    ) -> Float[Tensor, "tokens d_model"]:
        """Over whole sentences; `reach`: what each token sees, such as -1, 0, 1."""
        return self.gated(neighbours(self.dropout(x), positions, reach))

    def gated(self, inputs: Float[Tensor, "tokens inputs"]) -> Float[Tensor, "tokens d_model"]:
        """A * sigmoid(B) of the convolution's two halves A and B."""
        return F.glu(self.convolution(inputs), dim=-1)


class Query(nn.Module):
    """Section 3.3, equation 1: what a decoder layer looks for, d = W h + b + g."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.projection = nn.Linear(config.d_model, config.d_model)

    def forward(
        self, x: Float[Tensor, "tokens d_model"], embedded: Float[Tensor, "tokens d_model"]
    ) -> Float[Tensor, "tokens d_model"]:
        """`embedded`: the token read last, g."""
        return scaled_sum(self.projection(x), embedded)


class DecoderBlock(Block):
    """Section 3.3: a block of the decoder has an attention of its own ("multi-step")."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.query = Query(config)


class Stack(nn.Module):
    """Embeddings to the blocks' width, the blocks, and back (section 3.2)."""

    def __init__(self, config: ModelConfig, blocks: Iterable[Block]) -> None:
        super().__init__()
        self.input = nn.Linear(config.d_model, config.d_model)
        self.blocks = nn.ModuleList(blocks)
        self.output = nn.Linear(config.d_model, config.d_model)


class Convolutional(EncoderDecoder):
    """Stacks of blocks; tokens know their places, and each layer of the decoder looks back."""

    def __init__(self, config: ModelConfig) -> None:
        """`config.kernel_width` is odd: a token of the source sees as far to both sides."""
        super().__init__(config)
        make_positions = POSITIONS[config.positions]
        self.positions = make_positions(config)
        learned = config.positions == "learned"
        self.tgt_positions = make_positions(config) if learned else self.positions
        layers = stack_depths(config)
        self.encoder = Stack(config, (Block(config) for _ in range(layers[0])))
        self.decoder = Stack(config, (DecoderBlock(config) for _ in range(layers[1])))
        half = config.kernel_width // 2
        self.reach = range(-half, half + 1)
        self.past = range(1 - config.kernel_width, 1)

    def encode(self, src: Int[Tensor, " src"], segments: Segments) -> Float[Tensor, "src both"]:
        """Keys z and values z + e of attention, side by side; e: the embedded source."""
        embedded = self._embed("src", src, segments.positions, segments.max_length)
        x = self.encoder.input(embedded)
        for block in self.encoder.blocks:
            x = scaled_sum(block(x, segments.positions, self.reach), x)
        keys = self.encoder.output(x)
        if keys.requires_grad:
            # Every layer of the decoder sends a gradient here (section 3.4).
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
            y = block(x, segments.positions, self.past)
            query = unscaled(block.query(y, embedded))[:, None]
            context = attend(query, keys, values, segments, memory_segments, causal=False)
            x = scaled_sum(scaled_sum(y, context[:, 0] * scale), x)
        return self._output(x)

    def start(self, memory: Float[Tensor, "src both"], segments: Segments) -> RowState:
        """One row for each source; no block has seen anything but zeros."""
        depth, seen = len(self.decoder.blocks), self.config.kernel_width - 1
        own = memory.new_zeros(segments.sentences, depth, seen, self.config.d_model)
        return RowState.begin(own, memory, segments)

    def step(
        self, state: RowState, ids: Int[Tensor, " rows"]
    ) -> tuple[Float[Tensor, "rows vocabulary"], RowState]:
        """Logits of the token after `ids`, and the state that has seen them; consumes `state`."""
        embedded = self._embed("tgt", ids, state.lengths, state.max_length + 1)
        keys, values = state.seen[state.source_of][:, None].chunk(2, dim=3)
        inside = state.inside[state.source_of]
        scale = inside.sum(1, keepdim=True).to(keys.dtype).sqrt()
        x = self.decoder.input(embedded)
        windows = []
        for number, block in enumerate(self._decoder_blocks):
            window = torch.cat([state.own[:, number], x[:, None]], 1)
            windows.append(window[:, 1:])
            y = block.gated(window.flatten(1))
            query = unscaled(block.query(y, embedded))[:, None, None]
            context = dot_product_attention(query, keys, values, inside[:, None, None])
            x = scaled_sum(scaled_sum(y, context[:, 0, 0] * scale), x)
        return self.logits(self._output(x)), state.after(torch.stack(windows, 1))

    def start_value(self, name: str, weight: Tensor, generator: torch.Generator) -> None:
        """Section 3.5: variance is kept from layer to layer; a gated linear unit takes a quarter.

        Dropout raises the variance of what it leaves, which the weights behind it make up for.
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
        """Section 3.1: the token and its absolute place."""
        embedded = F.embedding(ids, self.embedding.matrix(side))
        kind = self.positions if side == "src" else self.tgt_positions
        return cast(Tensor, self.dropout(kind.add(embedded, positions, max_length)))

    def _output(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.dropout(self.decoder.output(x)))
