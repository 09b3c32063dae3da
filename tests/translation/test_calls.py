"""Options of `translate()` that other toolkits call something else."""

import pytest

from nmt_cli.config.schema import Config
from nmt_cli.errors import ConfigError
from nmt_cli.translation.calls import OTHER_NAMES, chosen_settings


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("beam_size", "did you mean `beam`?"),
        ("lenpen", "did you mean `alpha`?"),
        ("num_return_sequences", "did you mean `n_best`?"),
        ("glossary", "constraints=Constraints(glossary="),
        ("keep", "constraints=Constraints(kept="),
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
