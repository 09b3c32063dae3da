"""README.md: its commands run as written, and its two set-up commands are what CI runs."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.model_dir import save_model

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
# Small and quick instead of the presets' sizes; everything else is as the README has it.
SMALL = {
    "NMT_DATA_VOCAB_SIZE": "300",
    "NMT_MODEL_D_MODEL": "32",
    "NMT_MODEL_D_FF": "64",
    "NMT_TRAIN_MAX_STEPS": "4",
    "NMT_TRAIN_CHECKPOINT_EVERY": "2",
    "NMT_TRAIN_VALIDATION_SENTENCES": "4",
    "OMP_NUM_THREADS": "1",
}

SMALL_PRESET = {
    "data.vocab_size": 300,
    "model.layers": 1,
    "model.d_model": 32,
    "model.d_ff": 64,
    "train.max_steps": 4,
    "train.checkpoint_every": 1,
    "train.validate_every": 1,
    "train.validation_sentences": 2,
}


def block_with(words: str) -> str:
    (results,) = [block for block in SHELL if words in block]
    return results


@pytest.fixture
def nmt_on_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which `nmt` is this checkout's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "nmt"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nmt_cli "$@"\n')
    script.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **SMALL, "PATH": path, "PYTHONPATH": str(ROOT)}


def test_ci_runs_the_test_command_of_the_readme():
    command = block_with("pytest").strip()
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_demo_command_of_readme_installs_this_package():
    command = block_with("nmt demo").strip()
    assert "-c constraints.txt" in command
    assert not re.findall(r"pip install\b[^\n`&]*\snmt(?![-\w])", README)


@pytest.mark.slow
def test_readme_commands_for_own_text_run(tmp_path, nmt_on_path):
    from nmt_cli.extras.demo.grammar.pairs import make_pairs

    work = tmp_path / "work"
    work.mkdir()
    for split, count in (("train", 600), ("valid", 20), ("test", 20)):
        pairs = list(make_pairs(count, seed=5, split=split))
        (work / f"{split}.en").write_text("".join(pair.src + "\n" for pair in pairs))
        (work / f"{split}.de").write_text("".join(pair.tgt + "\n" for pair in pairs))
    done = subprocess.run(
        ["bash", "-euc", block_with("nmt init")], cwd=work, env=nmt_on_path, capture_output=True,
        text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2  # one translation, one score
    assert lines[1].startswith("BLEU ")
    assert "tok:13a" in lines[1]


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run(tmp_path, nmt_on_path):
    """From its table to translations; the server needs an extra, and has tests of its own."""
    from nmt_cli.extras.demo.grammar.pairs import make_pairs

    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    assert [block.split()[1] for block in blocks[-2:]] == ["serve", "-d"]
    commands = "".join(blocks[:-2]).replace("-split 500", "-split 30")
    work = tmp_path / "work"
    work.mkdir()
    rows = [f"{pair.src}\t{pair.tgt}\n" for pair in make_pairs(600, seed=5, split="train")]
    (work / "pairs.en-de.tsv").write_text("".join(rows) + "no tab\n")
    (work / "new.en").write_text("The dog sleeps.\n")
    (work / "page.html").write_text("<p>The <b>small</b> dog sleeps.</p>\n")
    done = subprocess.run(
        ["bash", "-euc", commands], cwd=work, env=nmt_on_path, capture_output=True,
        text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no tab" in (work / "dropped.tsv").read_text()
    assert len((work / "new.de").read_text().splitlines()) == 1
    assert "</b>" in (work / "page.de.html").read_text()
    assert "1-5 words" in done.stdout


def test_readme_activates_the_environment_before_calling_nmt():
    first, second = block_with("nmt demo"), block_with("cd nmt-demo")
    assert README.index(first) < README.index(second)
    assert "python3 -m venv .venv && . .venv/bin/activate && pip install " in first
    for block in SHELL:
        if block != block_with("pytest"):
            assert ".venv/bin/nmt" not in block


def python_examples(page: str) -> list[str]:
    examples = re.findall(
        r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    )
    assert examples
    return examples


def run_examples(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each example runs, and shows something; one may need what an earlier one wrote."""
    for example in python_examples(page):
        exec(compile(example, page, "exec"), {})
        assert capsys.readouterr().out


@pytest.mark.parametrize("page", ["README.md", "docs/translating.md"])
def test_readme_python_examples_run(page, tmp_path, monkeypatch, capsys):
    config = byte_config()
    monkeypatch.chdir(tmp_path)
    save_model(Path("model"), byte_model(config).state_dict(), config, byte_subwords(), {})
    Path("test.en").write_text("The small dog sleeps.\nA cat.\n", encoding="utf-8")
    Path("terms.tsv").write_text("dog\tHund\n", encoding="utf-8")
    run_examples(page, capsys)


