"""The demo's folder: the marker file by which it is recognised, and what may be replaced in it."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.layout import read_description
from nmt_cli.data.preparation.prepare import fingerprint
from nmt_cli.errors import CannotCreateError, NmtError
from nmt_cli.storage import files
from nmt_cli.storage.manifest import MANIFEST
from nmt_cli.storage.output_directory import DirectoryKind, require_free

MARKER = ".nmt-demo.json"
MARKER_BYTES = 1 << 16
MADE_BY = "nmt demo"
FORMAT = 1
# The results that each run of the demo makes again; the texts never change.
OUTPUT = "test.output.de"
AVERAGE = "average"
RESULTS = (OUTPUT, AVERAGE)


@dataclass
class Marker:
    """The content of the marker file.

    results: SHA-256 of each result as the demo wrote it; unfinished: results that an interrupted
    demo may have written without recording their SHA-256.
    """

    made_by: str = ""
    format: int = 0
    results: dict[str, str] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Write the marker file of `folder`."""
        files.write_text(folder / MARKER, json.dumps(asdict(self), indent=1) + "\n")


def claim_folder(folder: Path) -> None:
    """Make `folder` and its marker if it is missing or empty; accept the folder of an earlier demo.

    Raises CannotCreateError, before anything is written, for a folder with other content and for
    results that were changed since the demo wrote them.
    """
    if not _is_empty(folder):
        marker = _read_marker(folder)
        _refuse_changed(folder, [name for name in RESULTS if not _is_own(folder, name, marker)])
        require_free(folder / AVERAGE, DirectoryKind.AVERAGE, force=True)
        return
    files.make_directory(folder)
    Marker(MADE_BY, FORMAT).save(folder)
    files.remove_abandoned(folder / MARKER)


def _is_empty(folder: Path) -> bool:
    """Whether `folder` is missing, empty, or contains only an incomplete marker."""
    if not os.path.lexists(folder):
        return True
    if not folder.is_dir():
        raise CannotCreateError(
            f"`{folder}` is not a directory, and the demo needs one of its own", _other_directory()
        )
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise CannotCreateError(
            f"`{folder}` cannot be read: {error.strerror}", _other_directory()
        ) from error
    return all(name.startswith(f"{files.TEMPORARY_PREFIX}{MARKER}.") for name in names)


def _other_directory() -> str:
    return "name a new directory, such as `nmt demo my-demo`"


def _read_marker(folder: Path) -> Marker:
    """Read the marker of `folder`; raises CannotCreateError if there is none of this version."""
    path = folder / MARKER
    foreign = CannotCreateError(
        f"`{folder}` is not empty and was not made by `nmt demo`", _other_directory()
    )
    if path.is_symlink():
        raise foreign
    try:
        document = json.loads(files.read_bytes(path, max_bytes=MARKER_BYTES))
        marker = Marker(**document)
    except (NmtError, ValueError, TypeError, RecursionError) as error:
        raise foreign from error
    if marker.made_by != MADE_BY:
        raise foreign
    readable = isinstance(marker.results, dict) and isinstance(marker.unfinished, list)
    if marker.format != FORMAT or not readable:
        raise CannotCreateError(
            f"`{folder}` was made by the demo of another version of nmt", _other_directory()
        )
    return marker


def _is_own(folder: Path, name: str, marker: Marker) -> bool:
    """Whether a result is missing, or unchanged since the demo wrote it."""
    path = folder / name
    if not os.path.lexists(path) or name in marker.unfinished:
        return True
    return not path.is_symlink() and marker.results.get(name) == _digest(path)


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the manifest of a directory, which lists those of its files."""
    path = path / MANIFEST if path.is_dir() else path
    try:
        return files.sha256_of(path)
    except OSError:
        return ""


def _refuse_changed(folder: Path, names: Iterable[str]) -> None:
    """Raise CannotCreateError naming the files of `names`, if there are any."""
    listed = ", ".join(f"`{folder / name}`" for name in names)
    if listed:
        raise CannotCreateError(
            f"the demo did not write this, and does not replace it: {listed}",
            f"move what was changed to another place, or {_other_directory()}",
        )


@contextlib.contextmanager
def replacing_result(folder: Path, name: str) -> Iterator[Path]:
    """Record that the demo writes the result `name` in this block, and its SHA-256 afterwards.

    Raises CannotCreateError if another program has changed it in the meantime.
    """
    marker = _read_marker(folder)
    _refuse_changed(folder, [] if _is_own(folder, name, marker) else [name])
    marker.unfinished = [*marker.unfinished, name]
    marker.save(folder)
    yield folder / name
    marker.results[name] = _digest(folder / name)
    marker.unfinished = [other for other in marker.unfinished if other != name]
    marker.save(folder)


def write_texts(folder: Path, texts: dict[str, bytes]) -> None:
    """Write those of `texts` that are missing in `folder`.

    Raises CannotCreateError, before anything is written, naming every file with other content.
    """
    _refuse_changed(folder, [name for name in texts if _differs(folder / name, texts[name])])
    for name, text in texts.items():
        files.remove_abandoned(folder / name)
        if not (folder / name).exists():
            files.write_bytes(folder / name, text)


def _differs(path: Path, text: bytes) -> bool:
    if not os.path.lexists(path):
        return False
    try:
        return not path.is_file() or path.read_bytes() != text
    except OSError:
        return True


def require_own_data(folder: Path, config: Config) -> None:
    """Raise CannotCreateError if the settings name other texts than those of the demo."""
    train, valid, test = (
        (str(folder / f"{split}.en"), str(folder / f"{split}.de"))
        for split in ("train", "valid", "test")
    )
    data = config.data
    if (data.train, data.valid, data.test) != ((train,), valid, test):
        raise CannotCreateError(
            f"the settings of `{folder}` name other texts than the demo's own",
            "use `nmt prepare` and `nmt train` for them; for the demo " + _other_directory(),
        )


def require_own_corpus(config: Config) -> None:
    """Raise CannotCreateError if there is a corpus that was prepared from other texts."""
    corpus = Path(config.paths.corpus)
    if not corpus.exists():
        return
    prepared = read_description(corpus).get("inputs") or {}
    own = fingerprint(config) or {}
    if sorted(prepared.values()) != sorted(own.values()):
        raise CannotCreateError(
            f"`{corpus}` was not prepared from the demo's own texts",
            f"move it to another place, or {_other_directory()}",
        )
