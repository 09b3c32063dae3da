"""`nmt info` shows size, vocabulary and scores, and why a model cannot be exported."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from exported import random_model
from marian_recipe import DATA

from nmt_cli.cli import main
from nmt_cli.config.schema import SettingsLayer, resolve, with_values
from nmt_cli.config.search import LONGEST_SHORTLIST
from nmt_cli.data.lexical.shortlist import SHORTLIST, Shortlist
from nmt_cli.exchange.model_card import model_card
from nmt_cli.exchange.targets import MODULES
from nmt_cli.model.encoder_decoder import initialise, parameter_count
from nmt_cli.model.kinds import make_model
from nmt_cli.model_dir import load_model, save_model
from nmt_cli.storage.locks import locked

TINY_RNN = {"model.d_model": 8, "model.layers": 1}


def test_info_describes_a_trained_model(letters_model: Path, capsys) -> None:
    assert main(["info", str(letters_model), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    loaded = load_model(letters_model)
    assert info["parameters"] == parameter_count(loaded.model)
    assert info["step"] == 120
    assert info["imported_from"] is info["init_from"] is None
    assert info["validation"]["signature"].startswith("nrefs:1")
    # A run knows which weights it has published; `nmt average` names what it averaged.
    last = json.loads((letters_model / "log.jsonl").read_text().splitlines()[-1])["published"]
    steps = last["steps"]
    assert (
        info["published"]
        == {
            "mean": f"the average of {len(steps)} checkpoints (steps {steps[0]} to {steps[-1]})",
            "current": f"the weights of step {last['step']}",
        }[last["weights"]]
    )
    assert info["averaged"] is None
    assert main(["info", str(letters_model)]) == 0
    assert f"weights {info['published']}" in " ".join(capsys.readouterr().out.split())
    assert info["weights"]["embedding.shared"] == [loaded.subwords.src_size, 32]
    marian = info["export"].pop("marian")
    # Its settings are those of a trained model only if they are chosen for Marian.
    assert [reason["remedy"] for reason in marian["reasons"]] == [
        "model.positions=sinusoidal_t2t", "model.norm_order=post", "model.zero_start=true"
    ]  # fmt: skip
    bergamot = info["export"].pop("bergamot")
    assert not bergamot["possible"]
    assert "model.d_model=64" in {reason["remedy"] for reason in bergamot["reasons"]}
    assert info["export"] == {
        name: {"possible": True, "reasons": []}
        for name in MODULES
        if name not in ("marian", "bergamot")
    }


def test_info_of_older_models_leaves_out_settings_of_the_transformer(tmp_path, capsys) -> None:
    config = resolve([SettingsLayer("test", {**TINY_RNN, "model.kind": "rnn"})]).config
    subwords = random_model({}).subwords
    sizes = {"model.src_vocab_size": subwords.src_size, "model.tgt_vocab_size": subwords.tgt_size}
    config = with_values(config, sizes)
    weights = initialise(make_model(config.model), 1).state_dict()
    save_model(tmp_path / "model", weights, config, subwords, {})
    assert main(["info", str(tmp_path / "model"), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["d_model"] == 8
    assert info["heads"] is info["d_ff"] is info["norm_order"] is None
    assert main(["info", str(tmp_path / "model")]) == 0
    shown = capsys.readouterr().out
    assert "d_model" in shown
    assert "heads" not in shown


def test_info_names_the_reasons_against_an_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = random_model({"model.positions": "rotary"})
    metadata = {"step": "1200", "trained_with": "nmt 0.1.0, torch 2.13.0"}
    save_model(tmp_path / "m", loaded.model.state_dict(), loaded.config, loaded.subwords, metadata)
    assert main(["info", str(tmp_path / "m")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "trained 1,200 steps with nmt 0.1.0, torch 2.13.0" in shown
    assert "export to ctranslate2 possible" in shown
    assert "export to huggingface not possible: model.positions=rotary" in shown
    assert f"parameters {parameter_count(loaded.model):,}" in shown


def test_reason_against_all_exports_is_shown_once(letters_model: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.exchange.model_info.has_torch", lambda: False)
    assert main(["info", str(letters_model)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("export")]
    assert [line.split(maxsplit=1) for line in lines] == [
        ["export", "not possible: exporting needs torch, which is not installed"]
    ]


def test_info_names_the_format_that_a_model_was_imported_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model")
    options = ["--src-lang", "en", "--tgt-lang", "xx", "--no-check"]
    assert main(["import", str(DATA), "--out", model, *options]) == 0
    assert main(["info", model]) == 0
    assert "imported from marian" in " ".join(capsys.readouterr().out.split())
    assert main(["info", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["imported_from"] == "marian"


def test_info_and_model_card_name_the_model_that_training_began_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = random_model({})
    start = {"train.init_from": "models/general", "train.init_sha256": "ab" * 32}
    config = with_values(loaded.config, start)
    save_model(tmp_path / "m", loaded.model.state_dict(), config, loaded.subwords, {})
    assert main(["info", str(tmp_path / "m")]) == 0
    assert "fine-tuned from models/general" in " ".join(capsys.readouterr().out.split())
    assert main(["info", str(tmp_path / "m"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["init_from"] == "models/general"
    named = f"beginning with the weights of `general` (SHA-256 {'ab' * 32})"
    assert named in model_card(load_model(tmp_path / "m"), "float32", "transformers", "")
    assert "fine-tuned" not in model_card(loaded, "float32", "transformers", "")


def test_info_checks_and_names_the_shortlist(tmp_path: Path, capsys) -> None:
    model, loaded = tmp_path / "m", random_model({})
    save_model(model, loaded.model.state_dict(), loaded.config, loaded.subwords, {})
    assert main(["info", str(model)]) == 0
    assert "shortlist" not in capsys.readouterr().out
    src = loaded.subwords.src_size
    none = np.full((src, LONGEST_SHORTLIST), -1, np.int32)
    Shortlist(none, none[:, 0].copy(), none[0, :0].copy()).save(model, loaded.subwords)
    assert main(["info", str(model)]) == 0
    assert "shortlist yes" in " ".join(capsys.readouterr().out.split())
    data = bytearray((model / SHORTLIST).read_bytes())
    data[-1] ^= 1
    (model / SHORTLIST).write_bytes(data)
    assert main(["info", str(model)]) == 65
    assert f"`{model / SHORTLIST}` is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(("step", "validation"), [(0, 40), (39, 40), (40, 80), (95, 100)])
def test_info_of_a_run_without_weights_shows_its_state(
    tmp_path: Path, capsys, step: int, validation: int
) -> None:
    loaded = random_model({"train.max_steps": 100, "train.validate_every": 40})
    save_model(tmp_path / "m", {}, loaded.config, loaded.subwords, {})
    if step:
        (tmp_path / "m/log.jsonl").write_text(json.dumps({"schema": 1, "step": step}) + "\n")
    assert main(["info", str(tmp_path / "m")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"trained {step} of 100 steps weights none yet" in shown
    assert f"the first validation, at step {validation}, publishes them" in shown
    assert main(["info", str(tmp_path / "m"), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert (info["published"], info["step"], info["next_validation"]) == (False, step, validation)
    assert info["in_use_by"] is None


def test_info_of_a_running_training_names_its_process(tmp_path: Path, capsys) -> None:
    loaded = random_model({"train.max_steps": 100, "train.validate_every": 40})
    save_model(tmp_path / "m", {}, loaded.config, loaded.subwords, {})
    with locked(tmp_path / "m"):
        assert main(["info", str(tmp_path / "m")]) == 0
    assert f"in use by process {os.getpid()} on" in " ".join(capsys.readouterr().out.split())
