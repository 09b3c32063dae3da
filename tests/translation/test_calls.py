"""Options of `translate()` that other toolkits call something else."""

import pytest

from nmt_cli.config.schema import Config
from nmt_cli.translation.calls import OTHER_NAMES, chosen_settings


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("beam_size", "did you mean `beam`?"),
        ("lenpen", "did you mean `alpha`?"),
        ("num_return_sequences", "did you mean `n_best`?"),
        ("glossary", "constraints=Constraints(glossary="),
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
