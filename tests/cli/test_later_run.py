"""The note of `nmt translate` without --model on a later training run on the same corpus."""

import io
import os
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.cli.commands.translation import work
from nmt_cli.cli.commands.translation.options import Precision
from nmt_cli.cli.settings import resolve_settings
from nmt_cli.data.corpus.users import later_run
from nmt_cli.model_dir import save_model
from nmt_cli.storage.model_check import WEIGHTS
from nmt_cli.terminal.console import Console


def trained(name: str, written: int, corpus: str = "corpus", *, is_run: bool = True) -> None:
    """Write a model whose weights were written at this time, in seconds."""
    config, folder = byte_config({"paths.corpus": corpus}), Path(name)
    save_model(folder, byte_model(config).state_dict(), config, byte_subwords(), {"step": "1"})
    os.utime(folder / WEIGHTS, (written, written))
    if is_run:
        (folder / "log.jsonl").write_text('{"step": 1}\n')


def notes(*models: str, interactive: bool = True) -> str:
    """What is noted where these models are given to `nmt translate`, or none is."""
    stream = io.StringIO()
    console = Console(stream, interactive=interactive)
    loading = work.Loading(
        list(models) or ["model"], [], "cpu", Precision.float32, None, work.WHOLE, with_stats=False
    )
    flags = {"paths.model": models[0] if models else None}
    work._load(loading, resolve_settings(flags, None, None), console)
    return " ".join(stream.getvalue().split())


def test_the_last_of_the_later_runs_on_the_corpus_is_named_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trained("model", 2_000)
    trained("model-2", 1_000)
    trained("average", 9_000, is_run=False)
    trained("other", 9_000, "other-corpus")
    assert (later_run(Path("model")), "later" in notes()) == (None, False)
    trained("model-3", 3_000)
    trained("runs/my run", 4_000)
    said = (
        "`model` is used; `runs/my run` was trained later on the same corpus: --model 'runs/my run'"
    )
    assert said in notes()
    assert "later" not in notes(interactive=False)
    assert "later" not in notes("model")
