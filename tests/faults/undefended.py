"""Show that each test of a fault fails when its defence is taken away.

    python tests/faults/undefended.py [NAME...]

Makes the edits that mutations.toml has for a test in a copy of the repository and runs the test
there, one test after the other (those whose name or file contains one of NAME, if any is given);
prints those that pass all the same.
"""

import ast
import os
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MUTATIONS = HERE / "mutations.toml"
# All that a test reads of the repository.
KEPT = ("nmt_cli", "tests", "recipes", "docs")
KEPT_FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "SECURITY.md", "constraints.txt")


class Edit(NamedTuple):
    """Text of a file of nmt_cli, which occurs there once, and what replaces it."""

    file: str
    old: str
    new: str


# The edits by the test that fails with them: its module and its function.
Mutations = Mapping[tuple[str, str], Sequence[Edit]]


class FaultTest(NamedTuple):
    """A test that is marked with `@fault`, and its rows."""

    path: Path
    name: str
    rows: list[str]

    @property
    def key(self) -> tuple[str, str]:
        """The name of its entry in mutations.toml."""
        return self.path.stem, self.name


def fault_tests() -> Iterator[FaultTest]:
    """Each test that is marked with `@fault`, whose rows are literal strings."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        if "@fault(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "fault":
                    yield FaultTest(path, node.name, [ast.literal_eval(row) for row in mark.args])


def read_mutations() -> Mutations:
    """The edits of mutations.toml."""
    modules = tomllib.loads(MUTATIONS.read_text())
    return {
        (module, name): [Edit(**edit) for edit in edits]
        for module, tests in modules.items()
        for name, edits in tests.items()
    }


def find_problems(tests: Sequence[FaultTest], mutations: Mutations) -> list[str]:
    """Tests without an entry, entries without a test, and edits that cannot be made."""
    keys = Counter(test.key for test in tests)
    problems = [f"{'.'.join(key)}: {n} tests have this name" for key, n in keys.items() if n > 1]
    problems += [f"{'.'.join(key)}: no edit" for key in keys if not mutations.get(key)]
    for key, edits in mutations.items():
        if key not in keys:
            problems.append(f"{'.'.join(key)}: no test marked with @fault has this name")
        for edit in edits:
            path = ROOT / "nmt_cli" / edit.file
            if not path.is_file():
                problems.append(f"{'.'.join(key)}: there is no file nmt_cli/{edit.file}")
            elif (count := path.read_text().count(edit.old)) != 1:
                place = f"nmt_cli/{edit.file}"
                problems.append(f"{'.'.join(key)}: {count} times in {place}, not once: {edit.old}")
            if edit.old == edit.new:
                problems.append(f"{'.'.join(key)}: old and new are the same: {edit.old}")
    return problems


def apply(edits: Sequence[Edit], root: Path) -> None:
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
            pytest.main(
                ["-x", "-W", quiet, "-p", "no:cacheprovider", str(test), "-k", name, "-m", ""]
            )
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
    tests, mutations = list(fault_tests()), read_mutations()
    if problems := find_problems(tests, mutations):
        raise SystemExit("\n".join([f"{MUTATIONS.name} does not fit the tests:", *problems]))
    load_libraries()
    passed = []
    for test in tests:
        path, name, _ = test
        if names and not any(part in name or part in path.name for part in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "nmt"
            root.mkdir()
            copy_repository(root)
            apply(mutations[test.key], root)
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
