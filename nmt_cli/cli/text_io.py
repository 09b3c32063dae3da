"""The text files that a command reads and writes: checks, warnings and opening them."""

import contextlib
import os
import shlex
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from nmt_cli.errors import CannotCreateError, NoInputError, UsageError
from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.data.text.lines import Lines
    from nmt_cli.terminal.console import Console

STDIN = "-"
STDOUT = "-"
COMPRESSED = frozenset({".gz", ".bz2", ".xz", ".zst"})


def note_waiting(console: "Console", *names: str) -> None:
    """Say that input is expected, if one of the files is stdin and stdin is a terminal."""
    if STDIN in names and sys.stdin is not None and sys.stdin.isatty():
        console.note("reading lines from the terminal; Ctrl-D ends the text")


def warn_of_invalid(console: "Console", *texts: "Lines") -> None:
    """Warn of lines that were not UTF-8, once per file."""
    from nmt_cli.data.text.encoding import repair_hint

    for lines in dict.fromkeys(texts):
        if lines.invalid:
            console.warning(
                f"`{lines.name}`: {counted(lines.invalid, 'line')} "
                f"{agreeing(lines.invalid, 'is', 'are')} not UTF-8, first at line:byte "
                f"{lines.first_invalid}; invalid bytes were replaced by U+FFFD; "
                f"{repair_hint(lines.name, lines.invalid, has_utf8=lines.has_utf8)}"
            )


def require_text_file(name: str, command: str | None = None) -> None:
    """Raise NoInputError if a file cannot be read.

    command: the command of nmt that could read the text from stdin, which the hint names if the
    name looks like a text.
    """
    from nmt_cli.storage.files import require_file
    from nmt_cli.storage.model_check import is_model_directory

    if name == STDIN:
        return
    try:
        require_file(Path(name))
    except NoInputError as error:
        # A word without a suffix or a slash is probably not a file name.
        is_word = not set(name) & set("/\\") and not Path(name).suffix.strip(".")
        is_text = is_word or any(character.isspace() for character in name)
        # Unlike those of pathlib, these functions accept names that are too long for a file.
        if command is not None and os.path.isdir(name) and is_model_directory(Path(name)):  # noqa: PTH112
            raise NoInputError(
                f"`{name}` is a model, a file with text is needed here",
                f"name the model with --model: nmt {command} --model {shlex.quote(name)}",
            ) from error
        if command is None or not is_text or os.path.exists(name):  # noqa: PTH110
            raise
        raise NoInputError(
            f"there is no file `{name}`",
            f"{command} reads files; for a text: echo {shlex.quote(name)} | nmt {command}",
        ) from error


def require_output(output: Path | None, option: str = "--output") -> None:
    """Raise an error, before any work, if the file `output` cannot be written as plain text.

    option: the option that names it, for the hint.
    """
    from nmt_cli.storage.files import require_creatable

    if output is not None and output.suffix.lower() in COMPRESSED:
        raise UsageError(
            f"`{output}` is named like a compressed file, but the output is plain text",
            f"write `{output.with_suffix('')}`, and compress it then",
        )
    if output is None or str(output) == STDOUT or output.exists():
        return
    with _naming(option):
        require_creatable(output)
        if not output.absolute().parent.exists():
            raise CannotCreateError(
                f"`{output}` cannot be written: there is no folder `{output.parent}`",
                f"make it first (`mkdir -p {shlex.quote(str(output.parent))}`), or choose another",
            )


@contextlib.contextmanager
def _naming(option: str) -> Iterator[None]:
    try:
        yield
    except CannotCreateError as error:
        hint = error.hint or "choose another path"
        raise CannotCreateError(error.message, f"{hint} with {option}") from error


@contextlib.contextmanager
def open_text_file(output: Path | None, *read: "Lines", force: bool = False) -> Iterator[BinaryIO]:
    """The file `output`, or stdout (None or `-`).

    Raises CannotCreateError if it is one of the files in `read`, or cannot be written, or has been
    written by another process meanwhile, unless `force`.
    """
    from nmt_cli.storage.files import remove_abandoned, writing

    output = None if str(output) == STDOUT else output
    for lines in read:
        _check_other(output, lines)
    if output is None:
        yield sys.stdout.buffer
    else:
        with contextlib.suppress(OSError):
            remove_abandoned(output)
        with writing(output, replaces=force) as file:
            yield file


def _check_other(output: Path | None, lines: "Lines") -> None:
    try:
        ours = sys.stdout.fileno() if output is None else output
        target, text = os.stat(ours), os.fstat(lines.fileno())  # noqa: PTH116
    except (OSError, ValueError):
        # It does not exist yet, or is not a file of the system.
        return
    if stat.S_ISREG(target.st_mode) and os.path.samestat(target, text):
        name = "stdout" if output is None else f"`{output}`"
        raise CannotCreateError(
            f"{name} is the file that is read, `{lines.name}`", "write to another file"
        )
