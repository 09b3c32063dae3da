"""The recipes of parsing: one is run to its end, the other's calls are ones that `nmt` knows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.cli.app import make_command
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.extras.parsing.trees import leaves, trees_of

ROOT = Path(__file__).resolve().parents[2]
CRAFT = ROOT / "recipes" / "craft_parsing.sh"
WSJ = ROOT / "recipes" / "wsj_parsing.sh"
NOUNS, VERBS = ("dog", "cat", "gene", "protein"), ("sleeps", "binds", "grows")
RECORDER = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
[ "$1" != init ] || echo > nmt.toml
if [ "$1 $2" = "parse prepare" ]; then
  for out; do :; done
  mkdir -p "${out%/*}"
  echo > "$out.words"
  echo > "$out.trees"
fi
"""


def tree(number: int) -> str:
    noun, verb = NOUNS[number % len(NOUNS)], VERBS[number % len(VERBS)]
    subject = f"(NP-SBJ-1 (DT The) (JJ no.{number}) (NN {noun}))"
    return f"( (S {subject} (VP (VBZ {verb}) (NP-1 (-NONE- *))) (. .)) )\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def provide_nmt(folder: Path, script: str) -> None:
    (folder / "bin" / "nmt").write_text(script)
    (folder / "bin" / "nmt").chmod(0o755)


def make_craft(folder: Path) -> Path:
    craft = folder / "craft"
    (craft / "ids").mkdir(parents=True)
    for name, articles, count in (("train", (1, 2, 3), 3), ("dev", (4,), 3), ("test", (5,), 23)):
        ids = "".join(f"{article}\n" for article in articles)
        (craft / "ids" / f"craft-ids-{name}.txt").write_text(ids)
        for article in articles:
            trees = "".join(tree(100 * article + index) for index in range(count))
            (craft / f"{article}.tree").write_text(trees)
    return craft


def make_wsj(folder: Path) -> Path:
    for section in range(2, 24):
        (folder / "wsj" / f"{section:02}").mkdir(parents=True)
        (folder / "wsj" / f"{section:02}" / "wsj.mrg").write_text(tree(section))
    return folder / "wsj"


