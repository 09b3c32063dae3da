"""The kernels as a library: compiled once with the machine's compiler, kept in the user's cache."""

import ctypes
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from importlib import resources
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.files import make_directory, write_bytes

SOURCES = ("product.h", "vectors.h", "product.c")
FLAGS = ("-O3", "-std=gnu11", "-ffp-contract=off", "-fPIC", "-shared", "-pthread")
LIMIT_SECONDS = 120


def load_library(cache: Path) -> tuple[ctypes.CDLL | None, str]:
    """The library and "", or None and why there is none; `cache`: a folder of this user.

    Two processes may do this at once: each puts a whole file into place.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        return None, "there is no C compiler (cc)"
    try:
        version = _run([compiler, "--version"])
        texts = {name: (resources.files(__package__) / name).read_bytes() for name in SOURCES}
        key = hashlib.sha256(b"\0".join([version, *map(str.encode, FLAGS), *texts.values()]))
        path = cache / f"product-{key.hexdigest()[:32]}.so"
        make_directory(cache)
        reason = _untrusted(cache)
        if not reason and not path.exists():
            write_bytes(path, _compile(compiler, texts))
        reason = reason or _untrusted(path)
        return (None, reason) if reason else (ctypes.CDLL(str(path)), "")
    except (OSError, NmtError, subprocess.SubprocessError) as error:
        return None, f"the kernels cannot be compiled: {error}"


def _compile(compiler: str, texts: dict[str, bytes]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="nmt-kernels-") as name:
        folder = Path(name)
        for file, text in texts.items():
            write_bytes(folder / file, text)
        source, result = folder / SOURCES[-1], folder / "library.so"
        _run([compiler, *FLAGS, str(source), "-o", str(result), "-lm"])
        return result.read_bytes()


def _run(command: list[str]) -> bytes:
    done = subprocess.run(
        command, check=True, capture_output=True, timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL
    )
    return done.stdout


def _untrusted(path: Path) -> str:
    """Why a file or folder may hold somebody else's code; empty: it cannot."""
    found = path.stat()
    if found.st_uid != os.getuid():
        return f"`{path}` belongs to another user"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to `{path}`"
    return ""
