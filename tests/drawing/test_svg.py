"""SVG by hand: whatever the text, a reader of XML gets it back."""

from xml.etree import ElementTree

import pytest

from nmt_cli.drawing.svg import document, element, label, text_width


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("</text><script>alert(1)</script>", "</text><script>alert(1)</script>"),
        ("a & b < c > d \"e\" 'f'", "a & b < c > d \"e\" 'f'"),
        ("עברית 🙂 日本", "עברית 🙂 日本"),
        ("\x00\x1b\ufffe\ud800", "\ufffd\ufffd\ufffd\ufffd"),
    ],
)
def test_svg_text_round_trips(text: str, read: str) -> None:
    drawn = document(10, 10, text, text, [label(1, 2, text), element("g", class_=text)])
    tree = ElementTree.fromstring(drawn.encode("utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert [tree.findtext(space + name) for name in ("title", "desc", "text")] == [read] * 3
    assert tree.find(space + "g").get("class") == read
    assert [value.tag for value in tree.iter() if "script" in value.tag] == []


def test_document_has_size_and_no_external_links() -> None:
    drawn = document(30, 20.004, "t", "d", [])
    tree = ElementTree.fromstring(drawn)
    assert (tree.get("viewBox"), tree.get("width"), tree.get("height")) == ("0 0 30 20", "30", "20")
    assert drawn.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    assert "prefers-color-scheme: dark" in drawn


def test_text_width_of_wide_characters() -> None:
    assert text_width("日本") > text_width("ab") > 0
