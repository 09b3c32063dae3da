"""`nmt score --junit`: the scores and gates as a report that CI systems read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from nmt_cli.cli.commands.scoring.texts import TRANSLATION

if TYPE_CHECKING:
    from nmt_cli.scoring import Gate, Score

SUITE = "nmt score"
# The name where the model translates the test set: CI systems keep a history for each name.
TEST_SET = "test set"
# A report of nmt begins so; such a file is replaced by the next report.
OWN = f"<?xml version='1.0' encoding='utf-8'?>\n<testsuites name=\"{SUITE}\"".encode()
# What XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def is_own_report(path: Path) -> bool:
    """Whether `path` is a report that nmt wrote."""
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(len(OWN)) == OWN
    except OSError:
        return False


def report(
    names: Sequence[str],
    lines: int,
    results: Mapping[str, "Score"],
    gates: Sequence["Gate"],
    level: float | None,
) -> bytes:
    """The report as XML.

    names: the files of hypotheses and references; level: the significance level at which a better
    baseline is a failure, or None.
    """
    cases = [
        *(_metric_case(metric, score) for metric, score in results.items()),
        *_gate_cases(results, gates),
        *_baseline_cases(results, level),
    ]
    properties = [("hypothesis", names[0]), *(("reference", name) for name in names[1:])]
    suite_name = TEST_SET if names[0] == TRANSLATION else " ".join(names)
    return _document(suite_name, _properties([*properties, ("lines", str(lines))]), cases)


def report_of_error(files: Sequence[str], message: str) -> bytes:
    """The report as XML where there are no scores.

    files: those of hypotheses and references, none where the model translates the test set;
    message: why there are no scores.
    """
    case = _case("error", "scores are computed")
    error = Xml.SubElement(case, "error", {"message": _text(message), "type": "error"})
    error.text = _text(message)
    return _document(" ".join(files) or TEST_SET, None, [case])


def _document(name: str, properties: Xml.Element | None, cases: Sequence[Xml.Element]) -> bytes:
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
    }
    root = Xml.Element("testsuites", {"name": SUITE, **counts})
    suite = Xml.SubElement(root, "testsuite", {"name": _text(name), **counts})
    if properties is not None:
        suite.append(properties)
    suite.extend(cases)
    Xml.indent(root)
    data: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _metric_case(metric: str, score: "Score") -> Xml.Element:
    # Without the figure, so that programs that show a history know the case again.
    case = _case("metric", score.name)
    interval = [f"{bound:.4f}" for bound in score.interval or ()]
    case.append(
        _properties(
            [
                ("metric", metric),
                ("value", f"{score.value:.4f}"),
                *([("interval", " to ".join(interval))] if interval else []),
                ("signature", score.signature),
                *((f"{by}: {label}", f"{value:.4f}") for by, label, _, value in score.groups),
            ]
        )
    )
    Xml.SubElement(case, "system-out").text = _text(_figures(score))
    return case


def _gate_cases(results: Mapping[str, "Score"], gates: Sequence["Gate"]) -> Iterator[Xml.Element]:
    from nmt_cli.scoring import missed

    for gate in gates:
        score = results[gate.metric]
        case = _case("threshold", f"{score.name} at {'most' if gate.at_most else 'least'} "
                     f"{gate.bound:g}")  # fmt: skip
        _add_failure(case, "; ".join(missed(results, [gate])), score)
        yield case


def _baseline_cases(results: Mapping[str, "Score"], level: float | None) -> Iterator[Xml.Element]:
    from nmt_cli.scoring import verdict

    for metric, score in results.items():
        for comparison in score.comparisons if level is not None else ():
            case = _case("baseline", f"{score.name} not worse than {comparison.baseline}")
            worse = level is not None and verdict(metric, comparison, level) == "worse"
            message = (
                f"{score.name} {score.value:.4f} is significantly worse than {comparison.value:.4f}"
                f" of {comparison.baseline} (p = {comparison.p_value:.4f})"
            )
            _add_failure(case, message if worse else "", score)
            yield case


def _case(kind: str, name: str) -> Xml.Element:
    return Xml.Element("testcase", {"classname": f"nmt.score.{kind}", "name": _text(name)})


def _add_failure(case: Xml.Element, message: str, score: "Score") -> None:
    if message:
        failure = Xml.SubElement(case, "failure", {"message": _text(message), "type": "gate"})
        failure.text = _text(f"{message}\n{_figures(score)}")


def _figures(score: "Score") -> str:
    """The score with its signature, and its details."""
    parts = [f"{score.name} {score.value:.4f}  {score.signature}", score.details]
    return "\n".join(part for part in parts if part)


def _properties(values: Sequence[tuple[str, str]]) -> Xml.Element:
    properties = Xml.Element("properties")
    for name, value in values:
        Xml.SubElement(properties, "property", {"name": _text(name), "value": _text(value)})
    return properties


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