@pytest.mark.slow
def test_the_examples_of_the_python_page_run(tmp_path, monkeypatch, capsys):
    """From two text files on; `small` is smaller than it is."""
    from nmt_cli.config.presets import PRESETS
    from nmt_cli.extras.demo.grammar.pairs import make_pairs

    monkeypatch.setitem(PRESETS, "small", {**PRESETS["small"], **SMALL_PRESET})
    monkeypatch.chdir(tmp_path)
    for split, count in (("train", 600), ("valid", 8), ("test", 2)):
        pairs = list(make_pairs(count, seed=5, split=split))
        Path(f"{split}.en").write_text("".join(pair.src + "\n" for pair in pairs))
        Path(f"{split}.de").write_text("".join(pair.tgt + "\n" for pair in pairs))
    Path("terms.tsv").write_text("dog\tHund\n", encoding="utf-8")
    for seed, (src, tgt) in enumerate([("de", "en"), ("en", "fr")]):
        config = byte_config({"languages.src": src, "languages.tgt": tgt})
        model = byte_model(config, seed)
        save_model(Path(f"{src}-{tgt}"), model.state_dict(), config, byte_subwords(), {})
    run_examples("docs/python.md", capsys)


def test_the_python_examples_are_typed(tmp_path):
    """As a user's type checker sees them, with all that mypy --strict asks for."""
    files = []
    for page in ("README.md", "docs/translating.md", "docs/python.md"):
        for index, example in enumerate(python_examples(page)):
            files.append(tmp_path / f"{Path(page).stem.lower()}_{index}.py")
            files[-1].write_text(example, encoding="utf-8")
    # The cache is that of the check of the package, which is most of the work.
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *files], cwd=ROOT, capture_output=True,
        text=True, env={**os.environ, "MYPYPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_readme_preset_table_has_sizes_and_parameters():
    """Sizes by their names; parameters by counting."""
    from nmt_cli.model.transformer import Transformer

    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", README, re.MULTILINE)
    assert [name for name, _ in rows] == ["tiny", "small", "base", "big", "modern"]
    for name, cells in rows:
        layers, d_model, d_ff, heads, parameters, _ = cells.split(" | ")
        model = resolve([SettingsLayer("test", {"train.preset": name})]).config.model
        sizes = [int(cell.replace(",", "")) for cell in (layers, d_model, d_ff, heads)]
        assert sizes == [model.layers, model.d_model, model.d_ff, model.heads]
        millions, vocabulary = re.findall(r"[\d.,]+", parameters)
        size = int(vocabulary.replace(",", ""))
        with torch.device("meta"):
            made = Transformer(dataclasses.replace(model, src_vocab_size=size, tgt_vocab_size=size))
        count = sum(weight.numel() for weight in made.parameters())
        assert round(count / 1e6, 1) == float(millions), name


def test_readme_links_exist():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_readme_benchmarks_are_in_the_recorded_results():
    """Each row links to its section, where each of its figures is."""
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    sections = {
        anchor_of(section.split("\n")[0]): section for section in re.split(r"\n#+ ", results)
    }
    rows = re.findall(
        r"^\|.*docs/results\.md#([\w-]+)\) \|(?: ([\d.]+))? \|(?: ([\d.]+))? \|$",
        README,
        re.MULTILINE,
    )
    [table] = re.findall(r"^## Benchmarks\n(.*?)^## ", README, re.MULTILINE | re.DOTALL)
    assert len(rows) == table.count("\n|") - 2 == 9
    for anchor, *figures in rows:
        assert any(figures)
        for figure in filter(None, figures):
            assert re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.])", sections[anchor]), anchor


def test_readme_demo_figures_equal_those_of_the_picture():
    [words] = re.findall(r"!\[([^]]*)\]\(docs/demo\.svg\)", README)
    record = (ROOT / "docs" / "demo.txt").read_text(encoding="utf-8")
    figures = re.findall(r"\d+\.\d+", words)
    assert figures
    assert [figure for figure in figures if figure not in record] == []


def test_readme_counts_the_kinds_of_noise():
    from nmt_cli.data.cleaning.kinds import KINDS

    [count] = re.findall(r"finds (\d+) kinds of noise", README)
    assert int(count) == len(KINDS) - 1  # The first is "clean".


def anchor_of(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
