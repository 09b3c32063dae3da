"""Options of `translate()` that other toolkits call something else."""

from collections.abc import Iterable
from typing import Any

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from servers import byte_translator

from nmt_cli.config.schema import Config
from nmt_cli.data.lexical.shortlist import WITHOUT, Shortlist
from nmt_cli.errors import ConfigError, DataError, UsageError
from nmt_cli.translation.calls import OTHER_NAMES, chosen_settings
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.translator import Translator


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("beam_size", "did you mean `beam`?"),
        ("lenpen", "did you mean `alpha`?"),
        ("num_return_sequences", "did you mean `n_best`?"),
        ("glossary", "constraints=Constraints(glossary="),
        ("keep", "constraints=Constraints(keep="),
        ("banned", "constraints=Constraints(ban="),
        ("n_bset", "did you mean `n_best`?"),
    ],
)
def test_unknown_option_is_refused_with_the_name_it_has_here(option: str, hint: str) -> None:
    with pytest.raises(TypeError, match=rf"^translate\(\) has no option `{option}`; ") as refused:
        chosen_settings(Config(), None, {option: 3})
    assert hint in str(refused.value)


def test_hints_name_options_that_exist() -> None:
    for hint in OTHER_NAMES.values():
        if hint.startswith("did you mean"):
            name = hint.split("`")[1]
            value = 1.0 if name == "alpha" else 4
            settings = chosen_settings(Config(), None, {name: value})
            assert getattr(settings, name) == value


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("beam", "4", "a whole number, not '4'"),
        ("beam", 4.0, "a whole number, not 4.0"),
        ("beam", True, "a whole number, not True"),
        ("beam", None, "a whole number, not None"),
        ("alpha", "0.6", "a number, not '0.6'"),
        ("alpha", True, "a number, not True"),
        ("alignment", "no", "true or false, not 'no'"),
        ("alignment", 1, "true or false, not 1"),
        ("batch_tokens", "8", "a whole number or `auto`, not '8'"),
        ("markup", 1, "not 1"),
    ],
)
def test_value_of_a_wrong_type_is_a_type_error(option: str, value: object, expected: str) -> None:
    with pytest.raises(TypeError, match=rf"^translate\(\): `{option}` must be ") as refused:
        chosen_settings(Config(), None, {option: value})
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("option", "value"), [("alpha", 1), ("alpha", 0.5), ("batch_tokens", "auto"), ("retry", True)]
)
def test_values_of_the_types_of_options_are_accepted(option: str, value: object) -> None:
    assert getattr(chosen_settings(Config(), None, {option: value}), option) == value


def test_conflict_names_options_as_arguments() -> None:
    with pytest.raises(ConfigError) as refused:
        chosen_settings(Config(), None, {"n_best": 8})
    assert refused.value.message == "n_best=8 is more than beam=4"
    assert refused.value.hint == "a beam of B gives at most B hypotheses: raise beam"


@pytest.mark.parametrize("seed", [1, 5])
def test_seed_without_sampling_is_refused(seed: int) -> None:
    with pytest.raises(ConfigError, match=r"^seed needs sample=True") as refused:
        chosen_settings(Config(), None, {"seed": seed})
    assert refused.value.hint == "set sample=True"
    assert chosen_settings(Config(), None, {"seed": seed, "sample": True}).seed == seed
    sampling = chosen_settings(Config(), None, {"sample": True})
    assert chosen_settings(Config(), sampling, {"seed": seed}).seed == seed


def test_conflicts_are_spelt_as_python_writes_them() -> None:
    with pytest.raises(ConfigError) as refused:
        chosen_settings(Config(), None, {"temperature": 0.5})
    assert refused.value.message == "temperature needs sample=True"
    assert refused.value.hint == "set sample=True"
    with pytest.raises(ConfigError, match='markup="off" translates'):
        chosen_settings(Config(), None, {"keep_numbers": True, "markup": "off"})


@pytest.mark.parametrize(
    ("constraints", "options", "hint"),
    [
        (
            Constraints(glossary={"dog": "Hund"}),
            {"sample": True},
            "set sample=False, or leave out the glossary of the constraints",
        ),
        (
            Constraints(keep=["NordPad"]),
            {"markup": "off"},
            'set markup="keep", or leave out the kept names of the constraints',
        ),
    ],
)
def test_constraints_that_do_not_fit_are_named_as_in_python(
    constraints: Constraints, options: dict[str, Any], hint: str
) -> None:
    with byte_translator() as translator, pytest.raises(UsageError) as refused:
        translator.translate("dog", constraints=constraints, **options)
    assert refused.value.hint == hint
    assert "--" not in str(refused.value)


@pytest.mark.parametrize("lines", [["dog"], iter(["dog"])])
def test_errors_while_translating_are_named_as_in_python(lines: Iterable[str]) -> None:
    def missing() -> Shortlist:
        raise DataError("no shortlist", WITHOUT)

    config = byte_config()
    translator = Translator(byte_model(config), config, byte_subwords(), shortlist=missing)
    with pytest.raises(DataError) as refused:
        list(translator.translate(lines, shortlist=10))
    assert refused.value.hint == WITHOUT.replace("--shortlist 0", "shortlist=0")
