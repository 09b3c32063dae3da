"""Pictures as files: SVG, or PNG rendered from SVG by an optional library."""

import re
from importlib.util import find_spec
from pathlib import Path

from nmt_cli.drawing.svg import GENERATOR, document, in_light, label
from nmt_cli.errors import UnavailableError, UsageError
from nmt_cli.installation import install_command
from nmt_cli.storage.files import write_bytes, write_text

# The beginning of a picture (`svg.document`) and of a page (`page.html`) of nmt.
OWN = re.compile(
    f"<svg[^>]*><metadata>{GENERATOR}</metadata>|"
    f'<!doctype html>\\s*<html[^>]*>\\s*<head>\\s*<meta name="generator" content="{GENERATOR}">'
)
MARKED_BYTES = 1 << 10
# Pixels of a PNG for each pixel of the SVG.
ZOOM = 2.0


def check_picture(path: Path) -> None:
    """Raise UsageError for another suffix, UnavailableError if a PNG cannot be rendered here."""
    suffix = path.suffix.lower()
    if suffix not in (".svg", ".png"):
        raise UsageError(f"`{path}` is not the name of a picture", "end its name in .svg or .png")
    if suffix == ".svg":
        return
    if find_spec("resvg_py") is None:
        raise UnavailableError(
            f"`{path}`: a PNG needs the library resvg-py",
            f"{install_command('png')}, or end the name in .svg",
        )
    letter, empty = (document(9, 20, "", "", [label(0, 16, text)]) for text in ("A", ""))
    if _as_png(letter) == _as_png(empty):
        raise UnavailableError(
            f"`{path}`: this machine has no font for the text of a PNG",
            "install one, such as DejaVu Sans, or end the name in .svg",
        )


def is_own_picture(path: Path) -> bool:
    """Whether `path` is a picture or page made by nmt; a PNG is never known to be."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return bool(OWN.match(file.read(MARKED_BYTES).decode("utf-8", "replace")))
    except OSError:
        return False


def write_picture(path: Path, drawn: str) -> str:
    """Write an SVG or a page, or a PNG of an SVG in the light colours with this machine's fonts.

    Returns what a command says of it, also that it has replaced a file.
    """
    done = f"{'replaced' if path.exists() else 'wrote'} {path}"
    if path.suffix.lower() == ".png":
        write_bytes(path, _as_png(drawn))
        return done
    write_text(path, drawn)
    return f"{done}: open it in a browser"


def _as_png(drawn: str) -> bytes:
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=in_light(drawn), zoom=ZOOM))
