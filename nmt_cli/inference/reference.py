"""The reference engine: decodes with the model as it is trained; other engines must agree."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.inference.logits_step import BusyRows, LogitsStep
from nmt_cli.inference.vocabulary_mask import VocabularyMask
from nmt_cli.model.encoder_decoder import DecodingState, EncoderDecoder
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.arrays.torch_top_k import top_k
from nmt_cli.search.decoder import Source, Symbols


class ReferenceDecoder:
    """A `search.decoder.Decoder` over a model; only busy slots are computed."""

    check_every = 1

    def __init__(self, model: EncoderDecoder, slots: int, beam: int) -> None:
        """model: in evaluation mode, on any device."""
        self.slots = slots
        self.beam = beam
        self.symbols = Symbols.of(model.config)
        self.device = next(model.parameters()).device
        self.arrays = TorchArrays(self.device)
        self._model = model
        self._state: DecodingState | None = None
        # The busy slots in the order of the state's rows, with their source lengths.
        self._lengths: dict[int, int] = {}
        self._allowed = VocabularyMask(len(model.output_weight), self.device)

    @torch.inference_mode()
    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Encode the sources together; each slot gets `beam` equal rows."""
        lengths = [len(source.ids) for source in sources]
        ids = [token_id for source in sources for token_id in source.ids]
        segments = Segments.from_lengths(lengths).to(self.device)
        memory = self._model.encode(torch.tensor(ids, device=self.device), segments)
        rows = torch.arange(len(sources), device=self.device).repeat_interleave(self.beam)
        new = self._model.start(memory, segments).select(rows)
        self._state = new if self._state is None else self._state.merge(new)
        self._lengths.update(zip(slots, lengths, strict=True))
        self._allowed.admit(slots, sources)

    @torch.inference_mode()
    def retire(self, slots: Sequence[int]) -> None:
        """Drop the rows of these slots."""
        assert self._state is not None
        kept = [index for index, slot in enumerate(self._lengths) if slot not in slots]
        for slot in slots:
            del self._lengths[slot]
        self._allowed.retire(slots)
        if not kept:
            self._state = None
            return
        indices = torch.tensor(kept, device=self.device)
        state = self._state.select(self._rows(indices).flatten())
        self._state = state.narrow(max(self._lengths.values()))

    @torch.inference_mode()
    def step(self, parents: Tensor, ids: Tensor) -> LogitsStep:
        """Reorder the busy rows and compute their next logits."""
        assert self._state is not None
        busy = torch.tensor(list(self._lengths), device=self.device)
        rows = self._rows(busy)
        # From the rows of all slots to those of the state, slot by slot: (busy, beam).
        state_rows = self._rows(torch.arange(len(busy), device=self.device))
        origins = state_rows[:, :1] + parents[rows] - rows[:, :1]
        # Moving rows copies the whole KV cache; greedy search never moves any.
        moves = not torch.equal(origins, state_rows)
        state = self._state.select(origins.flatten()) if moves else self._state
        logits, self._state = self._model.step(state, ids[rows.flatten()])
        logits = self._allowed.hide_others(logits.float(), list(self._lengths))
        totals = logits.logsumexp(1, keepdim=True)
        busy_rows = BusyRows(rows.flatten(), self.slots * self.beam)
        return LogitsStep(logits, totals, logits.shape[1], _plain_top_k, busy_rows)

    def _rows(self, slots: Tensor) -> Tensor:
        """(slots, beam): the rows of some slots."""
        return slots[:, None] * self.beam + torch.arange(self.beam, device=self.device)


def _plain_top_k(logits: Tensor, k: int, _edited: Tensor) -> tuple[Tensor, Tensor]:
    return top_k(logits, k)
