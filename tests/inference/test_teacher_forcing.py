"""Teacher forcing: the scores of the search, and attention as in the equation."""

import random

import pytest
import torch
from teacher_forcing import logits_of

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference import forced_pairs, teacher_forcing
from nmt_cli.inference.cross_attention import cross_attention_of
from nmt_cli.inference.engines import fastest_engine
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Source

EOS = 3


def random_pairs(count: int) -> list[tuple[list[int], list[int]]]:
    chooser = random.Random(3)
    return [
        ([*chooser.choices(range(4, 11), k=chooser.randrange(9)), EOS],
         [*chooser.choices(range(4, 11), k=chooser.randrange(12)), EOS])
        for _ in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("tokens", [1, 60, 10_000])
def test_scores_do_not_depend_on_the_batch(tokens: int, make_model, monkeypatch) -> None:
    monkeypatch.setattr(forced_pairs, "BATCH_TOKENS", tokens)
    monkeypatch.setattr(teacher_forcing, "LOGIT_ROWS", 7)
    model = make_model({})
    pairs = random_pairs(11)
    given = [tuple(torch.tensor(side) for side in pair) for pair in pairs]
    for (_, target), logits, result in zip(
        pairs, logits_of(model, given), force_pairs(model, pairs), strict=True
    ):
        expected = logits.log_softmax(1).gather(1, torch.tensor(target)[:, None])[:, 0]
        assert result.token_scores == pytest.approx(expected.tolist(), abs=1e-5)
        assert result.attention is None


def test_scores_equal_those_of_the_search(make_model) -> None:
    model = make_model({}).float()
    sources = [source for source, _ in random_pairs(6)]
    config = SearchConfig(beam=3, n_best=3, max_extra_length=4)
    decoder = fastest_engine(model).decoder(4, 3)
    results = dict(search(decoder, iter(map(Source, sources)), config))
    pairs = [(source, result.ids) for n, source in enumerate(sources) for result in results[n]]
    expected = [result.token_scores for n in range(6) for result in results[n]]
    for result, scores in zip(force_pairs(model, pairs), expected, strict=True):
        assert result.token_scores == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("settings", [{}, {"model.decoder_layers": 1}, {"model.decoder_layers": 3}])
def test_attention_is_that_of_the_layer(settings, make_model) -> None:
    model = make_model(settings)
    pairs = random_pairs(7)
    results = force_pairs(model, pairs, attention=True)
    for (source, target), result in zip(pairs, results, strict=True):
        assert result.attention is not None
        assert result.attention.shape == (len(target), len(source))
        torch.testing.assert_close(result.attention.sum(1), torch.ones(len(target)))
    assert [result.token_scores for result in results] == [
        score.token_scores for score in force_pairs(model, pairs)
    ]
    layers = model.decoder_layers
    assert cross_attention_of(model) is layers[max(0, len(layers) - 2)].cross_attention
    # The hook does not stay.
    assert not cross_attention_of(model).query._forward_hooks


@torch.no_grad()
def test_attention_equals_the_equation(make_model) -> None:
    """Equation 1 written out, of a decoder of one layer whose query is known."""
    model = make_model({"model.decoder_layers": 1})
    layer = model.decoder_layers[0].cross_attention
    source, target = [4, 5, 6, EOS], [7, 8, EOS]
    seen = []
    handle = layer.query.register_forward_hook(lambda *call: seen.append(call[1][0].clone()))
    (result,) = force_pairs(model, [(source, target)], attention=True)
    handle.remove()
    from nmt_cli.batch import Segments

    memory = model.encode(torch.tensor(source), Segments.from_lengths([4]))
    heads, width = model.config.heads, layer.query.out_features // model.config.heads
    expected = torch.zeros(3, 4, dtype=torch.float64)
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width)
        query, key = (
            (x @ part.weight[rows].T + (0 if part.bias is None else part.bias[rows]))
            for x, part in ((seen[0], layer.query), (memory, layer.key))
        )
        expected += (query @ key.T / width**0.5).softmax(1) / heads
    torch.testing.assert_close(result.attention, expected.float(), atol=1e-5, rtol=1e-4)
