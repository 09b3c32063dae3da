"""Section 3.5: each kind of positions against its formula."""

import math

import pytest
import torch
from variants import model_config

from nmt_cli.model.backends.native import rotated
from nmt_cli.model.positions import (
    POSITIONS,
    SINUSOIDAL_ENCODINGS,
    LearnedPositions,
    Positions,
    SinusoidalPositions,
    sinusoidal_encoding,
    sinusoidal_halves_encoding,
    sinusoidal_t2t_encoding,
)


def formula(position: int, coordinate: int, d_model: int) -> float:
    angle = position / 10_000 ** (2 * (coordinate // 2) / d_model)
    return math.cos(angle) if coordinate % 2 else math.sin(angle)


def make(kind: str, **settings: object) -> Positions:
    values = {f"model.{key}": value for key, value in settings.items()}
    return POSITIONS[kind](model_config({"model.positions": kind, **values}))


@pytest.mark.parametrize("d_model", [4, 512])
@pytest.mark.parametrize("position", [0, 1, 2, 99, 5_000])
def test_sinusoids_follow_the_formula(position: int, d_model: int) -> None:
    result = sinusoidal_encoding(position + 1, d_model)[position]
    expected = [formula(position, coordinate, d_model) for coordinate in range(d_model)]
    torch.testing.assert_close(result, torch.tensor(expected), rtol=0, atol=1e-6)


def test_a_shift_is_a_linear_function_of_the_encoding() -> None:
    """The paper's reason for sinusoids: PE(pos + k) = M(k) PE(pos), the same M for every pos."""
    table = sinusoidal_encoding(60, 16).double()
    shift = torch.linalg.lstsq(table[:50], table[7:57]).solution
    torch.testing.assert_close(table[:50] @ shift, table[7:57], rtol=0, atol=1e-5)


def test_sinusoidal_halves_are_sinusoids_in_another_order() -> None:
    interleaved, halves = sinusoidal_encoding(9, 12), sinusoidal_halves_encoding(9, 12)
    assert torch.equal(halves[:, :6], interleaved[:, 0::2])
    assert torch.equal(halves[:, 6:], interleaved[:, 1::2])


@pytest.mark.parametrize("d_model", [2, 4, 12, 512])
def test_sinusoids_of_tensor2tensor_follow_their_formula(d_model: int) -> None:
    half = d_model // 2
    table = sinusoidal_t2t_encoding(3_000, d_model)
    for position in (0, 1, 7, 2_999):
        angles = [position / 10_000 ** (index / max(half - 1, 1)) for index in range(half)]
        expected = [*map(math.sin, angles), *map(math.cos, angles)]
        torch.testing.assert_close(table[position], torch.tensor(expected), rtol=0, atol=1e-6)


def test_the_longest_wavelength_of_tensor2tensor_differs_from_that_of_the_paper() -> None:
    """Both have the shortest wavelength; only the later coordinates differ."""
    halves, t2t = sinusoidal_halves_encoding(9, 12), sinusoidal_t2t_encoding(9, 12)
    assert torch.equal(halves[:, [0, 6]], t2t[:, [0, 6]])
    assert not torch.isclose(halves[1:, 5], t2t[1:, 5], rtol=0.1).any()


@pytest.mark.parametrize("kind", ["sinusoidal", "sinusoidal_halves", "sinusoidal_t2t"])
def test_sinusoids_are_added_by_position(kind: str) -> None:
    encoding = SINUSOIDAL_ENCODINGS[kind]
    places = torch.tensor([0, 1, 0, 5])
    result = make(kind).add(torch.full((4, 12), 2.0), places, 6)
    torch.testing.assert_close(result, encoding(6, 12)[places] + 2.0)


@pytest.mark.parametrize("kind", ["sinusoidal", "sinusoidal_halves", "sinusoidal_t2t"])
def test_the_first_token_may_have_another_position_than_0(kind: str) -> None:
    """Also after the table has grown, and in every engine, which read the same table."""
    positions = make(kind, position_offset=2)
    for place in (0, 1_023, 3_000):
        result = positions.add(torch.zeros(1, 12), torch.tensor([place]), place + 1)
        assert torch.equal(result, SINUSOIDAL_ENCODINGS[kind](place + 3, 12)[place + 2 :])
    assert positions.table.is_contiguous()


@pytest.mark.parametrize("position", [1_023, 1_024, 1_500, 5_000])
def test_sinusoidal_table_grows_and_is_not_a_parameter(position: int) -> None:
    kind = SinusoidalPositions(model_config({}))
    assert len(kind.table) == 1_024
    result = kind.add(torch.zeros(1, 12), torch.tensor([position]), position + 1)
    assert torch.equal(result, sinusoidal_encoding(position + 1, 12)[-1:])
    assert not kind.state_dict()
    assert not list(kind.parameters())


def test_learned_positions_are_rows_and_the_last_one_is_shared() -> None:
    kind = LearnedPositions(model_config({"model.max_positions": 3}))
    with torch.no_grad():
        kind.weight.copy_(torch.arange(36.0).view(3, 12))
        result = kind.add(torch.ones(4, 12), torch.tensor([2, 0, 3, 9]), 10)
    assert torch.equal(result, kind.weight[[2, 0, 2, 2]] + 1.0)


def test_rotary_rotates_each_pair_of_coordinates() -> None:
    heads = torch.tensor([[[1.0, 0.0, 0.0, 1.0]]])
    kind = make("rotary", d_model=4, heads=1)
    rate = 10_000**-0.5
    result = kind.rotate(heads, torch.tensor([3]), 4)[0, 0].tolist()
    expected = [math.cos(3), math.sin(3), -math.sin(3 * rate), math.cos(3 * rate)]
    assert result == pytest.approx(expected, abs=1e-6)


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    generator = torch.Generator().manual_seed(1)
    kind = make("rotary", d_k=6).double()
    query, key = torch.randn(2, 1, 3, 6, dtype=torch.float64, generator=generator)
    scores = []
    for start in (0, 5, 300):
        rotated = kind.rotate(query, torch.tensor([start + 4]), start + 5)
        other = kind.rotate(key, torch.tensor([start]), start + 1)
        scores.append((rotated * other).sum(-1))
    torch.testing.assert_close(scores[1], scores[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(scores[2], scores[0], rtol=0, atol=1e-5)
    assert not torch.allclose(scores[0], (query * key).sum(-1), atol=1e-2)


@pytest.mark.parametrize("position", [1_023, 1_024, 1_500, 5_000])
def test_rotary_tables_grow(position: int) -> None:
    kind = make("rotary", d_model=2, heads=1)
    result = kind.rotate(torch.tensor([[[1.0, 0.0]]]), torch.tensor([position]), position + 1)
    assert result[0, 0].tolist() == pytest.approx(
        [math.cos(position), math.sin(position)], abs=1e-6
    )


def test_factors_of_rotation_do_what_rotate_does() -> None:
    generator = torch.Generator().manual_seed(0)
    kind = make("rotary", d_model=12, heads=2)
    heads = torch.randn(1_030, 2, 6, generator=generator)
    expected = kind.rotate(heads, torch.arange(1_030), 1_030)
    torch.testing.assert_close(rotated(heads, kind.rotation(1_030)), expected, rtol=0, atol=1e-6)
    # A model in another precision leaves what the kernels read in float32.
    assert kind.bfloat16().rotation(5_000).dtype == torch.float32
    assert len(kind.rotation(5_000)) >= 5_000
    with pytest.raises(NotImplementedError, match="LearnedPositions does not rotate"):
        make("learned").rotation(3)


def test_position_encodings_either_add_or_rotate() -> None:
    """Added positions leave queries alone, rotary ones leave embeddings alone."""
    places, x, heads = torch.tensor([1, 2]), torch.ones(2, 12), torch.ones(2, 3, 4)
    for name in POSITIONS:
        kind = make(name)
        for weight in kind.parameters():
            torch.nn.init.ones_(weight)
        adds = not torch.equal(kind.add(x, places, 3), x)
        rotates = not torch.equal(kind.rotate(heads, places, 3), heads)
        assert (adds, rotates) == (name != "rotary", name == "rotary"), name
