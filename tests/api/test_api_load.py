"""load(): a Translator, threads, and what it refuses."""

from pathlib import Path

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli import Constraints, Translator, load
from nmt_cli.errors import ConfigError, NoInputError
from nmt_cli.model_dir import save_model


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    config = byte_config()
    save_model(tmp_path / "m", byte_model(config).state_dict(), config, byte_subwords(), {})
    return tmp_path / "m"


def test_load_gives_what_translator_load_gives(saved: Path) -> None:
    expected = Translator.load(saved, precision="int8", cache=None, others=[saved])
    with load(saved, precision="int8", cache=None, others=[saved]) as translator:
        assert repr(translator) == repr(expected)
        assert translator.translate("abc").text == expected.translate("abc").text


def test_threads_are_set(saved: Path) -> None:
    before = torch.get_num_threads()
    try:
        load(saved, cache=None, threads=before + 1).close()
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_wrong_arguments_are_refused_before_a_model_is_read(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="model is a path"):
        load(5)  # type: ignore[arg-type]
    for threads in ("2", 2.0, True):
        with pytest.raises(TypeError, match=f"threads is a number of at least 1, not {threads!r}"):
            load("m", threads=threads)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1, not 0") as refused:
        load("m", threads=0)
    assert isinstance(refused.value, ConfigError)
    with pytest.raises(ConfigError, match="precision"):
        load("m", precision="int4")
    with pytest.raises(NoInputError):
        load(tmp_path / "none")
    for wrong in ({"others": "m"}, {"others": None}, {"precision": 8}, {"cache": 3}):
        with pytest.raises(TypeError, match=f"^{next(iter(wrong))} is "):
            load("m", **wrong)  # type: ignore[arg-type]


def test_wrong_types_of_constraints_and_prefixes_are_refused(saved: Path) -> None:
    for banned in ("abc", (3,), None):
        with pytest.raises(TypeError, match=r"^ban is a list of str"):
            Constraints(ban=banned)  # type: ignore[arg-type]
    assert Constraints(ban=["abc"]) == Constraints(ban=("abc",))
    with load(saved, cache=None) as translator:
        for given in ({"banned": ["abc"]}, ["abc"], "abc"):
            with pytest.raises(TypeError, match=r"^constraints are Constraints"):
                translator.translate("abc", constraints=given)  # type: ignore[call-overload]
        for prefix in (3, None):
            with pytest.raises(TypeError, match=r"^prefix 1 is of type"):
                translator.translate(["abc"], prefixes=[prefix])  # type: ignore[list-item]
