"""The paper's equations with numbers worked out by hand."""

import math

import pytest
import torch
from variants import model_config

from nmt_cli.batch import Segments
from nmt_cli.config.schema import Config, TrainConfig, resolve
from nmt_cli.model.attention import attention_weights, causal_mask, scaled_dot_product_attention
from nmt_cli.model.backends.dispatch import attend
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.layers import FeedForward, GatedFeedForward, make_norm, post_norm, pre_norm
from nmt_cli.model.positions import sinusoidal_encoding
from nmt_cli.training.loss.cross_entropy import label_smoothed_cross_entropy, smoothed_target
from nmt_cli.training.optimizers.factory import learning_rate, make_optimizer, set_learning_rate

FOX_QUERY = torch.tensor([[2.0, 0, 2, 0]])
FOX_KEYS = torch.tensor([[1.0, 0, 0, 0], [1, 1, 0, 0], [2, 0, 2, 0]])
FOX_VALUES = torch.tensor([[1.0, 0], [0, 1], [1, 1]])
CATS_QUERIES = torch.tensor([[1.0, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 1]])
CATS_KEYS = torch.tensor([[1.0, 1, 0, 0], [0, 1, 1, 1], [1, 0, 1, 0]])


def test_equation_1_for_one_query() -> None:
    """Scores 2, 2, 8 over sqrt(4) are 1, 1, 4: exp gives 2.718, 2.718, 54.598."""
    assert (FOX_QUERY @ FOX_KEYS.T).tolist() == [[2, 2, 8]]
    weights = attention_weights(FOX_QUERY, FOX_KEYS)
    assert weights[0].tolist() == pytest.approx([0.0453, 0.0453, 0.9094], abs=5e-5)
    output = scaled_dot_product_attention(FOX_QUERY, FOX_KEYS, FOX_VALUES)
    assert output[0].tolist() == pytest.approx([0.955, 0.955], abs=5e-4)


def test_equation_1_through_the_stream() -> None:
    """The same numbers where the query's sentence stands between two others."""
    query = torch.cat([torch.ones(2, 4), FOX_QUERY, torch.ones(1, 4)])[:, None]
    key = torch.cat([torch.ones(1, 4), FOX_KEYS, torch.ones(2, 4)])[:, None]
    value = torch.cat([torch.ones(1, 2), FOX_VALUES, torch.ones(2, 2)])[:, None]
    segments = Segments.from_lengths([2, 1, 1]), Segments.from_lengths([1, 3, 2])
    result = attend(query, key, value, *segments, causal=False)
    assert result[2, 0].tolist() == pytest.approx([0.955, 0.955], abs=5e-4)


def test_equation_1_for_i_love_cats() -> None:
    scores = CATS_QUERIES @ CATS_KEYS.T
    assert scores[0].tolist() == [1, 1, 2]
    assert scores[2].tolist() == [2, 2, 1]
    weights = attention_weights(CATS_QUERIES, CATS_KEYS)
    assert weights[0].tolist() == pytest.approx([0.274, 0.274, 0.452], abs=5e-4)
    # exp(1), exp(1), exp(0.5) over their sum 7.0853.
    assert weights[2].tolist() == pytest.approx([0.3837, 0.3837, 0.2327], abs=5e-5)


def test_masked_attention_sees_no_later_word() -> None:
    weights = attention_weights(CATS_QUERIES, CATS_KEYS, causal_mask(3))
    assert weights[0].tolist() == [1, 0, 0]
    # Scores 1 and 2 over sqrt(4).
    assert weights[1].tolist() == pytest.approx([0.3775, 0.6225, 0.0], abs=5e-5)
    assert causal_mask(4).int().tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 1, 1],
    ]


def test_equation_2_feed_forward() -> None:
    """max(0, x W1 + b1) W2 + b2 for x = [1, -1]."""
    layer = FeedForward(model_config({"model.d_model": 2, "model.d_ff": 3, "model.heads": 1}))
    with torch.no_grad():
        layer.inner.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [2, 1]]))
        layer.inner.bias.copy_(torch.tensor([0.5, 0.5, -3]))
        layer.outer.weight.copy_(torch.tensor([[2.0, 5, 7], [4, 5, 7]]))
        layer.outer.bias.copy_(torch.tensor([10.0, 20]))
        # Inner: 1.5, -0.5, -2; the last two become 0.
        assert layer(torch.tensor([[1.0, -1]])).tolist() == [[13, 26]]


