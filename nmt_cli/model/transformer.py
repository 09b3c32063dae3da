"""Figure 1: embeddings (section 3.4), the two stacks (3.1), the output; for training and search."""

import math
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt_cli.batch import Batch, Segments
from nmt_cli.config import Model
from nmt_cli.model.attention import MultiHeadAttention, dot_product_attention
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.layers import DecoderLayer, EncoderLayer, cross_attend, make_norm, self_attend
from nmt_cli.model.positions import POSITIONS
from nmt_cli.model.state import DecoderState

# Which matrix serves as source embedding, target embedding and output (section 3.4).
TIES = {
    "all": {"src": "shared", "tgt": "shared", "output": "shared"},
    "target": {"src": "src", "tgt": "tgt", "output": "tgt"},
    "none": {"src": "src", "tgt": "tgt", "output": "output"},
}


class Embeddings(nn.Module):
    """One, two or three matrices of (vocabulary, d_model), each held once under its own name."""

    def __init__(self, config: Model) -> None:
        super().__init__()
        sizes = vocabulary_sizes(config)
        self.names = TIES[config.tie_embeddings]
        for use, name in self.names.items():
            if not hasattr(self, name):
                rows = sizes[0] if use == "src" else sizes[1]
                self.register_parameter(name, nn.Parameter(torch.empty(rows, config.d_model)))

    def matrix(self, use: str) -> Tensor:
        """The matrix for `use`: src, tgt or output."""
        return cast(Tensor, getattr(self, self.names[use]))


class Transformer(nn.Module):
    """An encoder-decoder over streams of tokens; it knows no text, no files and no search."""

    def __init__(self, config: Model) -> None:
        """Weights are made by `initialise`; vocabulary sizes must be numbers here."""
        super().__init__()
        self.config = config
        self.embedding = Embeddings(config)
        make_positions = POSITIONS[config.positions]
        self.positions = make_positions(config)
        # Learned positions differ between the sides; the others hold no weights.
        learned = config.positions == "learned"
        self.tgt_positions = make_positions(config) if learned else self.positions
        depths = stack_depths(config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(depths[0]))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(depths[1]))
        if config.norm_order == "pre":
            self.encoder_norm = make_norm(config)
            self.decoder_norm = make_norm(config)
        else:
            self.encoder_norm = nn.Identity()
            self.decoder_norm = nn.Identity()
        if config.output_bias:
            self.output_bias = nn.Parameter(torch.zeros(vocabulary_sizes(config)[1]))
        else:
            self.register_parameter("output_bias", None)
        self.dropout = Dropout(config.dropout)

    def forward(self, batch: Batch) -> Float[Tensor, "tgt vocabulary"]:
        """Logits of every target token, given the tokens before it (teacher forcing)."""
        return self.logits(self.hidden(batch))

    def hidden(self, batch: Batch) -> Float[Tensor, "tgt d_model"]:
        """What `logits` is applied to: the decoder's output for every target token."""
        memory = self.encode(batch.src, batch.src_segments)
        return self.decode(batch.tgt_in, batch.tgt_segments, memory, batch.src_segments)

    def encode(self, src: Int[Tensor, " src"], segments: Segments) -> Float[Tensor, "src d_model"]:
        """The memory: what the decoder knows of the source."""
        x = self._embed("src", src, segments.positions, segments.max_length)
        for layer in self.encoder:
            x = layer(x, segments, self.positions)
        return cast(Tensor, self.encoder_norm(x))

    def decode(
        self,
        tgt: Int[Tensor, " tgt"],
        segments: Segments,
        memory: Float[Tensor, "src d_model"],
        memory_segments: Segments,
    ) -> Float[Tensor, "tgt d_model"]:
        """The decoder's output for whole sentences."""
        x = self._embed("tgt", tgt, segments.positions, segments.max_length)
        for layer in self.decoder_layers:
            x = layer(
                x,
                lambda y, a=layer.self_attention: self_attend(
                    a, y, segments, self.tgt_positions, causal=True
                ),
                lambda y, a=layer.cross_attention: cross_attend(
                    a, y, segments, memory, memory_segments
                ),
            )
        return cast(Tensor, self.decoder_norm(x))

    def logits(self, hidden: Float[Tensor, "tokens d_model"]) -> Float[Tensor, "tokens vocabulary"]:
        """Scores of every word of the target vocabulary, before the softmax."""
        return F.linear(hidden, self.output_weight, self.output_bias)

    @property
    def output_weight(self) -> Float[Tensor, "vocabulary d_model"]:
        """The matrix that makes logits of the decoder's output (section 3.4)."""
        return self.embedding.matrix("output")

    def start(self, memory: Float[Tensor, "src d_model"], segments: Segments) -> DecoderState:
        """One row for each source, no token seen; keys and values of the sources are made here."""
        keys, values = [], []
        for layer in self.decoder_layers:
            seen = layer.cross_attention.project_keys_values(memory)
            keys.append(segments.to_rectangle(seen.key).transpose(1, 2))
            values.append(segments.to_rectangle(seen.value).transpose(1, 2))
        empty = (len(keys), segments.sentences, self.config.heads, 0)
        numbers = torch.arange(segments.sentences, device=memory.device)
        return DecoderState(
            keys[0].new_zeros(*empty, keys[0].shape[-1]),
            values[0].new_zeros(*empty, values[0].shape[-1]),
            torch.stack(keys),
            torch.stack(values),
            segments.inside,
            numbers,
            torch.zeros_like(numbers),
            0,
        )

    def step(
        self, state: DecoderState, ids: Int[Tensor, " rows"]
    ) -> tuple[Float[Tensor, "rows vocabulary"], DecoderState]:
        """Logits of the token after `ids`, and the state that has seen them; consumes `state`."""
        state.make_room()
        x = self._embed("tgt", ids, state.lengths, state.max_length + 1)
        reach = torch.arange(state.max_length + 1, device=ids.device)
        seen = (reach[None, :] <= state.lengths[:, None])[:, None, None, :]
        beams = state.beams
        for number, layer in enumerate(self.decoder_layers):
            x = layer(
                x,
                lambda y, a=layer.self_attention, n=number: self._step_self(a, y, state, n, seen),
                lambda y, a=layer.cross_attention, n=number: _step_cross(a, y, state, n, beams),
            )
        state.lengths = state.lengths + 1
        state.max_length += 1
        return self.logits(self.decoder_norm(x)), state

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        """The layers of the decoder, typed."""
        return [cast(DecoderLayer, layer) for layer in self.decoder]

    def _embed(self, side: str, ids: Tensor, positions: Tensor, max_length: int) -> Tensor:
        embedded = F.embedding(ids, self.embedding.matrix(side))
        if self.config.scale_embeddings:
            embedded = embedded * math.sqrt(self.config.d_model)
        kind = self.positions if side == "src" else self.tgt_positions
        return cast(Tensor, self.dropout(kind.add(embedded, positions, max_length)))

    def _step_self(
        self,
        attention: MultiHeadAttention,
        y: Tensor,
        state: DecoderState,
        layer: int,
        seen: Tensor,
    ) -> Tensor:
        """Self-attention of one new token a row; its key and value join the state's."""
        query, new = attention.project_self(y)
        place = state.lengths, state.max_length + 1
        kind = self.tgt_positions
        rows = torch.arange(state.rows, device=y.device)
        state.self_keys[layer, rows, :, state.lengths] = kind.rotate(new.key, *place)
        state.self_values[layer, rows, :, state.lengths] = new.value
        heads = dot_product_attention(
            kind.rotate(query, *place)[:, :, None],
            state.self_keys[layer, :, :, : state.max_length + 1],
            state.self_values[layer, :, :, : state.max_length + 1],
            seen,
        )
        return attention.project_output(heads[:, :, 0])


