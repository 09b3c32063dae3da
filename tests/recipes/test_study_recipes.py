"""The recipes of section 6.2 and of the comparison with older models: one folder, one setting."""

import subprocess
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[2] / "recipes"

# Writes what the recipes read: a corpus, a log, translations and scores.
NMT = """#!/bin/sh
echo "$@" >>"$CALLS"
case $1 in
  init) : >nmt.toml ;;
  prepare) mkdir -p corpus ;;
  train)
    while [ $# -gt 1 ]; do [ "$1" = --out ] && out=$2; shift; done
    mkdir -p "$out"; echo '{"flops": 1.0, "seconds": 2.0}' >"$out/log.jsonl" ;;
  translate)
    while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
    printf 'a\\nb\\nc\\n' >"$out" ;;
  score) echo '{"value": 1.0}' ;;
esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that lists the calls of a stand-in for `nmt`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nmt").write_text(NMT)
    (tmp_path / "bin" / "nmt").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "calls"


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([RECIPES / name, *arguments], capture_output=True, text=True, check=False)


def test_older_models_are_trained_for_any_number_of_steps(calls: Path, tmp_path: Path) -> None:
    for name in ("nmt.toml", "test.en", "test.de"):
        (tmp_path / name).write_text("a\nb c\nd e f\n")
    done = run("before_attention.sh", ".", "test.en", "test.de", "5")
    assert done.returncode == 0, done.stderr
    (first, *_) = [line for line in calls.read_text().splitlines() if line.startswith("train")]
    assert "train.warmup_steps=1 " in first
    assert "train.checkpoint_every=1 " in first


def test_results_of_other_settings_are_not_shown_as_these(calls: Path, tmp_path: Path) -> None:
    for name in ("nmt.toml", "test.en", "test.de"):
        (tmp_path / name).write_text("a\nb c\nd e f\n")
    assert run("before_attention.sh", ".", "test.en", "test.de", "10").returncode == 0
    before = calls.read_text()
    for arguments in (["500"], []):
        done = run("before_attention.sh", ".", "test.en", "test.de", *arguments)
        assert done.returncode == 78
        assert "holds results of SRC=test.en TGT=test.de STEPS=10, not of" in done.stderr
    assert calls.read_text() == before
    assert run("before_attention.sh", ".", "test.en", "test.de", "10").returncode == 0


def captions(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in ("train", "val", "test_2016_flickr"):
        for suffix in ("en", "de"):
            (folder / f"{name}.{suffix}").write_text("a\n")


def test_text_of_another_folder_is_not_mixed_with_that_of_a_project(
    calls: Path, tmp_path: Path
) -> None:
    for name in ("one", "other"):
        captions(tmp_path / name)
    assert run("multi30k_en_de.sh", "one", "work").returncode == 0
    before = calls.read_text()
    done = run("multi30k_en_de.sh", "other", "work")
    assert done.returncode == 78
    one, other = tmp_path / "one", tmp_path / "other"
    assert f"work holds results of DATA={one}, not of DATA={other}\n" in done.stderr
    assert calls.read_text() == before
    # The same folder, named in another way.
    assert run("multi30k_en_de.sh", str(tmp_path / "one"), "work").returncode == 0


@pytest.mark.parametrize(("seeds", "trained"), [(None, ["big"]), ("4", ["big", "base-seed-4"])])
def test_chosen_rows_of_table_3_are_trained_without_further_seeds(
    calls: Path, tmp_path: Path, monkeypatch, seeds: str | None, trained: list[str]
) -> None:
    captions(tmp_path)
    monkeypatch.setenv("SIZE", "small")
    monkeypatch.setenv("ROWS", "big")
    if seeds:
        monkeypatch.setenv("SEEDS", seeds)
    done = run("table3.sh", ".", "work")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "work" / "rows").iterdir()) == sorted(trained)


def test_the_seed_of_all_rows_of_table_3_is_no_further_seed(
    calls: Path, tmp_path: Path, monkeypatch
) -> None:
    captions(tmp_path)
    monkeypatch.setenv("SIZE", "small")
    monkeypatch.setenv("SEEDS", "1 2")
    done = run("table3.sh", ".", "work")
    assert done.returncode == 2
    assert done.stderr.startswith("error: SEEDS: 1 is the seed of the row base already")
    assert not (tmp_path / "work").exists()


def test_sizes_of_table_3_do_not_share_a_folder(calls: Path, tmp_path: Path, monkeypatch) -> None:
    captions(tmp_path)
    monkeypatch.setenv("SIZE", "tiny")
    monkeypatch.setenv("ROWS", "base")
    monkeypatch.setenv("SEEDS", "")
    done = run("table3.sh", ".", "work")
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("SIZE", "small")
    done = run("table3.sh", ".", "work")
    assert done.returncode == 78
    assert "holds results of SIZE=tiny, not of SIZE=small" in done.stderr