@pytest.mark.parametrize(
    ("activation", "at_one", "at_minus_one"),
    [
        ("relu", 1.0, 0.0),
        ("gelu", 0.8413, -0.1587),
        ("silu", 0.7311, -0.2689),
        ("swiglu", 0.7311 * 3, -0.2689 * 3),
    ],
)
def test_activation_functions(activation: str, at_one: float, at_minus_one: float) -> None:
    """Of an inner width of one; the gate of SwiGLU multiplies by 3."""
    settings = {"model.d_model": 2, "model.d_ff": 1, "model.heads": 1}
    config = model_config({**settings, "model.activation": activation})
    layer = (GatedFeedForward if activation == "swiglu" else FeedForward)(config)
    for weight in layer.parameters():
        torch.nn.init.zeros_(weight)
    with torch.no_grad():
        layer.inner.weight[0, 0] = layer.outer.weight[0, 0] = 1.0
        if isinstance(layer, GatedFeedForward):
            layer.gate.bias.fill_(3.0)
        result = layer(torch.tensor([[1.0, 0], [-1, 0]]))[:, 0].tolist()
    assert result == pytest.approx([at_one, at_minus_one], abs=2e-4)


def test_layer_norms_and_residuals() -> None:
    """Of [1, 3]: mean 2, deviation 1; root of the mean square sqrt(5)."""
    x = torch.tensor([[1.0, 3]])
    settings = {"model.d_model": 2, "model.heads": 1}
    layer_norm = make_norm(model_config(settings))
    rms_norm = make_norm(model_config({**settings, "model.norm": "rms_norm"}))
    assert layer_norm(x)[0].tolist() == pytest.approx([-1, 1], abs=1e-5)
    assert rms_norm(x)[0].tolist() == pytest.approx([1 / 5**0.5, 3 / 5**0.5], abs=1e-5)
    nothing = Dropout(0.0)
    after = post_norm(x, lambda y: 2 * y, layer_norm, nothing)
    before = pre_norm(x, lambda y: 2 * y, layer_norm, nothing)
    assert after[0].tolist() == pytest.approx([-1, 1], abs=1e-5)
    assert before[0].tolist() == pytest.approx([-1, 5], abs=1e-5)


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_layer_norm_epsilon_is_added_to_the_variance(norm: str) -> None:
    """Of [-1, 1]: variance and mean square are 1, and 1 more makes the divisor sqrt(2)."""
    settings = {"model.d_model": 2, "model.heads": 1, "model.norm_epsilon": 1.0}
    module = make_norm(model_config({**settings, "model.norm": norm}))
    assert module(torch.tensor([[-1.0, 1]]))[0].tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5])


def test_positional_encoding() -> None:
    table = sinusoidal_encoding(4, 4)
    assert table[0].tolist() == [0, 1, 0, 1]
    assert table[1].tolist() == pytest.approx([0.84147, 0.54030, 0.01000, 0.99995], abs=5e-6)
    assert table[2].tolist() == pytest.approx([0.9093, -0.4161, 0.0200, 0.9998], abs=5e-5)
    assert table[3].tolist() == pytest.approx([0.1411, -0.9900, 0.0300, 0.9996], abs=5e-5)
    wide = sinusoidal_encoding(11, 512)[10]
    # Coordinates 2 and 3 turn at 10000^(-2/512) = 0.96466.
    assert wide[:4].tolist() == pytest.approx([-0.5440, -0.8391, -0.2200, -0.9755], abs=5e-4)


