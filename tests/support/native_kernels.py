"""The kernels of training in C, for tests that need them."""

import pytest
import torch

from nmt_cli.kernels.training import TrainingKernels, can_have_training_kernels


def require_kernels(found: TrainingKernels | None) -> TrainingKernels:
    """Skip the test where this machine can have no kernels; fails where they should be right."""
    has_vectors = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
    if found is None and not (has_vectors and can_have_training_kernels()):
        pytest.skip("no C compiler, or neither AVX2 nor AVX-512")
    assert found is not None, "there should be kernels here that pass their self-test"
    return found