def run(recipe: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([recipe, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_craft_recipe_parses_and_scores(folder: Path, monkeypatch) -> None:
    provide_nmt(folder, f'#!/bin/sh\nexec "{sys.executable}" -m nmt_cli "$@"\n')
    monkeypatch.setenv("SIZE", "tiny")
    done = run(CRAFT, str(make_craft(folder)), "work")
    assert done.returncode == 0, done.stderr
    work = folder / "work"
    gold = (work / "data" / "test.trees").read_text().splitlines()
    parsed = (work / "test.parsed").read_text().splitlines()
    # An untrained model repeats itself up to the length limit, so tiny parses 20 sentences only.
    assert (len(gold), len(parsed)) == (23, 20)
    for gold_line, parsed_line in zip(gold[:20], parsed, strict=True):
        trees = (*trees_of(gold_line), *trees_of(parsed_line))
        words = [[leaf.word for leaf in leaves(tree)] for tree in trees]
        assert len(words) == 2
        assert words[0] == words[1]
    assert (work / "data" / "train.words").read_text().count("\n") == 9
    assert "Number of Valid sentence" in done.stdout
    assert "-- by length --" in done.stdout


def test_treebank_recipe_splits_sections_like_the_paper(folder: Path) -> None:
    provide_nmt(folder, RECORDER)
    for section in range(25):
        (folder / "wsj" / f"{section:02}").mkdir(parents=True)
        (folder / "wsj" / f"{section:02}" / f"wsj_{section:02}00.mrg").write_text(tree(section))
    done = run(WSJ, "wsj", "work")
    assert done.returncode == 0, done.stderr
    calls = [line.split() for line in (folder / "calls").read_text().splitlines()]
    names = [" ".join(call[: 1 + (call[0] == "parse")]) for call in calls]
    assert names[:3] == ["parse prepare"] * 3
    assert names[3:] == ["init", "prepare", "train", "parse data/test.words", "parse score"]
    sections = [sorted(part[-8:-6] for part in call if part.endswith(".mrg")) for call in calls[:3]]
    assert sections == [[f"{section:02}" for section in range(2, 22)], ["22"], ["23"]]
    assert [call[-1] for call in calls[:3]] == [f"work/data/{x}" for x in ("train", "dev", "test")]
    config = resolve([SettingsLayer("recipe", settings_of(calls[5]))]).config
    assert (config.model.layers, config.model.d_model, config.train.preset) == (4, 1024, "base")
    assert "16000" in calls[4]


@pytest.mark.parametrize("size", ["small", "tiny"])
def test_craft_recipe_settings_exist(folder: Path, monkeypatch, size) -> None:
    provide_nmt(folder, RECORDER)
    monkeypatch.setenv("SIZE", size)
    done = run(CRAFT, str(make_craft(folder)), "work")
    assert done.returncode == 0, done.stderr
    calls = [line.split() for line in (folder / "calls").read_text().splitlines()]
    config = resolve([SettingsLayer("recipe", settings_of(calls[5]))]).config
    assert config.model.d_model == {"small": 256, "tiny": 16}[size]
    resolve([SettingsLayer("recipe", settings_of(calls[4]))])
    for option in (word for call in calls for word in call if word.startswith("--")):
        assert option in OPTIONS, option


def settings_of(call: list[str]) -> dict[str, str]:
    indices = [index for index, word in enumerate(call) if word == "--set"]
    settings = dict(call[index + 1].split("=", 1) for index in indices)
    assert settings
    return settings


def known_options() -> set[str]:
    """Those of all commands."""
    group = make_command()
    commands = [group.get_command(None, name) for name in ("init", "prepare", "train", "parse")]
    commands += list(commands.pop().commands.values())
    return {name for command in commands for param in command.params for name in param.opts}


OPTIONS = known_options()


@pytest.mark.parametrize("recipe", [CRAFT, WSJ], ids=lambda path: path.stem)
def test_parsing_recipes_report_missing_data_first(folder: Path, recipe: Path) -> None:
    provide_nmt(folder, RECORDER)
    done = run(recipe)
    assert done.returncode == 2
    assert f"usage: {recipe} " in done.stderr
    (folder / "empty").mkdir()
    done = run(recipe, "empty", "work")
    assert done.returncode == 66
    assert "is missing" in done.stderr
    assert not (folder / "calls").exists()


def test_treebank_recipe_runs_with_few_steps_and_in_a_tiny_size(folder: Path, monkeypatch) -> None:
    provide_nmt(folder, RECORDER)
    make_wsj(folder)
    for name, value, expected, every in (("STEPS", "20", 1024, 1), ("SIZE", "tiny", 16, 2)):
        monkeypatch.setenv(name, value)
        done = run(WSJ, "wsj", f"work-{value}")
        assert done.returncode == 0, done.stderr
        calls = [line.split() for line in (folder / "calls").read_text().splitlines()]
        (training,) = [call for call in calls if call[0] == "train"][-1:]
        config = resolve([SettingsLayer("recipe", settings_of(training))]).config
        assert (config.model.d_model, config.train.checkpoint_every) == (expected, every)
        assert config.train.max_steps == 20


@pytest.mark.parametrize(
    ("recipe", "make", "variable", "other", "said"),
    [
        (CRAFT, make_craft, "SIZE", "tiny", "SIZE=tiny, not of CRAFT="),
        (WSJ, make_wsj, "SIZE", "tiny", "SIZE=tiny VOCABULARY=16000, not of WSJ="),
        (WSJ, make_wsj, "VOCABULARY", "32000", "SIZE=paper VOCABULARY=32000, not of WSJ="),
    ],
)
def test_other_sizes_and_vocabularies_need_a_folder_of_their_own(
    folder: Path, monkeypatch, recipe, make, variable, other, said
) -> None:
    provide_nmt(folder, RECORDER)
    text = str(make(folder))
    monkeypatch.setenv(variable, other)
    assert run(recipe, text, "work").returncode == 0
    before = (folder / "calls").read_text()
    monkeypatch.delenv(variable)
    done = run(recipe, text, "work")
    assert done.returncode == 78
    assert said in done.stderr
    assert "hint: remove this folder to begin again, or use another one" in done.stderr
    assert (folder / "calls").read_text() == before


@pytest.mark.parametrize(("recipe", "make"), [(CRAFT, make_craft), (WSJ, make_wsj)])
def test_split_whose_preparation_was_interrupted_is_prepared_again(
    folder: Path, recipe: Path, make
) -> None:
    provide_nmt(folder, RECORDER)
    text = str(make(folder))
    assert run(recipe, text, "work").returncode == 0
    (folder / "calls").unlink()
    (folder / "work" / "data" / "dev.words").unlink()
    assert run(recipe, text, "work").returncode == 0
    calls = [line.split() for line in (folder / "calls").read_text().splitlines()]
    prepared = [call[-1] for call in calls if call[:2] == ["parse", "prepare"]]
    assert prepared == ["work/data/dev"]


def test_parsing_recipe_without_an_article_leaves_nothing(folder: Path) -> None:
    provide_nmt(folder, RECORDER)
    craft = make_craft(folder)
    (craft / "5.tree").unlink()
    done = run(CRAFT, str(craft), "work")
    assert done.returncode == 66
    assert f"{craft}/5.tree is missing" in done.stderr
    assert not (folder / "work").exists()


def test_parsing_recipe_refuses_invalid_size(folder: Path, monkeypatch) -> None:
    provide_nmt(folder, RECORDER)
    monkeypatch.setenv("SIZE", "huge")
    done = run(CRAFT, str(make_craft(folder)), "work")
    assert done.returncode == 2
    assert "SIZE is small or tiny, not huge" in done.stderr
