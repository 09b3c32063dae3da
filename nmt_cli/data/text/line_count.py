"""How many lines a file has, for a bar that knows how far it is."""

import zlib
from pathlib import Path

from nmt_cli.data.text.streams import CHUNK_BYTES, DamagedError, open_raw, open_stream
from nmt_cli.errors import NmtError


def count_lines(name: str) -> int | None:
    """The lines of a file, compressed or not; None for stdin and pipes, which come only once.

    Reading is thousands of times as fast as translating. None also where reading fails: whoever
    reads the lines themselves says why.
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
    # A last line without a newline is one.
    return count + (last != b"\n")