def _step_cross(
    attention: MultiHeadAttention, y: Tensor, state: DecoderState, layer: int, beams: int
) -> Tensor:
    """Attention of one new token a row to its source.

    Where every source has `beams` rows they share its keys and values, which are read once.
    """
    query = attention.project_query(y)
    keys, values = state.cross_keys[layer], state.cross_values[layer]
    mask = state.cross_mask[:, None, None, :]
    if beams:
        query = query.view(-1, beams, *query.shape[1:]).transpose(1, 2)
    else:
        keys, values, mask = (one[state.source_of] for one in (keys, values, mask))
        query = query[:, :, None]
    heads = dot_product_attention(query, keys, values, mask)
    return attention.project_output(heads.transpose(1, 2).flatten(0, 1))


def vocabulary_sizes(config: Model) -> tuple[int, int]:
    """Entries of the source and of the target vocabulary; both must be known, equal when shared."""
    src, tgt = config.src_vocab_size, config.tgt_vocab_size
    if src == "auto" or tgt == "auto":
        raise ValueError("a model needs the sizes of its vocabularies; a corpus gives them")
    if config.tie_embeddings == "all" and src != tgt:
        raise ValueError("one shared matrix needs one vocabulary for both sides")
    return src, tgt


def stack_depths(config: Model) -> tuple[int, int]:
    """Layers of the encoder and of the decoder."""
    encoder = config.layers if config.encoder_layers == "auto" else config.encoder_layers
    decoder = config.layers if config.decoder_layers == "auto" else config.decoder_layers
    return encoder, decoder


def initialise(model: Transformer, seed: int) -> Transformer:
    """Give every weight its start value, the same for the same seed.

    Glorot-uniform projections, zero biases, embeddings of deviation d_model^-0.5 (so that, times
    sqrt(d_model), they are of size 1 beside the positions): tensor2tensor's choice, the paper is
    silent.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        with torch.no_grad():
            if name.startswith(("embedding.", "positions.", "tgt_positions.")):
                nn.init.normal_(weight, std=model.config.d_model**-0.5, generator=generator)
            elif "norm" in name:
                nn.init.constant_(weight, 1.0 if name.endswith("weight") else 0.0)
            elif weight.dim() == 2:
                nn.init.xavier_uniform_(weight, generator=generator)
            else:
                nn.init.zeros_(weight)
    return model


def parameter_count(model: nn.Module) -> int:
    """Numbers that training sets, each counted once."""
    return sum(weight.numel() for weight in model.parameters())
