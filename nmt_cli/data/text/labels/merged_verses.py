"""Lines of parallel Bibles that stand for a verse which is part of the line before."""

import shlex
from collections.abc import Sequence

from nmt_cli.data.text.shell_commands import decompressor, name_beside, one_line

# What the eBible corpus (Akerman et al. 2023) has in place of such a verse.
MERGED = "<range>"
# In Python: the pairs of two files as a table, where a pair with such a verse is joined to the one
# before it, and leaves an empty row, so that the other rows have the numbers of their lines. The
# number that a joined verse begins with is left out behind that of one before it.
_JOIN = r"""
import re
import sys
open_file = lambda name: open(name, encoding="utf-8-sig", errors="surrogateescape", newline="\n")
sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
number = re.compile(r"[(\[]?((?:[1-4A-Z][A-Z]{2} )?(?:[0-9]+:)?)([0-9]+)[-.:0-9)\]]* ")
def joined_verses(first, line):
    if line == "<range>":
        return first
    own, other = number.match(first), number.match(line)
    follows = own and other and own[1] == other[1] and 0 < int(other[2]) - int(own[2]) < 9
    return " ".join(filter(None, [first, line[other.end() :] if follows else line]))
rows, last = [], None
for row in zip(*map(open_file, sys.argv[1:]), strict=True):
    row = [" ".join(line.split()) for line in row]
    if "<range>" in row and last:
        last[:] = [joined_verses(*sides) for sides in zip(last, row)]
        rows.append(["", ""])
    else:
        rows.append(row)
        last = row
for row in rows:
    print(*row, sep="\t")
""".strip()


def merged_verses(sides: tuple[Sequence[str], Sequence[str]]) -> list[int]:
    """The indices of the pairs of which a side stands for a verse of the line before.

    >>> merged_verses((["In the", "beginning", "Amen"], ["Ka mi to", "<range>", "Amen"]))
    [1]
    """
    pairs = enumerate(zip(*sides, strict=False))
    return [index for index, pair in pairs if MERGED in map(str.strip, pair)]


def joined_verses_command(paths: Sequence[str]) -> str:
    """The command that writes two files as a table in which such pairs are joined; "" if none can.

    >>> joined_verses_command(["kjv/eng.txt", "qzz.txt"]).rpartition("' ")[2]
    'kjv/eng.txt qzz.txt > kjv/eng.joined.tsv'
    """
    if len(paths) != 2 or any(map(decompressor, paths)):
        return ""
    folder, slash, name = paths[0].rpartition("/")
    out = name_beside(f"{folder}{slash}{name.partition('.')[0]}.tsv", "joined")
    return f"{shlex.join(['python3', '-c', one_line(_JOIN), *paths])} > {shlex.quote(out)}"
