"""Marks in texts whose document breaks its lines elsewhere."""

import re

import pytest

from nmt_cli.data.markup.inline import marks_of, parse_line, with_placeholders
from nmt_cli.data.markup.kept import Kept, KeptNames
from nmt_cli.data.markup.marked_text import Placeholder, raw_text
from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.html.document import HtmlDocument
from nmt_cli.documents.markdown.document import MarkdownDocument

KEPT = Kept(names=KeptNames(["NordPad", "NordPad Pro", "C++", "Pad One"]))


@pytest.mark.parametrize(
    ("page", "marks"),
    [
        ("The man sees --verbose in\nthe house.\n", ["--verbose"]),
        ("The man sees in\nthe house $name and v2.4.1.\n", ["$name", "v2.4.1"]),
        ("> The dog sees NordPad\n> Pro and\n> C++ here.\n", ["NordPad Pro", "C++"]),
        # Its first line alone has no mark.
        ("> The dog sees Pad\n> One here.\n", ["Pad One"]),
        (
            "> The dog sees\n> NordPad&nbsp;Pro and\n> C&#43;+ here.\n",
            ["NordPad&nbsp;Pro", "C&#43;+"],
        ),
        ("No mark in\nthese lines.\n", []),
        ("- The man sees\n  --fast and NordPad\n  Pro.\n", ["--fast", "NordPad Pro"]),
        ("NordPad\nPro sees a\\*b and --fast.\n", ["NordPad Pro", "--fast"]),
        ("A mail to me@example.org for\nNordPad.\n", ["me@example.org", "NordPad"]),
    ],
)
def test_marks_in_wrapped_paragraphs_of_markdown(page: str, marks: list[str]) -> None:
    [segment] = MarkdownDocument(page.encode(), ReadOptions("a.md")).segments
    pieces = with_placeholders(segment, KEPT)
    assert [piece.raw for piece in pieces if isinstance(piece, Placeholder)] == marks
    # What is between them is what the document has there.
    written, read = (re.sub(r"[\s>]+", " ", raw_text(each)) for each in (segment, pieces))
    assert written == read


def test_names_are_found_where_a_line_break_is_within_them() -> None:
    [segment] = HtmlDocument(b"<p>See NordPad\nPro.</p>", ReadOptions("a.html")).segments
    assert marks_of(with_placeholders(segment, KEPT)) == {"NordPad Pro": 1}
    assert marks_of(parse_line("See NordPad\u00a0Pro.", KEPT)) == {"NordPad\u00a0Pro": 1}


@pytest.mark.parametrize(
    "mark",
    [
        "{count, plural, one {# dog} other {<b>#</b> dogs}}",
        "{n, select, a {<link>one</link>} other {{n, plural, other {<b>x</b>}}}}",
        "{{val, number}}", "{{price, currency(USD)}}", "{{- city, uppercase}}", "{{ a + 1 }}",
        "{{ item.names.join(', ') }}", "{{{ raw }}}",
    ],
)  # fmt: skip
def test_expressions_and_messages_are_kept_whole(mark: str) -> None:
    line = f"The {mark} <b>dogs</b> sleep."
    assert marks_of(parse_line(line)) == {mark: 1, "<b>": 1, "</b>": 1}
