"""Stepping through search, however rows are moved, gives what teacher forcing gives."""

import numpy as np
import pytest
import torch
from teacher_forcing import assert_close, logits_of, pairs_of
from torch import Tensor
from variants import every_variant, model_config
from walks import Walk


@pytest.fixture
def sources(random_batch) -> list[Tensor]:
    config = model_config({"model.tie_embeddings": "none", "model.src_vocab_size": 11})
    return [src for src, _ in pairs_of(random_batch(config, [3, 1, 6, 2], [1, 1, 1, 1]))]


@every_variant
@torch.no_grad()
def test_decoder_steps_equal_teacher_forcing(settings, make_model, sources, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.model.decoder_state.GROWTH", 3)
    walk = Walk(make_model(settings), sources, [0, 1])
    walk.step()
    walk.select([0, 0, 0, 1, 1, 1])
    assert walk.state.rows_per_source == 3
    walk.step()
    walk.step()
    walk.select([2, 0, 0, 4, 3, 5])
    walk.step()
    walk.select([5, 2, 0])
    assert walk.state.rows_per_source == 0
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
def test_decoder_steps_on_any_search_path_equal_teacher_forcing(
    seed, make_model, random_batch, monkeypatch
) -> None:
    monkeypatch.setattr("nmt_cli.model.decoder_state.GROWTH", 2)
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
def test_decoder_steps_with_fused_attention_agree(make_model, sources, monkeypatch) -> None:
    model = make_model({})
    pairs = [(src, src.flip(0)) for src in sources]
    plain = logits_of(model, pairs)
    for module in ("attention", "backends.dispatch"):
        path = f"nmt_cli.model.{module}.rectangle_backend"
        monkeypatch.setattr(path, lambda device: "fused")
    for result, expected in zip(logits_of(model, pairs), plain, strict=True):
        assert_close(result, expected)
    walk = Walk(model, sources, [0, 2])
    for rows in ([1, 1, 0], [2, 0, 1], [0, 1, 2]):
        walk.select(rows)
        walk.step()
    assert walk.check() == 9


@torch.no_grad()
def test_decoder_state_without_rows_can_be_refilled(make_model, sources) -> None:
    walk = Walk(make_model({}), sources, [1, 2])
    walk.step()
    walk.select([])
    assert (walk.state.rows, len(walk.state.cross_mask)) == (0, 0)
    walk.refill([3])
    walk.step()
    walk.step()
    assert walk.check() == 4


@torch.no_grad()
def test_decoder_state_selection_drops_sources_without_rows(make_model, sources) -> None:
    walk = Walk(make_model({}), sources, [0, 1, 2])
    walk.select([2, 0, 2])
    assert walk.state.source_of.tolist() == [1, 0, 1]
    assert walk.state.cross_keys.shape[1] == len(walk.state.cross_mask) == 2


@torch.no_grad()
@pytest.mark.parametrize("steps", [(1, 4), (4, 1), (0, 5), (5, 0)])
def test_decoder_states_of_different_lengths_merge(steps, make_model, sources, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.model.decoder_state.GROWTH", 2)
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
