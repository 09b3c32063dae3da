"""SECURITY.md: its table of dependencies is the package's own, its links and names are there."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text()
ROW = re.compile(r"^\| ([\w.-]+) \| (.+?) \| ([\w. -]+) \|$", re.MULTILINE)
# What packages write that do not say it in SPDX's words.
SAID = {
    "OSI Approved :: MIT License": "MIT", "OSI Approved :: Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause", "Apache 2.0 License": "Apache-2.0",
}  # fmt: skip
# Their metadata name none; the licence file of the package or of its sources does.
BY_HAND = {"pymarian": "MIT", "resvg-py": "MIT"}


def rows() -> dict[str, str]:
    """The licence of each package of the table."""
    return {name: licence for name, _, licence in ROW.findall(TEXT) if name != "package"}


def required() -> list[str]:
    """The packages that pyproject.toml names, its own left out."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = document["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    wanted += document["build-system"]["requires"]
    names = [re.match(r"[\w.-]+", requirement)[0] for requirement in wanted]  # type: ignore[index]
    return [name for name in names if name != project["name"]]


def declared(name: str) -> str:
    """All that the installed package says about its licence."""
    result = metadata(name)
    classifiers = [
        classifier
        for classifier in result.get_all("Classifier") or []
        if classifier.startswith("License ::")
    ]
    licences = [result.get("License-Expression") or "", (result.get("License") or "")[:80],
            *(classifier.removeprefix("License :: ") for classifier in classifiers)]  # fmt: skip
    return " ".join(
        [*licences, *(SAID[classifier] for classifier in licences if classifier in SAID)]
    )


def test_security_table_lists_the_dependencies_of_pyproject() -> None:
    assert sorted(rows()) == sorted(required())


@pytest.mark.parametrize("name", sorted(set(required())))
def test_security_table_has_the_licences_of_the_packages(name: str) -> None:
    try:
        licence = declared(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed: an extra")
    wanted = rows()[name]
    if name in BY_HAND:
        assert (wanted, licence.strip()) == (BY_HAND[name], "")
        return
    words = set(re.findall(r"[\w.-]+", licence))
    for word in wanted.split(" AND "):
        assert word in words, licence


def test_files_named_in_security_page_exist() -> None:
    for link in re.findall(r"\]\(([\w/.-]+)\)", TEXT):
        assert (ROOT / link).is_file(), link
    assert (ROOT / "tests" / "faults" / "fuzz.py").is_file()
    titles = re.findall(r"^## (.+)$", (ROOT / "docs" / "faults.md").read_text(), re.MULTILINE)
    for title in ("Hostile models", "Text", "Streams and files"):
        assert f"*{title}*" in TEXT
        assert title in titles
    assert "sentencepiece>=0.2.2" in (ROOT / "pyproject.toml").read_text()
