"""Short files, short functions; ruff and mypy have nothing to say."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
# Word lists are data: length is no fault of theirs.
DATA_FILES = ("nmt_cli/extras/demo/vocabulary/lexicon.py",)
SOURCES = [name for name in ("nmt_cli", "tests", "benchmarks") if (ROOT / name).is_dir()]


def _modules() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "nmt_cli").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name not in DATA_FILES:
            yield name, path.read_text()


def test_no_file_is_too_long() -> None:
    lengths = {name: len(text.splitlines()) for name, text in _modules()}
    assert {name: n for name, n in lengths.items() if n > MAX_FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    long = {}
    for name, text in _modules():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                lines = node.end_lineno - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    long[f"{name}:{node.lineno} {node.name}"] = lines
    assert long == {}


def test_no_module_has_a_vague_name() -> None:
    vague = {"utils", "util", "helpers", "common", "misc", "manager"}
    assert [name for name, _ in _modules() if Path(name).stem in vague] == []


def test_each_class_name_belongs_to_one_module() -> None:
    owners: dict[str, set[str]] = {}
    for name, text in _modules():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                owners.setdefault(node.name, set()).add(name)
    assert {name: modules for name, modules in owners.items() if len(modules) > 1} == {}


def test_every_module_has_a_docstring() -> None:
    filled = [(name, text) for name, text in _modules() if text.strip()]
    assert [name for name, text in filled if not ast.get_docstring(ast.parse(text))] == []


@pytest.mark.parametrize(
    "tool",
    [
        ["ruff", "check", "--no-cache", *SOURCES],
        ["ruff", "format", "--check", "--no-cache", *SOURCES],
        ["mypy"],
    ],
    ids=["ruff check", "ruff format", "mypy"],
)
def test_ruff_and_mypy_pass(tool: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *tool], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
