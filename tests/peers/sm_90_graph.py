"""Lowers the training graph of `base` with Inductor as for an H200, and counts its kernels.

Run by `test_sm_90.py` with the Python of some installation of torch and triton; needs no GPU: the
model is traced with tensors that have no memory, as on a CPU but with a GPU's attention; the graphs
are then moved to a GPU that is only described, and lowered. Nothing is run. Writes a JSON document.
"""

import collections
import dataclasses
import json
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import triton
from torch._dynamo.device_interface import CudaInterface
from torch._inductor import compile_fx
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.node import map_aggregate
from torch.utils._pytree import tree_map
from triton.backends.compiler import GPUTarget

from nmt_cli.batch import Shape, batch_streams
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.model import attention, dropout, layers
from nmt_cli.model.backends.dispatch import use_backend
from nmt_cli.model.transformer import Transformer

GPU = torch.device("cuda", 0)
PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, total_memory=141 << 30, multi_processor_count=132,
    warp_size=32, max_threads_per_multi_processor=2_048, regs_per_multiprocessor=65_536,
    max_threads_per_block=1_024, shared_memory_per_block_optin=232_448,
    shared_memory_per_multiprocessor=233_472, L2_cache_size=60 << 20, gcnArchName="",
    clock_rate=1_980_000, memory_clock_rate=3_201_000, memory_bus_width=6_144,
)  # fmt: skip
# Tokens of a stream, sentences of it and their length: a batch of training.
TOKENS, SENTENCES, LENGTH = 6_208, 200, 28
CALL = re.compile(
    r"\s+(?:(\w+?)(?:_\d+)?\.run\(|extern_kernels\.(\w+)\(|(?:buf\d+ = )?torch\.ops\.([\w.]+?)\()"
)
mode = FakeTensorMode()


class Driver:
    """What Triton asks the driver of a GPU."""

    class utils:
        """The driver's functions."""

        @staticmethod
        def get_device_properties(*_: object) -> dict[str, int]:
            """The limits of a program."""
            return {"max_shared_mem": 232_448, "multiprocessor_count": 132, "warpSize": 32}

    def get_current_target(self) -> GPUTarget:
        """The GPU that programs are compiled for."""
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        """Its number."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Its name in torch."""
        return GPU


def describe_gpu() -> None:
    """Let torch and Triton believe that there is a GPU; only what is never run can follow."""
    of_cuda = {
        "is_available": True, "device_count": 1, "get_device_properties": PROPERTIES,
        "get_device_capability": (9, 0), "current_device": 0, "is_bf16_supported": True,
        "_lazy_init": None, "is_initialized": True, "synchronize": None,
    }  # fmt: skip
    of_interface = {
        "get_device_properties": PROPERTIES, "is_available": True, "current_device": 0,
        "get_compute_capability": 90, "is_triton_capable": True,
        "raise_if_triton_unavailable": None,
    }  # fmt: skip
    of_worker = {"get_device_properties": PROPERTIES, "current_device": 0}
    for name, value in of_cuda.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)
    for owner, values in ((CudaInterface, of_interface), (CudaInterface.Worker, of_worker)):
        for name, value in values.items():
            setattr(owner, name, staticmethod(lambda *_, value=value, **__: value))
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("torch.") and hasattr(module, "has_triton"):
            module.has_triton = lambda *_, **__: True
    triton.runtime.driver.set_active(Driver())


def without_memory(tensor: torch.Tensor, device: torch.device | str = "cpu") -> torch.Tensor:
    """A tensor of the same form that has no memory."""
    form = tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride()))
    with mode:
        return torch.empty_strided(*form, dtype=tensor.dtype, device=device)


def fields_without_memory(value: Any) -> Any:
    """A batch, or its segments, with tensors that have no memory."""
    parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for name, part in parts.items():
        if isinstance(part, torch.Tensor):
            parts[name] = without_memory(part)
        elif dataclasses.is_dataclass(part):
            parts[name] = fields_without_memory(part)
    return type(value)(**parts)


