"""The recipe that sets a Transformer beside what it replaced: its settings, and BLEU by length."""

import itertools
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.model.kinds import make_model

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "before_attention.sh"
# Writes down how it is called; its translations are the source, its scores the lines it is given.
RECORDER = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case $1 in
  prepare) mkdir corpus ;;
  train)
    while [ "$1" != --out ]; do shift; done
    mkdir "$2"
    echo '{"step": 1, "seconds": 2.5, "flops": 4.0e+1}' > "$2/log.jsonl" ;;
  translate) cp "$4" "$6" ;;
  score)
    cat "$2" "$3" >> "$CALLS.parts"
    echo >> "$CALLS.parts"
    echo "{\\"metric\\": \\"bleu\\", \\"value\\": $(wc -l < "$2"), \\"signature\\": \\"x\\"}" ;;
esac
"""
SOURCE = ["a b c d e f g", "a", "a b c", "a b", "a b c d e", "a b c d", "b"]
BY_LENGTH = [["a", "b", "a b"], ["a b c", "a b c d", "a b c d e"], ["a b c d e f g"]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "nmt.toml").touch()
    (folder / "test.src").write_text("".join(line + "\n" for line in SOURCE))
    (folder / "test.tgt").write_text("".join(line.upper() + "\n" for line in SOURCE))
    return folder


@pytest.fixture
def run(tmp_path: Path):
    """Run the recipe with an `nmt` that only records; the process and the recorded calls."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nmt").write_text(RECORDER)
    (tmp_path / "bin" / "nmt").chmod(0o755)
    calls = tmp_path / "calls"
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def call(*arguments: str):
        calls.write_text("")
        done = subprocess.run(
            [RECIPE, *arguments], cwd=tmp_path, env={**os.environ, "PATH": path, "CALLS": calls},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done, [shlex.split(line) for line in calls.read_text().splitlines()]

    return call


def test_before_attention_trains_three_models_alike(run, project):
    done, calls = run("project", "test.src", "test.tgt")
    assert done.returncode == 0, done.stderr
    assert [call[0] for call in calls] == ["prepare", *["train", "translate", *["score"] * 4] * 3]
    kinds, counts, shared = [], [], []
    for call in (call for call in calls if call[0] == "train"):
        given = dict(two.split("=", 1) for word, two in itertools.pairwise(call) if word == "--set")
        values = {"train.preset": call[call.index("--preset") + 1], **given}
        sizes = {"model.src_vocab_size": 1_500, "model.tgt_vocab_size": 1_500}
        config = resolve([SettingsLayer("recipe", {**values, **sizes})]).config
        kinds.append(config.model.kind)
        with torch.device("meta"):
            counts.append(
                sum(parameter.numel() for parameter in make_model(config.model).parameters())
            )
        train = config.train
        shared.append(
            (train.batch_tokens, train.warmup_steps, train.optimizer, train.schedule,
             train.label_smoothing, config.model.dropout, call[call.index("--max-steps") + 1])
        )  # fmt: skip
    assert kinds == ["rnn", "conv", "transformer"]
    assert max(counts) < 1.1 * min(counts)
    assert min(counts) > 1.05e6
    assert len(set(shared)) == 1
    assert shared[0][-1] == "900"


def test_before_attention_reports_bleu_by_source_length(run, project, tmp_path):
    done, _ = run("project", "test.src", "test.tgt", "90")
    table = (project / "before-attention" / "results.tsv").read_text().splitlines()
    assert table[0].split("\t") == ["rnn", "90", "4.0e+1", "2.5", "7.00", "3.00", "3.00", "1.00"]
    assert [line.split("\t")[0] for line in table] == ["rnn", "conv", "transformer"]
    assert len(done.stdout.splitlines()) == 4
    parts = (tmp_path / "calls.parts").read_text().split("\n\n")[:4]
    expected = [
        "\n".join([*lines, *(line.upper() for line in lines)]) for lines in (SOURCE, *BY_LENGTH)
    ]
    assert parts == expected


def test_before_attention_divides_long_test_sets(run, project):
    """More text than a pipe holds, which a reader of its beginning would leave behind."""
    for name in ("test.src", "test.tgt"):
        (project / name).write_text("a\n" * 30_000)
    done, _ = run("project", "test.src", "test.tgt")
    assert done.returncode == 0, done.stderr
    table = (project / "before-attention" / "results.tsv").read_text().splitlines()
    assert table[0].split("\t")[4:] == ["30000.00", *["10000.00"] * 3]


def test_before_attention_recipe_continues_after_interruption(run, project):
    run("project", "test.src", "test.tgt")
    table = project / "before-attention" / "results.tsv"
    lines = table.read_text().splitlines()
    table.write_text(f"{lines[0]}\n{lines[2]}\n")
    (project / "before-attention" / "conv" / "log.jsonl").unlink()
    (project / "before-attention" / "conv").rmdir()
    done, calls = run("project", "test.src", "test.tgt")
    assert done.returncode == 0, done.stderr
    assert [call[0] for call in calls] == ["train", "translate", *["score"] * 4]
    assert "before-attention/conv" in calls[0]


def test_before_attention_reads_compressed_files_from_elsewhere(run, project, tmp_path):
    run("project", "test.src", "test.tgt")
    table = project / "before-attention" / "results.tsv"
    expected = table.read_text()
    shutil.rmtree(table.parent)
    for name, command in (("test.src", "xz"), ("test.tgt", "gzip")):
        (project / name).rename(tmp_path / name)
        subprocess.run([command, tmp_path / name], check=True)
    files = [str(tmp_path / name) for name in ("test.src.xz", "test.tgt.gz")]
    done, _ = run("project", *files)
    assert done.returncode == 0, done.stderr
    assert table.read_text() == expected
    done, calls = run("project", files[0], str(tmp_path / "none"))
    assert (done.returncode, calls) == (66, [])
    assert f"error: {tmp_path / 'none'} is missing" in done.stderr


@pytest.mark.parametrize("missing", ["nmt.toml", "test.src", "test.tgt"])
def test_before_attention_names_missing_arguments_and_files(run, project, missing):
    done, calls = run("project")
    assert (done.returncode, calls) == (2, [])
    assert "PROJECT SRC TGT" in done.stderr
    (project / missing).unlink()
    done, calls = run("project", "test.src", "test.tgt")
    assert (done.returncode, calls) == (66, [])
    assert f"project/{missing} is missing" in done.stderr
