"""Counts the lines of a file, so that a progress bar can show the total."""

import zlib
from pathlib import Path

from nmt_cli.data.text.streams import CHUNK_BYTES, DamagedError, open_raw, open_stream
from nmt_cli.errors import NmtError


def count_lines(name: str) -> int | None:
    """Return the number of lines of a file, compressed or not.

    Returns None for stdin and pipes, which can be read only once, and if reading fails: the code
    that reads the lines themselves reports the error. Counting is thousands of times as fast as
    translating.
    """
    if not Path(name).is_file():
        return None
    count, last = 0, b"\n"
    try:
        raw = open_raw(name, name)
        try:
            stream = open_stream(raw)
            while chunk := stream.read1(CHUNK_BYTES):
                count += chunk.count(b"\n")
                last = chunk[-1:]
        finally:
            raw.close()
    except (OSError, EOFError, ValueError, zlib.error, DamagedError, NmtError):
        return None
    # A last line without a newline counts as a line.
    return count + (last != b"\n")
