"""Images and other raw marks of Markdown: what is translated of them, and what is kept."""

import pytest
from document_samples import changed, opened

from nmt_cli.data.markup.marked_text import plain_text


@pytest.mark.parametrize(
    ("text", "expected", "segments"),
    [
        ("![Build passing](a.png) ![the licence](b.png)\n",
         "![BUILD PASSING](a.png) ![THE LICENCE](b.png)\n", ["Build passing", "the licence"]),
        ("[![Build](a.png)](x) [![the *licence*](b.png 't')][y]\n\n[y]: u\n",
         "[![BUILD](a.png)](x) [![THE *LICENCE*](b.png 't')][y]\n\n[y]: u\n",
         ["Build", "the licence"]),
        ("Press ![ OK, go](ok.png) now.\n", "PRESS ![ OK, GO](ok.png) NOW.\n",
         ["OK, go", "Press  now."]),
        ("See ![one\ntwo][r] and ![r].\n\n[r]: x.png\n",
         "SEE ![ONE TWO][r] AND ![r].\n\n[r]: x.png\n", ["one two", "See  and ![r]."]),
        ("| a ![see it](u) | ![](v) |\n|--|--|\n", "| A ![SEE IT](u) | ![](v) |\n|--|--|\n",
         ["see it", "a"]),
        ("![a ![b](c) d](e)\n", "![A ![B](c) D](e)\n", ["a b d"]),
    ],
)  # fmt: skip
def test_alternative_text_is_a_segment_of_its_own(
    text: str, expected: str, segments: list[str]
) -> None:
    assert changed(text, "markdown") == expected
    assert [plain_text(segment) for segment in opened(text, "markdown").segments] == segments


def test_processing_instructions_are_kept() -> None:
    text = "The year <?= date('Y') ?> of <!ENTITY x> it.\n"
    assert changed(text, "markdown") == "THE YEAR <?= date('Y') ?> OF <!ENTITY x> IT.\n"


def test_emphasis_may_have_four_marks() -> None:
    text = "A ****fee**** and ____one____ ***** here.\n"
    assert changed(text, "markdown") == "A ****FEE**** AND ____ONE____ \\*\\*\\*\\*\\* HERE.\n"
