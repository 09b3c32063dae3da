"""docs/migration.md names only commands, options and settings of nmt that exist."""

import re
from pathlib import Path

import pytest

from nmt_cli.cli import docs
from nmt_cli.config.schema import SETTINGS

PAGE = (Path(__file__).resolve().parents[2] / "docs/migration.md").read_text(encoding="utf-8")
COLUMNS = ["", "fairseq", "OpenNMT-py", "Marian", "Sockeye", "Joey NMT", "nmt"]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
]


def test_every_row_has_all_columns() -> None:
    assert len(ROWS) > 60
    scores = ROWS[ROWS.index(["", "sacreBLEU 2 or Moses", "nmt"]) :]
    assert {len(row) for row in ROWS[: -len(scores)]} == {len(COLUMNS)}
    assert {len(row) for row in scores} == {3}


@pytest.mark.parametrize(
    "ours", [row[-1] for row in ROWS if row[-1] != "nmt"], ids=lambda cell: cell.replace("`", "")
)
def test_names_of_nmt_exist(ours: str) -> None:
    commands = list(docs.walk_commands())
    options = {
        option
        for _, command, _ in commands
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    paths = {path for path, _, _ in commands}
    names = re.findall(r"`([^`]+)`", ours)
    assert names
    for name in names:
        if name.startswith("nmt "):
            assert " ".join(name.split()[:2]) in paths
        for option in re.findall(r"--[a-z-]+", name):
            assert option in options
        if "." in name:
            assert name in SETTINGS
