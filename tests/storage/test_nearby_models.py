"""The error for a path without a model names the model that was probably meant."""

import os
from pathlib import Path

import pytest

from nmt_cli.errors import ConfigError, NmtError, NoInputError
from nmt_cli.storage import nearby_models
from nmt_cli.storage.manifest import MANIFEST
from nmt_cli.storage.model_check import (
    CONFIG,
    WEIGHTS,
    no_weights_error,
    require_model_directory,
)


def make_model(path: Path) -> Path:
    path.mkdir(parents=True)
    for name in (CONFIG, MANIFEST):
        (path / name).write_text("")
    return path


def refused(path: Path | str) -> NmtError:
    with pytest.raises(NmtError) as caught:
        require_model_directory(Path(path))
    return caught.value


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_model_that_was_copied_in_part_is_told_from_other_folders() -> None:
    make_model(Path("demo"))
    Path("demo/manifest.json").unlink()
    error = refused("demo")
    assert error.message.endswith("it has no manifest.json, so it is not complete")
    assert error.hint == "copy the whole directory again, with all its files"


def test_project_folder_names_the_model_inside() -> None:
    make_model(Path("demo/model"))
    Path("demo/corpus").mkdir()
    error = refused("demo")
    assert isinstance(error, ConfigError)
    assert error.message == (
        "`demo` is not a model directory of nmt: it has no config.toml and manifest.json"
    )
    assert error.hint == "there is a model in this folder: `demo/model`"
    make_model(Path("demo/average"))
    assert refused("demo").hint == "there are models in this folder: `demo/average`, `demo/model`"
    for number in range(3):
        make_model(Path(f"demo/m{number}"))
    assert refused("demo").hint.endswith("`demo/average`, `demo/m0`, `demo/m1`, ...")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("demo/modle", "demo/model"),
        ("dmeo/model", "demo/model"),
        ("dmeo", "demo/model"),
        ("dmeo/model/checkpoints", None),
        ("other/place", None),
    ],
)
def test_misspelt_path_names_the_similar_model(path: str, meant: str | None) -> None:
    make_model(Path("demo/model"))
    error = refused(path)
    assert isinstance(error, NoInputError)
    assert error.message == f"there is no model directory `{path}`"
    expected = f"did you mean `{meant}`?" if meant else "`nmt train` writes one"
    assert error.hint == expected


def test_missing_path_names_the_model_beside_it_or_around_it() -> None:
    make_model(Path("small"))
    assert refused("model").hint == "there is a model in `.`: `small`"
    assert refused("small/model").hint == "`small` is a model directory"
    for path in Path("small").iterdir():
        path.rename(path.name)
    assert refused("large").hint == "`.` is a model directory, and can be named so"


def test_folders_that_cannot_be_read_or_are_no_models_are_not_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("demo/model").mkdir(parents=True)
    assert refused("demo/modle").hint == "`nmt train` writes one"
    make_model(Path("demo/second"))

    def fail(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", fail)
    assert refused("demo/secnod").hint == "`nmt train` writes one"
    assert nearby_models.models_inside(Path("demo"), os.path.isdir) == []


@pytest.mark.parametrize("named", ["model", "./model", "runs/model"])
def test_models_with_weights_beside_one_without_are_named(named: str) -> None:
    folder = Path(named).parent
    for name in ("model", "model-2", "model-3"):
        make_model(folder / name)
    assert "beside" not in no_weights_error(Path(named)).hint
    (folder / "model-2" / WEIGHTS).touch()
    error = no_weights_error(Path(named))
    assert error.message == f"`{Path(named)}` holds no weights yet"
    assert error.hint.endswith(f"; there is a model with weights beside it: `{folder / 'model-2'}`")
    (folder / "model-3" / WEIGHTS).touch()
    assert "there are models with weights beside it: `" in no_weights_error(Path(named)).hint
