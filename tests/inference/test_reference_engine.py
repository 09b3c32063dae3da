"""The reference engine: it equals a full recomputation in any batch."""

import pytest
import torch
from engine_cases import EOS, random_sources, translations
from teacher_forcing import logits_of
from torch import Tensor
from variants import Settings

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Edits, Source

SETTINGS: list[Settings] = [
    {},
    {"model.positions": "learned", "model.norm_order": "pre"},
    {"model.positions": "rotary", "model.activation": "swiglu", "model.tie_embeddings": "none"},
]


def log_probs_after(model: Transformer, source, prefixes) -> list[Tensor]:
    """Log-probabilities of the next id, each prefix computed from its beginning."""
    pairs = [(torch.tensor(source), torch.tensor([*prefix, EOS])) for prefix in prefixes]
    return [logits[-1].float().log_softmax(0) for logits in logits_of(model, pairs)]


def naive(model: Transformer, source, config: SearchConfig) -> list[tuple[float, tuple[int, ...]]]:
    """Beam search with lists; every prefix is computed anew, and nothing stops early."""
    limit = len(source) - 1 + config.max_extra_length
    count = 2 * config.beam if config.beam > 1 else 1
    live, finished = [(0.0, ())], []
    for length in range(limit + 1):
        rows = log_probs_after(model, source, [prefix for _, prefix in live])
        candidates = [
            (log_prob + row[token_id].item(), (*prefix, token_id))
            for (log_prob, prefix), row in zip(live, rows, strict=True)
            for token_id in range(len(row))
            if token_id not in model.config.banned_ids and (length < limit or token_id == EOS)
        ]
        best = sorted(candidates, key=lambda candidate: -candidate[0])[:count]
        finished += [(s / ((5 + len(p)) / 6) ** config.alpha, p) for s, p in best if p[-1] == EOS]
        live = [candidate for candidate in best if candidate[1][-1] != EOS][: config.beam]
        if not live:
            break
    return sorted(finished, key=lambda candidate: -candidate[0])[: config.n_best]


@pytest.mark.parametrize("settings", SETTINGS, ids=range(3))
@pytest.mark.parametrize("beam", [1, 4])
def test_search_equals_a_naive_search_without_a_cache(
    settings: Settings, beam: int, late_model
) -> None:
    model = late_model(settings, torch.float64)
    config = SearchConfig(beam=beam, n_best=min(beam, 3), max_extra_length=6)
    sources = random_sources(10, words=14)
    results = translations(ReferenceDecoder(model, 4, beam), sources, config)
    assert len({len(hypotheses[0].ids) for hypotheses in results}) >= 3, "the lengths must vary"
    for source, hypotheses in zip(sources, results, strict=True):
        expected = naive(model, source.ids, config)
        assert [hypothesis.ids for hypothesis in hypotheses] == [ids for _, ids in expected]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
            [score for score, _ in expected], abs=1e-4
        )


def test_padding_shrinks_with_the_longest_source(make_model) -> None:
    decoder = ReferenceDecoder(make_model({}), 3, 2)
    decoder.admit([0, 2], [Source([4] * 40 + [EOS]), Source([5, EOS])])
    assert decoder._state is not None
    assert decoder._state.cross_mask.shape == (2, 41)
    decoder.retire([0])
    assert decoder._state.cross_mask.shape == (1, 2)
    decoder.admit([1], [Source([6, 7, EOS])])
    assert decoder._state.cross_keys.shape[3] == 3
    decoder.retire([1, 2])
    assert decoder._state is None


@torch.no_grad()
def test_rows_of_free_slots_hold_minus_infinity(make_model) -> None:
    model = make_model({})
    decoder = ReferenceDecoder(model, 3, 2)
    decoder.admit([2, 0], [Source([4, 5, EOS]), Source([6, EOS])])
    starts = torch.full((6,), model.config.bos_id)
    step = decoder.step(torch.arange(6), starts)
    full = step.full()
    assert full.shape == (6, 14)
    assert full[2:4].isneginf().all()
    for row, source in ((0, (6, EOS)), (1, (6, EOS)), (4, (4, 5, EOS)), (5, (4, 5, EOS))):
        torch.testing.assert_close(full[row], log_probs_after(model, source, [()])[0])
    # Row 5 becomes row 4's other continuation; row 0 that of row 1.
    step = decoder.step(torch.tensor([1, 0, 2, 3, 4, 4]), torch.tensor([4, 5, 0, 0, 8, 9]))
    expected = log_probs_after(model, (4, 5, EOS), [(8,), (9,)])
    torch.testing.assert_close(step.full()[4:], torch.stack(expected))
    expected = log_probs_after(model, (6, EOS), [(4,), (5,)])
    torch.testing.assert_close(step.full()[:2], torch.stack(expected))


def test_edits_change_the_choice_and_are_restored(make_model) -> None:
    decoder = ReferenceDecoder(make_model({}), 2, 2)
    decoder.admit([1], [Source([4, EOS])])
    step = decoder.step(torch.arange(4), torch.full((4,), 2))
    full = step.full()
    edits = Edits.ban([0, 1, 2], 4, decoder.arrays)
    best = int(full[2, 4:].argmax()) + 4
    edits = Edits(
        torch.cat([edits.rows, torch.tensor([2, 2, 3])]),
        torch.cat([edits.ids, torch.tensor([best, 13, 13])]),
        torch.cat([edits.bias, torch.tensor([-1.0, 30.0, -torch.inf])]),
        torch.full((4,), -1),
    )
    expected = full.clone()
    expected[:, :3] = -torch.inf
    expected[2, best] -= 1.0
    expected[2, 13] += 30.0
    expected[3, 13] = -torch.inf
    values, ids = step.top(5, edits)
    assert values[:2].isneginf().all()
    torch.testing.assert_close(values[2:], expected[2:].topk(5).values)
    assert ids[2, 0] == 13
    assert torch.equal(ids[2:], expected[2:].topk(5).indices)
    assert torch.equal(step.full(), full)
    edits.forced[3] = 7
    values, ids = step.top(5, edits)
    assert ids[3, 0] == 7
    assert values[3, 0] == pytest.approx(full[3, 7].item())
    assert values[3, 1:].isneginf().all()
    torch.testing.assert_close(values[2], expected[2].topk(5).values)


def test_decoding_begins_with_the_start_id_of_the_config(make_model) -> None:
    model = make_model({"model.start_id": 5})
    decoder = ReferenceDecoder(model, 4, 1)
    best = translations(decoder, [Source((4, 6, EOS))], SearchConfig(beam=1))[0][0]
    pair = (torch.tensor([4, 6, EOS]), torch.tensor(best.ids))
    model.config = make_model({"model.bos_id": 5, "model.start_id": 5}).config
    rows = logits_of(model, [pair])[0].float().log_softmax(1)
    expected = [row[token_id].item() for row, token_id in zip(rows, best.ids, strict=True)]
    assert best.token_scores == pytest.approx(expected, abs=1e-4)
