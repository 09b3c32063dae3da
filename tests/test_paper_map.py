"""docs/paper.md names what there is: files, functions, tests, settings, commands, figures."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import SETTINGS, SettingsLayer, flatten, resolve
from nmt_cli.config.values import convert

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "paper.md"
TEXT = PAGE.read_text("utf-8")
SURFACE = (ROOT / "tests" / "contracts" / "cli_surface.txt").read_text("utf-8").splitlines()

SECTIONS = [
    *("3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5.1", "5.2", "5.3", "5.4"),
    *("6.1", "6.2", "6.3", "Figures"),
]
# A link, and behind a colon the names to look for in the file.
NAMES = r"`[^`]+`(?:,\s`[^`]+`)*"
LINK = re.compile(rf"\[[^\]]+\]\(([^)\s]+)\)(?::\s({NAMES}))?")
SPAN = re.compile(r"`([^`]+)`")
SECTIONS_OF_SETTINGS = "|".join(sorted({key.split(".")[0] for key in SETTINGS}))
SETTING = re.compile(rf"\b(?:{SECTIONS_OF_SETTINGS})\.[a-z_0-9]+(?:=\S+)?")


def links() -> list[tuple[str, list[str]]]:
    return [(target, SPAN.findall(names)) for target, names in LINK.findall(TEXT)]


def spans() -> list[str]:
    """What stands between backticks; quotes and all."""
    return [" ".join(value.split()) for value in SPAN.findall(TEXT)]


def defined_in(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Functions, classes with their members, and names with a value."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from defined_in(node.body, f"{prefix}{node.name}.")
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    return frozenset(defined_in(ast.parse(path.read_text("utf-8")).body))


def sections() -> dict[str, str]:
    """Each heading's first word, and the text under it."""
    parts = re.split(r"^#+ (.+)$", TEXT, flags=re.MULTILINE)
    return {title.split()[0]: text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    lines = TEXT.split(f"\n{heading}\n")[1].splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("|"))
    table = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def test_links_of_paper_map_exist() -> None:
    headings = re.findall(r"^#+ (.+)$", TEXT, flags=re.MULTILINE)
    anchors = {
        "#" + re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings
    }
    missing = []
    for target, _ in links():
        if target.startswith("#"):
            missing += [target] if target not in anchors else []
        # tests/contracts/test_docs.py checks the headings of other pages.
        elif not target.startswith("https://"):
            path = PAGE.parent / target.partition("#")[0]
            missing += [target] if not path.is_file() else []
    assert missing == []


def test_functions_and_tests_named_in_paper_map_exist() -> None:
    code = [(target, names) for target, names in links() if target.endswith(".py")]
    assert len(code) > 50
    assert [target for target, names in code if not names] == []
    wrong = [
        f"{target}: {name}"
        for target, names in code
        for name in names
        if name not in names_in((PAGE.parent / target).resolve())
    ]
    assert wrong == []


def test_tests_named_in_paper_map_are_collected() -> None:
    wrong = [
        f"{target}: {name}"
        for target, names in links()
        for name in names
        if "/tests/" in target and not name.split(".")[-1].startswith("test_")
    ]
    assert wrong == []


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_of_paper_map_names_code_and_a_test(section: str) -> None:
    targets = [target for target, _ in LINK.findall(sections()[section])]
    assert any(target.startswith("../nmt_cli/") for target in targets)
    assert any(target.startswith("../tests/") for target in targets)


def test_settings_named_in_paper_map_exist() -> None:
    named = [value for span in spans() for value in SETTING.findall(span)]
    assert len(named) > 50
    for entry in named:
        key, _, value = entry.partition("=")
        assert key in SETTINGS, entry
        if value:
            resolve([SettingsLayer("docs/paper.md", {key: value})])


@pytest.mark.parametrize(("column", "preset"), [(2, "base"), (3, "big")])
def test_presets_have_the_figures_of_the_paper(column: int, preset: str) -> None:
    chosen = flatten(resolve([SettingsLayer("docs/paper.md", {"train.preset": preset})]).config)
    table = rows("## The paper's numbers as settings")
    assert len(table) > 20
    for row in table:
        key = row[1].strip("`")
        assert convert(SETTINGS[key], row[column]) == chosen[key], key


def test_variations_differ_from_base_in_the_named_settings() -> None:
    base = flatten(resolve([]).config)
    named = [row[1].strip("`") for row in rows("### 6.2 Variations: Table 3")][1:]
    assert len(named) == len(set(named)) == 19
    for entry in named:
        key, value = entry.split("=")
        assert convert(SETTINGS[key], value) != base[key], entry


def test_commands_and_options_named_in_paper_map_exist() -> None:
    commands = {line for line in SURFACE if re.fullmatch(r"nmt[a-z ]*", line)}
    called = [span.split() for span in spans() if span.startswith("nmt ")]
    assert len(called) > 5
    for words in called:
        command = " ".join(words[:2])
        assert command in commands, command
        known = {
            word for line in SURFACE if line.startswith(f"{command} ") for word in line.split()
        }
        flat = {value for word in known for value in word.split("/")}
        assert {word for word in words if word.startswith("--")} <= flat, words
        assert "--preset" not in words or words[words.index("--preset") + 1] in PRESETS, words
