"""The baseline "rnn": gated recurrent units with attention (Bahdanau et al. 2014).

"Neural Machine Translation by Jointly Learning to Align and Translate", whose sections the
docstrings name. Units are GRUs as in that paper: they have fewer products than LSTMs, and one
state. The reset gate is applied after its product, as in fast kernels. From later work, to train
several layers: residual connections from the second layer on; attention in the lowest layer of the
decoder only, whose context goes to all layers (Wu et al. 2016, "Google's Neural Machine Translation
System", section 3); a decoder that starts from the mean of the annotations, and a tanh layer
before the output in place of maxout (Sennrich et al. 2017, "Nematus").
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt_cli.batch import Segments
from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.baselines.state import RowState
from nmt_cli.model.encoder_decoder import EncoderDecoder, stack_depths

# Reset, update and new: the gates whose matrices a GRU's weights hold.
GATES = 3


class AdditiveAttention(nn.Module):
    """Section A.1.2, the alignment model: softmax of v^T tanh(W s + U h)."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model)
        self.energy = nn.Linear(d_model, 1, bias=False)

    def forward(
        self,
        state: Float[Tensor, "rows d_model"],
        keys: Float[Tensor, "rows src d_model"],
        mask: Bool[Tensor, "rows src"],
    ) -> Float[Tensor, "rows src"]:
        """The weight of each annotation for each row; `keys`: U h, computed once for a source."""
        energies = self.energy(torch.tanh(self.query(state)[:, None] + keys))[:, :, 0]
        # Not -inf: rows that only fill up a batch have no keys, and 0 / 0 would reach the weights.
        masked: Tensor = energies.masked_fill(~mask, torch.finfo(energies.dtype).min)
        return masked.softmax(dim=-1)


class Annotations(NamedTuple):
    """The memory of each row: the annotations, U times them, and the mask of their tokens."""

    values: Float[Tensor, "rows src d_model"]
    keys: Float[Tensor, "rows src d_model"]
    mask: Bool[Tensor, "rows src"]


