"""What holds of every kind of model from before the Transformer, as it does of the Transformer."""

from collections import Counter

import numpy as np
import pytest
import torch
from older_models import RNN, both_kinds, every_older, older_config, older_model
from teacher_forcing import assert_close, batch_of, logits_of, pairs_of
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode
from walks import Walk

from nmt_cli.batch import NO_TARGET, Batch, Shape, batch_streams, make_batch
from nmt_cli.config.schema import ModelConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError
from nmt_cli.inference.attention_maps import attention_maps
from nmt_cli.inference.engines import fastest_engine
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.baselines.convolutional import Convolutional
from nmt_cli.model.baselines.recurrent import Recurrent
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.encoder_decoder import initialise, stack_depths
from nmt_cli.model.flops import training_flops
from nmt_cli.model.kinds import KINDS, make_model
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Source
from nmt_cli.training.loss.cross_entropy import label_smoothed_cross_entropy

EOS = 3
LENGTHS = [3, 1, 6, 2], [2, 5, 1, 4]


@pytest.fixture
def sources(random_batch) -> list[Tensor]:
    config = older_config({"model.tie_embeddings": "none", "model.src_vocab_size": 11, **RNN})
    return [src for src, _ in pairs_of(random_batch(config, [3, 1, 6, 2], [1, 1, 1, 1]))]


def filled(batch: Batch, more: int) -> Batch:
    """The same pairs in a shape with filler and sentences of no tokens."""
    sides = [
        (stream[: segments.used].numpy(), segments.lengths.numpy())
        for stream, segments in (
            (batch.src, batch.src_segments),
            (batch.tgt_out, batch.tgt_segments),
        )
    ]
    shape = Shape(len(batch.src) + more, len(batch.tgt_in) + more, len(batch.pair_ids) + 2, 9)
    return batch_streams(*sides, batch.pair_ids.numpy(), 2, shape)


@every_older
@torch.no_grad()
def test_baseline_steps_equal_teacher_forcing(settings, sources):
    walk = Walk(older_model(settings), sources, [0, 1])
    walk.step()
    walk.select([0, 0, 0, 1, 1, 1])
    walk.step()
    walk.step()
    walk.select([2, 0, 0, 4, 3, 5])
    walk.step()
    walk.select([5, 2, 0])
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


@both_kinds
@torch.no_grad()
def test_state_drops_sources_without_rows_and_unused_capacity(settings, sources):
    walk = Walk(older_model(settings), sources, [0, 2, 3])
    walk.step()
    walk.select([2, 0, 2])
    assert walk.state.source_of.tolist() == [1, 0, 1]
    assert walk.state.memory.shape[:2] == (2, 6)
    walk.state = walk.state.narrow(3)
    assert walk.state.memory.shape[:2] == walk.state.memory_mask.shape == (2, 3)
    walk.step()
    walk.select([])
    assert (walk.state.rows, len(walk.state.memory_mask), walk.state.max_length) == (0, 0, 0)
    walk.refill([1])
    walk.step()
    assert walk.check() == 8


@every_older
def test_baseline_logits_do_not_depend_on_neighbours_or_filler(settings, random_batch):
    """Neither logits nor gradients, in a batch of one shape with sentences of no tokens in it."""
    model = older_model(settings)
    batch = random_batch(model.config, *LENGTHS)
    pairs = pairs_of(batch)
    alone = [logits_of(model, [pair])[0] for pair in pairs]
    for result, expected in zip(logits_of(model, pairs), alone, strict=True):
        assert_close(result, expected)
    gradients = []
    for value in (batch, filled(batch, 5), filled(batch, 40)):
        model.zero_grad()
        logits = model(value)
        assert_close(logits[: value.tokens], torch.cat(alone))
        real = value.tgt_out != NO_TARGET
        torch.nn.functional.cross_entropy(
            logits[real], value.tgt_out[real], reduction="sum"
        ).backward()
        gradients.append([weight.grad.clone() for weight in model.parameters()])
    for result in gradients[1:]:
        for gradient, expected in zip(result, gradients[0], strict=True):
            assert_close(gradient, expected)
    assert all(gradient.abs().max() > 0 for gradient in gradients[0])


@every_older
@torch.no_grad()
def test_baseline_decoders_are_causal(settings, random_batch):
    model = older_model(settings)
    ((src, tgt),) = pairs_of(random_batch(model.config, [4], [7]))
    before = logits_of(model, [(src, tgt)])[0]
    other = tgt.clone()
    other[4] = 4 + (tgt[4] - 3) % 10
    after = logits_of(model, [(src, other)])[0]
    assert_close(after[:5], before[:5])
    assert (after[5] - before[5]).abs().max() > 1e-6


