"""Where the lines that exported models are compared on come from."""

from pathlib import Path

import pytest

from nmt_cli.exchange.checks.lines import text_of_model


@pytest.mark.parametrize(
    ("name", "where", "found"),
    [
        ("demo/test.en", ".", "demo/test.en"),
        ("demo/test.en", "demo", "test.en"),
        ("work/demo/test.en", "demo", "test.en"),
        ("demo/missing.en", "demo", "demo/missing.en"),
        ("../test.en", "demo", "../test.en"),
    ],
)
def test_text_is_found_beside_the_model_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str, found: str
) -> None:
    (tmp_path / "demo" / "model").mkdir(parents=True)
    (tmp_path / "demo" / "test.en").touch()
    monkeypatch.chdir(tmp_path / where)
    model = Path("model") if where == "demo" else Path("demo/model")
    assert text_of_model(name, model) == Path(found)
    assert text_of_model(name, None) == Path(name)
