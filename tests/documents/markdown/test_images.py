"""Images and other raw marks of Markdown: what is translated of them, and what is kept."""

import pytest
from document_samples import changed, opened

from nmt_cli.data.markup.marked_text import Text, plain_text, raw_text


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


@pytest.mark.parametrize(
    ("text", "expected", "segments"),
    [
        ("Section 5 of the Act^[Section 6 of the *Act* is repealed.] is repealed.\n",
         "SECTION 5 OF THE ACT^[SECTION 6 OF THE *ACT* IS REPEALED.] IS REPEALED.\n",
         ["Section 6 of the Act is repealed.", "Section 5 of the Act is repealed."]),
        ("A ^[note one\ntwo] dog ^[ see ![alt](x)].\n",
         "A ^[NOTE ONE TWO] DOG ^[ SEE ![ALT](x)].\n",
         ["note one two", "alt", "see", "A  dog ."]),
        ("**A dog.^[A note.]** A cat.^[A note.]^[5]\n",
         "**A DOG.^[A NOTE.]** A CAT.^[A NOTE.]^[5]\n",
         ["A note.", "A dog. A cat."]),
    ],
)  # fmt: skip
def test_footnote_in_its_sentence_is_a_segment_of_its_own(
    text: str, expected: str, segments: list[str]
) -> None:
    assert changed(text, "markdown") == expected
    assert [plain_text(segment) for segment in opened(text, "markdown").segments] == segments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("![The licence](a.png){width=50%}\n", "![THE LICENCE](a.png){width=50%}\n"),
        ("See ![it](a.png){ width=50 .cls } now.\n", "SEE ![IT](a.png){ width=50 .cls } NOW.\n"),
        ('![it](a.png){: .center width="300" }\n', '![IT](a.png){: .center width="300" }\n'),
        ("See [it](u){:rel='a b' #x} `x`{=html}.\n", "SEE [IT](u){:rel='a b' #x} `x`{=html}.\n"),
        ("A [red]{lang=en} [and]{.x} [more].\n", "A [RED]{lang=en} [AND]{.x} \\[MORE\\].\n"),
        ("## A dog {lang=en} ##\n", "## A DOG {lang=en} ##\n"),
        # What stands elsewhere is text or a placeholder.
        ("A dog {lang=en}\n", "A DOG {LANG=EN}\n"),
        ("(see it){width=5} {x=1} ![it](u){name}\n", "(SEE IT){WIDTH=5} {X=1} ![IT](u){name}\n"),
    ],
)
def test_attributes_are_kept_where_they_belong_to_something(text: str, expected: str) -> None:
    assert changed(text, "markdown") == expected


def test_attributes_are_part_of_what_they_follow() -> None:
    segment = opened("See ![a](b){width=5} [it](u){.x} `c`{=html} now.\n", "markdown").segments[1]
    raws = [raw_text((piece,)) for piece in segment if not isinstance(piece, Text)]
    assert raws == ["![a](b){width=5}", "[", "](u){.x}", "`c`{=html}"]


def test_emphasis_may_begin_within_a_word() -> None:
    text = "The court*s* may order *costs*, 2*3.\n"
    assert changed(text, "markdown") == "THE COURT*S* MAY ORDER *COSTS*, 2\\*3.\n"
