"""Show that each test of a fault fails when its defence is taken away.

    python tests/faults/undefended.py [NAME...]

Takes each `without` of the tests (those whose name contains one of NAME, if any is given) out of a
copy of the repository in turn and runs the tests that name it; prints those that pass all the same.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
Edit = tuple[str, str, str]


class Undefended(NamedTuple):
    """A marked test, its rows, and the edits that take its defence away."""

    path: Path
    name: str
    rows: list[str]
    edits: list[Edit]


def undefended_tests() -> Iterator[Undefended]:
    """Each test that is marked as one of a fault, the marks literal."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        if "@fault(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "fault":
                    rows = [ast.literal_eval(one) for one in mark.args]
                    yield Undefended(path, node.name, rows, _edits(mark))


def _edits(mark: ast.Call) -> list[Edit]:
    without = next(one.value for one in mark.keywords if one.arg == "without")
    value = ast.literal_eval(without)
    return [value] if isinstance(value[0], str) else list(value)


def apply(edits: list[Edit], root: Path) -> None:
    """Take the defence away in the repository at `root`."""
    for name, old, new in edits:
        path = root / "nmt_cli" / name
        text = path.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"{name} has {text.count(old)} times, not once:\n{old}")
        path.write_text(text.replace(old, new))


def fails(root: Path, path: Path, name: str) -> bool:
    """Whether the test fails in the repository at `root`."""
    test = f"{path.relative_to(ROOT)}"
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", test, "-k", name]
    done = subprocess.run(
        command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    return done.returncode == 1


def main(names: list[str]) -> int:
    """Try all; 1 if one passes without its defence."""
    passed = []
    for path, name, _, edits in undefended_tests():
        if names and not any(part in name or part in path.name for part in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "nmt"
            kept = shutil.ignore_patterns(".git", ".venv", "__pycache__", "runs", "nmt-demo")
            shutil.copytree(ROOT, root, ignore=kept, symlinks=True)
            apply(edits, root)
            failed = fails(root, path, name)
        print(f"{'fails' if failed else 'PASSES'} without: {path.name}::{name}", flush=True)
        if not failed:
            passed.append(name)
    print(f"{len(passed)} pass without their defence")
    return bool(passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
