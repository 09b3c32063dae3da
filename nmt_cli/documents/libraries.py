"""The optional libraries of documents."""

from importlib.util import find_spec

from nmt_cli.errors import UnavailableError
from nmt_cli.installation import install_command

# Where a library is not imported by its own name.
_PACKAGES = {"docx": "python-docx", "markdown_it": "markdown-it-py"}


def is_installed(module: str) -> bool:
    """Whether a library can be imported."""
    return find_spec(module) is not None


def require_library(module: str, kind: str) -> None:
    """Raise UnavailableError if a library is not installed; kind: the documents that need it."""
    if not is_installed(module):
        raise UnavailableError(
            f"{kind} need the library {_PACKAGES.get(module, module)}",
            install_command("documents"),
        )
