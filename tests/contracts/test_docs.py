"""The generated documents say what the commands say."""

from pathlib import Path

from nmt_cli.cli import docs

ROOT = Path(__file__).resolve().parents[2]


def test_the_guide_of_the_command_line_is_current() -> None:
    assert (ROOT / docs.GUIDE).read_text() == docs.guide(), "run `make docs`"


def test_every_help_leads_with_examples() -> None:
    for path, command, context in docs.walk_commands():
        if path == "nmt config":
            continue
        text = command.get_help(context)
        assert 0 < text.find("Examples:") < text.find("Options:"), path


def test_the_first_help_fits_a_small_terminal() -> None:
    path, command, context = next(docs.walk_commands())
    lines = command.get_help(context).splitlines()
    assert path == "nmt"
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_every_option_is_explained() -> None:
    mute = [
        f"{path} {parameter.name}"
        for path, command, _ in docs.walk_commands()
        for parameter in command.params
        if not getattr(parameter, "help", None)
    ]
    assert mute == []


def test_docs_are_written_where_they_are_compared(tmp_path: Path) -> None:
    docs.main(tmp_path)
    assert (tmp_path / docs.GUIDE).read_text() == docs.guide()
    assert (tmp_path / docs.SURFACE).read_text() == docs.surface()
