"""What bash, zsh and fish complete: models, presets, settings and metrics."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import SETTINGS
from nmt_cli.scoring import METRICS

ROOT = Path(__file__).resolve().parents[3]
Complete = Callable[..., list[str]]
MODELS = ["model", "runs/a", "runs/big/model"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [*MODELS, "runs/a b", "runs/$(touch hacked)", "runs/corpus", ".hidden/model"]:
        Path(name).mkdir(parents=True)
        for file in ("config.toml", "manifest.json"):
            (Path(name) / file).touch()
    Path("runs/corpus/corpus.json").touch()
    Path("runs/empty").mkdir()


def of_bash(words: Sequence[str]) -> dict[str, str]:
    return {
        "_NMT_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip


def of_zsh(words: Sequence[str]) -> dict[str, str]:
    return {"_NMT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": " ".join(words)}


def of_fish(words: Sequence[str]) -> dict[str, str]:
    return {
        "_NMT_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": " ".join(words),
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }  # fmt: skip


def completed(variables: dict[str, str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, "-m", "nmt_cli"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("shell", [of_bash, of_zsh, of_fish])
def test_models_are_completed_in_each_shell(shell) -> None:
    shown = completed(shell(["nmt", "translate", "--model", "runs/"]))
    # zsh gets the words within a call of _arguments.
    assert re.findall(r"runs/[\w/]+", shown) == ["runs/a", "runs/big/model"]
    assert "hacked" not in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["translate", "--model", ""], MODELS),
        (["score", "--model", "mo"], ["model"]),
        (["train", "--init-from", "mo"], ["model"]),
        (["prepare", "--subwords-from", "mo"], ["model"]),
        (["bench", "table2", "--model", "runs/b"], ["runs/big/model"]),
        (["average", ""], MODELS),
        (["average", "model", "runs/a"], ["runs/a"]),
        (["info", "./m"], ["./model"]),
        (["train", "--preset", "s"], ["small"]),
        (["config", "show", "--preset", ""], list(PRESETS)),
        (["train", "--set", "model.h"], [f"{k}=" for k in SETTINGS if k.startswith("model.h")]),
        (["score", "--metric", "bleu"], [name for name in METRICS if name.startswith("bleu")]),
        (["translate", "--model", "no/such/"], []),
    ],
)
def test_values_are_completed(words: list[str], expected: list[str]) -> None:
    assert completed(of_bash(["nmt", *words])).split() == expected


def test_bash_completes_with_the_installed_script(tmp_path: Path) -> None:
    """The script of `nmt --show-completion`, in a real shell."""
    program = tmp_path / "bin" / "nmt"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nmt_cli "$@"\n')
    program.chmod(0o755)
    script = (
        "import sys; from typer._completion_shared import get_completion_script as get; "
        "print(get(prog_name='nmt', complete_var='_NMT_COMPLETE', shell='bash'))"
    )
    made = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    Path("nmt.bash").write_text(made.stdout)
    lines = (
        'source nmt.bash; COMP_WORDS=(nmt translate --model ""); COMP_CWORD=3; '
        '_nmt_completion nmt; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{program.parent}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "--norc", "-c", lines], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path},
    )  # fmt: skip
    assert result.stdout.splitlines() == MODELS
    assert not Path("hacked").exists()
