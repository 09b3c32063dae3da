"""Muon against its formulas, one matrix at a time; who is Muon's and who is Adam's."""

import math

import pytest
import torch
from torch import nn
from variants import TINY, model_config

from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.optimizers.factory import make_optimizer, set_learning_rate
from nmt_cli.training.optimizers.muon import MOMENTUM, orthogonalise

TRAIN = TrainConfig(optimizer="muon", momentum=0.9, weight_decay=0.1)


def newton_schulz(matrix: torch.Tensor) -> torch.Tensor:
    """Jordan's iteration by way of the singular values: each goes through the polynomial."""
    u, s, v = torch.linalg.svd(matrix / matrix.norm(), full_matrices=False)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return u @ torch.diag(s) @ v


@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7), (1, 4)])
def test_orthogonalise_drives_the_singular_values_through_the_polynomial(shape) -> None:
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1)).double()
    found = orthogonalise(matrices)
    for matrix, orthogonal in zip(matrices, found, strict=True):
        torch.testing.assert_close(orthogonal, newton_schulz(matrix), rtol=0, atol=1e-5)
        values = torch.linalg.svdvals(orthogonal)
        assert 0.5 < values.min() <= values.max() < 1.3


def test_muon_zero_gradient_changes_nothing() -> None:
    assert torch.equal(orthogonalise(torch.zeros(2, 3, 4)), torch.zeros(2, 3, 4))


def test_muon_steps_equal_the_formula() -> None:
    """Matrices of one shape go together, but each by itself; rate, decay and size as said."""
    torch.manual_seed(2)
    layers = nn.ModuleList(nn.Linear(*size) for size in ((4, 6), (4, 6), (6, 3)))
    layers.double()
    optimizer = make_optimizer(layers, Config(train=TRAIN))
    references = [layer.weight.detach().clone() for layer in layers]
    momenta = [torch.zeros_like(matrix) for matrix in references]
    for step in range(1, 5):
        for index, layer in enumerate(layers):
            gradient = torch.randn_like(layer.weight) * 10.0**index
            layer.weight.grad = gradient.clone()
            momenta[index] = 0.9 * momenta[index] + 0.1 * gradient
            ahead = 0.1 * gradient + 0.9 * momenta[index]
            rate = 0.01 * step
            update = newton_schulz(ahead) * 0.2 * math.sqrt(max(gradient.shape))
            references[index] = references[index] * (1 - rate * 0.1) - rate * update
        set_learning_rate(optimizer, 0.01 * step)
        optimizer.step()
        for layer, reference in zip(layers, references, strict=True):
            torch.testing.assert_close(layer.weight.detach(), reference, rtol=0, atol=1e-7)


def test_muon_update_has_the_size_of_an_adam_update() -> None:
    """So that one learning rate serves both: 0.2 of it, root mean square."""
    for shape in ((64, 256), (256, 64), (128, 128)):
        layer = nn.Linear(shape[1], shape[0])
        before = layer.weight.detach().clone()
        optimizer = make_optimizer(layer, Config(train=TrainConfig(optimizer="muon")))
        set_learning_rate(optimizer, 0.01)
        layer.weight.grad = torch.randn_like(before)
        optimizer.step()
        moved = (layer.weight.detach() - before).square().mean().sqrt().item()
        assert moved == pytest.approx(0.2 * 0.01, rel=0.3)


@pytest.mark.parametrize("variant", [{}, {"model.positions": "learned"}])
def test_muon_updates_linear_layers_and_adam_all_else(variant) -> None:
    settings = {"model.attention_bias": True, "model.activation": "swiglu", **variant}
    config = model_config({**TINY, **settings, "model.output_bias": True})
    model = initialise(Transformer(config), 1)
    optimizer = make_optimizer(model, Config(model=config, train=TRAIN))
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    set_learning_rate(optimizer, 0.1)
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    for name, weight in model.named_parameters():
        in_layer = name.startswith(("encoder.", "decoder.")) and weight.dim() == 2
        assert set(optimizer.state[weight]) == (
            {MOMENTUM} if in_layer else {"step", "exp_avg", "exp_avg_sq"}
        ), name
        assert not torch.equal(weight, before[name]), name


def test_muon_uses_adam_for_all_other_weights() -> None:
    """The embedding and the norms, with their own weight decay."""
    config = model_config(TINY)
    moved = []
    for kind in ("muon", "adam"):
        model = initialise(Transformer(config), 1)
        train = TrainConfig(optimizer=kind, weight_decay=0.1)
        optimizer = make_optimizer(model, Config(model=config, train=train))
        generator = torch.Generator().manual_seed(5)
        for _ in range(3):
            set_learning_rate(optimizer, 0.01)
            for weight in model.parameters():
                weight.grad = torch.randn(weight.shape, generator=generator)
            optimizer.step()
        moved.append(dict(model.named_parameters()))
    for name, weight in moved[1].items():
        if weight.dim() < 2 or name.startswith("embedding"):
            assert torch.equal(moved[0][name], weight), name
        else:
            assert not torch.equal(moved[0][name], weight), name
