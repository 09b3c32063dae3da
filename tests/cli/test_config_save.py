"""`nmt config save`: search settings are saved in a model directory."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from faults.support.folder_contents import contents
from faults.support.letters import save_byte_model

from nmt_cli.cli import main
from nmt_cli.model_dir import load_config, read_model, save_search
from nmt_cli.storage import locks

Save = Callable[..., tuple[int, str]]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return save_byte_model(Path("model"))


@pytest.fixture
def save(model: Path, capfd: pytest.CaptureFixture[str]) -> Save:
    """Runs `nmt config save`; returns the exit code and stderr. Nothing is written to stdout."""

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["config", "save", *arguments])
        out, err = capfd.readouterr()
        assert out == ""
        return code, " ".join(err.split())

    return run


def test_options_are_saved_and_nothing_else_changes(model: Path, save: Save) -> None:
    before, files = load_config(model), contents(model)
    code, err = save("model", "--alpha", "1", "--keep-numbers", "--set", "search.beam=7")
    assert (code, err) == (
        0,
        "`model` now translates with other settings: search.beam was 2, is 7; "
        "search.alpha was 0.6, is 1.0; search.keep_numbers was false, is true",
    )
    config = read_model(model).config
    assert (config.search.alpha, config.search.beam, config.search.keep_numbers) == (1.0, 7, True)
    assert config.model == before.model
    assert config.train == before.train
    changed = {name for name, data in contents(model).items() if files.get(name) != data}
    assert changed <= {"config.toml", "manifest.json", ".lock"}


def test_saved_settings_are_those_of_the_next_translation(model: Path, save: Save, capfd) -> None:
    Path("line.txt").write_text("abc\n")
    assert save("--n-best", "2")[0] == 0
    assert main(["translate", "line.txt"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split(" ||| ")[0] for line in lines] == ["0", "0"]


def test_settings_of_the_project_and_its_model_are_used(model: Path, save: Save) -> None:
    model.rename("other")
    Path("nmt.toml").write_text('paths.model = "other"\nsearch.patience = 1.0\n')
    assert save() == (
        0,
        "`other` now translates with other settings: search.patience was 0.0, is 1.0",
    )
    assert load_config(Path("other")).search.patience == 1.0


def test_settings_of_a_given_project_file_are_used(model: Path, save: Save) -> None:
    Path("nmt.toml").write_text("search.patience = 1.0\n")
    Path("other.toml").write_text("search.patience = 2.0\n")
    assert save("model", "--config", "other.toml")[0] == 0
    assert load_config(model).search.patience == 2.0


def test_missing_model_can_be_named(save: Save) -> None:
    code, err = save("nowhere", "--beam", "2")
    assert code == 66
    assert "name another one: `nmt config save MODEL`" in err


def test_shortlist_that_is_lost_can_be_left_out(model: Path, save: Save) -> None:
    """And other settings can be saved without it."""
    save_search(model, replace(load_config(model).search, shortlist=50))
    assert save("model", "--alpha", "1")[0] == 0
    assert load_config(model).search.shortlist == 50
    assert save("model", "--set", "search.shortlist=0")[0] == 0
    assert load_config(model).search.shortlist == 0


def test_command_that_shows_the_settings_is_quoted(model: Path, save: Save) -> None:
    model.rename("my model")
    assert save("my model")[1].endswith("`nmt config show --config 'my model/config.toml'` shows")


def test_unchanged_model_is_not_written(model: Path, save: Save) -> None:
    files = contents(model)
    code, err = save("model", "--beam", "2")
    assert code == 0
    assert err == (
        "`model` is unchanged: no option or setting here differs from its search settings, which "
        "`nmt config show --config model/config.toml` shows"
    )
    assert contents(model) == files


def test_quiet_says_nothing(model: Path, save: Save) -> None:
    assert save("model", "--beam", "3", "--quiet") == (0, "")
    assert load_config(model).search.beam == 3


@pytest.mark.parametrize("is_run", [True, False])
def test_resumed_training_is_said_to_save_other_settings(
    is_run: bool, model: Path, save: Save
) -> None:
    Path("nmt.toml").write_text("search.patience = 1.0\n")
    if is_run:
        (model / "log.jsonl").write_text("")
    code, err = save("--alpha", "1")
    assert code == 0
    note = (
        "`nmt train`, where it resumes this run, saves the search settings of nmt.toml in it "
        "again; to keep these, write `search.alpha = 1.0` in nmt.toml, too"
    )
    changes = "search.alpha was 0.6, is 1.0; search.patience was 0.0, is 1.0"
    assert err.endswith(f"{changes} {note}" if is_run else changes)


def test_lines_for_the_project_file_are_toml(model: Path, save: Save) -> None:
    (model / "log.jsonl").write_text("")
    assert 'write `search.markup = "off"` in nmt.toml' in save("--set", "search.markup=off")[1]


def test_settings_of_the_project_file_need_no_note(model: Path, save: Save) -> None:
    Path("nmt.toml").write_text("search.patience = 1.0\n")
    (model / "log.jsonl").write_text("")
    assert save()[1].endswith("search.patience was 0.0, is 1.0")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere", "--beam", "2"], 66, "there is no model directory `nowhere`"),
        (["model", "--set", "model.heads=2"], 2, "--set model.heads: this command does not use"),
        (["model", "--beam", "0"], 2, "--beam must be at least 1, not 0"),
        (["model", "--seed", "3"], 2, "--seed needs --sample"),
        (["model", "--n-best", "9"], 2, "--n-best"),
        (["model", "--shortlist", "50"], 66, "`model` holds no shortlist"),
    ],
)
def test_what_cannot_be_saved_is_refused(
    arguments: list[str], code: int, message: str, model: Path, save: Save
) -> None:
    files = contents(model)
    actual, err = save(*arguments)
    assert actual == code, err
    assert message in err
    assert contents(model) == files


def test_model_that_is_being_trained_is_not_written(model: Path, save: Save) -> None:
    with locks.locked(model):
        before = (model / "config.toml").read_bytes()
        code, err = save("model", "--beam", "3")
        assert (model / "config.toml").read_bytes() == before
    assert code == 75
    assert "`model` is in use by" in err
    assert "the training can be resumed" in err
