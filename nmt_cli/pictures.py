"""Pictures on disk: SVG as it is, PNG drawn from it by an optional library."""

from importlib.util import find_spec
from pathlib import Path

from nmt_cli.errors import UnavailableError, UsageError
from nmt_cli.files import write_bytes, write_text
from nmt_cli.svg import document, in_light, label

# Pixels of a PNG for each of its SVG.
ZOOM = 2.0


def check_picture(path: Path) -> None:
    """Raise UsageError for a name of no picture, UnavailableError where it cannot be made."""
    kind = path.suffix.lower()
    if kind not in (".svg", ".png"):
        raise UsageError(f"`{path}` is no picture", "end its name in .svg or .png")
    if kind == ".svg":
        return
    if find_spec("resvg_py") is None:
        raise UnavailableError(
            f"`{path}`: a PNG needs the library resvg-py",
            "pip install 'nmt-cli[png]', or end the name in .svg",
        )
    letter, nothing = (document(9, 20, "", "", [label(0, 16, text)]) for text in ("A", ""))
    if _as_png(letter) == _as_png(nothing):
        raise UnavailableError(
            f"`{path}`: this machine has no font to write a PNG's words with",
            "install one, such as DejaVu Sans, or end the name in .svg",
        )


def write_picture(path: Path, drawn: str) -> None:
    """`drawn` is an SVG; a PNG of it is in the light colours, with the fonts of this machine."""
    if path.suffix.lower() == ".png":
        write_bytes(path, _as_png(drawn))
    else:
        write_text(path, drawn)


def _as_png(drawn: str) -> bytes:
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=in_light(drawn), zoom=ZOOM))
