"""Checks the encoding and line endings of text files before any work starts."""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from nmt_cli.data.text.encoding import line_ending_error
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError, raise_together, refusals

LINES_CHECKED = 2_000


def require_utf8(paths: Iterable[str]) -> None:
    """Raise DataError if the first lines of a file show that it is in another encoding.

    A file with a single line is refused if there are CRs in it, which nothing else ends.

    Pipes and other inputs that can be read only once are not checked.
    """
    files = [path for path in dict.fromkeys(paths) if Path(path).is_file()]
    raise_together(refusals(partial(_check_first_lines, path) for path in files))


def _check_first_lines(path: str) -> None:
    with read_lines(path) as lines:
        # A damaged file is reported where it is damaged, after the lines before that.
        first: list[str] = []
        with suppress(DataError):
            first += islice(lines, 2)
            for _ in islice(lines, LINES_CHECKED):
                pass
        if len(first) == 1 and "\r" in first[0].rstrip("\r"):
            raise line_ending_error(path)
        lines.refuse_other_encoding()
