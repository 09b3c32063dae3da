"""Checks before any work starts that parallel files have the same number of lines."""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial

from nmt_cli.data.text.line_count import count_lines
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.errors import raise_together, refusals


def require_equal_lengths(entries: Iterable[Sequence[str]]) -> None:
    """Raise DataError that gives both line counts of every pair of files in which they differ.

    entries: a source file and its translations, or one TSV file, which is not checked. Neither are
    pipes and damaged files, which cannot be counted.
    """
    pairs = {(entry[0], tgt): None for entry in entries for tgt in entry[1:]}
    # Reading the pairs says more, such as where the files begin to differ, but is much slower.
    unequal = [pair for pair in pairs if len({count_lines(path) for path in pair} - {None}) > 1]
    raise_together(refusals(partial(_read_all, pair) for pair in unequal))


def _read_all(pair: tuple[str, str]) -> None:
    deque(read_pairs(pair), maxlen=0)
