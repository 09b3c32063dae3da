"""Checks the encoding of text files before any work starts."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from nmt_cli.data.text.encoding import refuse_other_encoding
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError

LINES_CHECKED = 2_000


def require_utf8(paths: Iterable[str]) -> None:
    """Raise DataError if the first lines of a file show that it is in another encoding.

    Pipes and other inputs that can be read only once are not checked.
    """
    problems: list[DataError] = []
    for path in dict.fromkeys(paths):
        if not Path(path).is_file():
            continue
        try:
            with read_lines(path) as lines:
                for _ in islice(lines, LINES_CHECKED):
                    pass
                refuse_other_encoding(lines)
        except DataError as problem:
            problems.append(problem)
    if problems:
        hints = dict.fromkeys(problem.hint for problem in problems)
        raise DataError("; ".join(problem.message for problem in problems), "; ".join(hints))
