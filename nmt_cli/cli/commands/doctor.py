"""`nmt doctor`: check this machine and say what to fix."""

import os
import sys
from pathlib import Path

import typer

from nmt_cli.cli.environment import make_console
from nmt_cli.cli.options.declarations import AsJson

EXAMPLES = """
nmt doctor
nmt doctor --json > report.json    for a bug report
"""
_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


def command(as_json: AsJson = False) -> None:
    """Check whether this machine has all that nmt needs, and suggest fixes.

    The exit code is 1 if a check failed, else 0.
    """
    from nmt_cli.extras.doctor import examine, versions
    from nmt_cli.machine import cache_folder

    checks = examine(os.environ, Path(), cache_folder())
    if as_json:
        import json

        listed = [check._asdict() for check in checks]
        report = {"schema": 1, "versions": versions(), "checks": listed}
        sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")
    else:
        console = make_console(sys.stdout)
        console.table([(check.status, check.name, check.found) for check in checks], styles=_COLORS)
        for check in checks:
            if check.fix:
                console.plain(f"{check.status}: {check.name}: {check.fix}")
    if any(check.status == "fail" for check in checks):
        raise typer.Exit(1)
