"""Instruction sets of CPUs that there are kernels for, and the one that the user asks for."""

import os

# The SIMD lanes of the kernels by instruction set, best first: floats computed at once.
INSTRUCTION_SETS = {"avx512": 16, "avx2": 8, "portable": 4}
# The environment variable that names the best instruction set to use, one of INSTRUCTION_SETS.
VARIABLE = "NMT_CPU_ISA"


def wanted_lanes() -> list[int]:
    """The SIMD lanes of the instruction sets to try, best first; none better than is wanted."""
    lanes = INSTRUCTION_SETS.values()
    most = INSTRUCTION_SETS.get(os.environ.get(VARIABLE, ""), max(lanes))
    return [count for count in lanes if count <= most]
