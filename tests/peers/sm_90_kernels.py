"""Compiles the Triton kernels for GPUs of compute capability 9.0, and counts.

Run by `test_sm_90.py` with the Python of some installation of torch and triton; needs no GPU.
Writes a JSON document: for each kernel its registers, stack bytes, loads and stores.
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

from nmt_cli.batch import TILE
from nmt_cli.inference.cuda.step_kernels import (
    BLOCKS,
    ROW_WARPS,
    attend_slot,
    attention_constants,
    reduce_row,
)
from nmt_cli.inference.packed.head import BLOCK
from nmt_cli.model.backends import tile_kernels
from nmt_cli.model.backends.tiles import _constants
from nmt_cli.training.loss.kernels import kernel_constants, loss_row

CUOBJDUMP = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
KINDS = {
    "tiles": "*i32", "log_sums": "*fp32", "deltas": "*fp32", "scale": "fp32",
    "targets": "*i64", "means": "*fp32", "losses": "*fp32", "bias": "*fp32", "epsilon": "fp32",
    "tokens": "i32", "ancestors": "*i16", "lengths": "*i64", "heads": "i32", "maxima": "*fp32",
    "totals": "*fp32", "columns": "i32",
}  # fmt: skip
# What is counted in the machine code.
PATTERNS = {
    "spills": r"\bLDL|\bSTL", "products": r"\bHMMA|\bHGMMA",
    "loads": r"\bLDG|\bLDGSTS", "wide loads": r"LDG\S*\.128|LDGSTS\S*\.128",
    "stores": r"\bSTG", "wide stores": r"STG\S*\.128",
}  # fmt: skip


def compiled(
    kernel: Any, constants: dict[str, object], options: tuple[str, ...], stream: str = "*bf16"
) -> dict[str, int]:
    """The counts of a kernel, with pointers and strides aligned as in use; stream: of what kind."""
    given = {name: constants.pop(name) for name in options}
    kinds = {
        name: "constexpr" if name in constants else KINDS.get(name, stream)
        for name in kernel.arg_names
    }
    strides = [
        name
        for name in kernel.arg_names
        if name.endswith(("_row", "_head", "_slot", "columns")) and name not in constants
    ]
    kinds.update(dict.fromkeys(strides, "i32"))
    aligned = {
        (index,): [["tt.divisibility", 16]]
        for index, name in enumerate(kernel.arg_names)
        if kinds[name].startswith("*") or name in strides
    }
    source = ASTSource(fn=kernel, signature=kinds, constexprs=constants, attrs=aligned)
    program = compile(source, target=GPUTarget("cuda", 90, 32), options=given).asm["cubin"]
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(program)
        file.flush()
        usage, code = (
            subprocess.run(
                [CUOBJDUMP, option, file.name], capture_output=True, text=True, check=True
            ).stdout
            for option in ("--dump-resource-usage", "--dump-sass")
        )
    found = re.search(r"REG:(\d+) STACK:(\d+)", usage)
    assert found is not None, usage
    counts = {name: len(re.findall(pattern, code)) for name, pattern in PATTERNS.items()}
    return {"registers": int(found[1]), "stack": int(found[2]), **counts}


def main() -> None:
    """Write the facts of all kernels to stdout."""
    kernels: dict[str, dict[str, int]] = {}
    stream = torch.empty(4, 8, 64, dtype=torch.bfloat16)
    for name in ("attend_tile", "query_gradient_tile", "key_gradient_tile"):
        for causal in (False, True):
            constants = {**_constants(stream, stream, TILE), "causal": causal}
            kernels[f"{name}, {'causal' if causal else 'all'}"] = compiled(
                getattr(tile_kernels, name), constants, ("num_warps", "num_stages")
            )
    for biased in (False, True):
        constants = {**kernel_constants(37_120, 37_000), "needs_gradient": True}
        constants |= {} if biased else {"bias": None}
        name = f"loss_row, {'with' if biased else 'without'} bias"
        kernels[name] = compiled(loss_row, constants, ("num_warps",))
    for own in (True, False):
        constants = {**attention_constants(4, 64, 64), "own": own}
        constants |= {} if own else {"ancestors": None}
        name = f"attend_slot, {'own' if own else 'source'}"
        kernels[name] = compiled(attend_slot, constants, ("num_warps", "num_stages"))
    constants = {"width": BLOCK, "blocks": BLOCKS, "num_warps": ROW_WARPS}
    kernels["reduce_row"] = compiled(reduce_row, constants, ("num_warps",), "*fp32")
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    print(json.dumps({**versions, "kernels": kernels}))


if __name__ == "__main__":
    main()
