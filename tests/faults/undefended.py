"""Show that each test of a fault fails when its defence is taken away.

    python tests/faults/undefended.py [NAME...]

Takes each `without` of the tests (those whose name contains one of NAME, if any is given) out of a
copy of the repository in turn and runs the tests that name it; prints those that pass all the same.
"""

import ast
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# All that a test reads of the repository.
KEPT = ("nmt_cli", "tests", "recipes", "docs")
KEPT_FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "SECURITY.md", "constraints.txt")
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


def copy_repository(root: Path) -> None:
    """Put the repository at `root`."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in KEPT:
        shutil.copytree(ROOT / name, root / name, ignore=ignored, symlinks=True)
    for name in KEPT_FILES:
        shutil.copy(ROOT / name, root / name)


def outcome(root: Path, test: Path, name: str) -> tuple[int, str]:
    """pytest's exit code for one test in the repository at `root`, and its words.

    Runs in a fork of this process, which has loaded everything but the repository.
    """
    words = root / "words.txt"
    process = os.fork()
    if process:
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return code, words.read_text(errors="replace")
    code = 99
    try:
        os.setsid()
        os.chdir(root)
        sys.path[:] = [str(root), *sys.path]
        os.environ["PYTHONPATH"] = str(root)
        file = os.open(words, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, 1)
        os.dup2(file, 2)
        import pytest

        # What is loaded already cannot have its assertions rewritten.
        quiet = "ignore::pytest.PytestAssertRewriteWarning"
        code = int(
            pytest.main(["-x", "-W", quiet, "-p", "no:cacheprovider", str(test), "-k", name])
        )
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def load_libraries() -> None:
    """Load what takes long, and nothing of the repository, once for all tests."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TRITON_INTERPRET", "1")
    import beartype  # noqa: F401
    import hypothesis  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import sacrebleu  # noqa: F401
    import safetensors.torch  # noqa: F401
    import sentencepiece  # noqa: F401
    import typer  # noqa: F401


def main(names: list[str]) -> int:
    """Try all; 1 if one passes without its defence."""
    load_libraries()
    passed = []
    for path, name, _, edits in undefended_tests():
        if names and not any(part in name or part in path.name for part in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "nmt"
            root.mkdir()
            copy_repository(root)
            apply(edits, root)
            code, words = outcome(root, root / path.relative_to(ROOT), name)
        if code not in (0, 1):
            raise SystemExit(words)
        print(f"{'fails' if code else 'PASSES'} without: {path.name}::{name}", flush=True)
        if code == 0:
            passed.append(name)
    print(f"{len(passed)} pass without their defence")
    return bool(passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
