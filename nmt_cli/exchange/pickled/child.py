"""The process that reads a pickled checkpoint: `python -m nmt_cli.exchange.pickled.child`.

Its arguments are the file, a folder for the results, and the keys of the checkpoint to keep (all if
there are none). It writes the weights as safetensors and everything else as JSON, or the reason why
not. torch's restricted reader calls no function that the file names; the limits of this process are
for files that are made to use up memory or time.
"""

import argparse
import json
import os
import re
import resource
import signal
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import safetensors.torch
import torch

from nmt_cli.errors import is_out_of_memory
from nmt_cli.exchange.pickled.plain import PlainContent, UnreadableCheckpointError

RESULT, WEIGHTS = "result.json", "weights.safetensors"
CPU_SECONDS = 60
# Memory beyond that of torch itself: some, and this many times the size of the file.
MEMORY_FACTOR, MEMORY_BYTES = 4, 512 << 20
# The largest file that this process may write.
WRITTEN_FACTOR, WRITTEN_BYTES = 2, 64 << 20
MOST_FILES = 64
ZIP = b"PK\x03\x04"
# The class or function in torch's errors.
_GLOBAL = re.compile(r"GLOBAL\s+([\w.]+)")


def main(arguments: list[str]) -> int:
    """Read the file and write the results; returns 0 if `result.json` was written."""
    path, out, keys = Path(arguments[0]), Path(arguments[1]), arguments[2:]
    from nmt_cli.parent_watch import request_parent_death_signal

    request_parent_death_signal(signal.SIGKILL)
    set_limits(path.stat().st_size)
    try:
        result = convert(path, out / WEIGHTS, keys)
    except Exception as error:  # a damaged file raises errors of any kind
        result = _failure(error)
    (out / RESULT).write_text(json.dumps(result))
    return 0


def set_limits(size: int) -> None:
    """Limit this process to what a file of `size` bytes needs."""
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS + int(sum(os.times()[:2])),
        resource.RLIMIT_FSIZE: WRITTEN_FACTOR * size + WRITTEN_BYTES,
        resource.RLIMIT_NOFILE: MOST_FILES,
        resource.RLIMIT_CORE: 0,
    }
    usage = Path("/proc/self/statm")
    if usage.exists():
        used = int(usage.read_text().split()[0]) * resource.getpagesize()
        limits[resource.RLIMIT_AS] = used + MEMORY_FACTOR * size + MEMORY_BYTES
    for limit, most in limits.items():
        hard = resource.getrlimit(limit)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (value, value))


def convert(path: Path, weights: Path, keys: list[str]) -> dict[str, object]:
    """Write the tensors of a checkpoint; returns the rest of it.

    keys: the parts to keep; all if there are none.
    """
    with path.open("rb") as file:
        if file.read(len(ZIP)) == ZIP:
            _check_archive(path, file)
        file.seek(0)
        with torch.serialization.safe_globals([argparse.Namespace]):
            checkpoint = torch.load(file, map_location="cpu", weights_only=True)
    if not isinstance(checkpoint, Mapping):
        raise UnreadableCheckpointError("it holds no dictionary, as a checkpoint does")
    chosen = {key: checkpoint[key] for key in keys if key in checkpoint} if keys else checkpoint
    content = PlainContent(path.stat().st_size)
    values = content.convert(chosen)
    safetensors.torch.save_file(content.tensors(), weights)
    return {"values": values, "aliases": content.aliases}


def _check_archive(path: Path, file: BinaryIO) -> None:
    """Raise UnreadableCheckpointError if an archive holds more than its file: a zip bomb."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise UnreadableCheckpointError("it is a compressed archive, and torch compresses none")
    if sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise UnreadableCheckpointError("its entries are larger than the file")


def _failure(error: Exception) -> dict[str, Any]:
    """The reason for an error: a class that is not allowed, or a text."""
    named = _GLOBAL.search(str(error))
    if named:  # a class that is not allowed
        return {"class": named[1]}
    if is_out_of_memory(error) or isinstance(error, MemoryError):
        return {"memory": True}
    if isinstance(error, OSError) and error.errno is not None:
        return {"system": error.strerror}
    if isinstance(error, UnreadableCheckpointError):
        return {"damaged": str(error)}
    # torch's own errors advise to load the file without restrictions.
    _, is_restricted, reason = str(error).partition("WeightsUnpickler error:")
    if is_restricted:
        text = reason.strip().split("\n")[0]
        return {"damaged": f"torch's restricted reader cannot read it ({text[:100]})"}
    return {"damaged": f"{type(error).__name__}: {error}"[:200]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
