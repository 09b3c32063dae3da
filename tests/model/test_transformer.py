"""Figure 1 as a whole: what may and may not influence a logit, in every variant of the model."""

import pytest
import torch
import torch.nn.functional as F
from native_kernels import require_kernels
from teacher_forcing import Pair, assert_close, batch_of, logits_of, pairs_of
from torch import Tensor
from variants import every_variant, model_config

from nmt_cli.batch import Segments
from nmt_cli.errors import ConfigError
from nmt_cli.machine import cache_folder
from nmt_cli.model.backends.dispatch import use_backend
from nmt_cli.model.backends.native import attention_kernels
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.encoder_decoder import initialise, parameter_count
from nmt_cli.model.transformer import Transformer

SRC_LENGTHS = [3, 1, 6, 2]
TGT_LENGTHS = [5, 2, 4, 7]


@pytest.fixture
def pairs(random_batch) -> list[Pair]:
    config = model_config({"model.tie_embeddings": "none", "model.src_vocab_size": 11})
    return pairs_of(random_batch(config, SRC_LENGTHS, TGT_LENGTHS))


@every_variant
def test_batch_logits_equal_those_of_single_pairs(settings, make_model, pairs) -> None:
    model = make_model(settings)
    together = logits_of(model, pairs)
    for pair, result in zip(pairs, together, strict=True):
        assert_close(result, logits_of(model, [pair])[0])
    turned = logits_of(model, pairs[::-1])[::-1]
    for actual, other in zip(turned, together, strict=True):
        assert_close(actual, other)


@every_variant
def test_packed_and_rectangular_layouts_agree(settings, make_model, random_batch) -> None:
    model = make_model(settings)
    batch = random_batch(model.config, [4, 4, 4, 6], [3, 3, 3, 5])
    pairs = pairs_of(batch)
    rectangular = batch_of(pairs[:3], model.config.bos_id)
    assert rectangular.src_segments.is_rectangular
    assert not batch.src_segments.is_rectangular
    packed = logits_of(model, pairs)[:3]
    for actual, other in zip(logits_of(model, pairs[:3]), packed, strict=True):
        assert_close(actual, other)


@every_variant
def test_logits_do_not_depend_on_later_tokens_or_other_sentences(
    settings, make_model, pairs
) -> None:
    model = make_model(settings)
    before = logits_of(model, pairs)
    changed, position = 2, 1
    src, tgt = (side.clone() for side in pairs[changed])
    tgt[position] = 13 if tgt[position] != 13 else 12
    after = logits_of(model, [*pairs[:changed], (src, tgt), *pairs[changed + 1 :]])
    # tgt[place] enters the decoder one step later.
    assert_close(after[changed][: position + 1], before[changed][: position + 1])
    moved = (after[changed] - before[changed]).abs().amax(1)
    assert (moved[position + 1 :] > 1e-6).all()
    src[0] = 10 if src[0] != 10 else 9
    after = logits_of(model, [*pairs[:changed], (src, tgt), *pairs[changed + 1 :]])
    assert ((after[changed] - before[changed]).abs().amax(1) > 1e-6).all()
    for number in (0, 1, 3):
        assert_close(after[number], before[number])


@every_variant
def test_gradients_reach_every_weight(settings, make_model, random_batch) -> None:
    model = make_model(settings)
    batch = random_batch(model.config, SRC_LENGTHS, TGT_LENGTHS)
    F.cross_entropy(model(batch), batch.tgt_out).backward()
    for path, weight in model.named_parameters():
        assert weight.grad is not None, path
        # A bias of the keys moves all scores of a query alike, which softmax does not feel.
        if not path.endswith("key.bias"):
            assert weight.grad.abs().max() > 1e-9, path


