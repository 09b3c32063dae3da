"""What a power cut may leave: a model of a file system that forgets what was not synced.

It is told the operations that a RememberingDisk wrote down. A file keeps the content it was last
synced with; a directory keeps the names it was last synced with, and so a new name for a file is
lost although the file's content is not.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODES = ("all is kept", "contents not synced are lost", "names not synced are lost")


@dataclass
class File:
    """A file's content, and what of it would be left."""

    content: bytes = b""
    synced: bytes = b""


@dataclass
class Folder:
    """The names in a directory, and which of them would be left."""

    names: dict[str, "File | Folder"] = field(default_factory=dict)
    synced: dict[str, "File | Folder"] = field(default_factory=dict)


class Machine:
    """A file system below `root`, with its past."""

    def __init__(self, root: Path) -> None:
        """As it is on the disk; all of it is synced."""
        self.root = root
        self.top = _read(root)

    def _folder(self, path: str) -> tuple[Folder, str]:
        *parents, name = Path(path).relative_to(self.root).parts
        folder = self.top
        for parent in parents:
            folder = folder.names[parent]
        return folder, name

    def do(self, name: str, path: str, *arguments: Any) -> None:
        """One operation."""
        if Path(path) == self.root:
            assert name == "sync"
            self.top.synced = dict(self.top.names)
            return
        folder, last = self._folder(path)
        if name == "open":
            if arguments[0] == "wb" or last not in folder.names:
                folder.names[last] = File()
        elif name == "write":
            folder.names[last].content += arguments[0]
        elif name == "cut":
            folder.names[last].content = folder.names[last].content[: arguments[0]]
        elif name == "sync":
            _sync(folder.names[last])
        elif name in ("rename", "rename_new"):
            other, new = self._folder(str(arguments[0]))
            other.names[new] = folder.names.pop(last)
        elif name == "exchange":
            other, new = self._folder(str(arguments[0]))
            here = folder.names[last]
            folder.names[last], other.names[new] = other.names[new], here
        elif name == "make_directory":
            folder.names[last] = Folder()
        else:
            del folder.names[last]

    def left(self, mode: str) -> dict[str, bytes | None]:
        """What is there after a power cut now: contents by path, None for a directory."""
        contents, names = mode != MODES[1], mode != MODES[2]
        return {
            _of_a_dead_process(path): content
            for path, content in _left(self.top, "", contents=contents, names=names)
        }


def _of_a_dead_process(path: str) -> str:
    """Temporary names say which process made them; after a power cut it runs no more."""
    return re.sub(r"\.\d+@", f".{2**31 - 1}@", path)


def _read(path: Path) -> File | Folder:
    if path.is_file():
        return File(path.read_bytes(), path.read_bytes())
    names = {child.name: _read(child) for child in path.iterdir()}
    return Folder(names, dict(names))


def _sync(node: File | Folder) -> None:
    if isinstance(node, File):
        node.synced = node.content
    else:
        node.synced = dict(node.names)


def _left(folder: Folder, prefix: str, *, contents: bool, names: bool):
    for name, entry in sorted((folder.names if names else folder.synced).items()):
        path = f"{prefix}{name}"
        if isinstance(entry, File):
            yield path, entry.content if contents else entry.synced
        else:
            yield path, None
            yield from _left(entry, f"{path}/", contents=contents, names=names)


def write_out(left: dict[str, bytes | None], root: Path) -> None:
    """Let that be what is on the disk below `root`."""
    root.mkdir()
    for path, content in left.items():
        if content is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(content)


def digest(left: dict[str, bytes | None]) -> str:
    """Of names and contents."""
    result = hashlib.sha256()
    for path, content in sorted(left.items()):
        result.update(f"{path}\0{-1 if content is None else len(content)}\0".encode())
        result.update(
            _in_order(content or b"") if path.endswith(".safetensors") else content or b""
        )
    return result.hexdigest()


def _in_order(content: bytes) -> bytes:
    """safetensors writes its facts in an order by chance."""
    end = 8 + int.from_bytes(content[:8], "little")
    try:
        return json.dumps(json.loads(content[8:end]), sort_keys=True).encode() + content[end:]
    except ValueError:
        return content


def on_disk(root: Path) -> dict[str, bytes | None]:
    """What is below `root` really, as `Machine.left` has it."""
    return {
        _of_a_dead_process(str(path.relative_to(root))): None
        if path.is_dir()
        else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }
