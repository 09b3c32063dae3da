"""Where the lines that exported models are compared on come from."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from exported import random_model

from nmt_cli.config.schema import with_values
from nmt_cli.errors import QualityGateError
from nmt_cli.exchange.checks import lines
from nmt_cli.exchange.checks.comparison import compare_models
from nmt_cli.exchange.checks.lines import LINES, MOST_LINES, choose_check_lines, text_of_model
from nmt_cli.model_dir import LoadedModel


def model_at(directory: Path | None, **paths: str) -> LoadedModel:
    loaded = random_model({"languages.src": "en", "languages.tgt": "de"})
    values = {f"paths.{name}": value for name, value in paths.items()}
    return replace(loaded, config=with_values(loaded.config, values), directory=directory)


@pytest.fixture(autouse=True)
def projects(tmp_path: Path) -> None:
    """The project `demo`, with the model that was trained there, and another project `other`."""
    for name in ("demo/runs/big", "other/received"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("demo", "other"):
        (tmp_path / name / "test.en").write_text(f"{name}\n" * 120)


@pytest.mark.parametrize(
    ("name", "trained", "where", "model", "found"),
    [
        ("demo/test.en", "demo/model", ".", "demo/model", "demo/test.en"),
        ("demo/test.en", "demo/model", "demo", "model", "test.en"),
        ("work/demo/test.en", "work/demo/model", "demo", "model", "test.en"),
        ("demo/missing.en", "demo/model", "demo", "model", None),
        ("../demo/test.en", "../demo/model", "other", "../demo/model", "../demo/test.en"),
        ("../test.en", "model", "demo", "model", None),
        # A model that was renamed, in a folder within the current one.
        ("test.en", "runs/first", "demo", "runs/big", "test.en"),
        ("test.en", "runs/big", ".", "demo/runs/big", "demo/test.en"),
        # The current folder is another project.
        ("test.en", "model", "other", "../demo/model", "../demo/test.en"),
        ("test.en", "runs/big", "other", "../demo/runs/big", "../demo/test.en"),
        ("test.en", "runs/first", "other", "../demo/runs/big", None),
    ],
)
def test_test_text_is_that_of_the_project_of_the_model(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    trained: str,
    where: str,
    model: str,
    found: str | None,
) -> None:
    monkeypatch.chdir(tmp_path / where)
    loaded = model_at(Path(model), model=trained)
    assert text_of_model(name, loaded) == (found and Path(found))


@pytest.mark.parametrize(
    ("languages", "fits"),
    [
        ('src = "en"\ntgt = "de"', True),
        ('src = "de"\ntgt = "en"', True),
        ('src = "en"\ntgt = "fr"', False),
        ("", True),
    ],
)
def test_test_text_of_a_project_with_other_languages_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, languages: str, fits: bool
) -> None:
    monkeypatch.chdir(tmp_path / "other")
    Path("nmt.toml").write_text(f"[languages]\n{languages}\n")
    found = text_of_model("test.en", model_at(Path("received"), model="model"))
    assert found == (Path("test.en") if fits else None)


def test_test_text_may_have_an_absolute_path(tmp_path: Path) -> None:
    file = tmp_path / "demo" / "test.en"
    for directory in (tmp_path / "other" / "received", None):
        assert text_of_model(str(file), model_at(directory)) == file
        assert text_of_model(str(file.parent / "missing.en"), model_at(directory)) is None


def test_lower_precision_is_compared_on_more_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share of equal translations of 20 lines says little."""
    monkeypatch.chdir(tmp_path / "demo")
    loaded = model_at(Path("model"))
    loaded = replace(loaded, config=with_values(loaded.config, {"data.test": ["test.en", "x"]}))
    for precision, count in (("float32", LINES), ("int8", MOST_LINES), ("float16", MOST_LINES)):
        chosen, origin = choose_check_lines(loaded, None, precision)
        assert (chosen, origin) == (["demo"] * count, f"{count} lines of `test.en`")
    assert lines.calibration_lines(loaded) == ["demo"] * 120


def test_letters_are_compared_as_nmt_repairs_them() -> None:
    foreign = SimpleNamespace(source_ids=lambda _: [0])
    for clean, shown in (("safe", "a hab"), ("off", "a h\u0430b")):
        with pytest.raises(QualityGateError, match=f"splits `{shown}` into"):
            compare_models(
                random_model({"data.clean": clean}), foreign, ["a h\u0430b"], "float32", "Other"
            )
