"""Says where two files of different numbers of lines stop being translations of each other."""

import contextlib
from itertools import islice

from nmt_cli.data.cleaning.misalignment import Profile, belong_together, find_misalignment
from nmt_cli.data.text.lines import read_lines

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
    count, shorter = min((len(src), src_path), (len(tgt), tgt_path))
    if line > count - min(LINES_AT_END, count // LINES_AT_END):
        return f"; they seem to fit until `{shorter}` ends: is it cut off?"
    shown = [_beginning(_line_of(path, line)) for path in (src_path, tgt_path)]
    return f"; they probably diverge near line {line:,}: `{shown[0]}` and `{shown[1]}`"


def _line_of(path: str, number: int) -> str:
    """The line of a file with this number, counted from 1."""
    with contextlib.closing(read_lines(path)) as lines:
        return next(islice(lines, number - 1, None), "")


def _beginning(line: str) -> str:
    return line if len(line) <= LINE_SHOWN else f"{line[:LINE_SHOWN]}..."
