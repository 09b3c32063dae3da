"""What is around `nmt`: homes, temporary folders, terminals, locales, other Pythons."""

import ast
import fcntl
import os
import pty
import struct
import sys
import tempfile
import termios
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

import pytest
from corpora import reversal_corpus
from faults.support.forked import become_nmt, ended, forked, start
from faults.tally import ROOT, fault

from nmt_cli.cli import main
from nmt_cli.config.schema import dump
from nmt_cli.extras.doctor import TORCH_VERSIONS


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project file with absolute paths to its text."""
    folder = tmp_path_factory.mktemp("environment")
    config, _ = reversal_corpus(folder, pairs=100, train_validation_sentences=2)
    (folder / "nmt.toml").write_text(dump(config))
    return folder


@pytest.fixture
def own_process() -> Iterator[None]:
    """The current directory is the same again after the test."""
    here = Path.cwd()
    yield
    os.chdir(here)


def whole_road(project: Path, out: Path, checks: Callable[..., None]) -> None:
    """Every command from text files to a score, each with the paths of all that it needs."""
    corpus, model, text = str(out / "corpus"), str(out / "model"), str(out / "text")
    config = ["--config", str(project / "nmt.toml")]
    commands = [
        ["prepare", *config, "--out", corpus],
        ["train", *config, "--corpus", corpus, "--out", model, "--max-steps", "2"],
        ["translate", str(project / "valid.src"), "--model", model, "-o", text],
        ["score", text, str(project / "valid.tgt")],
        ["config", "show", *config],
    ]
    for command in commands:
        assert main(command) == 0, command
        checks()


def without_home(patch: pytest.MonkeyPatch) -> None:
    patch.delenv("HOME")
    patch.setattr("pwd.getpwuid", lambda user: (_ for _ in ()).throw(KeyError(user)))


HOMES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "no HOME and no account": without_home,
    "no such HOME": lambda patch: patch.setenv("HOME", "/nonexistent/home"),
    "a HOME that is read-only": lambda patch: patch.setenv("HOME", "/proc/sys"),
    "a cache that is read-only": lambda patch: patch.setenv("XDG_CACHE_HOME", "/proc/sys"),
    "a cache that is a file": lambda patch: patch.setenv("XDG_CACHE_HOME", "/dev/null"),
    "a relative cache": lambda patch: patch.setenv("XDG_CACHE_HOME", "somewhere"),
}


@fault("E1")
@pytest.mark.parametrize("home", HOMES)
def test_commands_work_with_any_home_directory(
    project, tmp_path, monkeypatch, own_process, home, checks
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    HOMES[home](monkeypatch)
    (tmp_path / "out").mkdir()
    whole_road(project, tmp_path / "out", checks)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@fault("E1")
def test_commands_work_in_a_deleted_current_directory(
    project, tmp_path, own_process, capsys, checks
):
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    whole_road(project, tmp_path, checks)
    # What is relative to it is not there, and that is said.
    assert main(["score", "hypotheses", "reference"]) == 66
    err = capsys.readouterr().err
    assert "`hypotheses`" in err
    assert "the current directory is `(deleted)`" in err


@fault("E1")
def test_missing_temporary_folder_is_one_error_with_hint(
    project, tmp_path, monkeypatch, own_process, capsys
):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/sys"])

    def wants_one(*_, **__) -> NoReturn:
        tempfile.gettempdir()
        raise AssertionError

    monkeypatch.setattr("nmt_cli.cli.settings.resolve_settings", wants_one)
    assert main(["train", "--config", str(project / "nmt.toml")]) == 74
    err = capsys.readouterr().err
    assert "error: there is no folder for temporary files" in err
    assert "set TMPDIR" in err


@fault("E1")
def test_training_and_translating_work_without_temporary_folder(
    project, tmp_path, monkeypatch, own_process, checks
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/sys"])
    whole_road(project, tmp_path, checks)


def on_terminal_of(columns: int, *arguments: str, **variables: str) -> tuple[int, bytes]:
    """Exit code, and what `nmt` writes on a terminal of so many columns."""
    other, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def work() -> NoReturn:
        for name in ("NO_COLOR", "CI", "FORCE_COLOR", "COLUMNS"):
            os.environ.pop(name, None)
        os.close(other)
        become_nmt(arguments, (terminal,) * 3, environ={"TERM": "xterm", **variables})

    process = start(work)
    os.close(terminal)
    said = b""
    with suppress(OSError):
        while chunk := os.read(other, 1 << 16):
            said += chunk
    os.close(other)
    return ended(process), said


@fault("E4")
def test_dumb_terminal_gets_no_escape_sequences(project, tmp_path, checks):
    train = ["train", "--config", str(project / "nmt.toml"), "--corpus", str(project / "corpus")]
    for index, command in enumerate([[*train, "--max-steps", "3"], ["doctor"], ["config", "show"]]):
        command += ["--out", str(tmp_path / str(index))] if command[0] == "train" else []
        code, output = on_terminal_of(80, *command, TERM="dumb")
        assert code == 0, output
        assert output
        assert b"\x1b" not in output
        assert b"\r" not in output.replace(b"\r\n", b"")
        checks()


@fault("E4")
def test_no_color_variable_disables_colour(checks):
    colored = b"\x1b[31m"
    assert colored in on_terminal_of(80, "trian")[1]
    for value in ("1", "yes"):
        code, output = on_terminal_of(80, "trian", NO_COLOR=value)
        assert code == 2
        assert b"error:" in output
        assert b"\x1b" not in output
        checks()


@fault("E4")
@pytest.mark.parametrize("columns", [1, 20, 40])
def test_output_fits_narrow_terminals(project, tmp_path, columns, checks):
    """A bar that fits, tables that are wrapped, errors that are whole."""
    train = ["train", "--config", str(project / "nmt.toml"), "--corpus", str(project / "corpus")]
    train += ["--max-steps", "4", "--set", "train.log_every=1"]
    code, output = on_terminal_of(columns, *train, "--out", str(tmp_path / "m"))
    assert code == 0, output
    assert b"finished: 4 steps are done" in output
    checks()
    for command in (["doctor"], ["--help"], ["train", "--help"]):
        code, output = on_terminal_of(columns, *command)
        assert code == 0, output
        assert b"Traceback" not in output
        checks()


@fault("E4")
def test_output_without_terminal_has_plain_lines_only(project, tmp_path, checks):
    train = ["train", "--config", str(project / "nmt.toml"), "--corpus", str(project / "corpus")]
    for command in ([*train, "--max-steps", "3", "--out", str(tmp_path / "m")], ["trian"]):
        done = forked(*command, environ={"TERM": "xterm-256color"})
        assert b"\x1b" not in done.out + done.err
        assert b"\r" not in done.out + done.err
        checks()


LOCALES = {
    "C": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"},
    "German": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "Latin-1": {"LC_ALL": "de_DE.ISO-8859-1", "PYTHONIOENCODING": "latin-1"},
    "cp1252": {"PYTHONIOENCODING": "cp1252:strict"},
    "unknown": {"LC_ALL": "xx_YY.nonsense"},
}


@fault("E4")
def test_output_does_not_depend_on_the_locale(project, tmp_path, checks):
    """Words of German and Turkish, in paths too; set even where the machine lacks the locale."""
    model = tmp_path / "modèle-Iİıi"
    train = ["train", "--config", str(project / "nmt.toml"), "--corpus", str(project / "corpus")]
    assert forked(*train, "--out", str(model), "--max-steps", "2").code == 0
    text = "I İ ı i ß ẞ 1,5 a b c\nh g f e\n".encode()
    expected = forked("translate", "--json", "--model", str(model), stdin=text)
    assert expected.code == 0
    assert "İ ı".encode() in expected.out
    encodings = {"Latin-1": "latin-1", "cp1252": "cp1252", "C": "ascii"}
    for name, variables in LOCALES.items():
        done = forked(
            "translate", "--json", "--model", str(model), stdin=text, environ=variables,
            encoding=encodings.get(name, "utf-8"),
        )  # fmt: skip
        assert (done.code, done.out) == (0, expected.out), name
        checks()


@fault("E4")
def test_number_format_and_case_do_not_depend_on_the_locale(project, checks):
    """Python's own rules: the Turkish i has no part in `str.lower`, nor a comma in `float`."""
    for name in ("C", "de_DE.UTF-8", "tr_TR.UTF-8"):
        done = forked(
            "config", "show", "--config", str(project / "nmt.toml"),
            environ={"LC_ALL": name, "LC_NUMERIC": name, "LC_CTYPE": name},
        )  # fmt: skip
        assert done.code == 0
        assert b"dropout = 0.1" in done.out
        assert "TITLE".lower() == "title"
        checks()


@fault("E5")
def test_the_sources_are_python_3_11():
    """Newer grammar would fail on the oldest Python that we name, whichever one tests."""
    for path in sorted((ROOT / "nmt_cli").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 11))
        newer = [node for node in ast.walk(tree) if type(node).__name__ in ("TypeAlias", "TypeVar")]
        assert not newer, path


@fault("E5")
def test_installed_packages_are_within_declared_versions(checks):
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert sys.version_info >= (3, 11)
    for text in project["dependencies"]:
        required = Requirement(text)
        assert version(required.name) in required.specifier, text
        checks()
    (bounds,) = [
        Requirement(requirement).specifier
        for requirement in project["dependencies"]
        if "torch" in requirement
    ]
    low, high = (".".join(map(str, version)) for version in TORCH_VERSIONS)
    assert str(bounds) in (f">={low},<{high}", f"<{high},>={low}")
    checks()
