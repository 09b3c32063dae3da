"""Models from strangers: directories made to do harm, and a process that watches what they do."""

import builtins
import contextlib
import io
import json
import os
import pickle
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.subwords.model import learn_subwords
from nmt_cli.errors import NmtError
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.kinds import make_model
from nmt_cli.model_dir import save_model
from nmt_cli.storage.manifest import add_to_manifest

# What loading a model never has to do.
FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.remove", "os.rename",
    "os.mkdir", "os.rmdir", "os.chmod", "os.link", "os.symlink", "os.putenv", "subprocess.Popen",
    "socket.", "pickle.find_class", "shutil.", "ctypes.dlopen", "urllib.", "webbrowser.",
)  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Outcome(NamedTuple):
    """How an act ended: exit code (0: it did what it was to do), text, what it did unasked.

    grown: memory in bytes.
    """

    code: int
    text: str
    seen: list[str]
    grown: int


def watched(act: Callable[[], object]) -> Outcome:
    """Do it in a process of its own, which writes down what it must not do."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        # Threads that torch started before the fork are not here: OpenMP would wait for them.
        torch.set_num_threads(1)
        result = _done(act)
        with os.fdopen(theirs, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(theirs)
    try:
        with os.fdopen(ours) as pipe:
            report = pipe.read()
    except BaseException:
        # What never ends must not live on when the test gives up.
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    assert status == 0, f"the process died: {status}"
    return Outcome(*json.loads(report))


def _done(act: Callable[[], object]) -> Outcome:
    seen: list[str] = []
    watching = [True]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching[0] and _is_forbidden(event, arguments):
            seen.append(f"{event} {arguments!r:.200}")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.addaudithook(hook)
    code, text = _outcome(act)
    watching[0] = False
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Outcome(code, text, seen, (after - before) << 10)


def _is_forbidden(event: str, arguments: tuple[object, ...]) -> bool:
    if event == "open":
        return isinstance(arguments[2], int) and bool(arguments[2] & WRITING)
    return event.startswith(FORBIDDEN)


def _outcome(act: Callable[[], object]) -> tuple[int, str]:
    try:
        act()
    except NmtError as error:
        return error.exit_code, f"{error.message}\n{error.hint}"
    except BaseException as error:
        return 1, f"{type(error).__name__}: {error}"
    return 0, ""


# -- models ----------------------------------------------------------------------------------------


def make_model_directory(path: Path) -> Path:
    """A small model that is in order."""
    config = byte_config()
    save_model(path, byte_model(config).state_dict(), config, byte_subwords(), {"step": "7"})
    return path


def with_file(model: Path, copy: Path, name: str, data: bytes) -> Path:
    """A copy of a model with another file in it, which its manifest confirms."""
    shutil.copytree(model, copy)
    if name == "manifest.json":
        (copy / name).write_bytes(data)
    else:
        add_to_manifest(copy, name, data)
    return copy


# -- pickles ---------------------------------------------------------------------------------------


class Gadget:
    """A pickle that calls a function when it is read."""

    def __init__(self, function: Callable[..., Any], *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return self.call


def pickle_bombs(mark: Path) -> dict[str, bytes]:
    """Files that would touch `mark` if anything unpickled them."""
    touch = f"import pathlib; pathlib.Path({str(mark)!r}).touch()"
    script = mark.with_name("script.py")
    script.write_text(touch)
    gadgets = {
        "os.system": Gadget(os.system, f"touch {mark}"),
        "exec": Gadget(builtins.exec, touch),
        "subprocess": Gadget(subprocess.Popen, ["touch", str(mark)]),
        "runpy": Gadget(runpy.run_path, str(script)),
        "open": Gadget(Path.touch, mark),
    }
    bombs = {name: pickle.dumps({"weights": gadget}) for name, gadget in gadgets.items()}
    bombs["oldest protocol"] = pickle.dumps(gadgets["exec"], protocol=0)
    saved = io.BytesIO()
    torch.save({"state_dict": gadgets["exec"]}, saved)
    bombs["torch.save"] = saved.getvalue()
    nested = io.BytesIO()
    with zipfile.ZipFile(nested, "w") as archive:
        archive.writestr("archive/data.pkl", bombs["exec"])
        archive.writestr("inner.pt", bombs["torch.save"])
    bombs["a zip in a zip"] = nested.getvalue()
    return bombs


# -- weights ---------------------------------------------------------------------------------------


def weights_header(document: object, size: int | None = None, rest: bytes = b"") -> bytes:
    """The beginning of a safetensors file: the size of the header, and the header."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return (len(text) if size is None else size).to_bytes(8, "little") + text + rest


