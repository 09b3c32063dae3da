"""action.yml: its steps run, install what scoring imports, and exit as `nmt score` does."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INSTALL, SCORE = ACTION["runs"]["steps"]
PACKAGES = INSTALL["run"].split('constraints.txt"')[1].replace("\\\n", " ").split()
# Runs `nmt score` on the arguments, then names the packages of all modules that were imported.
IMPORTED = """
import importlib.metadata, sys
from nmt_cli.cli import main
main(["score", *sys.argv[1:]])
names = importlib.metadata.packages_distributions()
tops = {module.partition(".")[0] for module in sys.modules}
print(*sorted({name for top in tops for name in names.get(top, ())}), file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hyp file.txt").write_text("Das Haus ist alt.\n")
    (tmp_path / "ref.txt").write_text("Das Haus ist neu.\n")
    (tmp_path / "*.txt").write_text("Ein Name mit Stern.\n")


def closure(names: list[str]) -> set[str]:
    """The installed packages that these need, with their names as metadata spells them."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found.add(name)
        wanted = map(Requirement, importlib.metadata.requires(name) or ())
        waiting += [
            each.name
            for each in wanted
            if each.marker is None or each.marker.evaluate({"extra": ""})
        ]
    return found


def test_the_installed_packages_are_all_that_scoring_imports() -> None:
    assert PACKAGES == ["rich", "sacrebleu", "sacremoses", "typer"]
    options = [
        "hyp file.txt", "ref.txt", "--metric", "bleu,chrf,ter", "--paper", "--tgt-lang", "de",
        "--worst", "1", "--by", "length", "--confidence", "--junit", "score.xml",
    ]  # fmt: skip
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED, *options], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    imported = {
        re.sub(r"[-_.]+", "-", name).lower() for name in result.stderr.splitlines()[-1].split()
    }
    assert {"sacrebleu", "sacremoses", "numpy", "rich"} <= imported
    assert imported - {"nmt-cli", "pip", "setuptools"} <= closure(PACKAGES)


@pytest.mark.parametrize(("version", "code"), [("3.10.12", 69), ("3.11.0", 0)])
def test_an_old_python_is_named(version: str, code: int) -> None:
    """Before pip, whose error would be about a package; the Python here only tells its version."""
    parts = tuple(map(int, version.split(".")))
    python = Path("python")
    python.write_text(
        f"""#!{sys.executable}
import sys
if sys.argv[1] == "--version":
    print("Python {version}")
elif sys.argv[1] == "-c":
    sys.version_info = {parts}
    exec(sys.argv[2])
else:
    open("installed", "w").close()
"""
    )
    python.chmod(0o755)
    result = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", INSTALL["run"]],
        env={"PATH": os.environ["PATH"], "PYTHON": "./python", "RUNNER_TEMP": ".",
             "GITHUB_ACTION_PATH": str(ROOT)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == code
    assert Path("installed").exists() == (code == 0)
    assert ("needs Python 3.11 or later, and ./python is Python 3.10.12" in result.stdout) == bool(
        code
    )


def run_score(**inputs: str) -> tuple[int, dict[str, str]]:
    names = {"HYPOTHESIS", "REFERENCES", "OPTIONS", "JUNIT", "PYTHON"}
    assert set(SCORE["env"]) == names
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    environment = {
        "PATH": os.environ["PATH"], "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": ".",
        "PYTHON": sys.executable, "GITHUB_ACTIONS": "true",
        **dict.fromkeys(names - {"PYTHON"}, ""), **files, **inputs,
    }  # fmt: skip
    result = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", SCORE["run"]],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    texts = {name: Path(file).read_text() for name, file in files.items()}
    return result.returncode, {"out": result.stdout, "err": result.stderr, **texts}


def test_the_step_scores_and_writes_summary_output_and_report() -> None:
    code, texts = run_score(
        HYPOTHESIS="hyp file.txt", REFERENCES="ref.txt ref.txt", OPTIONS="--metric chrf --worst 1",
        JUNIT="the report.xml",
    )  # fmt: skip
    assert code == 0
    assert texts["err"].startswith("`hyp file.txt` is scored by 2 references together: ")
    assert texts["out"].startswith("chrF2 ")
    assert "nrefs:2" in texts["out"]
    assert texts["GITHUB_STEP_SUMMARY"] == f"### nmt score\n```\n{texts['out']}```\n"
    report = texts["GITHUB_OUTPUT"].strip().removeprefix("report=")
    assert Path(report).read_text() == texts["out"]
    assert Xml.parse("the report.xml").getroot().get("tests") == "1"


def test_the_step_fails_with_the_gate_and_annotates() -> None:
    code, texts = run_score(
        HYPOTHESIS="hyp file.txt", REFERENCES="ref.txt", OPTIONS="--min-bleu 99 -q"
    )
    assert code == 3
    assert "::error title=nmt score::hyp file.txt: BLEU" in texts["err"]
    assert "BLEU" in texts["GITHUB_STEP_SUMMARY"]
    # Nothing of the inputs is read as a pattern or a command.
    code, texts = run_score(HYPOTHESIS="ref.txt", REFERENCES="*.txt $(touch ran)", OPTIONS="")
    assert code == 66
    assert "`*.txt`" not in texts["err"]
    assert "`$(touch`" in texts["err"]
    assert not Path("ran").exists()
