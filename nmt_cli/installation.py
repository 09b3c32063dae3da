"""What is installed: torch, nmt itself, and the command that installs an optional library."""

import contextlib
import importlib.util
import json
import shlex
import sys
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path

from nmt_cli.errors import UnavailableError

PACKAGE = "nmt-cli"
# The same package without torch, for translating and scoring.
RUNTIME = "nmt-cli-runtime"
PIPX = "pipx install --force"
# They have the same files: removing one after the other was installed would remove those.
WITH_TORCH = f"install {PACKAGE}: pip install . (in a clone of nmt)"
WITH_TORCH_INSTEAD = f"pip uninstall {RUNTIME}, and {WITH_TORCH}"


def _this_file() -> tuple[int, int] | None:
    """What tells this file from one that was installed in its place; None where it is missing."""
    try:
        status = Path(__file__).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


_FILE_AT_START = _this_file()


class _Listener:
    """tell: gets a line before torch is imported for a feature; None: nobody is told."""

    tell: Callable[[str], None] | None = None
    told: frozenset[str] = frozenset()


def tell_of_torch(tell: Callable[[str], None]) -> None:
    """Give a line to `tell` whenever torch is about to be imported for a feature."""
    _Listener.tell, _Listener.told = tell, frozenset()


def announce_torch(
    feature: str, reason: str = "which the CPU kernels of nmt do not compute"
) -> None:
    """Tell which feature torch is imported for, and why.

    Nothing is said where torch is imported already. Where it is not installed, NumPy computes it.
    """
    if _Listener.tell is None or "torch" in sys.modules or feature in _Listener.told:
        return
    _Listener.told |= {feature}
    if has_torch():
        _Listener.tell(f"loading PyTorch for {feature}, {reason}")
    else:
        _Listener.tell(f"PyTorch is not installed, so NumPy computes {feature}")


def was_changed(error: BaseException) -> bool:
    """Whether `error` may come from files of nmt that were changed since this process began.

    They are if nmt was installed again; a module that is missing was removed, or renamed.
    """
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == __package__:
        return True
    return _this_file() != _FILE_AT_START


def has_torch() -> bool:
    """Whether torch is installed; does not import it."""
    try:
        return importlib.util.find_spec("torch") is not None
    except ImportError:
        return False


def require_torch(what: str) -> None:
    """Raise UnavailableError unless torch is installed; what: what needs it."""
    if not has_torch():
        raise without_torch(what)


def is_runtime() -> bool:
    """Whether the package without torch is the one that is installed."""
    return _installed()[0] == RUNTIME


def without_torch(what: str) -> UnavailableError:
    """The error for what needs torch where it is not installed."""
    hint = WITH_TORCH_INSTEAD if is_runtime() else WITH_TORCH
    return UnavailableError(f"{what} needs torch, which is not installed", hint)


def install_command(extra: str) -> str:
    """The command that installs the libraries of an extra, such as `zstd`.

    A clone of nmt that is installed with `pip install .` or `pip install -e .` is named.
    """
    package, record = _installed()
    return command_for(record, extra, package, _installer(sys.prefix))


def provided_extras() -> Sequence[str]:
    """The extras of the package that is installed; none if nmt runs without being installed."""
    from importlib.metadata import PackageNotFoundError, metadata

    for name in (PACKAGE, RUNTIME):
        with contextlib.suppress(PackageNotFoundError):
            return metadata(name).get_all("Provides-Extra") or ()
    return ()


def _installed() -> tuple[str, str | None]:
    """The name of the package that is installed, and its direct_url.json; None if it has none."""
    from importlib.metadata import PackageNotFoundError, distribution

    for name in (PACKAGE, RUNTIME):
        with contextlib.suppress(PackageNotFoundError):
            return name, distribution(name).read_text("direct_url.json")
    return PACKAGE, None


def _installer(environment: str) -> str:
    """The command that installs packages into an environment, by its folder.

    >>> _installer("/home/x/.local/share/uv/tools/nmt-cli"), _installer("/home/x/.venv")
    ('uv tool install --force', 'pip install')
    """
    folder = Path(environment)
    if folder.parent.match("uv/tools"):
        return "uv tool install --force"
    return PIPX if folder.parent.match("pipx/venvs") else "pip install"


def command_for(
    record: str | None, extra: str, package: str = PACKAGE, installer: str = "pip install"
) -> str:
    """The command for an installation with this direct_url.json; None if it has none.

    >>> command_for(None, "png")
    "pip install 'nmt-cli[png]'"
    >>> command_for('{"url": "file:///no/such/clone", "dir_info": {}}', "png")
    "pip install 'nmt-cli[png]'"
    """
    clone, is_editable = _clone(record)
    if clone is None:
        return f"{installer} '{package}[{extra}]'"
    option = "-e " if is_editable else ""
    if installer != PIPX and (clone / "constraints.txt").is_file():
        option = f"-c constraints.txt {option}"
    return f"cd {shlex.quote(str(clone))} && {installer} {option}'.[{extra}]'"


def _clone(record: str | None) -> tuple[Path | None, bool]:
    """The folder that nmt was installed from, if it still exists, and whether it is editable."""
    try:
        document = json.loads(record or "{}")
        url = urllib.parse.urlsplit(document["url"])
        is_editable = bool(document["dir_info"].get("editable", False))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, False
    folder = Path(urllib.parse.unquote(url.path))
    if url.scheme != "file" or not (folder / "pyproject.toml").is_file():
        return None, False
    return folder, is_editable
