"""torch.compile cannot look into the checks of shapes that tests run with: a process of its own."""

import subprocess
import sys
from pathlib import Path


def test_compiled_cases() -> None:
    cases = Path(__file__).with_name("compiled_cases.py")
    command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cases.parent)
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout, done.stdout