def test_rotary_positions_in_c_give_the_same_model(make_model, random_batch) -> None:
    require_kernels(attention_kernels(cache_folder()))
    results = []
    for backend in ("plain", "native"):
        model = make_model({"model.positions": "rotary"}).float()
        use_backend(model, backend)
        batch = random_batch(model.config, SRC_LENGTHS, TGT_LENGTHS)
        logits = model(batch)
        F.cross_entropy(logits, batch.tgt_out).backward()
        gradients = {path: weight.grad for path, weight in model.named_parameters()}
        results.append((logits.detach(), gradients))
    (plain, expected), (ours, found) = results
    torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-5)
    for path, gradient in expected.items():
        torch.testing.assert_close(found[path], gradient, rtol=1e-4, atol=1e-5, msg=path)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@torch.no_grad()
def test_sentences_may_be_longer_than_the_position_table(
    positions, make_model, random_batch
) -> None:
    model = make_model({"model.positions": positions, "model.layers": 1})
    long = random_batch(model.config, [1_100, 3], [1_090, 2])
    pairs = pairs_of(long)
    result = logits_of(model, pairs)[0]
    assert len(result) == 1_090
    assert result.isfinite().all()
    # Causality: the first tokens do not depend on how long the sentence becomes.
    assert_close(result[:5], logits_of(model, [(pairs[0][0], pairs[0][1][:5])])[0])
    state = model.start(model.encode(long.src, long.src_segments), long.src_segments)
    ids = long.tgt_in[:1_090]
    for position in range(1_090):
        logits, state = model.step(state, ids[position].expand(2))
        if position in (0, 1_023, 1_024, 1_089):
            assert_close(logits[0], result[position])


def test_logits_depend_on_token_order(make_model, pairs) -> None:
    for positions in ("sinusoidal", "sinusoidal_halves", "sinusoidal_t2t", "learned", "rotary"):
        model = make_model({"model.positions": positions})
        src, tgt = pairs[2]
        turned = logits_of(model, [(src.flip(0), tgt)])[0]
        assert (turned - logits_of(model, [(src, tgt)])[0]).abs().max() > 1e-4, positions


@pytest.mark.parametrize(
    ("ties", "names", "shared"),
    [
        ("all", {"shared"}, {("src", "tgt"), ("tgt", "output")}),
        ("target", {"src", "tgt"}, {("tgt", "output")}),
        ("none", {"src", "tgt", "output"}, set()),
    ],
)
def test_tied_embeddings_share_matrices(make_model, ties, names, shared) -> None:
    embedding = make_model({"model.tie_embeddings": ties}).embedding
    assert {path for path, _ in embedding.named_parameters()} == names
    for pair in [("src", "tgt"), ("tgt", "output")]:
        assert (embedding.matrix(pair[0]) is embedding.matrix(pair[1])) == (pair in shared)


def test_embeddings_are_scaled_by_square_root_of_d_model(make_model) -> None:
    segments = Segments.from_lengths([2])
    for scaled, factor in ((True, 12**0.5), (False, 1.0)):
        settings = {"model.scale_embeddings": scaled, "model.encoder_layers": 0,
                    "model.positions": "rotary"}  # fmt: skip
        model = make_model(settings)
        memory = model.encode(torch.tensor([5, 9]), segments)
        assert_close(memory, model.embedding.shared[[5, 9]] * factor)


