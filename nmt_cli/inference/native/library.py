"""The library of CPU kernels: compiled once by this machine's C compiler, into the user's cache."""

import ctypes
import hashlib
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.storage.files import make_directory, write_bytes

SOURCES = (
    "kernels.h", "instruction_set.h", "simd.h", "quantize.h", "tile.h", "gemm.h", "head.h",
    "tiles.h", "amx.h", "step.h", "dispatch.c", "thread_pool.c", "step.c", "attention.c",
    "output.c", "head.c",
)  # fmt: skip
FLAGS = ("-O3", "-std=gnu11", "-ffp-contract=off", "-fPIC", "-shared", "-pthread")
LIMIT_SECONDS = 120


def load_library(cache: Path) -> tuple[ctypes.CDLL | None, str]:
    """The library and "", or None and why there is none; cache: a folder of this user.

    Two processes may compile at the same time, because each moves a complete file to its place. A
    file that is not whole is compiled again.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        return None, "there is no C compiler (cc)"
    try:
        texts = _sources()
        path = _library_path(cache, compiler, texts)
        make_directory(cache)
        reason = _untrusted(cache)
        if not reason and not (path.exists() and _is_whole(path)):
            write_bytes(path, _compile(compiler, texts))
        reason = reason or _untrusted(path)
        return (None, reason) if reason else (_load(path), "")
    except (OSError, NmtError, subprocess.SubprocessError) as error:
        return None, f"the kernels cannot be compiled and loaded: {error}"


def must_compile(cache: Path) -> bool:
    """Whether `load_library` will have to compile, which takes a few seconds."""
    compiler = shutil.which("cc")
    try:
        if compiler is None:
            return False
        path = _library_path(cache, compiler, _sources())
        return not (path.exists() and _is_whole(path))
    except (OSError, subprocess.SubprocessError):
        return False


def _sources() -> dict[str, bytes]:
    return {
        name: (resources.files(__package__) / "kernels" / name).read_bytes() for name in SOURCES
    }


def _library_path(cache: Path, compiler: str, texts: dict[str, bytes]) -> Path:
    """The file of the library that this compiler makes of these texts."""
    version = _run([compiler, "--version"])
    key = hashlib.sha256(b"\0".join([version, *map(str.encode, FLAGS), *texts.values()]))
    return cache / f"kernels-{key.hexdigest()[:32]}.so"


def _compile(compiler: str, texts: dict[str, bytes]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="nmt-kernels-") as name:
        folder = Path(name)
        for file, text in texts.items():
            write_bytes(folder / file, text)
        sources = [str(folder / name) for name in SOURCES if name.endswith(".c")]
        result = folder / "library.so"
        _run([compiler, *FLAGS, *sources, "-o", str(result), "-lm"])
        return result.read_bytes()


def _load(path: Path) -> ctypes.CDLL:
    """The library, whose functions get their integers as 64 bits; raises OSError.

    A file that is not whole is refused before it is mapped: reading past its end is a crash.
    """
    if not _is_whole(path):
        raise OSError(f"`{path}` is not a whole library")
    library = ctypes.CDLL(str(path))
    integer, pointer = ctypes.c_int64, ctypes.c_void_p
    functions = {
        "nmt_product_bytes": (integer,),
        "nmt_product": (integer, integer, pointer, pointer, integer, pointer, pointer),
        "nmt_step_bytes": (integer, integer, integer),
        "nmt_step": (integer, pointer, pointer),
        "nmt_encode": (integer, pointer, pointer),
        "nmt_logits": (integer, pointer, pointer),
        "nmt_top_k": (integer, pointer, pointer, pointer),
    }
    for name, arguments in functions.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise OSError(f"`{path}` lacks {name}") from error
        function.argtypes, function.restype = arguments, integer
    return library


def _is_whole(path: Path) -> bool:
    """Whether an ELF file ends with its section headers, as linkers write it; True for others."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(64)
    if len(header) < 64 or header[:5] != b"\x7fELF\x02":
        return sys.platform != "linux"
    (sections,) = struct.unpack_from("<Q", header, 40)
    entry, count = struct.unpack_from("<HH", header, 58)
    return bool(size >= sections + entry * count)


def _run(command: list[str]) -> bytes:
    completed = subprocess.run(
        command, check=True, capture_output=True, timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL
    )
    return completed.stdout


def _untrusted(path: Path) -> str:
    """Why a file or folder may contain code of another user; "" where it cannot."""
    status = path.stat()
    if status.st_uid != os.getuid():
        return f"`{path}` belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to `{path}`"
    return ""
