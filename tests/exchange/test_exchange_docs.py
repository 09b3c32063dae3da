"""The commands of docs/exchange.md run as written, and its tables name what exists."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from exported import has_exact_int8_products, letter_lines

from nmt_cli.cli import main
from nmt_cli.exchange.formats.bergamot.engine import PACKAGE
from nmt_cli.exchange.importers import MODULES as IMPORTERS
from nmt_cli.exchange.importers import load_importer
from nmt_cli.exchange.targets import MODULES, load_target

PAGE = (Path(__file__).resolve().parents[2] / "docs/exchange.md").read_text(encoding="utf-8")


EXPORT, IMPORT = (
    [shlex.split(line, comments=True) for line in block.splitlines()]
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
)


def run_all(commands: list[list[str]]) -> None:
    for program, *arguments in commands:
        assert program == "nmt"
        assert main(arguments) == 0, arguments


def test_export_commands_of_the_page_run(
    letters_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(letters_model, "model", ignore=shutil.ignore_patterns("checkpoints"))
    Path("test.en").write_text("".join(f"{line}\n" for line in letter_lines(5)))
    assert len(EXPORT) == 6
    commands = [command for command in EXPORT if "int8" not in command or has_exact_int8_products()]
    run_all(commands)


def test_import_commands_of_the_page_run(
    opus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("opus-mt-en-de").symlink_to(opus)
    Path("text.en").write_text(">>vow<< bado kelim\n>>abj<< jum\n")
    assert len(IMPORT) == 2
    run_all(IMPORT)
    assert len(Path("text.de").read_text().splitlines()) == 2


def test_table_of_the_page_lists_every_format() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(.* install .*)` \| (.*) \|$", PAGE, re.MULTILINE)
    targets = {name: load_target(name) for name in MODULES}
    assert rows == [
        (
            name,
            f"pip install -c constraints.txt '.[{target.extra}]'"
            if target.libraries
            else f"npm install {PACKAGE}",
            ", ".join(target.precisions),
        )
        for name, target in targets.items()
    ]
    command = "pip install -c constraints.txt"
    rows = re.findall(rf"^\| `(\w+)` \| .* \| `{command} '(.*)'` \|$", PAGE, re.MULTILINE)
    importers = {name: load_importer(name) for name in IMPORTERS}
    assert dict(rows) == {
        name: f".[{importer.extra}]" for name, importer in importers.items() if importer.libraries
    }
    for name in IMPORTERS:
        assert f"\n| `{name}` | " in PAGE
