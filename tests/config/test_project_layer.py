"""The paths of a project file are relative to its folder, those of a model to where it was made."""

from pathlib import Path

from nmt_cli.config.project import project_layer

SETTINGS = '[paths]\ncorpus = "text/corpus"\n[train]\ninit_from = "m1"\n'


def test_paths_start_from_the_folder_of_a_project_file(tmp_path: Path) -> None:
    (tmp_path / "nmt.toml").write_text(SETTINGS)
    values = project_layer(tmp_path / "nmt.toml").values
    assert values["train.init_from"] == str(tmp_path / "m1")
    assert values["paths.corpus"] == str(tmp_path / "text/corpus")
    assert values["paths.model"] == str(tmp_path / "model")


def test_paths_in_the_settings_of_a_model_stay(tmp_path: Path) -> None:
    """They are those of the command that trained it: `nmt train --config m2/config.toml`."""
    (tmp_path / "config.toml").write_text(SETTINGS)
    (tmp_path / "manifest.json").write_text("{}")
    values = project_layer(tmp_path / "config.toml").values
    assert values == {"paths.corpus": "text/corpus", "train.init_from": "m1"}