def _tensor(shape: list[int], start: int, end: int, kind: str = "F32") -> dict[str, object]:
    return {"dtype": kind, "shape": shape, "data_offsets": [start, end]}


WEIGHTS = {
    "empty": b"",
    "no header": b"\x05\x00\x00",
    "endless header": weights_header(b"{}", 1 << 62),
    "header of 2^63": weights_header(b"{}", (1 << 64) - 1),
    "header of 100 MB": weights_header(b"{}", 100_000_001),
    "more than the file has": weights_header({"a": _tensor([1 << 30, 1 << 10], 0, 1 << 42)}),
    "a tensor over and over": weights_header(
        {"a": _tensor([1 << 20, 10_000], 0, 4)}, rest=b"\0" * 4
    ),
    "shape beyond 64 bits": weights_header(
        {"a": _tensor([1 << 40, 1 << 40], 0, 4)}, rest=b"\0" * 4
    ),
    "overlap": weights_header({"a": _tensor([2], 0, 8), "b": _tensor([2], 4, 12)}, rest=b"\0" * 12),
    "backwards": weights_header({"a": _tensor([2], 8, 0)}, rest=b"\0" * 8),
    "negative": weights_header({"a": _tensor([-2], 0, 8)}, rest=b"\0" * 8),
    "wrong size": weights_header({"a": _tensor([9], 0, 8)}, rest=b"\0" * 8),
    "bytes left over": weights_header({"a": _tensor([2], 0, 8)}, rest=b"\0" * 80),
    "unknown type": weights_header({"a": _tensor([2], 0, 8, "F33")}, rest=b"\0" * 8),
    "not JSON": weights_header(b"\xff\xfe not json"),
    "nested": weights_header(b'{"a":' * 50_000),
    "a list": weights_header([1, 2, 3]),
}


# -- archives --------------------------------------------------------------------------------------


def archives(folder: Path) -> Iterator[Path]:
    """Archives whose members would lie outside, or hurt where they lie."""
    folder.mkdir()
    members: dict[str, Callable[[tarfile.TarInfo], None]] = {
        "../outside": lambda member: None,
        str(folder.parent / "absolute"): lambda member: None,
        "link": lambda member: _become(member, tarfile.SYMTYPE, "/etc/passwd"),
        "up": lambda member: _become(member, tarfile.SYMTYPE, "../.."),
        "hard": lambda member: _become(member, tarfile.LNKTYPE, "../outside"),
        "pipe": lambda member: _become(member, tarfile.FIFOTYPE),
        "device": lambda member: _become(member, tarfile.CHRTYPE),
        "model.safetensors": lambda member: None,
    }
    for index, (name, change) in enumerate(members.items()):
        path = folder / f"{index}.tar"
        with tarfile.open(path, "w:gz" if index % 2 else "w") as archive:
            member = tarfile.TarInfo(name)
            change(member)
            archive.addfile(member, io.BytesIO())
        yield path
    listed = {
        "climbing": ["../outside"],
        "twice": ["a", "a"],
        "case": ["Config.toml", "config.toml", "CONFIG.TOML"],
        "many": [f"{n}" for n in range(10_000)],
    }
    for name, names in listed.items():
        path = folder / f"{name}.zip"
        with zipfile.ZipFile(path, "w") as archive, contextlib.suppress(UserWarning):
            for member in names:
                archive.writestr(member, b"x")
        yield path


def _become(member: tarfile.TarInfo, kind: bytes, target: str = "") -> None:
    member.type, member.linkname = kind, target


# -- subwords --------------------------------------------------------------------------------------


def make_piece_model(path: Path, kind: str = "unigram") -> Path:
    """A small model whose subwords are learnt."""
    words = {"".join(chr(ord("a") + (n * k) % 26) for k in range(1, 6)): 9 for n in range(60)}
    values: dict[str, object] = {"data.subwords": kind, "data.vocab_size": 34}
    subwords = learn_subwords(resolve([SettingsLayer("test", values)]).config.data, words, words)
    sizes = {"model.src_vocab_size": subwords.src_size, "model.tgt_vocab_size": subwords.tgt_size}
    config = byte_config({**values, **sizes})
    weights = initialise(make_model(config.model), 1).state_dict()
    save_model(path, weights, config, subwords, {})
    return path