@every_older
@torch.no_grad()
def test_baseline_logits_depend_on_every_source_token(settings, random_batch):
    model = older_model(settings)
    ((src, tgt),) = pairs_of(random_batch(model.config, [5], [3]))
    before = logits_of(model, [(src, tgt)])[0]
    for position in range(len(src)):
        other = src.clone()
        other[position] = 4 + (src[position] - 3) % 7
        after = logits_of(model, [(other, tgt)])[0]
        assert ((after - before).abs().amax(1) > 1e-9).all()


@every_older
@torch.no_grad()
def test_baseline_logits_depend_on_source_order(settings, random_batch):
    """Annotations of an encoder without layers know no order."""
    model = older_model(settings)
    ((src, tgt),) = pairs_of(random_batch(model.config, [5], [3]))
    src = torch.tensor([4, 5, 6, 7, EOS])
    swapped = torch.tensor([5, 4, 6, 7, EOS])
    before, after = (logits_of(model, [(value, tgt)])[0] for value in (src, swapped))
    ordered = settings.get("model.encoder_layers") != 0 or settings["model.kind"] == "conv"
    assert ((after - before).abs().max() > 1e-6) == ordered


@both_kinds
def test_initial_weights_depend_on_the_seed_only(settings):
    first, again, other = (
        initialise(make_model(older_config(settings)), seed).state_dict() for seed in (3, 3, 4)
    )
    assert all(torch.equal(weight, again[name]) for name, weight in first.items())
    random = [name for name in first if first[name].any()]
    assert all(not torch.equal(first[name], other[name]) for name in random)
    assert {name for name in first if name not in random} == {
        name for name, weight in first.items() if weight.dim() == 1
    }


@every_older
def test_baseline_dropout_is_off_in_evaluation(settings, random_batch):
    model = older_model({**settings, "model.dropout": 0.5}).train()
    batch = random_batch(model.config, *LENGTHS)
    assert not torch.equal(model(batch), model(batch))
    model.eval()
    assert torch.equal(model(batch), model(batch))
    plain = older_model(settings)
    assert torch.equal(model(batch), plain(batch))


@both_kinds
def test_dropout_is_applied_at_each_position_of_the_model(settings, random_batch):
    """Embeddings, layers and the output, as many times as there are of them."""
    model = older_model({**settings, "model.dropout": 0.5}).train()
    batch = random_batch(model.config, [3, 1, 7], [2, 5, 1])
    dropped = []
    for module in model.modules():
        if isinstance(module, Dropout):
            module.register_forward_hook(lambda _, inputs, __: dropped.append(len(inputs[0])))
    model(batch)
    encoder, decoder = stack_depths(model.config)
    src, tgt = len(batch.src), len(batch.tgt_in)
    # Embedded, then the layers; behind the decoder's, its output.
    assert Counter(dropped) == {src: 1 + encoder, tgt: 1 + decoder + 1}


@both_kinds
@torch.no_grad()
def test_state_max_length_is_that_of_its_longest_row(settings, sources):
    walk = Walk(older_model(settings), sources, [0, 2])
    fresh = walk.state
    for _ in range(3):
        walk.step()
    walk.refill([1])
    assert (walk.state.lengths.tolist(), walk.state.max_length) == ([3, 3, 0], 3)
    assert walk.state.select(torch.tensor([2, 1])).max_length == 3
    assert walk.state.select(torch.tensor([2])).max_length == 0
    assert walk.state.merge(fresh).max_length == fresh.merge(walk.state).max_length == 3


def counted_by_torch(settings, src_lengths: np.ndarray, tgt_lengths: np.ndarray) -> int:
    """Forward and backward, with the loss written plainly."""
    sides = [[np.full(n, 7) for n in lengths] for lengths in (src_lengths, tgt_lengths)]
    batch = make_batch(*sides, range(len(src_lengths)), 2)
    model = initialise(make_model(older_config(settings)), 1).train()
    with FlopCounterMode(display=False) as counter:
        loss = label_smoothed_cross_entropy(model(batch), batch.tgt_out, 0.1)
        torch.autograd.backward(loss.total)
    return counter.get_total_flops()


