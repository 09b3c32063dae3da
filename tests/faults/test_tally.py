"""The list of faults, the tests that hold it, and the count."""

from collections import Counter
from pathlib import Path

import pytest
from faults.tally import ROW, TABLE, groups, summary, table, waiting
from faults.undefended import Edit, FaultTest, fault_tests, find_problems, read_mutations


def test_each_fault_row_has_a_test_or_is_waiting() -> None:
    tested = {row for test in fault_tests() for row in test.rows}
    assert tested == set(table()) - set(waiting())


def test_no_fault_row_is_lost() -> None:
    numbers = Counter(row.rstrip("0123456789") for row in table())
    assert numbers == {
        "C": 14, "S": 13, "R": 10, "N": 9, "U": 15, "T": 20, "I": 16, "P": 10, "Q": 5, "H": 12,
        "E": 7,
    }  # fmt: skip
    assert len(ROW.findall(TABLE.read_text())) == sum(numbers.values())
    assert set(groups()) == set(numbers)


def test_mutations_match_tests_and_sources() -> None:
    problems = find_problems(list(fault_tests()), read_mutations())
    assert not problems, "\n".join(problems)


def test_problems_of_mutations_are_reported() -> None:
    names = ("good", "twice", "twice", "missing", "empty", "lost", "absent", "same")
    tests = [FaultTest(Path("test_a.py"), name, ["T1"]) for name in names]
    good = Edit("data/text/lines.py", "if length > LONGEST_LINE:", "if False:")
    mutations = {
        ("test_a", "good"): [good],
        ("test_a", "twice"): [good],
        ("test_a", "empty"): [],
        ("test_a", "lost"): [good, good._replace(file="data/none.py")],
        ("test_a", "absent"): [good._replace(old="no such text"), good._replace(old="\n")],
        ("test_a", "same"): [good._replace(new=good.old)],
        ("test_b", "good"): [good],
    }
    problems = find_problems(tests, mutations)
    assert [problem.split(":")[0] for problem in problems] == [
        "test_a.twice", "test_a.missing", "test_a.empty", "test_a.lost", "test_a.absent",
        "test_a.absent", "test_a.same", "test_b.good",
    ]  # fmt: skip


INNER = """
import pytest
from faults.tally import fault

@fault("T1")
def test_with_checks(checks):
    checks(40)

@fault("T2")
@pytest.mark.parametrize("case", [1, 2])
def test_cases(case):
    pass

@fault("T2")
def test_without_checks(checks):
    for _ in ():
        checks()

@fault("C1", "T1")
def test_failing_after_checks(checks):
    checks()
    checks()
    raise AssertionError

@pytest.fixture
def broken():
    yield
    raise AssertionError

@fault("C1")
def test_with_failing_fixture(broken):
    pass

@fault("C2")
def test_skipped(checks):
    pytest.skip("nothing to read")

def test_other():
    pass
"""


def test_tally_counts_each_test_case(pytester: pytest.Pytester) -> None:
    """Each case of a test counts as one, whatever number of checks it makes."""
    pytester.makepyfile(INNER)
    pytester.makeini("[pytest]\nmarkers = fault: a row of docs/faults.md")
    result = pytester.runpytest("-p", "faults.tally")
    result.stdout.fnmatch_lines(["*no call of `checks`*"])
    lines = result.outlines
    titles = groups()
    assert f"{titles['T']}: 3 of 4" in lines
    assert f"{titles['C']}: 0 of 2" in lines
    assert summary(3, 6) in lines


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "two processes"])
def test_tally_counts_deselected_tests_separately(
    pytester: pytest.Pytester, processes: list[str]
) -> None:
    """A row whose tests are all deselected is not lost: the last line says how many tests were."""
    pytester.makepyfile(INNER)
    pytester.makeini("[pytest]\nmarkers = fault: a row of docs/faults.md")
    result = pytester.runpytest("-p", "faults.tally", *processes, "-k", "not cases and not fixture")
    lines = result.outlines
    titles = groups()
    assert f"{titles['T']}: 1 of 2" in lines
    assert f"{titles['C']}: 0 of 1" in lines
    assert summary(1, 3, deselected=3) in lines
    assert summary(1, 3, deselected=3) == f"{summary(1, 3)}; not selected: 3"


def test_tally_summary_has_no_thousands_separators() -> None:
    start = f"faults survived: 12345 of 67890; not yet: {len(waiting())}"
    assert summary(12345, 67890).startswith(start)
