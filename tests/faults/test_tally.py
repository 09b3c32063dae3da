"""The list of faults, the tests that hold it, and the count."""

from collections import Counter

import pytest
from faults.tally import ROOT, ROW, TABLE, groups, summary, table, waiting
from faults.undefended import Undefended, undefended_tests


def test_each_row_has_a_test_or_says_what_it_waits_for() -> None:
    tested = {row for one in undefended_tests() for row in one.rows}
    assert tested == set(table()) - set(waiting())


def test_no_row_is_lost() -> None:
    numbers = Counter(row.rstrip("0123456789") for row in table())
    assert numbers == {
        "C": 14, "S": 12, "R": 10, "N": 9, "U": 13, "T": 19, "I": 14, "P": 10, "Q": 5, "H": 12,
        "E": 6,
    }  # fmt: skip
    assert len(ROW.findall(TABLE.read_text())) == sum(numbers.values())
    assert set(groups()) == set(numbers)


@pytest.mark.parametrize(
    "undefended", list(undefended_tests()), ids=lambda one: f"{one.path.stem}-{one.name}"
)
def test_what_is_taken_away_is_there(undefended: Undefended) -> None:
    for file, old, new in undefended.edits:
        assert (ROOT / "nmt_cli" / file).read_text().count(old) == 1, old
        assert old != new


INNER = """
import pytest
from faults.tally import fault

@fault("T1", without=("lines.py", "a", "b"))
def test_all_hold(checks):
    checks(40)

@fault("T2", without=("lines.py", "a", "b"))
@pytest.mark.parametrize("case", [1, 2])
def test_cases(case):
    pass

@fault("C1", "T1", without=("lines.py", "a", "b"))
def test_one_does_not(checks):
    checks()
    checks()
    raise AssertionError

@fault("C2", without=("lines.py", "a", "b"))
def test_nothing_is_known(checks):
    pytest.skip("nothing to read")

def test_other():
    pass
"""


def test_checks_are_counted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(INNER)
    pytester.makeini("[pytest]\nmarkers = fault: a row of docs/faults.md")
    lines = pytester.runpytest("-p", "faults.tally").outlines
    titles = groups()
    assert f"{titles['T']}: 42 of 42" in lines
    assert f"{titles['C']}: 2 of 3" in lines
    assert summary(44, 45) in lines
    assert summary(44, 45).startswith(f"faults survived: 44 of 45; not yet: {len(waiting())}")
