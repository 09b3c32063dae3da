"""The recipes' commands and settings are ones that `nmt` knows; missing data is said at once."""

import itertools
import os
import re
import shlex
import stat
import subprocess
from pathlib import Path

import pytest

from nmt_cli.config.presets import BASE, PRESETS
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.extras.paper_tables.table3 import PAPER

ROOT = Path(__file__).resolve().parents[2]
COMPARISONS = ROOT / "recipes" / "comparisons.sh"
TABLE3 = ROOT / "recipes" / "table3.sh"
# Those of parsing, of WMT14 and of what was before attention have their own tests.
RECIPES = sorted(
    path
    for path in (ROOT / "recipes").glob("*.sh")
    if path.name not in ("help.sh", "lib.sh")
    and "parsing" not in path.name
    and "wmt14" not in path.name
    and path.name != "before_attention.sh"
)
# From text to the scores of one model.
ROADS = [path for path in RECIPES if path not in (COMPARISONS, TABLE3)]
NAMES = ("train", "dev", "val", "test", "test_2016_flickr")
# Writes down how it is called, and leaves of what the real one leaves as much as recipes look at.
RECORDER = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case $1 in
  init) echo > nmt.toml ;;
  prepare) mkdir corpus ;;
  train)
    while [ $# -gt 0 ]; do
      if [ "$1" = --out ]; then
        mkdir "$2"
        echo '{"step": 1, "seconds": 1.5, "flops": 20.0}' > "$2/log.jsonl"
        echo '{"step": 2, "seconds": 2.5, "flops": 4.0e+1}' >> "$2/log.jsonl"
      fi
      shift
    done ;;
  score) echo "BLEU 12.3" ;;
esac
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


@pytest.mark.parametrize("recipe", ROADS, ids=lambda path: path.stem)
def test_recipe_calls_existing_commands_and_options(recipe, run, data, tmp_path):
    done, calls = run(recipe, str(data), "work")
    assert done.returncode == 0, done.stderr
    steps = [call[0] for call in calls]
    assert steps == ["init", "prepare", "train", "translate", "score", "translate", "score"]
    assert str(data / "train.en") in calls[0]
    assert str(data / "train.de.xz") in calls[0]
    assert settings_of(calls[2])
    assert (tmp_path / "work" / "nmt.toml").is_file()
    (tmp_path / "work" / "corpus").rmdir()
    _, again = run(recipe, str(data), "work")
    assert again == calls[1:]


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_recipe_prints_its_description(run, option: str) -> None:
    recipes = [
        path for path in (ROOT / "recipes").glob("*.sh") if path.stat().st_mode & stat.S_IXUSR
    ]
    assert len(recipes) >= 9
    for recipe in recipes:
        done, calls = run(recipe, option)
        assert (done.returncode, calls, done.stderr) == (0, [], "")
        assert f"recipes/{recipe.name} " in done.stdout
        assert "set -euo" not in done.stdout


def test_every_variable_of_a_recipe_is_in_its_description(run) -> None:
    variable = re.compile(r"\$\{([A-Z]+):?-")
    found = {
        (recipe.name, name)
        for recipe in (ROOT / "recipes").glob("*.sh")
        for name in variable.findall(recipe.read_text())
    }
    assert {("table3.sh", "ROWS"), ("wsj_parsing.sh", "VOCABULARY")} <= found
    for recipe, name in sorted(found):
        # What recipes share is no recipe of its own.
        shared = {"wmt14.sh": "wmt14_en_de.sh", "parsing.sh": "craft_parsing.sh"}
        described = shared.get(recipe, recipe)
        done, _ = run(ROOT / "recipes" / described, "--help")
        assert f"{name}=" in done.stdout, f"{described} has no example of {name}"


def test_rows_in_the_description_of_table_3_exist(run, tmp_path: Path, monkeypatch) -> None:
    done, _ = run(TABLE3, "--help")
    (rows,) = re.findall(r'ROWS="([^"]+)"', done.stdout)
    assert len(rows.split()) == 2
    monkeypatch.setenv("ROWS", rows)
    done, _ = run(TABLE3, str(tmp_path), "work")
    # Only the text is missing.
    assert done.returncode == 66, done.stderr


