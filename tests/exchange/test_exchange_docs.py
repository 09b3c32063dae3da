"""The commands of docs/exchange.md run as written, and its tables name what exists."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from exported import letter_lines

from nmt_cli.cli import main
from nmt_cli.exchange.targets import MODULES, load_target

PAGE = (Path(__file__).resolve().parents[2] / "docs/exchange.md").read_text(encoding="utf-8")


def test_commands_of_the_page_run(
    letters_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(letters_model, "model", ignore=shutil.ignore_patterns("checkpoints"))
    Path("test.en").write_text("".join(f"{line}\n" for line in letter_lines(5)))
    [block] = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(commands) == 5
    for program, *arguments in commands:
        assert program == "nmt"
        assert main(arguments) == 0, arguments


def test_table_of_the_page_lists_every_format() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| `pip install '(.*)'` \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [
        (name, f"nmt-cli[{load_target(name).extra}]", ", ".join(load_target(name).precisions))
        for name in MODULES
    ]
