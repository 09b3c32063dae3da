"""torch.compile cannot look into the checks of shapes that tests run with: a process of its own."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nmt_cli.batch import Shape, batch_streams
from nmt_cli.training.execution.compiled import CompiledHidden, compile_hidden, has_shape


@pytest.mark.slow
def test_compiled_cases() -> None:
    cases = Path(__file__).with_name("compiled_cases.py")
    command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cases.parent)
    assert done.returncode == 0, done.stdout
    assert "11 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("shape", "fits"),
    [((8, 9, 3), True), ((9, 9, 3), False), ((8, 10, 3), False), ((8, 9, 4), False)],
)
def test_has_shape_compares_tokens_of_both_sides_and_pairs(shape, fits) -> None:
    side = np.array([4, 5, 3, 6, 3]), np.array([3, 2])
    batch = batch_streams(side, side, np.arange(2), 2, Shape(8, 9, 3))
    assert has_shape(batch, Shape(*shape)) is fits


@pytest.mark.parametrize("separate_graphs", [False, True])
def test_a_graph_that_breaks_is_an_error(
    monkeypatch: pytest.MonkeyPatch, separate_graphs: bool
) -> None:
    """torch goes on without a word unless it is told not to."""
    given: list[dict[str, object]] = []
    monkeypatch.setattr(torch, "compile", lambda work, **options: given.append(options) or work)
    model = SimpleNamespace(encode=None, decode=None)
    CompiledHidden(model, Shape(8, 8, 2), separate_graphs=separate_graphs)
    assert len(given) == 1 + separate_graphs
    assert all(options["fullgraph"] is True and options["dynamic"] is False for options in given)


def test_graphs_of_an_earlier_run_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch would take a run with other settings of autocast for the same function."""
    calls: list[str] = []
    monkeypatch.setattr(torch.compiler, "reset", lambda: calls.append("reset"))
    monkeypatch.setattr(torch, "compile", lambda work, **_: calls.append("compile") or work)
    compile_hidden(SimpleNamespace(encode=None, decode=None), Shape(8, 8, 2))
    assert calls == ["reset", "compile"]
