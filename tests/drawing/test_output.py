"""Pictures on disk: an SVG as it is, a PNG of the same; what cannot be is refused at once."""

import struct
import zlib
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.drawing.output import ZOOM, check_picture, write_picture
from nmt_cli.drawing.svg import DARK, LIGHT, document, element, in_light
from nmt_cli.errors import UnavailableError, UsageError
from nmt_cli.installation import install_command

DRAWN = document(30, 20, "t", "d", [element("rect", x=10, y=5, width=10, height=10, class_="mark")])


def pixels(path: Path) -> list[list[tuple[int, ...]]]:
    """Of a PNG with eight bits a channel: rows of (red, green, blue, opacity)."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, kind = struct.unpack_from(">IIBB", data, 16)
    assert (depth, kind) == (8, 6)
    position, packed = 8, b""
    while position < len(data):
        (size,) = struct.unpack_from(">I", data, position)
        if data[position + 4 : position + 8] == b"IDAT":
            packed += data[position + 8 : position + 8 + size]
        position += 12 + size
    raw, stride, above = zlib.decompress(packed), 4 * width, bytes(4 * width)
    rows = []
    for index in range(height):
        start = index * (stride + 1)
        above = unfiltered(raw[start], raw[start + 1 : start + 1 + stride], above)
        rows.append([tuple(above[i : i + 4]) for i in range(0, stride, 4)])
    return rows


def unfiltered(kind: int, row: bytes, above: bytes) -> bytes:
    """Section 9 of the PNG specification."""
    done = bytearray()
    for column, value in enumerate(row):
        left = done[column - 4] if column >= 4 else 0
        corner = above[column - 4] if column >= 4 else 0
        guess = left + above[column] - corner
        nearest = min((left, above[column], corner), key=lambda neighbour: abs(guess - neighbour))
        added = (0, left, above[column], (left + above[column]) // 2, nearest)[kind]
        done.append((value + added) % 256)
    return bytes(done)


def test_a_png_shows_the_light_colours(tmp_path: Path) -> None:
    write_picture(tmp_path / "x.png", DRAWN)
    rows = pixels(tmp_path / "x.png")
    assert (len(rows), len(rows[0])) == (20 * ZOOM, 30 * ZOOM)
    assert rows[2][2] == (255, 255, 255, 255)
    assert rows[20][30] == (*bytes.fromhex(LIGHT["ink"][1:]), 255)


def test_an_svg_keeps_both_themes(tmp_path: Path) -> None:
    write_picture(tmp_path / "x.SVG", DRAWN)
    assert (tmp_path / "x.SVG").read_text() == DRAWN
    assert f"text, .mark {{ fill: {LIGHT['ink']}; }}" in DRAWN
    assert f"text, .mark {{ fill: {DARK['ink']}; }}" in DRAWN.partition("@media")[2]
    # Programs other than browsers do not know variables.
    assert "var(" not in DRAWN
    light = in_light(DRAWN)
    assert not any(value in light for value in ("system-ui", "@media", DARK["ink"]))


def test_check_picture_refuses_suffix_or_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("x.jpg", "x", "png"):
        with pytest.raises(UsageError, match="not the name of a picture"):
            check_picture(Path(name))
    check_picture(Path("x.PNG"))
    monkeypatch.setattr("nmt_cli.drawing.output.find_spec", lambda name: None)
    check_picture(Path("x.svg"))
    with pytest.raises(UnavailableError, match="resvg-py") as caught:
        check_picture(Path("x.png"))
    assert install_command("png") in caught.value.hint


def test_png_without_fonts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_picture(Path("x.png"))
    monkeypatch.setattr("nmt_cli.drawing.svg.NAMED_FONTS", "'No Such Font'")
    with pytest.raises(UnavailableError, match="no font"):
        check_picture(Path("x.png"))
    check_picture(Path("x.svg"))


@pytest.mark.slow
def test_plot_commands_write_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "smoothing", "--out", "x.png"]) == 0
    assert capsys.readouterr().err == "wrote x.png\n"
    assert main(["bench", "layers", "--tiny", "--rounds", "1", "--out", "y.png", "-q"]) == 0
    for name in ("x.png", "y.png"):
        shown = {value for row in pixels(Path(name)) for value in row}
        assert len(shown) > 10