class Recurrent(EncoderDecoder):
    """A bidirectional encoder, and a decoder that attends to its annotations in every step."""

    def __init__(self, config: ModelConfig) -> None:
        """`config.d_model` is even: each direction of the encoder has half of it."""
        super().__init__(config)
        width = config.d_model
        layers = stack_depths(config)
        self.encoder = nn.ModuleList(
            nn.GRU(width, width // 2, bidirectional=True) for _ in range(layers[0])
        )
        self.attention = AdditiveAttention(width)
        self.first_state = nn.Linear(width, width)
        self.decoder = nn.ModuleList(nn.GRU(2 * width, width) for _ in range(layers[1]))
        self.readout = nn.Linear(3 * width, width)

    def encode(self, src: Int[Tensor, " src"], segments: Segments) -> Float[Tensor, "src d_model"]:
        """Section 3.2: the annotations, both directions of each token concatenated."""
        with without_autocast(src.device):
            x = self._embed("src", src)
            for index, layer in enumerate(self.encoder):
                x = self._residual(index, x, run_gru(cast(nn.GRU, layer), x, segments))
            return x

    def decode(
        self,
        tgt: Int[Tensor, " tgt"],
        segments: Segments,
        memory: Float[Tensor, "src d_model"],
        memory_segments: Segments,
    ) -> Float[Tensor, "tgt d_model"]:
        """The lowest layer runs step by step, because its attention needs the step before."""
        with without_autocast(tgt.device):
            previous = self._embed("tgt", tgt)
            rectangle = memory_segments.to_rectangle(memory)
            annotations = self._annotations(rectangle, memory_segments.inside)
            state = self._first_state(memory, memory_segments)
            states, contexts = [], []
            for token in segments.to_rectangle(previous).unbind(1):
                context = self._attend(state, annotations)
                state = gru_step(self._layers[0], torch.cat([token, context], 1), state)
                states.append(state)
                contexts.append(context)
            x = segments.to_stream(torch.stack(states, 1))
            context = segments.to_stream(torch.stack(contexts, 1))
            x = self._residual(0, x, x)
            for index, layer in enumerate(self._layers[1:], 1):
                output = run_gru(layer, torch.cat([x, context], 1), segments)
                x = self._residual(index, x, output)
        return self._read_out(x, previous, context)

    def start(self, memory: Float[Tensor, "src d_model"], segments: Segments) -> RowState:
        """A state of one row for each source and no tokens, with the keys of the sources."""
        first = self._first_state(memory, segments)
        # (sources, layers, d_model)
        hidden = first.new_zeros(len(first), len(self.decoder), first.shape[1])
        hidden[:, 0] = first
        return RowState.begin(hidden, torch.cat([memory, self.attention.key(memory)], 1), segments)

    def step(
        self, state: RowState, ids: Int[Tensor, " rows"]
    ) -> tuple[Float[Tensor, "rows vocabulary"], RowState]:
        """Logits of the next token after `ids`, and the state with them; consumes `state`."""
        previous = self._embed("tgt", ids)
        values, keys = state.memory[state.source_of].chunk(2, dim=2)
        annotations = Annotations(values, keys, state.memory_mask[state.source_of])
        context = self._attend(state.hidden[:, 0], annotations)
        x, hidden = previous, []
        for index, layer in enumerate(self._layers):
            hidden.append(gru_step(layer, torch.cat([x, context], 1), state.hidden[:, index]))
            x = self._residual(index, x, hidden[-1])
        output = self._read_out(x, previous, context)
        return self.logits(output), state.after(torch.stack(hidden, 1))

    def start_value(self, name: str, weight: Tensor, generator: torch.Generator) -> None:
        """Recurrent matrices orthogonal, biases zero (section B.1), other matrices Glorot-uniform.

        Embeddings and output have deviation d_model^-0.5. Each gate has a matrix of its own.
        """
        if name.startswith("embedding."):
            nn.init.normal_(weight, std=self.config.d_model**-0.5, generator=generator)
        elif weight.dim() < 2:
            nn.init.zeros_(weight)
        elif "weight_hh" in name:
            for gate in weight.chunk(GATES):
                nn.init.orthogonal_(gate, generator=generator)
        else:
            gates = GATES if "weight_ih" in name else 1
            for gate in weight.chunk(gates):
                nn.init.xavier_uniform_(gate, generator=generator)

    @property
    def _layers(self) -> Sequence[nn.GRU]:
        return [cast(nn.GRU, layer) for layer in self.decoder]

    def _embed(self, side: str, ids: Tensor) -> Tensor:
        return cast(Tensor, self.dropout(F.embedding(ids, self.embedding.matrix(side))))

    def _residual(self, index: int, x: Tensor, y: Tensor) -> Tensor:
        """The output `y` of a layer after dropout, plus its input `x` except in the first layer."""
        dropped: Tensor = self.dropout(y)
        return x + dropped if index else dropped

    def _annotations(self, values: Tensor, mask: Tensor) -> Annotations:
        return Annotations(values, self.attention.key(values), mask)

    def _first_state(self, memory: Tensor, segments: Segments) -> Tensor:
        """(sentences, d_model): tanh of a projection of the mean annotation (Nematus)."""
        sums = segments.to_rectangle(memory).sum(1)
        return torch.tanh(self.first_state(sums / segments.lengths.clamp(min=1)[:, None]))

    def _attend(self, state: Tensor, annotations: Annotations) -> Tensor:
        """Equation 5: the context, a weighted mean of the annotations."""
        weights = self.attention(state, annotations.keys, annotations.mask)
        return torch.bmm(weights[:, None], annotations.values)[:, 0]

    def _read_out(self, x: Tensor, previous: Tensor, context: Tensor) -> Tensor:
        """Equation 4: the next token depends on the state, the token before it and the context."""
        joined = torch.tanh(self.readout(torch.cat([x, previous, context], 1)))
        return cast(Tensor, self.dropout(joined))


def without_autocast(device: torch.device) -> torch.autocast:
    """Float32 arithmetic without autocast: rounding errors add up from step to step."""
    return torch.autocast(device.type, enabled=False)


def run_gru(
    layer: nn.GRU, x: Float[Tensor, "tokens width"], segments: Segments
) -> Float[Tensor, "tokens outputs"]:
    """`layer` over each sentence, from a state of zeros (section A.1.1)."""
    # An empty sentence, which fills up a batch, is run as one of one token.
    lengths = segments.lengths.clamp(min=1).cpu()
    packed = pack_padded_sequence(
        segments.to_rectangle(x), lengths, batch_first=True, enforce_sorted=False
    )
    outputs = pad_packed_sequence(
        layer(packed)[0], batch_first=True, total_length=segments.max_length
    )
    return segments.to_stream(outputs[0])


def gru_step(
    layer: nn.GRU, x: Float[Tensor, "rows width"], state: Float[Tensor, "rows d_model"]
) -> Float[Tensor, "rows d_model"]:
    """The state of `layer` after one more step of each row."""
    names = "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"
    return torch.gru_cell(x, state, *(cast(Tensor, getattr(layer, name)) for name in names))
