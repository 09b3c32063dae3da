"""Forced prefixes of translations, one for each line, read no further than the lines are."""

from collections.abc import Iterator

from nmt_cli.errors import DataError

# What errors call prefixes that come from no file.
NAME = "the list of prefixes"
HINT = "line N of it begins the translation of line N; an empty line leaves it free"


def require_as_many(lines: int, prefixes: int, name: str) -> None:
    """Raise DataError unless there is a prefix for each line; `name`: see `Prefixes`."""
    if prefixes < lines:
        raise DataError(f"{name} ends before line {prefixes + 1:,}", HINT)
    if prefixes > lines:
        raise DataError(f"{name} has a line {lines + 1:,}, but the text ends before it", HINT)


class Prefixes:
    """A stream of prefixes; `name` is what error messages call it."""

    def __init__(self, lines: Iterator[str], name: str) -> None:
        self._lines = lines
        self._name = name
        self._count = 0

    def take(self, count: int) -> list[str]:
        """The prefixes of the next lines; raises DataError at the first line without one."""
        taken = []
        for _ in range(count):
            prefix = next(self._lines, None)
            if prefix is None:
                raise DataError(f"{self._name} ends before line {self._count + 1:,}", HINT)
            self._count += 1
            taken.append(prefix)
        return taken

    def end(self) -> None:
        """Raise DataError where there are more prefixes than lines."""
        if next(self._lines, None) is not None:
            raise DataError(
                f"{self._name} has a line {self._count + 1:,}, but the text ends before it", HINT
            )
