"""Exit codes are a promise to scripts; hints name what was meant."""

import inspect
import re

import pytest

from nmt_cli import errors
from nmt_cli.errors import NmtError, did_you_mean

EXIT_CODES = {
    "NmtError": 1, "UsageError": 2, "QualityGateError": 3, "DivergedError": 4, "DataError": 65,
    "NoInputError": 66, "UnavailableError": 69, "CannotCreateError": 73, "WriteError": 74,
    "TryAgainError": 75, "ModelChangedError": 75, "ConfigError": 78, "ArgumentError": 78,
}  # fmt: skip


def test_exit_codes_of_error_classes() -> None:
    kinds = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert {name: kind.exit_code for name, kind in kinds.items()} == EXIT_CODES
    assert all(issubclass(kind, NmtError) for kind in kinds.values())


def test_docstring_lists_the_tree_of_error_classes() -> None:
    drawn = dict(re.findall(r"── (\w+) +(\d+) ", str(errors.__doc__)))
    rest = {name: str(code) for name, code in EXIT_CODES.items() if name != "NmtError"}
    assert drawn == rest


def test_error_message_and_hint_are_separate() -> None:
    error = errors.DataError("line 3 is empty", "remove it")
    assert (error.message, error.hint) == ("line 3 is empty", "remove it")
    # All that a traceback shows.
    assert str(error) == "line 3 is empty\nhint: remove it"
    assert str(errors.DataError("line 3 is empty")) == "line 3 is empty"
    assert NmtError("x").hint == ""


def test_of_hints_raised_together_none_begins_another_one() -> None:
    missing = errors.NoInputError("no `a`", "check the path; here is x")
    with pytest.raises(errors.NoInputError) as caught:
        errors.raise_together([errors.NoInputError("no `/b`", "check the path"), missing])
    assert (caught.value.message, caught.value.hint) == (
        "no `/b`; no `a`",
        "check the path; here is x",
    )


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("bsae", "did you mean `base`?"),
        ("BIG", "known: base, big"),
        ("", "known: base, big"),
        ("zzz", "known: base, big"),
    ],
)
def test_did_you_mean_suggests_the_nearest_name(word: str, hint: str) -> None:
    assert did_you_mean(word, ["big", "base"]) == hint
