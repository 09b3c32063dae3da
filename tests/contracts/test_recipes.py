"""The recipes' commands and settings are ones that `nmt` knows; missing data is said at once."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from nmt_cli.config import Layer, resolve

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted(path for path in (ROOT / "recipes").glob("*.sh") if path.name != "lib.sh")
NAMES = ("train", "dev", "val", "test", "test_2016_flickr")
# Writes down how it is called; `nmt init` leaves what the real one leaves.
RECORDER = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
[ "$1" != init ] || echo > nmt.toml
"""


@pytest.fixture
def run(tmp_path: Path):
    """Run a recipe with an `nmt` that only records; the process and the recorded calls."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nmt").write_text(RECORDER)
    (tmp_path / "bin" / "nmt").chmod(0o755)
    calls = tmp_path / "calls"
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def call(recipe: Path, *arguments: str):
        calls.write_text("")
        done = subprocess.run(
            [recipe, *arguments], cwd=tmp_path, env={**os.environ, "PATH": path, "CALLS": calls},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done, [shlex.split(line) for line in calls.read_text().splitlines()]

    return call


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.en").touch()
        (folder / f"{name}.de.xz").touch()
    return folder


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_calls_what_there_is(recipe, run, data, tmp_path):
    done, calls = run(recipe, str(data), "work")
    assert done.returncode == 0, done.stderr
    steps = [one[0] for one in calls]
    assert steps == ["init", "prepare", "train", "translate", "score", "translate", "score"]
    assert str(data / "train.en") in calls[0]
    assert str(data / "train.de.xz") in calls[0]
    sets = [two for one, two in zip(calls[2], calls[2][1:], strict=False) if one == "--set"]
    assert sets
    resolve([Layer("recipe", dict(one.split("=", 1) for one in sets))])
    assert (tmp_path / "work" / "nmt.toml").is_file()
    _, again = run(recipe, str(data), "work")
    assert again == calls[1:]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_without_its_data_says_what_is_missing(recipe, run, data):
    done, calls = run(recipe)
    assert done.returncode == 2
    assert f"usage: {recipe} DATA [WORK]" in done.stderr
    (data / "train.en").unlink()
    done, calls = run(recipe, str(data), "work")
    assert done.returncode == 66
    assert "train.en is missing" in done.stderr
    assert calls == []
