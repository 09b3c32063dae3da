"""Builds a graph of ONNX operators: values are named by strings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.storage import files

# Operators of opset 17 are known to every version of onnxruntime since 1.12.
OPSET, IR_VERSION = 17, 8
# A protobuf file has at most 2 GiB: larger weights are written beside it.
LARGEST_FILE = (2 << 30) - (1 << 26)

Axes = Sequence[str | int]


class Graph:
    """A graph that grows by one operator at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[Any] = []
        self._weights: dict[str, np.ndarray] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def apply(self, operator: str, *inputs: str, **attributes: object) -> str:
        """The output of an operator."""
        from onnx import helper

        output = f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def weight(self, name: str, values: np.ndarray) -> str:
        """A weight, which is stored once for each name."""
        self._weights.setdefault(name, np.ascontiguousarray(values))
        return name

    def number(self, value: float) -> str:
        """A number in float32."""
        return self.weight(f"number_{value!r}", np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """A vector of integers."""
        name = "integers_" + "_".join(map(str, values))
        return self.weight(name, np.array(values, np.int64))

    def integer(self, value: int) -> str:
        """An integer."""
        return self.weight(f"integer_{value}", np.array(value, np.int64))

    def length(self, value: str, axis: int) -> str:
        """The size of an axis of a value, as an integer."""
        return self.apply("Gather", self.apply("Shape", value), self.integer(axis), axis=0)

    def add_input(self, name: str, axes: Axes, dtype: Any) -> str:
        """An input of the graph; axes: sizes, or names of sizes that vary."""
        self._inputs.append(self._described(name, axes, dtype))
        return name

    def add_output(self, name: str, value: str, axes: Axes) -> None:
        """Make a value an output of the graph."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._described(name, axes, np.float32))

    def save(self, path: Path, metadata: Mapping[str, str]) -> None:
        """Check the graph and write it."""
        import onnx
        from onnx import helper, numpy_helper

        weights = [numpy_helper.from_array(array, name) for name, array in self._weights.items()]
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, weights)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        helper.set_model_props(model, dict(metadata))
        if sum(array.nbytes for array in self._weights.values()) > LARGEST_FILE:
            onnx.save_model(
                model, str(path), save_as_external_data=True, location=f"{path.name}_data"
            )
            return
        onnx.checker.check_model(model)
        files.write_bytes(path, model.SerializeToString())

    def _described(self, name: str, axes: Axes, dtype: Any) -> Any:
        from onnx import helper

        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, element, list(axes))
