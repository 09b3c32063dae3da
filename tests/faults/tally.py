"""The count of faults survived: tests say which row of docs/faults.md they are of.

A row is tested by what is marked with it::

    @fault("C2")
    def test_a_power_cut(checks): ...

mutations.toml has, by the name of the test, the edits of nmt_cli that take the defence away. The
test fails then, as `python tests/faults/undefended.py` shows for all of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "faults.md"
ROW = re.compile(r"\| ([A-Z]\d+) \| (.+?) \| (.+?) \|")
NOT_YET = "not yet: "


def fault(*rows: str) -> pytest.MarkDecorator:
    """Mark a test as one of these rows, the first of which it is counted for."""
    return pytest.mark.fault(*rows)


def table() -> dict[str, str]:
    """What docs/faults.md says that nmt does, by row."""
    return {match[1]: match[3] for match in ROW.finditer(TABLE.read_text())}


def waiting() -> dict[str, str]:
    """The rows that nothing is built for yet, and what each waits for."""
    return {
        row: text.removeprefix(NOT_YET) for row, text in table().items() if text.startswith(NOT_YET)
    }


@pytest.fixture
def checks(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Call it for each single check that holds: a test that asks for it and never does fails.

    A loop over nothing would pass otherwise.
    """
    done = [0]

    def count(number: int = 1) -> None:
        done[0] += number

    request.node.stash[_CHECKS] = done
    return count


_CHECKS = pytest.StashKey[list[int]]()
_DESELECTED = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Let a test fail that should have checked something and came to its end without a check."""
    result = yield
    if item.stash.get(_CHECKS, None) == [0]:
        pytest.fail("no call of `checks`: the loops of this test had no turns", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Any:
    """Let the reports of a test of a fault carry its row."""
    report = yield
    if mark := item.get_closest_marker("fault"):
        report.user_properties.append(("fault", mark.args[0]))
    return report


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count the tests of faults that are not run because they are not selected, as slow ones."""
    for item in items:
        if item.get_closest_marker("fault"):
            stash = item.config.stash
            stash[_DESELECTED] = stash.get(_DESELECTED, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the count of deselected tests from a worker of xdist to the process that reports."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["faults_deselected"] = session.config.stash.get(_DESELECTED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of a worker of xdist: each worker collects, and deselects, all the tests."""
    count = getattr(node, "workeroutput", {}).get("faults_deselected", 0)
    stash = node.config.stash
    stash[_DESELECTED] = max(count, stash.get(_DESELECTED, 0))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many tests passed of those that ran, in each group and in all."""
    passed: dict[tuple[str, str], bool] = {}
    # An error may come behind a test that passed: it is the last word.
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, row in getattr(report, "user_properties", ()):
                if name == "fault":
                    group = row.rstrip("0123456789")
                    passed[group, report.nodeid] = outcome == "passed"
    if not passed:
        return
    tried = Counter(group for group, _ in passed)
    survived = Counter(group for (group, _), held in passed.items() if held)
    titles = groups()
    terminalreporter.section("faults")
    for group, count in tried.items():
        terminalreporter.line(f"{titles[group]}: {survived[group]} of {count}")
    deselected = terminalreporter.config.stash.get(_DESELECTED, 0)
    terminalreporter.line(summary(survived.total(), tried.total(), deselected))


def summary(survived: int, tried: int, deselected: int = 0) -> str:
    """The figure, how many tests were not selected, and what the rows not built yet wait for."""
    left: dict[str, list[str]] = {}
    for row, reason in waiting().items():
        left.setdefault(reason, []).append(row)
    rest = "; ".join(f"{' '.join(rows)}: {reason}" for reason, rows in left.items())
    line = f"faults survived: {survived} of {tried}; not yet: {len(waiting())}"
    if rest:
        line += f" ({rest})"
    return f"{line}; not selected: {deselected}" if deselected else line


def groups() -> dict[str, str]:
    """The headings of docs/faults.md by the letter of their rows."""
    result, title = {}, ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif match := ROW.match(line):
            result.setdefault(match[1].rstrip("0123456789"), title)
    return result
