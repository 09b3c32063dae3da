"""What is in a folder, to see whether a command has changed it."""

import hashlib
from pathlib import Path


def contents(folder: Path) -> dict[str, str]:
    """Every name below `folder` and what is there: a link, a directory, or a file's SHA-256."""
    result = {}
    for path in sorted(folder.rglob("*")):
        kind = "directory" if path.is_dir() else ""
        if path.is_symlink():
            kind = f"link to {path.readlink()}"
        result[str(path.relative_to(folder))] = (
            kind or hashlib.sha256(path.read_bytes()).hexdigest()
        )
    return result
