"""The recorded model of Marian, and copies of it with other contents."""

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from exchange.marian_recipe import DATA

from nmt_cli.exchange.importer import ImportOptions

LANGUAGES = ImportOptions("en", "xx")
RECORDED = json.loads((DATA / "translations.json").read_text())["translations"]
SETTINGS = "special:model.yml"


def copied(folder: Path) -> Path:
    """A copy of the recorded model's directory."""
    return Path(shutil.copytree(DATA, folder))


def settings_of(path: Path) -> dict[str, Any]:
    """The settings inside model.npz."""
    with np.load(path) as arrays:
        return yaml.safe_load(arrays[SETTINGS].tobytes().rstrip(b"\0").decode())


def rewrite(path: Path, settings: str | None = None, **changes: Any) -> None:
    """Write model.npz again with other settings, or other arrays; None leaves one out."""
    with np.load(path) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    if settings is not None:
        arrays[SETTINGS] = np.frombuffer(settings.encode() + b"\0", np.int8)
    arrays |= changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def with_settings(path: Path, **changes: Any) -> None:
    """Write model.npz again with some of its settings changed; `_` stands for a hyphen."""
    settings = settings_of(path) | {name.replace("_", "-"): changes[name] for name in changes}
    rewrite(path, yaml.safe_dump(settings))


def with_header(path: Path, header: str, name: str = "Wemb", data: bytes = b"") -> None:
    """Write model.npz again with another header of one array."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for entry in old.infolist():
            body = old.read(entry)
            if entry.filename == f"{name}.npy":
                start = 10 + int.from_bytes(body[8:10], "little")
                text = header.encode().ljust(117) + b"\n"
                size = len(text).to_bytes(2, "little")
                body = body[:8] + size + text + (data or body[start:])
            new.writestr(entry.filename, body)
    path.write_bytes(content.getvalue())
