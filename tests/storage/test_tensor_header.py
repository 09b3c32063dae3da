"""A sorted header belongs to a valid file with the same tensors and metadata."""

import numpy as np
import pytest
import safetensors.numpy

from nmt_cli.storage.tensor_header import read_metadata, with_sorted_header

TENSORS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.arange(3, dtype=np.int64)}


@pytest.mark.parametrize("text", ["plain", "Größe 日本", '"quoted" \\ and\n\x01\x7f', ""])
def test_sorted_header_keeps_tensors_and_metadata(text: str) -> None:
    metadata = {"z": text, "a": "1", text or "m": "2"}
    data = with_sorted_header(safetensors.numpy.save(TENSORS, metadata))
    assert read_metadata(data) == metadata
    loaded = safetensors.numpy.load(data)
    assert loaded.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        np.testing.assert_array_equal(loaded[name], tensor)
        assert loaded[name].dtype == tensor.dtype
    # Tensors begin at a multiple of 8 bytes.
    assert int.from_bytes(data[:8], "little") % 8 == 0
    assert with_sorted_header(data) == data


def test_sorted_header_does_not_depend_on_the_order_of_metadata() -> None:
    metadata = {str(index): "x" for index in range(10)}
    contents = [safetensors.numpy.save(TENSORS, metadata) for _ in range(9)]
    assert len(set(contents)) > 1
    assert len({*map(with_sorted_header, contents)}) == 1
