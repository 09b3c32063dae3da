"""Random walks of a search through a model's states, checked against teacher forcing."""

import numpy as np
import torch
from teacher_forcing import assert_close, logits_of
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.model.encoder_decoder import DecodingState, EncoderDecoder


class Walk:
    """Hypotheses that grow by random tokens while rows are repeated, moved, dropped and added.

    Each keeps the logits that steps gave it, to be compared with those of teacher forcing.
    """

    def __init__(self, model: EncoderDecoder, sources: list[Tensor], first: list[int]) -> None:
        self.model = model
        self.chooser = np.random.default_rng(11)
        self.sources = sources
        self.hypotheses: list[tuple[int, list[int], list[Tensor]]] = []
        self.retired: list[tuple[int, list[int], list[Tensor]]] = []
        self.state = self.admit(first)

    def admit(self, numbers: list[int]) -> DecodingState:
        segments = Segments.from_lengths([len(self.sources[number]) for number in numbers])
        src = torch.cat([self.sources[number] for number in numbers])
        self.hypotheses += [(number, [], []) for number in numbers]
        return self.model.start(self.model.encode(src, segments), segments)

    def refill(self, numbers: list[int]) -> None:
        self.state = self.state.merge(self.admit(numbers))

    def select(self, rows: list[int]) -> None:
        gone = set(range(len(self.hypotheses))) - set(rows)
        self.retired += [self.hypotheses[row] for row in sorted(gone)]
        self.state = self.state.select(torch.tensor(rows, dtype=torch.int64))
        kept = [self.hypotheses[row] for row in rows]
        self.hypotheses = [(source, [*ids], [*logits]) for source, ids, logits in kept]

    def step(self) -> None:
        ids = self.chooser.integers(4, 14, len(self.hypotheses))
        for index, (_, prefix, _) in enumerate(self.hypotheses):
            if not prefix:
                ids[index] = self.model.config.bos_id
        logits, self.state = self.model.step(self.state, torch.from_numpy(ids))
        for row, token, (_, prefix, seen) in zip(logits, ids, self.hypotheses, strict=True):
            prefix.append(int(token))
            seen.append(row)

    def check(self) -> int:
        """Compare everything with teacher forcing; how many logits were compared."""
        everyone = [hypothesis for hypothesis in self.retired + self.hypotheses if hypothesis[1]]
        eos = self.model.config.eos_id
        pairs = [
            (self.sources[source], torch.tensor([*ids[1:], eos])) for source, ids, _ in everyone
        ]
        for (_, _, seen), expected in zip(everyone, logits_of(self.model, pairs), strict=True):
            assert_close(torch.stack(seen), expected)
        return sum(len(seen) for _, _, seen in everyone)
