"""Weights packed by the library: the same bytes as in NumPy, whatever the pieces they come in."""

from collections.abc import Callable

import numpy as np
import pytest
from byte_models import byte_config, byte_model
from numpy_packing import packed_arrays

from nmt_cli import model_weights
from nmt_cli.inference.native.linear import BLOCK, PANEL, PRECISIONS, Kernels, PackedLinear
from nmt_cli.inference.native.packing.packed_weights import HEAD, PackedWeights
from nmt_cli.inference.native.packing.packer import Packer, copy_outputs
from nmt_cli.inference.weights import ProjectionRows, TransformerArrays
from nmt_cli.model_weights import LazyWeights, open_weights, weight_bytes

SHAPES = [(1, 1), (16, 4), (17, 5), (35, 37), (48, 256), (7, 1030), (33, 2050)]


def random_weight(outputs: int, inputs: int) -> np.ndarray:
    generator = np.random.default_rng(outputs)
    return generator.standard_normal((outputs, inputs), np.float32)


def pack(kernels: Kernels, weight: np.ndarray, precision: str, rows: int = 0) -> PackedLinear:
    """Packed in pieces of so many rows; 0: in one."""
    step = rows or len(weight)
    pieces = (weight[first : first + step] for first in range(0, len(weight), step))
    projection = ProjectionRows((weight.shape[0], weight.shape[1]), pieces, None)
    return Packer(kernels.library, precision).pack(projection)


def assert_same_bytes(layer: PackedLinear, weight: np.ndarray, precision: str) -> None:
    expected = packed_arrays(weight, precision)
    assert layer.packed.tobytes() == expected.packed.tobytes()
    assert layer.packed.shape == expected.packed.shape
    for actual, wanted in ((layer.scales, expected.scales), (layer.totals, expected.totals)):
        assert (actual is None) == (wanted is None)
        if actual is not None and wanted is not None:
            assert actual.tobytes() == wanted.tobytes()
            assert actual.dtype == wanted.dtype


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [0, 1, 5, 16, 23])
def test_the_bytes_are_those_of_numpy(
    kernels: Kernels, precision: str, shape: tuple[int, int], rows: int
) -> None:
    weight = random_weight(*shape)
    assert_same_bytes(pack(kernels, weight, precision, rows), weight, precision)


def with_zero_rows(weight: np.ndarray) -> np.ndarray:
    weight[[0, 20]] = 0.0
    return weight


def with_ties(weight: np.ndarray) -> np.ndarray:
    """Halfway between two integers, and between two bf16 numbers."""
    weight[:] = np.arange(weight.size, dtype=np.float32).reshape(weight.shape) % 128 - 64
    weight += np.float32(0.5)
    weight[:, 0] = 64
    weight[5] = np.uint32(0x3F808000).view(np.float32)
    weight[6] = np.uint32(0x3F818000).view(np.float32)
    return weight


def with_tiny_rows(weight: np.ndarray) -> np.ndarray:
    """Numbers below the least normal one, whose scale is one of few, or 0."""
    weight[3], weight[4] = weight[3] * np.float32(1e-44), np.float32(1e-45)
    weight[5] = np.float32(1.5e-43)
    weight[6] *= np.float32(1e37)
    return weight


def with_infinite_rows(weight: np.ndarray) -> np.ndarray:
    weight[2, 3], weight[8, 0], weight[8, 1] = np.inf, -np.inf, np.inf
    return weight


EDGES = [with_zero_rows, with_ties, with_tiny_rows, with_infinite_rows]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("edit", EDGES)
# NumPy warns of infinity / infinity and of numbers that no integer holds.
@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_bytes_of_unusual_rows_are_those_of_numpy(
    kernels: Kernels, precision: str, edit: Callable[[np.ndarray], np.ndarray]
) -> None:
    weight = edit(random_weight(21, 37))
    assert_same_bytes(pack(kernels, weight, precision), weight, precision)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_rows_with_nan_have_the_integers_of_numpy(kernels: Kernels) -> None:
    weight = random_weight(21, 37)
    weight[2, 3], weight[9] = np.nan, np.nan
    weight[2, 4:7] = 3.5, 300.0, -1e12
    layer, expected = pack(kernels, weight, "int8"), packed_arrays(weight, "int8")
    assert layer.packed.tobytes() == expected.packed.tobytes()
    assert np.array_equal(layer.scales, expected.scales, equal_nan=True)
    assert np.isnan(layer.scales[[2, 9]]).all()
    assert np.array_equal(layer.totals, expected.totals)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    "settings",
    [{}, {"activation": "swiglu", "tie_embeddings": "none", "attention_bias": True}],
)
def test_layers_of_a_file_are_those_of_its_joined_weights(
    kernels: Kernels, precision: str, settings, tmp_path, monkeypatch
) -> None:
    """Read in pieces of three rows of the widest weight."""
    config = byte_config({f"model.{name}": value for name, value in settings.items()})
    state = byte_model(config, 1).state_dict()
    path = tmp_path / "model.safetensors"
    path.write_bytes(weight_bytes(state, {}))
    monkeypatch.setattr(model_weights, "PIECE", 3 * 4 * config.model.d_model)
    with open_weights(path) as file:
        lazy = LazyWeights(file, config)
    arrays = TransformerArrays(config.model, lazy, consumes=True)
    packed = PackedWeights.of(arrays, kernels.library, precision)
    whole = TransformerArrays(config.model, {name: each.numpy() for name, each in state.items()})
    layers = {f"{stack}.{i}": layer for stack in ("encoder", "decoder")
              for i, layer in enumerate(whole.layers(stack))}  # fmt: skip
    for name, layer in layers.items():
        parts = {"joined": layer.own.joined, "output": layer.own.output}
        parts |= {"inner": layer.feed_forward.inner, "outer": layer.feed_forward.outer}
        if layer.cross is not None:
            parts |= {"query": layer.cross.query, "memory": layer.cross.memory}
            parts["cross_output"] = layer.cross.output
        for part, projection in parts.items():
            linear = packed.linears[f"{name}.{part}"]
            assert_same_bytes(linear, projection.weight, precision)
            bias = projection.bias
            assert (linear.bias is None) == (bias is None)
            assert bias is None or np.array_equal(
                linear.bias, np.pad(bias, (0, -len(bias) % PANEL))
            )
    words, width = whole.output.weight.shape
    missing = -words % BLOCK
    assert missing
    output = np.concatenate([whole.output.weight, np.zeros((missing, width), np.float32)])
    assert_same_bytes(packed.linears[HEAD], output, precision)
    bias = np.zeros(words, np.float32) if whole.output.bias is None else whole.output.bias
    assert np.array_equal(packed.linears[HEAD].bias, [*bias, *[-np.inf] * missing])
    # Nothing of the layers is left, and no matrix that only the output layer needs.
    left = {name for name in lazy if "attention." in name or "feed_forward." in name}
    assert not left
    assert "embedding.output" not in lazy


@pytest.mark.parametrize("precision", PRECISIONS)
def test_copied_outputs_are_those_of_a_layer_with_these_weights(
    kernels: Kernels, precision: str
) -> None:
    weight = random_weight(40, 37)
    chosen = np.array([*range(39, 8, -1), 0], np.int64)
    layer = pack(kernels, weight, precision)
    assert_same_bytes(copy_outputs(kernels.library, layer, chosen), weight[chosen], precision)
    chosen[3] = 48
    with pytest.raises(IndexError):
        copy_outputs(kernels.library, layer, chosen)
