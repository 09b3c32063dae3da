"""The reference engine: it equals a full recomputation in any batch."""

import random

import pytest
import torch
from teacher_forcing import logits_of
from torch import Tensor
from variants import Settings

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Source, Step

EOS = 3
KINDS: list[Settings] = [
    {},
    {"model.positions": "learned", "model.norm_order": "pre"},
    {"model.positions": "rotary", "model.activation": "swiglu", "model.tie_embeddings": "none"},
    {"model.decoder_layers": 1, "model.d_k": 3, "model.d_v": 5},
]


@pytest.fixture
def model_that_ends_late(make_model):
    """Random models like to end at once: their EOS is made less likely."""

    def make(settings: Settings) -> Transformer:
        model = make_model({**settings, "model.output_bias": True})
        with torch.no_grad():
            model.output_bias[EOS] -= 2.0
        return model

    return make


def random_sources(count: int, seed: int = 1, longest: int = 9) -> list[tuple[int, ...]]:
    chooser = random.Random(seed)
    return [
        (*(chooser.randrange(4, 14) for _ in range(chooser.randrange(longest))), EOS)
        for _ in range(count)
    ]


def run(
    model: Transformer, sources, config: SearchConfig, slots: int = 4
) -> list[list[Hypothesis]]:
    decoder = ReferenceDecoder(model, slots, config.beam)
    results = dict(search(decoder, iter([Source(source) for source in sources]), config))
    return [results[index] for index in range(len(sources))]


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
            (log_prob + row[token].item(), (*prefix, token))
            for (log_prob, prefix), row in zip(live, rows, strict=True)
            for token in range(len(row))
            if token not in model.config.banned_ids and (length < limit or token == EOS)
        ]
        best = sorted(candidates, key=lambda candidate: -candidate[0])[:count]
        finished += [(s / ((5 + len(p)) / 6) ** config.alpha, p) for s, p in best if p[-1] == EOS]
        live = [candidate for candidate in best if candidate[1][-1] != EOS][: config.beam]
        if not live:
            break
    return sorted(finished, key=lambda hypothesis: -hypothesis[0])[: config.n_best]


@pytest.mark.parametrize("settings", KINDS[:3], ids=range(3))
@pytest.mark.parametrize("beam", [1, 4])
def test_search_equals_a_naive_search_without_a_cache(
    settings: Settings, beam: int, model_that_ends_late
) -> None:
    model = model_that_ends_late(settings)
    config = SearchConfig(beam=beam, n_best=min(beam, 3), max_extra_length=6)
    sources = random_sources(10)
    results = run(model, sources, config)
    assert len({len(result[0].ids) for result in results}) >= 3, "the lengths must vary"
    for source, hypotheses in zip(sources, results, strict=True):
        expected = naive(model, source, config)
        assert [hypothesis.ids for hypothesis in hypotheses] == [ids for _, ids in expected]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
            [score for score, _ in expected], abs=1e-4
        )


@pytest.mark.parametrize("settings", KINDS, ids=range(len(KINDS)))
def test_batched_translations_equal_those_of_single_lines(
    settings: Settings, model_that_ends_late
) -> None:
    model = model_that_ends_late(settings).float()
    config = SearchConfig(beam=3, n_best=3, max_extra_length=8, batch_tokens=90)
    sources = random_sources(16, longest=14)
    alone = [run(model, [source], config, slots=1)[0] for source in sources]
    for slots, tokens in ((16, 10_000), (3, 60)):
        order = random.Random(slots).sample(range(16), 16)
        config = SearchConfig(beam=3, n_best=3, max_extra_length=8, batch_tokens=tokens)
        together = run(model, [sources[index] for index in order], config, slots)
        for index, hypotheses in zip(order, together, strict=True):
            assert [hypothesis.ids for hypothesis in hypotheses] == [
                hypothesis.ids for hypothesis in alone[index]
            ]
            for hypothesis, single in zip(hypotheses, alone[index], strict=True):
                assert hypothesis.score == pytest.approx(single.score, abs=1e-4)


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
    edits = Edits.ban([0, 1, 2], 4, decoder.device)
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


def test_the_decoder_implements_the_protocol(make_model) -> None:
    decoder = ReferenceDecoder(make_model({}), 2, 2)
    assert isinstance(decoder, Decoder)
    decoder.admit([1], [Source([4, EOS])])
    assert isinstance(decoder.step(torch.arange(4), torch.full((4,), 2)), Step)


def test_decoding_begins_with_the_start_id_of_the_config(make_model) -> None:
    model = make_model({"model.start_id": 5})
    result = run(model, [(4, 6, EOS)], SearchConfig(beam=1))[0][0]
    pair = (torch.tensor([4, 6, EOS]), torch.tensor(result.ids))
    model.config = make_model({"model.bos_id": 5, "model.start_id": 5}).config
    rows = logits_of(model, [pair])[0].float().log_softmax(1)
    expected = [row[token_id].item() for row, token_id in zip(rows, result.ids, strict=True)]
    assert result.token_scores == pytest.approx(expected, abs=1e-4)
