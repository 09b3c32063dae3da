"""What lies in the current directory is data: no code in it is run by `nmt`."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.tally import ROOT, fault

from nmt_cli.cli import environment

Checks = Callable[..., None]

PLANTED = (
    "torch", "numpy", "typer", "sacrebleu", "sitecustomize", "usercustomize", "nmt_cli", "socket",
    "signal", "runpy", "tokenize", "multiprocessing",
)  # fmt: skip
WORKERS = """\
import multiprocessing
from nmt_cli.cli import environment
from nmt_cli.data import process_pool

if __name__ == "__main__":
    environment.keep_out_current_directory()
    process_pool.ALONE_SECONDS = -1.0
    with process_pool.ProcessPool(2) as workers:
        print(list(workers.map(abs, [-1, -2, 3])))
"""


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder of modules that leave a mark when they are imported."""
    folder = tmp_path / "trap"
    folder.mkdir()
    mark = f"import pathlib; pathlib.Path({str(tmp_path / 'mark')!r}).touch()\n"
    for name in PLANTED:
        (folder / f"{name}.py").write_text(mark)
    (folder / "nmt.toml").write_text('[languages]\nsrc = "en"\n')
    (folder / ".env").write_text("NMT_LANGUAGES_TGT=xx\nPYTHONSTARTUP=torch.py\n")
    (folder / "a.txt").write_text("a b c d\n")
    return folder


def script(tmp_path: Path, text: str) -> Path:
    """A program as pip puts them into bin: it lies in a folder of its own."""
    path = tmp_path / "bin" / "nmt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def run(trap: Path, program: Path, *arguments: str) -> str:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, str(program), *arguments], cwd=trap, capture_output=True, text=True,
        env={**kept, "PYTHONPATH": str(ROOT)}, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not (trap.parent / "mark").exists(), done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@fault("U13")
def test_nmt_imports_no_module_from_current_directory(
    tmp_path: Path, trap: Path, checks: Checks
) -> None:
    nmt = script(tmp_path, "from nmt_cli.cli import run\nrun()\n")
    assert "BLEU 100.00" in run(trap, nmt, "score", "a.txt", "a.txt")
    checks(len(PLANTED))
    assert 'tgt = "tgt"' in run(trap, nmt, "config", "show")
    checks()


@pytest.mark.slow
@fault("U13")
def test_child_processes_import_no_module_from_current_directory(
    tmp_path: Path, trap: Path
) -> None:
    """Workers of `prepare` and ranks of `train` are Pythons of their own, started there."""
    assert run(trap, script(tmp_path, WORKERS)) == "[1, 2, 3]\n"


@fault("U13")
def test_nmt_runs_from_its_own_checkout(monkeypatch: pytest.MonkeyPatch, checks: Checks) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    for first in ("", str(Path.cwd())):
        monkeypatch.setattr(sys, "path", [first, *sys.path])
        environment.keep_out_current_directory()
        assert "PYTHONSAFEPATH" not in os.environ
        checks()
    monkeypatch.setattr(sys, "path", ["/usr/bin", *sys.path])
    environment.keep_out_current_directory()
    assert os.environ["PYTHONSAFEPATH"] == "1"
    checks()
