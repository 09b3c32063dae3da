"""Outputs that are no files to replace: devices, pipes and open descriptors."""

import os
import re
import stat
from pathlib import Path

_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,9})")


def descriptor_of(path: Path) -> int | None:
    """The descriptor that `path` names, open or not; None for any other path.

    It may lead to a regular file, as `/dev/stderr` does with `2> log`. What is written then goes
    to where the descriptor stands in that file, whose other content stays.

    >>> descriptor_of(Path("/dev/stderr")), descriptor_of(Path("/dev/fd/3"))
    (2, 3)
    >>> descriptor_of(Path("/dev/null"))
    """
    name = os.path.normpath(path.absolute())
    numbered = _NUMBERED.fullmatch(name)
    return int(numbered[1]) if numbered else _STANDARD.get(name)


def is_special(path: Path) -> bool:
    """Whether `path` is written to directly: a device, a pipe or an open descriptor."""
    return descriptor_of(path) is not None or (path.exists() and not path.is_file())


def has_content(path: Path) -> bool:
    """Whether `path` is a regular file, or a link to one, that is not empty.

    An empty file, as `mktemp` makes it, has nothing to lose, nor has what is written to directly.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0 and descriptor_of(path) is None
