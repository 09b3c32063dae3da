"""Hints that convert a file name the languages that the user has given, which readers don't know.

A reader of files raises the error, and a command that knows the languages completes its hint.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from nmt_cli.data.text.formats.conversion import Conversion
from nmt_cli.errors import DataError


class FormatAdvice(NamedTuple):
    """What to do with a file of another format.

    kind: what it looks like; hint: what to do, with the command that converts it if there is one;
    conversion: what that command does, or None.
    """

    kind: str
    hint: str
    conversion: Conversion | None = None

    @classmethod
    def of(
        cls, conversion: Conversion, name: str, what: str = "convert it", *, out: str = ""
    ) -> "FormatAdvice":
        """The advice to convert the file `name`; what: what that does; out: another new file."""
        command = conversion.command(name, out)
        return cls(conversion.kind, f"{what}: {command}", conversion)


# Gives the advice for the codes of source and target, or for none.
FormatAdviceFor = Callable[[Sequence[str]], FormatAdvice]


class OtherFormatError(DataError):
    """A file of pairs has another format, or other columns, and the hint says how to convert it."""

    advice_for: FormatAdviceFor | None = None

    def name_languages(self, src: str, tgt: str) -> None:
        """Let the hint take these languages, in this order, where the file names them."""
        if self.advice_for is not None:
            self.hint = self.advice_for((src, tgt)).hint


def other_format_error(message: str, advice_for: FormatAdviceFor) -> OtherFormatError:
    """Return the error, whose hint names no languages until they are known."""
    error = OtherFormatError(message, advice_for(()).hint)
    error.advice_for = advice_for
    return error


@contextmanager
def hints_for(src: str, tgt: str) -> Iterator[None]:
    """Let the errors for files of other formats name the command for these two languages."""
    try:
        yield
    except OtherFormatError as error:
        error.name_languages(src, tgt)
        raise
