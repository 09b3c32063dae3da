"""`import nmt_cli`: its names load nothing heavy, and are documented."""

import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nmt_cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
FUNCTIONS = ("average", "load", "prepare", "score", "train")
HEAVY = ("torch", "numpy", "rich", "tqdm", "sentencepiece", "sacrebleu", "safetensors", "typer")
LIGHT = (
    "load, prepare, train, average, score, TrainingResult, AveragedModel, NmtError, Report, "
    "StepDone"
)
PROBE = f"""
import json, sys
import nmt_cli
dir(nmt_cli)
from nmt_cli import {LIGHT}
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""


def test_importing_the_functions_loads_nothing_heavy():
    ended = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, check=True)
    assert json.loads(ended.stdout) == []


def test_all_names_are_listed_and_resolve():
    assert dir(nmt_cli) == sorted(nmt_cli.__all__)
    assert {
        name: getattr(nmt_cli, name).__name__ for name in nmt_cli.__all__ if name[0] != "_"
    } == {name: name for name in nmt_cli.__all__ if name[0] != "_"}


def test_no_public_name_is_that_of_a_submodule():
    submodules = {module.name for module in pkgutil.iter_modules(nmt_cli.__path__)}
    assert submodules & set(nmt_cli.__all__) == set()


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(AttributeError, match="did you mean `Translator`"):
        nmt_cli.Translater  # noqa: B018


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_is_explained(name):
    """In the docstring, and in a table of docs/python.md."""
    function = getattr(nmt_cli, name)
    docstring = inspect.getdoc(function) or ""
    [section] = re.findall(rf"^## {name}\n.*?(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^    {parameter}: ", docstring, re.MULTILINE), parameter
        assert re.search(rf"^\|[^|]*`{parameter}`[^|]*\|", section, re.MULTILINE), parameter
    assert "Returns:" in docstring
    assert "Raises:" in docstring


def test_the_table_of_names_is_complete():
    [table] = re.findall(r"^\| name \|.*?\n\n", PAGE, re.DOTALL | re.MULTILINE)
    names = [name for row in re.findall(r"^\|([^|]*)\|", table, re.MULTILINE)
             for name in re.findall(r"`(\w+)`", row)]  # fmt: skip
    assert sorted(names) == sorted(nmt_cli.__all__)