def test_unknown_row_of_table_3_is_refused_before_any_work(
    run, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("ROWS", "base heads-1")
    done, calls = run(TABLE3, str(tmp_path), "work")
    assert (done.returncode, calls) == (2, [])
    assert "there is no row heads-1; rows are base table3-heads-1" in done.stderr
    assert not (tmp_path / "work").exists()


def settings_of(call: list[str]) -> dict[str, str]:
    """The settings of a command line, which `nmt` accepts together with the preset."""
    pairs = itertools.pairwise(call)
    result = dict(two.split("=", 1) for first, two in pairs if first == "--set")
    resolve([SettingsLayer("recipe", {"train.preset": "paper-small", **result})])
    return result


def test_comparison_recipe_has_equal_costs_and_continues(run, data, tmp_path):
    done, calls = run(COMPARISONS, str(data), "work")
    assert done.returncode == 0, done.stderr
    runs = [call for call in calls if call[0] == "train"]
    assert [call[0] for call in calls] == ["init", "prepare", *["train", "translate", "score"] * 12]
    assert len({run[run.index("--out") + 1] for run in runs}) == 12
    for call in runs:
        settings, steps = settings_of(call), int(call[call.index("--max-steps") + 1])
        tokens = int(settings["train.batch_tokens"])
        passes = 2 if float(settings.get("train.r_drop", 0)) else 1
        assert steps * tokens * passes in (1_800_000, 645_000)
    table = tmp_path / "work" / "results.tsv"
    lines = table.read_text().splitlines()
    assert len(lines) == 12
    assert lines[0].split("\t") == ["paper", "600", "4.0e+1", "2.5", "BLEU 12.3"]
    table.write_text("\n".join(lines[:5] + lines[6:]) + "\n")
    (tmp_path / "work" / lines[5].split("\t")[0] / "log.jsonl").unlink()
    (tmp_path / "work" / lines[5].split("\t")[0]).rmdir()
    done, again = run(COMPARISONS, str(data), "work")
    assert done.returncode == 0, done.stderr
    assert [call[0] for call in again] == ["train", "translate", "score"]
    assert again[0] == runs[5]


def test_comparison_recipe_keeps_no_row_of_a_failed_score(run, data, tmp_path):
    nmt = tmp_path / "bin" / "nmt"
    nmt.write_text(RECORDER.replace('score) echo "BLEU 12.3"', "score) exit 66"))
    done, calls = run(COMPARISONS, str(data), "work")
    assert done.returncode == 66
    assert calls[-1][0] == "score"
    assert not (tmp_path / "work" / "results.tsv").exists()


def test_table_3_recipe_trains_only_presets(run, tmp_path):
    wmt14 = tmp_path / "wmt14"
    (wmt14 / "data").mkdir(parents=True)
    done, calls = run(TABLE3, str(wmt14), "work")
    assert done.returncode == 66
    assert "holds no prepared text" in done.stderr
    assert calls == []
    (wmt14 / "corpus").mkdir()
    (wmt14 / "data" / "newstest2013.de").touch()
    done, calls = run(TABLE3, str(wmt14), "work")
    assert done.returncode == 0, done.stderr
    steps = ["train", "average", "score", "translate", "score"]
    assert [call[0] for call in calls] == [*steps * 20, "bench"]
    presets = [call[call.index("--preset") + 1] for call in calls if call[0] == "train"]
    assert presets == list(PAPER)
    for call in calls[:-1:5]:
        changed = {"train.checkpoint_every", "train.keep_last", "train.validate_every"}
        assert settings_of(call).keys() == {*changed, "train.packing"}
        # On a GPU, `auto` is not the same for all numbers of heads.
        assert settings_of(call)["train.packing"] == "sorted"
    # Not an average: section 6.2.
    assert all(call[2:4] == ["--last", "1"] for call in calls if call[0] == "average")


@pytest.mark.parametrize("size", ["small", "tiny"])
def test_scaled_down_table_3_changes_what_its_preset_changes(
    run, data, tmp_path, monkeypatch, size: str
) -> None:
    monkeypatch.setenv("SIZE", size)
    done, calls = run(TABLE3, str(data), "work")
    assert done.returncode == 0, done.stderr
    trained = [call for call in calls if call[0] == "train"]
    assert len(trained) == 22
    base = settings_of(trained[0])
    for call in trained[1:-2]:
        preset = call[call.index("--preset") + 1]
        small = resolve([SettingsLayer("recipe", {"train.preset": preset, **settings_of(call)})])
        unlike = {key for key, value in settings_of(call).items() if base.get(key) != value}
        if preset != "big":
            (key,) = {key for key in PRESETS[preset] if PRESETS[preset][key] != BASE.get(key)}
            assert unlike == {key}
        assert small.config.train.preset == preset
        assert size == "small" or small.config.train.max_steps == 2
    assert [settings_of(call)["train.seed"] for call in trained[-2:]] == ["2", "3"]
    (tmp_path / "work" / "rows" / "big" / "bleu.json").unlink()
    _, again = run(TABLE3, str(data), "work")
    assert [call[0] for call in again] == [
        "train", "average", "score", "translate", "score", "bench",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "recipe", [path for path in RECIPES if path != TABLE3], ids=lambda path: path.stem
)
def test_recipe_without_data_prints_usage(recipe, run, data):
    done, calls = run(recipe)
    assert done.returncode == 2
    assert f"usage: {recipe} DATA [WORK]" in done.stderr
    (data / "train.en").unlink()
    done, calls = run(recipe, str(data), "work")
    assert done.returncode == 66
    assert "train.en is missing" in done.stderr
    assert calls == []
