"""The beginnings of translations, one for each line, read no further than the lines are."""

from collections.abc import Iterator

from nmt_cli.errors import DataError

HINT = "line n of it begins the translation of line n; an empty line leaves it free"


class Prefixes:
    """Beginnings as they come; `name` is what they are called in errors."""

    def __init__(self, lines: Iterator[str], name: str) -> None:
        self._lines = lines
        self._name = name
        self._count = 0

    def take(self, count: int) -> list[str]:
        """Those of the next lines; raises DataError that names the first line without one."""
        taken = []
        for _ in range(count):
            one = next(self._lines, None)
            if one is None:
                raise DataError(f"{self._name} ends before line {self._count + 1:,}", HINT)
            self._count += 1
            taken.append(one)
        return taken

    def end(self) -> None:
        """Raise DataError where there are more of them than lines."""
        if next(self._lines, None) is not None:
            raise DataError(
                f"{self._name} has a line {self._count + 1:,}, but the text has not", HINT
            )
