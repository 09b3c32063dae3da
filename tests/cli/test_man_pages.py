"""The man pages: one for each command, current, with all options, and valid roff."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import docs

ROOT = Path(__file__).resolve().parents[2]
PAGES = docs.man_pages()
# Requests and macros that the pages use; a text line never begins with a dot.
REQUESTS = {".TH", ".SH", ".SS", ".B", ".BR", ".TP", ".PP", ".nf", ".fi"}


def test_man_pages_are_current() -> None:
    committed = {docs.MAN_PAGES / path.name for path in (ROOT / docs.MAN_PAGES).iterdir()}
    assert committed == set(PAGES), "run `make docs`"
    for path, text in PAGES.items():
        assert (ROOT / path).read_text("utf-8") == text, "run `make docs`"


def test_old_man_pages_are_removed(tmp_path: Path) -> None:
    old = tmp_path / docs.MAN_PAGES / "nmt-gone.1"
    old.parent.mkdir(parents=True)
    old.write_text("")
    docs.main(tmp_path)
    assert not old.exists()
    assert {docs.MAN_PAGES / path.name for path in old.parent.iterdir()} == set(PAGES)


def test_man_pages_have_every_option_and_no_foreign_request() -> None:
    for path, command, _ in docs.walk_commands():
        text = PAGES[docs.MAN_PAGES / f"{path.replace(' ', '-')}.1"]
        shown = text.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
        for parameter in command.params:
            if not getattr(parameter, "hidden", False):
                for name in parameter.opts if parameter.param_type_name == "option" else ():
                    assert re.search(rf"{re.escape(name)}(?![\w-])", shown), (path, name)
        first_words = {line.split()[0] for line in text.splitlines() if line[:1] in (".", "'")}
        assert first_words <= REQUESTS, path
        title = path.upper().replace(" ", "\\-")
        assert text.startswith(f'.TH {title} 1 "" "nmt ')


def test_a_text_cannot_become_a_request() -> None:
    from nmt_cli.cli.man_pages import _marked

    assert _marked(".srt files, FILE") == "\\&.srt files, \\fIFILE\\fR"
    assert _marked("'a\\b' -x") == "\\&'a\\eb' \\-x"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_reads_the_pages_without_a_warning() -> None:
    paths = [str(ROOT / path) for path in PAGES]
    result = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", "-z", *paths], capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
