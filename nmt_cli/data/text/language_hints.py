"""Hints that convert a file name the languages that the user has given, which readers don't know.

A reader of files raises the error, and a command that knows the languages completes its hint.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nmt_cli.errors import DataError

# Gives the hint for the codes of source and target, or for none.
HintFor = Callable[[Sequence[str]], str]


class OtherFormatError(DataError):
    """A file of pairs has another format, or other columns, and the hint says how to convert it."""

    hint_for: HintFor | None = None

    def name_languages(self, src: str, tgt: str) -> None:
        """Let the hint take these languages, in this order, where the file names them."""
        if self.hint_for is not None:
            self.hint = self.hint_for((src, tgt))


def other_format_error(message: str, hint_for: HintFor) -> OtherFormatError:
    """Return the error, whose hint names no languages until they are known."""
    error = OtherFormatError(message, hint_for(()))
    error.hint_for = hint_for
    return error


@contextmanager
def hints_for(src: str, tgt: str) -> Iterator[None]:
    """Let the errors for files of other formats name the command for these two languages."""
    try:
        yield
    except OtherFormatError as error:
        error.name_languages(src, tgt)
        raise