class Silence(Dropout):
    """Dropout that drops everything."""

    def __init__(self) -> None:
        super().__init__(1.0)

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_dropout_is_applied_to_each_sublayer_before_the_residual(order, make_model) -> None:
    """Section 5.4: with everything dropped, a layer is its residual path and its norms."""
    model = make_model({"model.norm_order": order})
    segments = Segments.from_lengths([4])
    x = torch.randn(4, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    encoder, decoder = model.encoder[0], model.decoder[0]
    encoder.dropout = decoder.dropout = Silence()

    def normed(layer, *norms: str) -> Tensor:
        y = x
        for norm in norms:
            y = getattr(layer, norm)(y) if order == "post" else y
        return y

    assert_close(
        encoder(x, segments, model.positions),
        normed(encoder, "self_attention_norm", "feed_forward_norm"),
    )
    assert_close(
        decoder(x, lambda y: y, lambda y: y),
        normed(decoder, "self_attention_norm", "cross_attention_norm", "feed_forward_norm"),
    )


def test_dropout_is_applied_to_the_sum_of_embeddings_and_positions(make_model) -> None:
    model = make_model({"model.encoder_layers": 0})
    model.dropout = Silence()
    assert not model.encode(torch.tensor([5, 9]), Segments.from_lengths([2])).any()


def test_dropout_rate_equals_the_paper_and_is_off_in_evaluation(random_batch) -> None:
    model = initialise(Transformer(model_config({"model.dropout": 0.3})), seed=1)
    rates = {module.rate for module in model.modules() if isinstance(module, Dropout)}
    assert rates == {0.3}
    batch = random_batch(model.config, SRC_LENGTHS, TGT_LENGTHS)
    assert torch.equal(model.eval()(batch), model(batch))
    assert not torch.equal(model.train()(batch), model(batch))


def test_initial_weights_depend_on_the_seed_only() -> None:
    config = model_config({"model.positions": "learned", "model.attention_bias": True})
    first = initialise(Transformer(config), seed=3).state_dict()
    torch.manual_seed(99)
    again = initialise(Transformer(config), seed=3).state_dict()
    other = initialise(Transformer(config), seed=4).state_dict()
    assert all(torch.equal(weight, again[path]) for path, weight in first.items())
    assert not torch.equal(first["embedding.shared"], other["embedding.shared"])


def test_initial_weights_have_the_documented_scale() -> None:
    settings = {"model.d_model": 96, "model.d_ff": 200, "model.heads": 4,
                "model.positions": "learned", "model.attention_bias": True,
                "model.output_bias": True, "model.tgt_vocab_size": 300,
                "model.src_vocab_size": 300, "model.activation": "swiglu"}  # fmt: skip
    model = initialise(Transformer(model_config(settings)), seed=1)
    for path, weight in model.named_parameters():
        if path.startswith(("embedding", "positions", "tgt_positions")):
            assert weight.detach().std() == pytest.approx(96**-0.5, rel=0.1), path
        elif weight.dim() == 2:
            limit = (6 / sum(weight.shape)) ** 0.5
            assert 0.99 * limit < weight.detach().abs().max() <= limit, path
        else:
            start = 1.0 if path.endswith("norm.weight") else 0.0
            assert (weight == start).all(), path


def test_weights_are_named_as_in_the_paper(make_model) -> None:
    names = set(make_model({}).state_dict())
    assert {
        "embedding.shared",
        "encoder.0.self_attention.query.weight",
        "encoder.1.feed_forward.inner.bias",
        "decoder.1.cross_attention.output.weight",
        "decoder.0.cross_attention_norm.bias",
    } <= names
    assert not any("position" in name for name in names)


def test_saved_weights_give_the_same_logits(make_model, random_batch) -> None:
    settings = {"model.norm_order": "pre", "model.output_bias": True, "model.positions": "learned"}
    model = make_model(settings)
    copy = Transformer(model.config).double().eval()
    copy.load_state_dict(model.state_dict())
    batch = random_batch(model.config, SRC_LENGTHS, TGT_LENGTHS)
    assert torch.equal(copy(batch), model(batch))
    assert parameter_count(copy) == sum(weight.numel() for weight in model.state_dict().values())


@pytest.mark.parametrize(
    "settings",
    [
        {"model.src_vocab_size": "auto"},
        {"model.tgt_vocab_size": "auto"},
        {"model.src_vocab_size": 11},
    ],
)
def test_vocabularies_of_wrong_size_are_refused(settings) -> None:
    with pytest.raises(ValueError, match="vocabular"):
        Transformer(model_config(settings))


@pytest.mark.parametrize("key", ["model.layers", "model.decoder_layers"])
def test_a_decoder_without_layers_is_refused(key) -> None:
    """It could not look at the source."""
    with pytest.raises(ConfigError, match=key):
        model_config({key: 0})
