"""Where in many lines at once something may be wrong: few lines are then looked at one by one."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def lines_with(sign: re.Pattern[str], text: str, lines: Sequence[str]) -> list[int]:
    r"""The numbers of the lines that hold `sign`, ascending; `text` is the lines with newlines.

    >>> lines_with(re.compile("b"), "ab\nc\nbb\n", ["ab", "c", "bb"])
    [0, 2]
    """
    if sign.search(text) is None:
        return []
    ends = list(accumulate(len(line) + 1 for line in lines))
    return sorted({bisect_right(ends, one.start()) for one in sign.finditer(text)})


def joined_lines(lines: Sequence[str]) -> str:
    """All lines with newlines."""
    return "".join([f"{line}\n" for line in lines])
