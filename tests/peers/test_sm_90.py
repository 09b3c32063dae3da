"""What GPUs of compute capability 9.0 are given: kernels without spills, no copied gradients.

No GPU is needed. The installation under test is this one, and that of the Python which the variable
NMT_SM_90_PYTHON names, for other versions of torch and triton (torch 2.11 and triton 3.6 are the
oldest that nmt supports); it needs nmt's dependencies too.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from peer_results import Record

pytest.importorskip("triton")
pytestmark = pytest.mark.peers
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OTHER = os.environ.get("NMT_SM_90_PYTHON", "")
PYTHONS = [
    pytest.param(sys.executable, id="this installation"),
    pytest.param(
        OTHER, id="the other one",
        marks=pytest.mark.skipif(not OTHER, reason="NMT_SM_90_PYTHON is not set"),
    ),
]  # fmt: skip
# A program of 4 warps runs on a multiprocessor 4 times at once with up to this many registers; one
# of the 2 warps of `attend_slot` 6 times.
MAX_REGISTERS = {"attend_slot": 168}


def facts(python: str, script: str, *arguments: str) -> dict[str, Any]:
    """The document that a script of this folder writes."""
    environment = {**os.environ, "TRITON_INTERPRET": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, str(HERE / script), *arguments], capture_output=True, text=True, check=False,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("python", PYTHONS)
def test_sm_90_kernels_have_no_spills_and_load_16_bytes_at_a_time(
    python: str, record: Record
) -> None:
    found = facts(python, "sm_90_kernels.py")
    record(**{key: found[key] for key in ("torch", "triton", "kernels")})
    assert len(found["kernels"]) == 11
    for name, counts in found["kernels"].items():
        assert (counts["stack"], counts["spills"]) == (0, 0), name
        assert counts["registers"] <= MAX_REGISTERS.get(name.partition(",")[0], 128), name
        assert counts["wide loads"] >= 4, name
        # A program stores the few numbers of a row, or 16 bytes for each thread that has any.
        assert counts["wide stores"] >= {"attend_slot": 1, "reduce_row": 0}.get(
            name.partition(",")[0], 2
        ), name
        assert bool(counts["products"]) is ("tile" in name or "slot" in name), name


@pytest.mark.parametrize("python", PYTHONS)
def test_sm_90_graph_has_no_break_and_copies_no_gradients_together(
    python: str, record: Record
) -> None:
    found = facts(python, "sm_90_graph.py", "2")
    forward, backward = found["forward"], found["backward"]
    record(torch=found["torch"], kernels_forward=sum(forward.values()),
           kernels_backward=sum(backward.values()))  # fmt: skip
    assert found["graphs"] == 2
    # Two layers: self-attention on both sides, and cross-attention.
    assert forward["nmt_cli.segment_attention.default"] == 6
    assert backward["nmt_cli.segment_attention_backward.default"] == 6
    # A product, its bias and ReLU are one kernel, in the encoder's and the decoder's layers.
    assert forward["aten._addmm_activation.default"] == 4
    assert not any("relu" in name for name in forward)
    # Weights are concatenated for joined projections, gradients of activations never.
    assert sum(count for name, count in forward.items() if "cat" in name) == 6
    assert not any("cat" in name for name in backward)
