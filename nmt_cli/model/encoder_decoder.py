"""The interface of all models: two vocabularies, an encoder, a decoder and an output layer.

Training, search and scoring use a model only through the methods of `EncoderDecoder`, and the
state of its decoder only through those of `DecodingState`.
"""

from abc import ABC, abstractmethod
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt_cli.batch import Batch, Segments
from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.shapes import TIES as TIES
from nmt_cli.model.shapes import stack_depths as stack_depths
from nmt_cli.model.shapes import vocabulary_sizes as vocabulary_sizes


class Embeddings(nn.Module):
    """One, two or three matrices (vocabulary, d_model), each stored once under its own name."""

    def __init__(self, config: ModelConfig) -> None:
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


State = TypeVar("State", bound="DecodingState")


@runtime_checkable
class DecodingState(Protocol):
    """The state of a decoder between steps: rows (hypotheses), each bound to a source."""

    @property
    def rows(self) -> int:
        """The number of hypotheses."""
        ...

    def select(self: State, rows: Int[Tensor, " chosen"]) -> State:
        """The given rows in the given order; rows may repeat, sources without a row are dropped."""
        ...

    def merge(self: State, other: State) -> State:
        """The rows of both, this state's first."""
        ...

    def narrow(self: State, longest: int) -> State:
        """The same rows with sources cut to `longest` tokens, which none of them exceeds."""
        ...


class EncoderDecoder(nn.Module, ABC):
    """A model over streams of tokens, independent of text, files and search.

    Subclasses implement `encode`, `decode`, `start`, `step` and `start_value`.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Weights are set by `initialise`; vocabulary sizes must be numbers here."""
        super().__init__()
        self.config = config
        self.embedding = Embeddings(config)
        if config.output_bias:
            self.output_bias = nn.Parameter(torch.zeros(vocabulary_sizes(config)[1]))
        else:
            self.register_parameter("output_bias", None)
        self.dropout = Dropout(config.dropout)

    def forward(self, batch: Batch) -> Float[Tensor, "tgt vocabulary"]:
        """Logits of every target token, given the tokens before it (teacher forcing)."""
        return self.logits(self.hidden(batch))

    def hidden(self, batch: Batch) -> Float[Tensor, "tgt d_model"]:
        """The input of `logits`: the decoder's output for every target token."""
        memory = self.encode(batch.src, batch.src_segments)
        return self.decode(batch.tgt_in, batch.tgt_segments, memory, batch.src_segments)

    def logits(self, hidden: Float[Tensor, "tokens d_model"]) -> Float[Tensor, "tokens vocabulary"]:
        """Scores of every word of the target vocabulary, before the softmax."""
        return F.linear(hidden, self.output_weight, self.output_bias)

    @property
    def output_weight(self) -> Float[Tensor, "vocabulary d_model"]:
        """The matrix from the decoder's output to logits (section 3.4)."""
        return self.embedding.matrix("output")

    @abstractmethod
    def encode(self, src: Int[Tensor, " src"], segments: Segments) -> Float[Tensor, "src memory"]:
        """The memory: the encoder's output, which the decoder attends to."""

    @abstractmethod
    def decode(
        self,
        tgt: Int[Tensor, " tgt"],
        segments: Segments,
        memory: Float[Tensor, "src memory"],
        memory_segments: Segments,
    ) -> Float[Tensor, "tgt d_model"]:
        """The decoder's output for whole sentences."""

    @abstractmethod
    def start(self, memory: Float[Tensor, "src memory"], segments: Segments) -> DecodingState:
        """A state of one row for each source and no tokens."""

    @abstractmethod
    def step(
        self, state: Any, ids: Int[Tensor, " rows"]
    ) -> tuple[Float[Tensor, "rows vocabulary"], Any]:
        """Logits of the next token after `ids`, and the state with them; consumes `state`."""

    @abstractmethod
    def start_value(self, name: str, weight: Tensor, generator: torch.Generator) -> None:
        """Initialise the weight of this name."""


Model = TypeVar("Model", bound=EncoderDecoder)


def initialise(model: Model, seed: int) -> Model:
    """Initialise every weight; the same seed gives the same weights."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            model.start_value(name, weight, generator)
    return model


def parameter_count(model: nn.Module) -> int:
    """The number of parameters; tied weights count once."""
    return sum(weight.numel() for weight in model.parameters())
