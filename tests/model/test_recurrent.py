"""The recurrent model computes the equations of Bahdanau et al. 2014, written out plainly."""

import pytest
import torch
from older_models import APART, RNN, older_config, older_model
from teacher_forcing import assert_close, pairs_of
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.config.schema import ModelConfig
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.baselines.recurrent import AdditiveAttention
from nmt_cli.model.encoder_decoder import initialise, parameter_count
from nmt_cli.model.kinds import make_model

Weights = dict[str, Tensor]


def unit(weights: Weights, name: str, suffix: str, x: Tensor, h: Tensor) -> Tensor:
    """One step of a gated recurrent unit, one vector at a time."""
    parts = []
    for kind in ("ih", "hh"):
        matrix, bias = (weights[f"{name}.{value}_{kind}_{suffix}"] for value in ("weight", "bias"))
        parts.append((matrix @ (x if kind == "ih" else h) + bias).chunk(3))
    (r_x, z_x, n_x), (r_h, z_h, n_h) = parts
    reset, update = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h)
    new = torch.tanh(n_x + reset * n_h)
    return (1 - update) * new + update * h


def annotations_of(weights: Weights, config: ModelConfig, embedded: list[Tensor]) -> list[Tensor]:
    x = embedded
    for layer in range(config.layers):
        directions = []
        for suffix, order in (("l0", 1), ("l0_reverse", -1)):
            h = x[0].new_zeros(config.d_model // 2)
            states = []
            for value in x[::order]:
                h = unit(weights, f"encoder.{layer}", suffix, value, h)
                states.append(h)
            directions.append(states[::order])
        y = [torch.cat(both) for both in zip(*directions, strict=True)]
        x = [row + more for row, more in zip(x, y, strict=True)] if layer else y
    return x


def by_hand(
    weights: Weights, config: ModelConfig, src: Tensor, tgt: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits, and the attention."""

    def project(name: str, x: Tensor) -> Tensor:
        bias = weights.get(f"{name}.bias")
        return weights[f"{name}.weight"] @ x + (0.0 if bias is None else bias)

    h = annotations_of(weights, config, list(weights["embedding.src"][src]))
    states = [torch.tanh(project("first_state", torch.stack(h).mean(0)))]
    states += [torch.zeros_like(states[0]) for _ in range(config.layers - 1)]
    logits, looks = [], []
    for previous in weights["embedding.tgt"][tgt]:
        query = project("attention.query", states[0])
        energies = [
            project("attention.energy", torch.tanh(query + project("attention.key", value)))
            for value in h
        ]
        alpha = torch.cat(energies).softmax(0)
        looks.append(alpha)
        context = sum(a * annotation for a, annotation in zip(alpha, h, strict=True))
        x = previous
        for layer in range(config.layers):
            joined = torch.cat([x, context])
            states[layer] = unit(weights, f"decoder.{layer}", "l0", joined, states[layer])
            x = x + states[layer] if layer else states[layer]
        hidden = torch.tanh(project("readout", torch.cat([x, previous, context])))
        logits.append(weights["embedding.tgt"] @ hidden)
    return torch.stack(logits), torch.stack(looks)


@pytest.mark.parametrize("layers", [1, 3])
@torch.no_grad()
def test_recurrent_logits_equal_the_equations(layers, random_batch):
    model = older_model({**RNN, **APART, "model.layers": layers})
    batch = random_batch(model.config, [4], [3])
    ((src, tgt),) = pairs_of(batch)
    logits, looks = by_hand(dict(model.named_parameters()), model.config, src, batch.tgt_in)
    assert_close(model(batch), logits)
    (result,) = force_pairs(model, [(src.tolist(), tgt.tolist())], attention=True)
    torch.testing.assert_close(result.attention, looks.float())


def test_backward_encoder_starts_at_the_end_of_each_sentence(random_batch):
    model = older_model({**RNN, "model.layers": 1})
    with torch.no_grad():
        both = [
            model.encode(torch.tensor([4, 5, *rest]), Segments.from_lengths([2, len(rest)]))
            for rest in ([6, 7, 8], [9])
        ]
        assert_close(both[0][:2], both[1][:2])
        longer = model.encode(torch.tensor([4, 5, 6]), Segments.from_lengths([3]))
    width = model.config.d_model // 2
    assert_close(longer[:2, :width], both[0][:2, :width])
    assert (longer[:2, width:] - both[0][:2, width:]).abs().min() > 1e-9


def test_row_without_keys_gives_finite_gradients():
    attention = AdditiveAttention(4).double()
    state, keys = torch.randn(2, 4).double(), torch.randn(2, 3, 4).double()
    inside = torch.tensor([[True, True, False], [False, False, False]])
    weights = attention(state, attention.key(keys), inside)
    assert weights[0, 2] == 0.0
    weights[0].square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())


def test_recurrent_matrices_are_initialised_orthogonal_per_gate():
    config = older_config({**RNN, "model.d_model": 32})
    model = initialise(make_model(config), 1)
    result = [weight for name, weight in model.named_parameters() if "weight_hh" in name]
    assert len(result) == 6
    for value in result:
        for gate in value.chunk(3):
            torch.testing.assert_close(gate @ gate.T, torch.eye(len(gate)))
    joined = [weight for name, weight in model.named_parameters() if "weight_ih" in name]
    for value in joined:
        bound = (6 / (value.shape[0] / 3 + value.shape[1])) ** 0.5
        assert 0.9 * bound < value.abs().max() <= bound


@pytest.mark.parametrize(("layers", "d_model"), [(1, 8), (3, 32)])
def test_recurrent_parameter_count(layers, d_model):
    """Embeddings, encoder, attention, first state, decoder, readout."""
    model = make_model(older_config({**RNN, "model.layers": layers, "model.d_model": d_model}))
    half = d_model // 2
    encoder = 2 * (3 * half * (d_model + half) + 6 * half)
    decoder = 3 * d_model * 3 * d_model + 6 * d_model
    attention = 2 * d_model**2 + d_model + d_model
    rest = d_model**2 + d_model + 3 * d_model**2 + d_model
    expected = 14 * d_model + layers * (encoder + decoder) + attention + rest
    assert parameter_count(model) == expected


def test_the_recurrence_stays_float32_where_the_rest_is_bf16(random_batch):
    """What it gives is read out by the first product in bf16."""
    model = older_model(RNN).float()
    batch = random_batch(model.config, [3, 5], [4, 2])
    given: list[Tensor] = []
    model.readout.register_forward_hook(lambda *call: given.append(call[1][0]))
    plain = model.hidden(batch)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.hidden(batch)
    assert (given[1].dtype, hidden.dtype) == (torch.float32, torch.bfloat16)
    torch.testing.assert_close(given[1], given[0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(hidden.float(), plain, rtol=0.05, atol=0.05)