def equation_3(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def test_equation_3_peaks_at_the_end_of_warm_up() -> None:
    peak = learning_rate(4_000, TrainConfig(), 512)
    assert peak == pytest.approx(6.9877e-4, rel=1e-5)
    assert peak == pytest.approx((512 * 4_000) ** -0.5)
    assert peak == max(learning_rate(step, TrainConfig(), 512) for step in range(3_990, 4_011))
    assert learning_rate(4_000, TrainConfig(), 1_024) == pytest.approx(4.9411e-4, rel=1e-4)


def test_equation_3_warms_up_in_a_straight_line() -> None:
    """512^-0.5 * 4000^-1.5 = 1.7469e-7 more at each step."""
    assert learning_rate(1, TrainConfig(), 512) == pytest.approx(1.74693e-7, rel=1e-5)
    for step in (2, 100, 2_000, 3_999):
        assert learning_rate(step, TrainConfig(), 512) == pytest.approx(
            step * 1.746928e-7, rel=1e-6
        )


def test_equation_3_halves_when_steps_are_four_times_as_many() -> None:
    assert learning_rate(16_000, TrainConfig(), 512) == pytest.approx(3.49386e-4, rel=1e-5)
    assert learning_rate(100_000, TrainConfig(), 512) == pytest.approx(1.39754e-4, rel=1e-5)


@pytest.mark.parametrize("warmup_steps", [1, 7, 4_000, 16_000])
@pytest.mark.parametrize("d_model", [64, 512, 1_024])
def test_equation_3_at_many_steps(warmup_steps: int, d_model: int) -> None:
    train = TrainConfig(warmup_steps=warmup_steps)
    for step in (1, 2, 6, 7, 8, 3_999, 4_000, 4_001, 20_000, 300_000):
        expected = equation_3(step, d_model, warmup_steps)
        assert learning_rate(step, train, d_model) == pytest.approx(expected, rel=1e-12), step


def test_adam_hyperparameters_equal_the_paper() -> None:
    """Section 5.3; the moments are corrected for their start, as Kingma and Ba do."""
    assert resolve([]).config.train == TrainConfig()
    weight = torch.nn.Parameter(torch.tensor([[1.0, -2.0]]))
    holder = torch.nn.Module()
    holder.weight = weight
    optimizer = make_optimizer(holder, Config())
    expected, first, second = [1.0, -2.0], [0.0, 0.0], [0.0, 0.0]
    for step, gradient in enumerate([(0.5, -3.0), (0.1, 1.0), (-0.2, 0.0)], start=1):
        weight.grad = torch.tensor([gradient])
        set_learning_rate(optimizer, 0.01)
        optimizer.step()
        for i, g in enumerate(gradient):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.98 * second[i] + 0.02 * g * g
            mean, square = first[i] / (1 - 0.9**step), second[i] / (1 - 0.98**step)
            expected[i] -= 0.01 * mean / (math.sqrt(square) + 1e-9)
        assert weight[0].tolist() == pytest.approx(expected, rel=1e-6)


def test_adam_s_epsilon_matters_for_tiny_gradients() -> None:
    """A gradient of 1e-9 moves a weight half as far as a large one: g / (g + 1e-9)."""
    weight = torch.nn.Parameter(torch.zeros(1, 1))
    holder = torch.nn.Module()
    holder.weight = weight
    optimizer = make_optimizer(holder, Config())
    weight.grad = torch.full((1, 1), 1e-9)
    set_learning_rate(optimizer, 0.01)
    optimizer.step()
    assert weight.item() == pytest.approx(-0.005, rel=1e-4)


def test_label_smoothed_target_distribution() -> None:
    """0.1 spread over five words, 0.9 more on the target."""
    result = smoothed_target(5, 2, 0.1).tolist()
    assert result == pytest.approx([0.02, 0.02, 0.92, 0.02, 0.02])


def test_label_smoothed_loss_of_one_word() -> None:
    """Probabilities 1/2, 1/4, 1/4: nll = ln 4; smoothed 0.9 ln 4 + 0.1 (ln 2 + 2 ln 4) / 3."""
    logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
    loss = label_smoothed_cross_entropy(logits, torch.tensor([1]), 0.1)
    assert float(loss.nll) == pytest.approx(1.386294, abs=1e-6)
    assert float(loss.total) == pytest.approx(1.363189, abs=1e-6)
    assert loss.tokens == 1


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_label_smoothed_loss_is_cross_entropy_with_the_smoothed_target(epsilon: float) -> None:
    generator = torch.Generator().manual_seed(1)
    logits = (3 * torch.randn(4, 7, generator=generator)).requires_grad_()
    targets = torch.tensor([0, 6, 2, 2])
    loss = label_smoothed_cross_entropy(logits, targets, epsilon)
    log_probs = logits.log_softmax(-1)
    smoothed = torch.stack([smoothed_target(7, int(target), epsilon) for target in targets]).float()
    torch.testing.assert_close(loss.total, -(smoothed * log_probs).sum())
    torch.testing.assert_close(loss.nll, -log_probs.gather(1, targets[:, None]).sum())
    # The gradient of cross-entropy is softmax minus target.
    (gradient,) = torch.autograd.grad(loss.total, logits)
    torch.testing.assert_close(gradient, (logits.softmax(-1) - smoothed).detach())


def test_label_smoothed_losses_of_any_split_add_up() -> None:
    generator = torch.Generator().manual_seed(1)
    logits, targets = torch.randn(6, 5, generator=generator), torch.tensor([0, 1, 2, 3, 4, 0])
    whole = label_smoothed_cross_entropy(logits, targets, 0.1)
    parts = [
        label_smoothed_cross_entropy(logits[part], targets[part], 0.1)
        for part in (slice(0, 1), slice(1, 6))
    ]
    torch.testing.assert_close(whole.total, parts[0].total + parts[1].total)
    torch.testing.assert_close(whole.nll, parts[0].nll + parts[1].nll)
    assert whole.tokens == parts[0].tokens + parts[1].tokens == 6
