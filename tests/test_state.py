"""Stepping through search, however rows are moved, gives what teacher forcing gives."""

import numpy as np
import pytest
import torch
from teacher_forcing import assert_close, logits_of, pairs_of
from torch import Tensor
from variants import every_variant, model_config

from nmt_cli.batch import Segments
from nmt_cli.model.state import DecoderState
from nmt_cli.model.transformer import Transformer


@pytest.fixture
def sources(random_batch) -> list[Tensor]:
    config = model_config({"model.tie_embeddings": "none", "model.src_vocab_size": 11})
    return [src for src, _ in pairs_of(random_batch(config, [3, 1, 6, 2], [1, 1, 1, 1]))]


class Walk:
    """Hypotheses that grow by random tokens while rows are repeated, moved, dropped and added.

    Each keeps the logits that steps gave it, to be compared with those of teacher forcing.
    """

    def __init__(self, model: Transformer, sources: list[Tensor], first: list[int]) -> None:
        self.model = model
        self.chooser = np.random.default_rng(11)
        self.sources = sources
        self.hypotheses: list[tuple[int, list[int], list[Tensor]]] = []
        self.retired: list[tuple[int, list[int], list[Tensor]]] = []
        self.state = self.admit(first)

    def admit(self, numbers: list[int]) -> DecoderState:
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
        for number, (_, prefix, _) in enumerate(self.hypotheses):
            if not prefix:
                ids[number] = self.model.config.bos_id
        logits, self.state = self.model.step(self.state, torch.from_numpy(ids))
        for row, one, (_, prefix, seen) in zip(logits, ids, self.hypotheses, strict=True):
            prefix.append(int(one))
            seen.append(row)

    def check(self) -> int:
        """Compare everything with teacher forcing; how many logits were compared."""
        everyone = [one for one in self.retired + self.hypotheses if one[1]]
        eos = self.model.config.eos_id
        pairs = [
            (self.sources[source], torch.tensor([*ids[1:], eos])) for source, ids, _ in everyone
        ]
        for (_, _, seen), expected in zip(everyone, logits_of(self.model, pairs), strict=True):
            assert_close(torch.stack(seen), expected)
        return sum(len(seen) for _, _, seen in everyone)


@every_variant
@torch.no_grad()
def test_steps_give_what_teacher_forcing_gives(settings, make_model, sources, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.model.state.GROWTH", 3)
    walk = Walk(make_model(settings), sources, [0, 1])
    walk.step()
    walk.select([0, 0, 0, 1, 1, 1])
    assert walk.state.beams == 3
    walk.step()
    walk.step()
    walk.select([2, 0, 0, 4, 3, 5])
    walk.step()
    walk.select([5, 2, 0])
    assert walk.state.beams == 0
    walk.step()
    walk.refill([2])
    walk.step()
    walk.select([3, 3, 1])
    walk.step()
    walk.refill([3, 0])
    for _ in range(3):
        walk.step()
    walk.select([4, 3])
    walk.step()
    assert walk.check() > 50


@torch.no_grad()
@pytest.mark.parametrize("seed", range(8))
def test_any_walk_of_the_search_gives_what_teacher_forcing_gives(
    seed, make_model, random_batch, monkeypatch
) -> None:
    monkeypatch.setattr("nmt_cli.model.state.GROWTH", 2)
    model = make_model({"model.positions": ("sinusoidal", "rotary")[seed % 2]})
    chooser = np.random.default_rng(seed)
    lengths = chooser.integers(1, 9, 6).tolist()
    sources = [src for src, _ in pairs_of(random_batch(model.config, lengths, lengths))]
    walk = Walk(model, sources, [0, 5])
    for _ in range(14):
        if not walk.hypotheses or chooser.random() < 0.3:
            walk.refill(chooser.integers(0, 6, chooser.integers(1, 3)).tolist())
        if chooser.random() < 0.5:
            rows = len(walk.hypotheses)
            walk.select(chooser.integers(0, rows, chooser.integers(0, min(rows, 5) + 1)).tolist())
        if walk.hypotheses:
            walk.step()
    assert walk.check() >= 14


@torch.no_grad()
def test_the_backend_for_gpus_gives_the_same(make_model, sources, monkeypatch) -> None:
    model = make_model({})
    pairs = [(src, src.flip(0)) for src in sources]
    plain = logits_of(model, pairs)
    monkeypatch.setattr("nmt_cli.model.attention.rectangle_backend", lambda device: "fused")
    for found, expected in zip(logits_of(model, pairs), plain, strict=True):
        assert_close(found, expected)
    walk = Walk(model, sources, [0, 2])
    for rows in ([1, 1, 0], [2, 0, 1], [0, 1, 2]):
        walk.select(rows)
        walk.step()
    assert walk.check() == 9


@torch.no_grad()
def test_a_state_without_rows_can_be_filled_again(make_model, sources) -> None:
    walk = Walk(make_model({}), sources, [1, 2])
    walk.step()
    walk.select([])
    assert (walk.state.rows, len(walk.state.cross_mask)) == (0, 0)
    walk.refill([3])
    walk.step()
    walk.step()
    assert walk.check() == 4


@torch.no_grad()
def test_selecting_drops_sources_without_rows(make_model, sources) -> None:
    walk = Walk(make_model({}), sources, [0, 1, 2])
    walk.select([2, 0, 2])
    assert walk.state.source_of.tolist() == [1, 0, 1]
    assert walk.state.cross_keys.shape[1] == len(walk.state.cross_mask) == 2


@torch.no_grad()
@pytest.mark.parametrize("steps", [(1, 4), (4, 1), (0, 5), (5, 0)])
def test_states_of_any_lengths_merge(steps, make_model, sources, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.model.state.GROWTH", 2)
    model = make_model({"model.positions": "rotary"})
    first, second = Walk(model, sources, [0, 3]), Walk(model, sources, [2])
    for walk, count in zip((first, second), steps, strict=True):
        for _ in range(count):
            walk.step()
    first.state = first.state.merge(second.state)
    first.hypotheses += second.hypotheses
    first.step()
    first.step()
    assert first.check() == 2 * (steps[0] + 2) + steps[1] + 2
