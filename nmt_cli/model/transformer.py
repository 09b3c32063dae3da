"""Figure 1: embeddings (section 3.4), encoder and decoder (3.1), output (3.4)."""

import math
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt_cli.batch import Segments
from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.attention import MultiHeadAttention, dot_product_attention
from nmt_cli.model.decoder_state import DecoderState
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.encoder_decoder import initialise as initialise
from nmt_cli.model.encoder_decoder import parameter_count as parameter_count
from nmt_cli.model.encoder_decoder import stack_depths as stack_depths
from nmt_cli.model.encoder_decoder import vocabulary_sizes as vocabulary_sizes
from nmt_cli.model.layers import DecoderLayer, EncoderLayer, cross_attend, make_norm, self_attend
from nmt_cli.model.native.norm import in_two_widths
from nmt_cli.model.positions import POSITIONS


class Transformer(EncoderDecoder):
    """The paper's model and later variants of it, for training and for search."""

    def __init__(self, config: ModelConfig) -> None:
        """Weights are made by `initialise`; vocabulary sizes must be numbers here."""
        super().__init__(config)
        make_positions = POSITIONS[config.positions]
        self.positions = make_positions(config)
        # Learned positions differ between the sides; the other kinds have no weights.
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

    def encode(self, src: Int[Tensor, " src"], segments: Segments) -> Float[Tensor, "src d_model"]:
        """The memory: the encoder's output, which the decoder attends to."""
        x = self._embed("src", src, segments.positions, segments.max_length)
        for layer in self.encoder:
            x = layer(x, segments, self.positions)
        return cast(Tensor, self.encoder_norm(in_two_widths(x).wide))

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
        return cast(Tensor, self.decoder_norm(in_two_widths(x).wide))

    def start(self, memory: Float[Tensor, "src d_model"], segments: Segments) -> DecoderState:
        """A state of one row for each source and no tokens, with keys and values of the sources."""
        keys, values = [], []
        for layer in self.decoder_layers:
            projected = layer.cross_attention.project_keys_values(memory)
            # (tokens, heads, width) -> (sources, heads, length, width)
            keys.append(segments.to_rectangle(projected.key).transpose(1, 2))
            values.append(segments.to_rectangle(projected.value).transpose(1, 2))
        empty = (len(keys), segments.sentences, self.config.heads, 0)
        sources = torch.arange(segments.sentences, device=memory.device)
        return DecoderState(
            keys[0].new_zeros(*empty, keys[0].shape[-1]),
            values[0].new_zeros(*empty, values[0].shape[-1]),
            torch.stack(keys),
            torch.stack(values),
            segments.inside,
            sources,
            torch.zeros_like(sources),
            0,
        )

    def step(
        self, state: DecoderState, ids: Int[Tensor, " rows"]
    ) -> tuple[Float[Tensor, "rows vocabulary"], DecoderState]:
        """Logits of the next token after `ids`, and the state with them; consumes `state`."""
        state.reserve_token()
        x = self._embed("tgt", ids, state.lengths, state.max_length + 1)
        steps = torch.arange(state.max_length + 1, device=ids.device)
        # (rows, heads, queries, keys)
        mask = (steps[None, :] <= state.lengths[:, None])[:, None, None, :]
        beam = state.rows_per_source
        for index, layer in enumerate(self.decoder_layers):
            x = layer(
                x,
                lambda y, a=layer.self_attention, i=index: self._step_self(a, y, state, i, mask),
                lambda y, a=layer.cross_attention, i=index: _step_cross(a, y, state, i, beam),
            )
        state.lengths = state.lengths + 1
        state.max_length += 1
        return self.logits(self.decoder_norm(in_two_widths(x).wide)), state

    def start_value(self, name: str, weight: Tensor, generator: torch.Generator) -> None:
        """Glorot-uniform projections, zero biases, embeddings of deviation d_model^-0.5.

        Embeddings times sqrt(d_model) then have deviation 1, like the positions. The paper does not
        say; this is the choice of tensor2tensor.
        """
        if name.startswith(("embedding.", "positions.", "tgt_positions.")):
            nn.init.normal_(weight, std=self.config.d_model**-0.5, generator=generator)
        elif "norm" in name:
            nn.init.constant_(weight, 1.0 if name.endswith("weight") else 0.0)
        elif weight.dim() == 2:
            nn.init.xavier_uniform_(weight, generator=generator)
        else:
            nn.init.zeros_(weight)

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        """The layers of the decoder, typed."""
        return [cast(DecoderLayer, layer) for layer in self.decoder]

    def _embed(self, side: str, ids: Tensor, positions: Tensor, max_length: int) -> Tensor:
        embedded = F.embedding(ids, self.embedding.matrix(side))
        if self.config.scale_embeddings:
            embedded = embedded * math.sqrt(self.config.d_model)
        encoding = self.positions if side == "src" else self.tgt_positions
        return cast(Tensor, self.dropout(encoding.add(embedded, positions, max_length)))

    def _step_self(
        self,
        attention: MultiHeadAttention,
        y: Tensor,
        state: DecoderState,
        layer: int,
        mask: Tensor,
    ) -> Tensor:
        """Self-attention of one new token for each row; its key and value enter the cache."""
        query, new = attention.project_self(y)
        where = state.lengths, state.max_length + 1
        positions = self.tgt_positions
        rows = torch.arange(state.rows, device=y.device)
        state.self_keys[layer, rows, :, state.lengths] = positions.rotate(new.key, *where)
        state.self_values[layer, rows, :, state.lengths] = new.value
        heads = dot_product_attention(
            # (rows, heads, d_k) -> (rows, heads, 1, d_k)
            positions.rotate(query, *where)[:, :, None],
            state.self_keys[layer, :, :, : state.max_length + 1],
            state.self_values[layer, :, :, : state.max_length + 1],
            mask,
        )
        return attention.project_output(heads[:, :, 0])


def _step_cross(
    attention: MultiHeadAttention, y: Tensor, state: DecoderState, layer: int, beam: int
) -> Tensor:
    """Cross-attention of one new token for each row.

    Where every source has `beam` rows (0: it has not), they share its keys and values, which are
    read once.
    """
    query = attention.project_query(y)
    keys, values = state.cross_keys[layer], state.cross_values[layer]
    mask = state.cross_mask[:, None, None, :]
    if beam:
        # (rows, heads, d_k) -> (sources, heads, beam, d_k)
        query = query.view(-1, beam, *query.shape[1:]).transpose(1, 2)
    else:
        keys, values, mask = (tensor[state.source_of] for tensor in (keys, values, mask))
        query = query[:, :, None]
    heads = dot_product_attention(query, keys, values, mask)
    return attention.project_output(heads.transpose(1, 2).flatten(0, 1))