def traced(layers: int) -> list[tuple[torch.fx.GraphModule, bool]]:
    """The graphs of a forward and a backward pass, and whether each is one of a backward pass."""
    settings = {
        "train.preset": "base", "model.layers": layers, "model.src_vocab_size": 37_000,
        "model.tgt_vocab_size": 37_000,
    }  # fmt: skip
    model = Transformer(resolve([SettingsLayer("base", settings)]).config.model)
    model.positions.reserve(128)
    use_backend(model, "tiles")
    model.train()
    for module in model.modules():
        for name, weight in module._parameters.items():
            if weight is not None:
                module._parameters[name] = torch.nn.Parameter(without_memory(weight))
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = without_memory(buffer)
    lengths = np.full(SENTENCES, LENGTH)
    side = np.random.default_rng(1).integers(4, 37_000, lengths.sum()), lengths
    shape = Shape(TOKENS, TOKENS, SENTENCES + TOKENS // 64, 128)
    batch = fields_without_memory(batch_streams(side, side, np.arange(SENTENCES), 2, shape))
    graphs: list[tuple[torch.fx.GraphModule, bool]] = []

    def hold(graph: torch.fx.GraphModule, _: object, **options: Any) -> Callable[..., object]:
        graphs.append((graph, bool(options.get("is_backward"))))
        return results_of(graph)

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        return compile_fx.compile_fx(graph, inputs, inner_compile=hold)

    with mode, torch.autocast("cpu", torch.bfloat16):
        run = torch.compile(model.hidden, backend=backend, fullgraph=True, dynamic=False)
        hidden = run(batch)
    with mode:
        hidden.float().sum().backward()
    return graphs


def results_of(graph: torch.fx.GraphModule) -> Callable[..., object]:
    """A function in place of a compiled graph; its results have no memory."""
    (output,) = [node for node in graph.graph.nodes if node.op == "output"]

    def result(node: object) -> object:
        value = node.meta["val"] if isinstance(node, torch.fx.Node) else node
        return without_memory(value) if isinstance(value, torch.Tensor) else value

    def run(_: object) -> list[object]:
        return [result(node) for node in output.args[0]]

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def lowered(graph: torch.fx.GraphModule, *, is_backward: bool) -> collections.Counter[str]:
    """The calls of the program that Inductor writes for a graph on the GPU, by kernel."""

    def on_gpu(value: object) -> object:
        return GPU if isinstance(value, torch.device) else value

    for node in graph.graph.nodes:
        node.args, node.kwargs = (
            map_aggregate(given, on_gpu) for given in (node.args, node.kwargs)
        )
        if "val" in node.meta:
            node.meta["val"] = tree_map(
                lambda value: (
                    without_memory(value, GPU) if isinstance(value, torch.Tensor) else value
                ),
                node.meta["val"],
            )
    inputs = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
    graph.recompile()
    with V.set_fake_mode(mode), torch.no_grad(), V.set_real_inputs(inputs):
        compile_fx.view_to_reshape(graph)
        compile_fx.record_original_output_strides(graph)
        compile_fx.post_grad_passes(graph, False)
        lowering = GraphLowering(
            graph, example_inputs=inputs, shape_env=mode.shape_env, is_backward=is_backward
        )
        with V.set_graph_handler(lowering), V.set_debug_handler(DebugContext()):
            lowering.run(*inputs)
            code, _ = lowering.codegen()
    lines = getattr(code, "value", str(code)).splitlines()
    matches = [match for line in lines if (match := CALL.match(line))]
    return collections.Counter(next(filter(None, match.groups())) for match in matches)


def main() -> None:
    """Write the calls of each graph of a model with some layers to stdout."""
    fake_tensor.init_gpu_context = lambda *_: None
    attention.joins_projections = lambda _: True
    layers.fuses_relu = lambda _: True
    # Its form on a GPU.
    dropout.Dropout.forward = lambda self, x: F.dropout(x, self.rate) if self.training else x
    graphs = traced(int(sys.argv[1]))
    describe_gpu()
    passes = {
        "backward" if is_backward else "forward": lowered(graph, is_backward=is_backward)
        for graph, is_backward in graphs
    }
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    print(json.dumps({**versions, "graphs": len(graphs), **passes}))


if __name__ == "__main__":
    main()
