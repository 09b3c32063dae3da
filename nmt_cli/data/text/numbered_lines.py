"""Running numbers that begin the lines of both sides of a text, and how to remove them."""

import re
from collections.abc import Sequence
from itertools import pairwise

from nmt_cli.data.text.shell_commands import copy_command, removal_command

# `12. Text`, `(12) Text`, `12: Text` and `12 Text`, but not `1.5 metres`.
_NUMBER = r"[ \t]*[(\[]?\d{1,9}(?:[.):\]]+(?:[ \t]+|(?!\d))|[ \t]+)(?=\S)"
_NUMBERED = re.compile(_NUMBER)
_DIGITS = re.compile(r"\d+")
# This share of at least so many lines begins with the same number on both sides. It rises from line
# to line as often, but for lists and chapters that begin again, or hardly any number occurs twice.
LEAST_SHARE, FEWEST_LINES = 0.9, 20
LEAST_RISING, LEAST_DISTINCT = 0.8, 0.95


def numbered_lines(src: Sequence[str], tgt: Sequence[str]) -> list[int]:
    """The indices of the pairs whose sides begin with the same running number.

    Returns nothing unless nearly all pairs do.

    >>> src, tgt = ([f"{number}. {word}" for number in range(40)] for word in ("Yes", "Ja"))
    >>> len(numbered_lines(src, tgt)), numbered_lines(src, tgt[1:])
    (40, [])
    """
    pairs = [
        pair for pair in enumerate(zip(src, tgt, strict=False)) if all(map(str.strip, pair[1]))
    ]
    if len(pairs) < FEWEST_LINES:
        return []
    same_numbers = {
        index: number
        for index, (line, other) in pairs
        if (number := _number(line)) is not None and number == _number(other)
    }
    if len(same_numbers) < LEAST_SHARE * len(pairs):
        return []
    numbers = list(same_numbers.values())
    rising = sum(number < following for number, following in pairwise(numbers))
    is_running = rising >= LEAST_RISING * (len(numbers) - 1)
    are_distinct = len(set(numbers)) >= LEAST_DISTINCT * len(numbers)
    return list(same_numbers) if is_running or are_distinct else []


def _number(line: str) -> int | None:
    """The number that a line begins with, in any digits.

    >>> [_number(line) for line in (" (3) A", "১২. ক", "4:B", "১২। ক", "1.5 m", "1.5", "A 3")]
    [3, 12, 4, None, None, None, None]
    """
    match = _NUMBERED.match(line)
    return int(_DIGITS.findall(match[0])[0]) if match else None


def without_numbers_commands(paths: Sequence[str]) -> list[str]:
    """The commands that write the files, or the table, without the numbers that lines begin with.

    >>> without_numbers_commands(["a.en", "a.de"])[1].partition("' ")[2]
    '< a.de > a.without-numbers.de'
    """
    is_table = len(paths) == 1
    # In a table both cells begin with a number, and tabs separate them.
    number = _NUMBER.replace(r"\t", "") if is_table else _NUMBER
    start = r"\n\t" if is_table else r"\n"
    command = removal_command(rf"(?<![^{start}]){number}")
    return [copy_command(command, path, "without-numbers", takes_name=False) for path in paths]
