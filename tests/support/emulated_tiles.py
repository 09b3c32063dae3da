"""Kernels whose tile instructions are plain C, since few machines have AMX."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nmt_cli.kernels import library
from nmt_cli.kernels.instruction_sets import VARIABLE


@contextmanager
def emulated_tiles(folder: Path) -> Iterator[None]:
    """Compile kernels with emulated tiles in this context; folder: the user's cache meanwhile."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "FLAGS", (*library.FLAGS, "-DNMT_EMULATE_TILES=4"))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.delenv(VARIABLE, raising=False)
        yield