def not_wanted(model: ModelConfig, sentences: int) -> int:
    """What we count and torch leaves out: the gradient of the zeros that a GRU begins with."""
    if model.kind == "conv":
        return 0
    encoder, decoder = stack_depths(model)
    squares = encoder * 2 * (model.d_model // 2) ** 2 + (decoder - 1) * model.d_model**2
    return sentences * 2 * 3 * squares


@every_older
def test_flops_of_baselines_equal_the_count_of_torch(settings):
    model = older_config(settings)
    src, tgt = np.full(3, 5), np.full(3, 7)
    ours = training_flops(model, src, tgt) - not_wanted(model, 3)
    assert ours == counted_by_torch(settings, src, tgt)


@every_older
def test_attention_is_a_share_of_each_source_token(settings, random_batch):
    """The same alone as among others."""
    model = older_model(settings)
    pairs = [(s.tolist(), t.tolist()) for s, t in pairs_of(random_batch(model.config, *LENGTHS))]
    result = force_pairs(model, pairs, attention=True)
    for pair, score in zip(pairs, result, strict=True):
        assert score.attention.shape == (len(pair[1]), len(pair[0]))
        torch.testing.assert_close(score.attention.sum(1), torch.ones(len(pair[1])))
        (alone,) = force_pairs(model, [pair], attention=True)
        torch.testing.assert_close(score.attention, alone.attention)
        assert score.token_scores == pytest.approx(alone.token_scores)
    assert any(value.attention.std() > 0.01 for value in result)


@both_kinds
def test_baseline_teacher_forcing_scores_equal_the_logits(settings, random_batch):
    model = older_model(settings)
    pairs = pairs_of(random_batch(model.config, *LENGTHS))
    result = force_pairs(model, [(s.tolist(), t.tolist()) for s, t in pairs])
    for score, logits, (_, tgt) in zip(result, logits_of(model, pairs), pairs, strict=True):
        expected = logits.log_softmax(1).gather(1, tgt[:, None])[:, 0]
        assert score.token_scores == pytest.approx(expected.tolist())
        assert score.attention is None


@both_kinds
@pytest.mark.parametrize("beam", [1, 3])
def test_baseline_batched_translations_equal_single_lines(settings, beam, random_batch):
    model = older_model({**settings, "model.output_bias": True})
    with torch.no_grad():
        model.output_bias[EOS] += 0.5
    config = SearchConfig(beam=beam, n_best=beam, max_extra_length=6)
    lengths = [3, 9, 1, 5, 2, 7, 4, 4]
    sources = [
        Source([*src[:-1].tolist(), EOS])
        for src, _ in pairs_of(random_batch(model.config, lengths, lengths))
    ]

    def run(some: list[Source], slots: int) -> list:
        result = dict(search(ReferenceDecoder(model, slots, beam), iter(some), config))
        return [result[index] for index in range(len(some))]

    alone = [run([source], 1)[0] for source in sources]
    assert len({len(value[0].ids) for value in alone}) >= 4
    for slots in (8, 3):
        for result, expected in zip(run(sources, slots), alone, strict=True):
            assert [value.ids for value in result] == [value.ids for value in expected]
            assert [value.score for value in result] == pytest.approx(
                [value.score for value in expected]
            )


@both_kinds
@torch.no_grad()
def test_baseline_hypothesis_score_equals_teacher_forcing(settings):
    model = older_model(settings)
    source = [4, 9, 6, EOS]
    decoder = ReferenceDecoder(model, 1, 4)
    ((_, (best, *_)),) = search(decoder, iter([Source(source)]), SearchConfig(max_extra_length=5))
    (result,) = force_pairs(model, [(source, best.ids)])
    assert best.token_scores == pytest.approx(result.token_scores, abs=1e-5)


@both_kinds
@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_baselines_are_translated_by_the_reference_engine(settings, precision):
    model = older_model(settings).float()
    engine = fastest_engine(model, None, precision)
    assert engine.name == "reference"
    assert f"model.kind={model.config.kind}" in engine.about
    assert isinstance(engine.decoder(2, 2), ReferenceDecoder)
    assert (engine.notice != "") == (precision != "float32")
    assert precision in engine.notice or precision == "float32"
    assert all(weight.numel() for weight in model.parameters())


@both_kinds
def test_attention_map_of_heads_is_refused_for_baselines(settings):
    with pytest.raises(ConfigError, match="has no heads") as caught:
        attention_maps(older_model(settings), [4, EOS], [5, EOS])
    assert "--alignment" in caught.value.hint


def test_make_model_gives_the_configured_kind():
    made = {kind: type(make_model(older_config({"model.kind": kind}))) for kind in ("rnn", "conv")}
    assert made == {"rnn": Recurrent, "conv": Convolutional}
    assert set(KINDS) == {"transformer", "rnn", "conv"}
    pairs = [(torch.tensor([4, EOS]), torch.tensor([5, EOS]))]
    assert batch_of(pairs, 2).tgt_in.tolist() == [2, 5]
