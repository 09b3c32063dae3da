"""Text in another encoding than UTF-8: when it is refused, and how it is converted."""

import shlex
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import DataError

if TYPE_CHECKING:
    from nmt_cli.data.text.lines import Lines

# With more lines than both of these a file is not damaged, it is in another encoding.
MOST_INVALID, ENOUGH_INVALID = 0.05, 20
LINES_LOOKED_AT = 2_000


def conversion(name: str) -> str:
    """The command that converts a file, or stdin, from the most frequent other encoding.

    >>> conversion("a.fr"), conversion("stdin")
    ('iconv -f LATIN1 -t UTF-8 a.fr', 'iconv -f LATIN1 -t UTF-8')
    """
    command = "iconv -f LATIN1 -t UTF-8"
    return command if name == "stdin" else f"{command} {shlex.quote(name)}"


def refuse_other_encoding(lines: "Lines") -> None:
    """Raise DataError where too many of the lines read so far, and of all lines, are not UTF-8."""
    if _is_other(lines):
        for _ in lines:
            pass
        if _is_other(lines):
            raise DataError(
                f"`{lines.name}`: {lines.invalid:,} of {lines.count:,} lines are not UTF-8, "
                f"the first at line:byte {lines.first_invalid}; the file is in another encoding",
                f"convert it, for example: {conversion(lines.name)}",
            )


def _is_other(lines: "Lines") -> bool:
    return lines.invalid >= ENOUGH_INVALID and lines.invalid > MOST_INVALID * lines.count


def require_utf8(paths: Iterable[str]) -> None:
    """Raise DataError where the first lines of a file show that it is in another encoding.

    What cannot be read twice, such as a pipe, is not looked at.
    """
    from nmt_cli.data.text.lines import read_lines

    problems: list[DataError] = []
    for path in dict.fromkeys(paths):
        if not Path(path).is_file():
            continue
        try:
            with read_lines(path) as lines:
                for _ in islice(lines, LINES_LOOKED_AT):
                    pass
                refuse_other_encoding(lines)
        except DataError as problem:
            problems.append(problem)
    if problems:
        hints = dict.fromkeys(problem.hint for problem in problems)
        raise DataError("; ".join(problem.message for problem in problems), "; ".join(hints))
