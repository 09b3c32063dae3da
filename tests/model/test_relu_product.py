"""The product with ReLU for a GPU, on a CPU: torch computes the same operator there."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt_cli.model import layers
from nmt_cli.model.relu_product import relu_product


def with_gradients(y: Tensor, leaves: list[Tensor]) -> tuple[Tensor, ...]:
    """`y`, and the gradients of a sum of it with weights of both signs."""
    slope = torch.linspace(-1, 1, y.numel()).reshape(y.shape).to(y.dtype)
    return y, *torch.autograd.grad(y, leaves, slope)


@pytest.mark.parametrize("autocast", [False, True])
def test_relu_product_equals_linear_then_relu(autocast: bool) -> None:
    torch.manual_seed(1)
    layer, x = nn.Linear(8, 20), torch.randn(13, 8, requires_grad=True)
    leaves = [x, layer.weight, layer.bias]
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        y, expected = relu_product(x, layer), F.relu(layer(x))
    assert y.dtype == (torch.bfloat16 if autocast else torch.float32)
    assert 0 < (y == 0).sum() < y.numel()
    results = zip(with_gradients(y, leaves), with_gradients(expected, leaves), strict=True)
    for result, wanted in results:
        assert result.dtype == wanted.dtype
        torch.testing.assert_close(result, wanted)


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({}, 2),
        ({"model.activation": "gelu"}, 0),
        ({"model.activation": "swiglu"}, 0),
        ({"model.feed_forward_bias": False}, 0),
    ],
)
def test_layers_fuse_relu_with_a_bias_while_there_are_gradients(
    make_model, random_batch, monkeypatch, settings: dict[str, object], calls: int
) -> None:
    model = make_model({"model.layers": 1, **settings}).float()
    batch = random_batch(model.config, [3, 5], [4, 2])
    expected = model(batch)
    used: list[nn.Linear] = []

    def counted(x: Tensor, layer: nn.Linear) -> Tensor:
        used.append(layer)
        return relu_product(x, layer)

    monkeypatch.setattr(layers, "relu_product", counted)
    model(batch)
    assert not used
    monkeypatch.setattr(layers, "fuses_relu", lambda device: device.type == "cpu")
    torch.testing.assert_close(model(batch), expected)
    assert len(used) == calls
    with torch.no_grad():
        model(batch)
    assert len(used) == calls
