"""Libraries of CPU kernels: those of the wheel, or compiled once into the user's cache."""

import contextlib
import ctypes
import hashlib
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from nmt_cli.errors import CannotCreateError, NmtError
from nmt_cli.storage import user_cache
from nmt_cli.storage.files import write_bytes

FLAGS = ("-O3", "-std=gnu11", "-ffp-contract=off", "-fPIC", "-shared", "-pthread")
LIMIT_SECONDS = 120
# The folder beside this file where a wheel has compiled libraries.
CARRIED = "compiled"


@dataclass(frozen=True)
class Sources:
    """The C sources of a library, and the functions that it has.

    name: begins the name of the compiled file. files: names by the package that holds them; headers
    are included, .c files are compiled. functions: the types of the arguments of each function, all
    of which return an int64.
    """

    name: str
    files: Mapping[str, Sequence[str]]
    functions: Mapping[str, Sequence[type]]

    def read(self) -> dict[str, bytes]:
        """The text of each file."""
        return {
            name: (resources.files(package) / name).read_bytes()
            for package, names in self.files.items()
            for name in names
        }


def load_library(cache: Path, sources: Sources) -> tuple[ctypes.CDLL | None, str]:
    """The library and "", or None and why there is none; cache: a folder of this user.

    A wheel carries the library. Where there is none, or it cannot be loaded here, the C compiler
    makes one. Two processes may compile at the same time, because each moves a complete file to its
    place. A file that is not whole, or that another user may have written, is compiled again.
    """
    carried = carried_library(sources)
    if carried.is_file():
        # It may have been made for another system, or for a later version of the C library.
        with contextlib.suppress(OSError):
            return _declared(carried, sources.functions), ""
    compiler = shutil.which("cc")
    if compiler is None:
        return None, "there is no C compiler (cc)"
    try:
        texts = sources.read()
        path = _library_path(cache, compiler, sources.name, texts)
        if reason := user_cache.untrusted_folder(cache):
            return None, reason
        # A folder with a library need not be writable.
        if not _is_usable(path):
            user_cache.make_folder(cache)
            compiled = _compile(compiler, texts)
            with user_cache.writing(path) as file:
                file.write(compiled)
        reason = user_cache.untrusted(path)
        return (None, reason) if reason else (_declared(path, sources.functions), "")
    except NmtError as error:
        reason = error.message
        if isinstance(error, CannotCreateError):
            reason += " (the variable XDG_CACHE_HOME can name another folder)"
        return None, f"the kernels cannot be compiled and loaded: {reason}"
    except (OSError, subprocess.SubprocessError) as error:
        return None, f"the kernels cannot be compiled and loaded: {error}"


def may_load(sources: Sources) -> bool:
    """Whether there is a library of the wheel, or a C compiler to make one with."""
    return shutil.which("cc") is not None or carried_library(sources).is_file()


def must_compile(cache: Path, sources: Sources) -> bool:
    """Whether `load_library` will have to compile, which takes a few seconds."""
    compiler = shutil.which("cc")
    try:
        if compiler is None or carried_library(sources).is_file():
            return False
        return not _is_usable(_library_path(cache, compiler, sources.name, sources.read()))
    except (OSError, subprocess.SubprocessError):
        return False


def carried_library(sources: Sources) -> Path:
    """Where a wheel has the library that was compiled from these sources on such a machine."""
    key = hashlib.sha256(b"\0".join([*map(str.encode, FLAGS), *sources.read().values()]))
    name = f"{sources.name}-{sys.platform}-{platform.machine()}-{key.hexdigest()[:32]}.so"
    return Path(str(resources.files("nmt_cli.kernels"))) / CARRIED / name


def compiled_library(sources: Sources) -> bytes:
    """The content of the library; raises OSError and SubprocessError where it cannot be made."""
    return _compile("cc", sources.read())


def _library_path(cache: Path, compiler: str, name: str, texts: dict[str, bytes]) -> Path:
    """The file of the library that this compiler makes of these texts."""
    version = _run([compiler, "--version"])
    key = hashlib.sha256(b"\0".join([version, *map(str.encode, FLAGS), *texts.values()]))
    return cache / f"{name}-{key.hexdigest()[:32]}.so"


def _compile(compiler: str, texts: dict[str, bytes]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="nmt-kernels-") as name:
        folder = Path(name)
        for file, text in texts.items():
            write_bytes(folder / file, text)
        sources = [str(folder / name) for name in texts if name.endswith(".c")]
        result = folder / "library.so"
        _run([compiler, *FLAGS, *sources, "-o", str(result), "-lm"])
        return result.read_bytes()


def _declared(path: Path, functions: Mapping[str, Sequence[type]]) -> ctypes.CDLL:
    """The library; argument types are declared so that integers are passed as 64 bits.

    Raises OSError. A file that is not whole is refused, since reading past its end is a crash.
    """
    if not _is_whole(path):
        raise OSError(f"`{path}` is not a whole library")
    library = ctypes.CDLL(str(path))
    for name, arguments in functions.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise OSError(f"`{path}` lacks {name}") from error
        function.argtypes, function.restype = arguments, ctypes.c_int64
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


def _is_usable(path: Path) -> bool:
    """Whether there is a library that is whole, and that no other user may have written."""
    return path.is_file() and not user_cache.untrusted(path) and _is_whole(path)


def _run(command: list[str]) -> bytes:
    completed = subprocess.run(
        command, check=True, capture_output=True, timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL
    )
    return completed.stdout
