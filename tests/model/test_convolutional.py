"""The convolutional model computes the equations of Gehring et al. 2017, written out plainly."""

import math

import pytest
import torch
import torch.nn.functional as F
from older_models import APART, CONV, older_config, older_model
from teacher_forcing import assert_close, pairs_of
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.config.schema import ModelConfig
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.baselines.convolutional import neighbours
from nmt_cli.model.encoder_decoder import initialise, parameter_count
from nmt_cli.model.kinds import make_model

Weights = dict[str, Tensor]
HALF = math.sqrt(0.5)


def linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def block(weights: Weights, name: str, x: Tensor, width: int, *, causal: bool) -> Tensor:
    """Torch's own convolution of one sentence, then A sigmoid(B)."""
    d_model = x.shape[1]
    kernel = weights[f"{name}.convolution.weight"].view(2 * d_model, width, d_model).transpose(1, 2)
    sides = (width - 1, 0) if causal else (width // 2, width // 2)
    padded = F.pad(x.T[None], sides)
    a, b = F.conv1d(padded, kernel, weights[f"{name}.convolution.bias"])[0].T.chunk(2, dim=1)
    return a * torch.sigmoid(b)


def by_hand(
    weights: Weights, config: ModelConfig, src: Tensor, tgt: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits, and the mean of the layers' attention."""
    looks = []
    width = config.kernel_width
    e = weights["embedding.src"][src] + weights["positions.weight"][: len(src)]
    g = weights["embedding.tgt"][tgt] + weights["tgt_positions.weight"][: len(tgt)]
    z = linear(weights, "encoder.input", e)
    for layer in range(config.layers):
        z = (block(weights, f"encoder.blocks.{layer}", z, width, causal=False) + z) * HALF
    z = linear(weights, "encoder.output", z)
    h = linear(weights, "decoder.input", g)
    for layer in range(config.layers):
        y = block(weights, f"decoder.blocks.{layer}", h, width, causal=True)
        d = (linear(weights, f"decoder.blocks.{layer}.query.projection", y) + g) * HALF
        looks.append((d @ z.T).softmax(1))
        context = looks[-1] @ ((z + e) * HALF)
        h = ((y + context * len(src) * math.sqrt(1 / len(src))) * HALF + h) * HALF
    logits = linear(weights, "decoder.output", h) @ weights["embedding.tgt"].T
    return logits, torch.stack(looks).mean(0)


@pytest.mark.parametrize(("layers", "width"), [(1, 1), (1, 3), (3, 3), (2, 5)])
@torch.no_grad()
def test_convolutional_logits_equal_the_equations(layers, width, random_batch):
    model = older_model({**CONV, **APART, "model.layers": layers, "model.kernel_width": width})
    batch = random_batch(model.config, [4], [3])
    ((src, tgt),) = pairs_of(batch)
    logits, looks = by_hand(dict(model.named_parameters()), model.config, src, batch.tgt_in)
    assert_close(model(batch), logits)
    (result,) = force_pairs(model, [(src.tolist(), tgt.tolist())], attention=True)
    torch.testing.assert_close(result.attention, looks.float())


@pytest.mark.parametrize("reach", [range(-2, 3), range(-2, 1), (0,), (-9, 7)])
def test_convolution_does_not_cross_sentences(reach):
    """Of sentences of 3, 1 and 2 tokens and two of filler."""
    x = torch.arange(1.0, 9.0)[:, None]
    segments = Segments.from_lengths([3, 1, 2], 8)
    result = neighbours(x, segments.positions, reach)
    sentences = [0, 0, 0, 1, 2, 2]
    for index, sentence in enumerate(sentences):
        for column, offset in enumerate(reach):
            other = index + offset
            inside = 0 <= other < 6 and sentences[other] == sentence
            assert result[index, column] == (other + 1 if inside else 0)


@torch.no_grad()
def test_encoder_layer_widens_receptive_field_by_one_token(random_batch):
    """Keys change as far to each side as the layers reach, and no further."""
    for layers in (1, 2):
        model = older_model({**CONV, "model.layers": layers})
        src = torch.tensor([4, 5, 6, 7, 8, 9, 10])
        other = src.clone()
        other[3] = 11
        segments = Segments.from_lengths([7])
        both = [model.encode(value, segments).chunk(2, dim=1)[0] for value in (src, other)]
        changed = ((both[0] - both[1]).abs().amax(1) > 1e-12).tolist()
        assert changed == [abs(position - 3) <= layers for position in range(7)]


def test_encoder_gradient_is_divided_by_decoder_layers(random_batch):
    """Divided among the attentions, but for what goes to the embeddings themselves (3.4)."""
    result = []
    for hooked in (True, False):
        model = older_model({**CONV, **APART, "model.layers": 2, "model.dropout": 0.0})
        if not hooked:
            model.encoder.output.register_forward_hook(lambda *call: without_hook(call[-1]))
        batch = random_batch(model.config, [3, 4], [2, 5])
        model(batch).square().sum().backward()
        result.append(dict(model.named_parameters()))
    shared, whole = result
    for name in shared:
        if name.startswith("encoder."):
            assert_close(2 * shared[name].grad, whole[name].grad)
        elif name.startswith(("decoder.", "embedding.tgt")):
            assert_close(shared[name].grad, whole[name].grad)
    e = "embedding.src"
    assert not torch.allclose(2 * shared[e].grad, whole[e].grad)
    assert not torch.allclose(shared[e].grad, whole[e].grad)


def without_hook(x: Tensor) -> Tensor:
    copy = x.view_as(x)
    copy.register_hook = lambda hook: None
    return copy


def test_convolutional_initialisation_keeps_the_variance():
    """Of section 3.5, with dropout."""
    settings = {**CONV, "model.d_model": 64, "model.dropout": 0.2, "model.max_positions": 64}
    model = initialise(make_model(older_config(settings)), 1)
    for name, weight in model.named_parameters():
        if weight.dim() < 2:
            assert not weight.any()
            continue
        variance = 1 / 64
        if "convolution" in name:
            variance = 4 * 0.8 / (3 * 64)
        if name.startswith(("embedding", "positions", "tgt_positions")):
            variance = 0.01
        assert weight.var().item() == pytest.approx(variance, rel=0.1), name


def test_convolutional_activations_keep_their_size_through_layers(random_batch):
    """That is what the scales are for."""
    settings = {**CONV, "model.d_model": 64, "model.layers": 12, "model.max_positions": 64}
    model = initialise(make_model(older_config(settings)), 1).eval()
    batch = random_batch(model.config, [20, 30], [30, 20])
    sizes = []
    for block in model.decoder.blocks:
        block.register_forward_hook(lambda *call: sizes.append(call[1][0].std().item()))
    model(batch)
    assert len(sizes) == 12
    assert max(sizes) < 4 * min(sizes)


@pytest.mark.parametrize(("layers", "width"), [(1, 3), (3, 5)])
def test_convolutional_parameter_count(layers, width):
    settings = {**CONV, "model.layers": layers, "model.kernel_width": width}
    model = make_model(older_config(settings))
    convolution = width * 8 * 16 + 16
    linears = 4 + layers
    expected = 14 * 8 + 2 * 16 * 8 + 2 * layers * convolution + linears * (64 + 8)
    assert parameter_count(model) == expected
