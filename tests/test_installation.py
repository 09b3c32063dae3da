"""The command that installs an extra fits the way in which nmt is installed."""

import importlib.metadata
import json
import sys
from pathlib import Path

import pytest

from nmt_cli import installation


def test_installing_nmt_again_explains_any_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules of two versions fail in any way; a file is written anew, renamed or missing."""
    assert not installation.was_changed(TypeError("x"))
    module = tmp_path / "installation.py"
    module.touch()
    monkeypatch.setattr(installation, "__file__", str(module))
    assert installation.was_changed(TypeError("x"))
    monkeypatch.setattr(installation, "_FILE_AT_START", installation._this_file())
    assert not installation.was_changed(TypeError("x"))
    module.unlink()
    assert installation.was_changed(TypeError("x"))


class Distribution:
    """An installed package with this direct_url.json."""

    def __init__(self, record: str | None) -> None:
        self.record = record

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.record


@pytest.mark.parametrize(("editable", "option"), [(True, "-e "), (False, "")])
def test_clone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editable: bool, option: str
) -> None:
    clone = tmp_path / "my clone"
    clone.mkdir()
    (clone / "pyproject.toml").write_text("")
    record = json.dumps({"url": clone.as_uri(), "dir_info": {"editable": editable}})
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution(record))
    command = installation.install_command("zstd")
    assert command == f"cd '{clone}' && pip install {option}'.[zstd]'"
    (clone / "constraints.txt").write_text("")
    command = installation.install_command("zstd")
    assert command == f"cd '{clone}' && pip install -c constraints.txt {option}'.[zstd]'"
    (clone / "pyproject.toml").unlink()
    assert installation.install_command("zstd") == "pip install 'nmt-cli[zstd]'"


@pytest.mark.parametrize(
    "record",
    [None, "", "[]", "{", '{"url": "https://host/nmt.git", "vcs_info": {}}',
     '{"url": "https://host/nmt.git", "dir_info": {}}'],
)  # fmt: skip
def test_other_installations_name_the_package(
    monkeypatch: pytest.MonkeyPatch, record: str | None
) -> None:
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution(record))
    assert installation.install_command("png") == "pip install 'nmt-cli[png]'"


@pytest.mark.parametrize(
    ("environment", "installer"),
    [
        ("uv/tools/nmt-cli", "uv tool install --force"),
        ("pipx/venvs/nmt-cli", "pipx install --force"),
        (".venv", "pip install"),
        ("tools/nmt-cli", "pip install"),
    ],
)
def test_command_is_that_of_the_tool_which_made_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: str, installer: str
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    record = json.dumps({"url": tmp_path.as_uri(), "dir_info": {}})
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution(record))
    monkeypatch.setattr(sys, "prefix", f"/home/me/.local/share/{environment}")
    assert installation.install_command("serve") == f"cd {tmp_path} && {installer} '.[serve]'"


def test_code_that_is_not_installed_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "PACKAGE", "nmt-cli-of-nobody")
    assert installation.install_command("png") == "pip install 'nmt-cli-of-nobody[png]'"


def test_no_other_module_spells_the_command() -> None:
    package = Path(installation.__file__).parent
    spelled = [path.name for path in package.rglob("*.py") if "nmt-cli[" in path.read_text()]
    assert spelled == ["installation.py"]
