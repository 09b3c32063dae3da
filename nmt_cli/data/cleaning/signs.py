"""Searches many lines at once for a pattern, so that only few lines are checked one by one."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def lines_with(sign: re.Pattern[str], text: str, lines: Sequence[str]) -> list[int]:
    r"""Return the indices of the lines that contain `sign`; `text` is the joined lines.

    >>> lines_with(re.compile("b"), "ab\nc\nbb\n", ["ab", "c", "bb"])
    [0, 2]
    """
    if sign.search(text) is None:
        return []
    ends = list(accumulate(len(line) + 1 for line in lines))
    return sorted({bisect_right(ends, match.start()) for match in sign.finditer(text)})


def joined_lines(lines: Sequence[str]) -> str:
    """Join lines, each with a newline."""
    return "".join([f"{line}\n" for line in lines])
