"""Check with auditwheel that wheels run on each system that their tag names.

    pip install -e '.[dev]'
    python wheels/check.py dist/*.whl

The exit code is 1 if a wheel promises more than its libraries keep.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def faults(name: str, report: Mapping[str, Any]) -> list[str]:
    """What forbids the tag of a wheel; report: what `auditwheel show --json` has found in it."""
    promised = re.search(r"-manylinux_(\d+)_(\d+)_(\w+)\.whl$", name)
    if promised is None:
        return ["its name has no manylinux tag"]
    found = []
    if not report["overall_tag"].startswith("manylinux_"):
        found.append(f"its libraries are those of {report['overall_tag']}")
    elif not report["overall_tag"].endswith(f"_{promised[3]}"):
        found.append(f"its libraries are for {report['overall_tag']}")
    if report["external_libs"]:
        found.append(f"it needs libraries beside it: {', '.join(sorted(report['external_libs']))}")
    if report["unsupported_isa"]:
        found.append("it needs instructions that older processors lack")
    oldest = int(promised[1]), int(promised[2])
    for library, symbols in report["versioned_symbols"].items():
        for symbol in symbols:
            version = re.match(r"GLIBC_(\d+)\.(\d+)", symbol)
            if version is not None and (int(version[1]), int(version[2])) > oldest:
                found.append(f"it needs {symbol} of {library}")
    return found


def audited(wheel: Path) -> dict[str, Any]:
    """What auditwheel finds in a wheel; raises CalledProcessError where it cannot read it."""
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    report: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True).stdout
    )
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", type=Path, nargs="+", metavar="WHEEL")
    failed = 0
    for wheel in parser.parse_args(arguments).wheels:
        try:
            found = faults(wheel.name, audited(wheel))
        except subprocess.CalledProcessError as error:
            found = [error.stderr.decode().strip()]
        print(f"{wheel.name}: {'; '.join(found) or 'runs on the systems of its tag'}")
        failed |= bool(found)
    return failed


if __name__ == "__main__":
    sys.exit(main())
