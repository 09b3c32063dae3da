"""Lines of parallel Bibles that stand for a verse which is part of the line before."""

import re
from collections.abc import Iterable, Iterator, Sequence

from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.shell_commands import STDIN_NAMES, name_beside

# What the eBible corpus (Akerman et al. 2023) has in place of such a verse.
MERGED = "<range>"
# The number of a verse, behind that of its book and chapter.
_NUMBER = re.compile(r"[(\[]?((?:[1-4A-Z][A-Z]{2} )?(?:[0-9]+:)?)([0-9]+)[-.:0-9)\]]* ")
# The numbers of verses that are joined differ by less.
_MOST_APART = 9


def merged_verses(sides: tuple[Sequence[str], Sequence[str]]) -> list[int]:
    """The indices of the pairs of which a side stands for a verse of the line before.

    >>> merged_verses((["In the", "beginning", "Amen"], ["Ka mi to", "<range>", "Amen"]))
    [1]
    """
    pairs = enumerate(zip(*sides, strict=False))
    return [index for index, pair in pairs if MERGED in map(str.strip, pair)]


def with_joined_verses(pairs: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the pairs, where one with such a verse is joined to the one before it.

    It leaves an empty pair, so that the others have the numbers of their lines. The number that a
    joined verse begins with is left out behind that of the one before it.

    >>> list(with_joined_verses([["1 In the", "1-2 Ka mi"], ["2 beginning", "<range>"]]))
    [['1 In the beginning', '1-2 Ka mi'], ['', '']]
    """
    last: list[str] | None = None
    empty = 0
    for pair in pairs:
        if MERGED in pair and last is not None:
            last = [_joined(*sides) for sides in zip(last, pair, strict=True)]
            empty += 1
            continue
        if last is not None:
            yield last
        yield from (["", ""] for _ in range(empty))
        last, empty = list(pair), 0
    if last is not None:
        yield last
    yield from (["", ""] for _ in range(empty))


def _joined(first: str, line: str) -> str:
    if line == MERGED:
        return first
    own, other = _NUMBER.match(first), _NUMBER.match(line)
    if own and other and own[1] == other[1] and 0 < int(other[2]) - int(own[2]) < _MOST_APART:
        line = line[other.end() :]
    return " ".join(filter(None, [first, line]))


def joined_verses_command(paths: Sequence[str]) -> str:
    """The command that writes two files as a table in which such pairs are joined.

    "" for a table, and if one of the files is stdin.

    >>> joined_verses_command(["kjv/eng.txt", "qzz.txt"])
    'nmt convert kjv/eng.txt qzz.txt --repair merged-verses -o kjv/eng.joined.tsv'
    """
    if len(paths) != 2 or set(paths) & set(STDIN_NAMES):
        return ""
    folder, slash, name = paths[0].rpartition("/")
    out = name_beside(f"{folder}{slash}{name.partition('.')[0]}.tsv", "joined")
    return convert_command(*paths, out, repairs=["merged-verses"])
