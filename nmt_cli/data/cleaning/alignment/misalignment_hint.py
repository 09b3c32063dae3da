"""Says where two files of different numbers of lines stop being translations of each other."""

import contextlib
from itertools import islice

from nmt_cli.data.cleaning.alignment.misalignment import Profile, belong_together, find_misalignment
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.shell_commands import copy_command
from nmt_cli.plurals import agreeing

# Where files differ from at most this many lines before the end of the shorter one, or this part of
# its lines, it is cut off.
LINES_AT_END = 16
# So many characters of a line are shown.
LINE_SHOWN = 50


def misalignment_hint(src_path: str, tgt_path: str) -> str:
    """Continue a hint with the place where files diverge, and its two lines; "" if none is found.

    Both files are read again.
    """
    src, tgt = (Profile.of(read_lines(path)) for path in (src_path, tgt_path))
    line = find_misalignment(src, tgt)
    if line is None:
        return ""
    if not belong_together(src, tgt, line):
        return "; they do not seem to belong together"
    (count, shorter), (longer_count, longer) = sorted([(len(src), src_path), (len(tgt), tgt_path)])
    if line > count - min(LINES_AT_END, count // LINES_AT_END):
        if _is_empty_from(longer, count):
            return _empty_end_hint(longer, count, longer_count - count)
        return f"; they seem to fit until `{shorter}` ends: is it cut off?"
    shown = [_beginning(_line_of(path, line)) for path in (src_path, tgt_path)]
    return f"; they probably diverge near line {line:,}: `{shown[0]}` and `{shown[1]}`"


def _is_empty_from(path: str, count: int) -> bool:
    """Whether all lines of a file behind so many have no text."""
    with contextlib.closing(read_lines(path)) as lines:
        return not any(line.strip() for line in islice(lines, count, None))


def _empty_end_hint(path: str, count: int, empty: int) -> str:
    """The hint that a file has empty lines behind the `count` that fit, and how to remove them."""
    lines = agreeing(empty, "last line", f"last {empty:,} lines")
    command = copy_command(f"head -n {count}", path, "trimmed")
    return (
        f"; the {lines} of `{path}` {agreeing(empty, 'is', 'are')} empty, and the files seem to "
        f"fit otherwise; to remove {agreeing(empty, 'it', 'them')}: {command}"
    )


def _line_of(path: str, number: int) -> str:
    """The line of a file with this number, counted from 1."""
    with contextlib.closing(read_lines(path)) as lines:
        return next(islice(lines, number - 1, None), "")


def _beginning(line: str) -> str:
    return line if len(line) <= LINE_SHOWN else f"{line[:LINE_SHOWN]}..."
