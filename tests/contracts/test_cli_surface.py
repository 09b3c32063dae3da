"""Commands and options are a promise: a change shows up here, and is meant."""

from pathlib import Path

from nmt_cli.cli import docs

ROOT = Path(__file__).resolve().parents[2]


def test_cli_surface_equals_the_frozen_one() -> None:
    frozen = (ROOT / docs.SURFACE).read_text().splitlines()
    current = docs.surface().splitlines()
    gone = sorted(set(frozen) - set(current))
    new = sorted(set(current) - set(frozen))
    assert (gone, new) == ([], []), "if this is meant: `make docs`, and a line in CHANGELOG.md"
    assert current == frozen
