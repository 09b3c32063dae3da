"""The AMX kernels, emulated."""

import shutil

import pytest
from amx_cases import Emulation, emulate


@pytest.fixture(scope="session", params=[4, 16], ids=["portable", "avx512"])
def emulated(request, tmp_path_factory) -> Emulation:
    """The tiles beside vectors of 4 lanes, and of 16, as processors with AMX have."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    emulation = emulate(tmp_path_factory.mktemp("emulated"), request.param)
    if not emulation.vectors.has_form("float32"):
        pytest.skip("this CPU has no AVX-512")
    return emulation
