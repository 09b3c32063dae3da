"""Parameters of tests that only the slow lane runs."""

from collections.abc import Iterable, Sequence

import pytest
from _pytest.mark import ParameterSet


def slow(*values: object) -> ParameterSet:
    """The parameters of a case that `make test-all` runs and the default command does not."""
    return pytest.param(*values, marks=pytest.mark.slow)


def first_fast(cases: Iterable[object], count: int = 1) -> Sequence[object]:
    """Cases of one parameter, of which all but the first ones are slow."""
    return [case if index < count else slow(case) for index, case in enumerate(cases)]
