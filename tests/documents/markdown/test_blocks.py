"""Blocks of Markdown that must not be joined with the lines around them."""

import pytest
from document_samples import changed, opened

FOOTNOTES = """See[^1] and[^2] and[^word].

[^1]: The first note.
[^2]: The second one
lazily goes on.
[name]: http://x.y "kept"
[^word]: Word
    of two lines.

    Its second paragraph.

        code

    - its item
[^5]:
    below the mark

The end.
"""
AFTER_OTHERS = """- item
[^1]: in a list
[^2]: not joined
> quote
[^3]: after a quote
# head
[^4]: after a heading
| a | b |
|---|---|
| c | d |
[^5]: after a table
<!-- kept -->
[^6]: after a comment
```
kept
```
[^7]: after code

> [^8]: in a quote
> [a]: http://a.b
> [b]: http://c.d 'kept'
> quoted
"""
DEFINITIONS = """Term one
: Definition one
: Definition two
  goes on

    A paragraph of it

*[HTML]: Hyper text
*[CSS]: Style sheets
"""
DIRECTIVES = """::: kept
A text
in two lines
:::

!!! note "Kept"
    In the note.

    More of it.

=== "Kept"

    In the tab.

[TOC]

[[_toc_]]
After it [TOC]
[TOC] and
"""
WRITTEN = {
    FOOTNOTES: """SEE[^1] AND[^2] AND[^word].

[^1]: THE FIRST NOTE.
[^2]: THE SECOND ONE LAZILY GOES ON.
[name]: http://x.y "kept"
[^word]: WORD OF TWO LINES.

    ITS SECOND PARAGRAPH.

        code

    - ITS ITEM
[^5]:
    BELOW THE MARK

THE END.
""",
    AFTER_OTHERS: """- ITEM
[^1]: IN A LIST
[^2]: NOT JOINED
> QUOTE
[^3]: AFTER A QUOTE
# HEAD
[^4]: AFTER A HEADING
| A | B |
|---|---|
| C | D |
[^5]: AFTER A TABLE
<!-- kept -->
[^6]: AFTER A COMMENT
```
kept
```
[^7]: AFTER CODE

> [^8]: IN A QUOTE
> [a]: http://a.b
> [b]: http://c.d 'kept'
> QUOTED
""",
    DEFINITIONS: """TERM ONE
: DEFINITION ONE
: DEFINITION TWO GOES ON

    A PARAGRAPH OF IT

*[HTML]: HYPER TEXT
*[CSS]: STYLE SHEETS
""",
    DIRECTIVES: """::: kept
A TEXT IN TWO LINES
:::

!!! note "Kept"
    IN THE NOTE.

    MORE OF IT.

=== "Kept"

    IN THE TAB.

[TOC]

[[_toc_]]
AFTER IT \\[TOC\\] \\[TOC\\] AND
""",
}


@pytest.mark.parametrize("text", WRITTEN, ids=["footnotes", "after", "definitions", "directives"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_blocks_are_not_joined(text: str, ending: str) -> None:
    data = text.replace("\n", ending)
    assert changed(data, "markdown") == WRITTEN[text].replace("\n", ending)
    assert opened(data, "markdown").render(opened(data, "markdown").segments) == data.encode()


def test_cells_of_a_table_in_a_list_or_with_empty_cells_are_found() -> None:
    text = "- | a | b |\n  |---|---|\n  | c |  d \\| e |\n\n||x|y|\n|-|-|-|\n|z||w|\n"
    text += "\n- f | g\n  --|--\n  h | i\n\n> j | k\n> --|--\n> l | m\n"
    assert changed(text, "markdown") == text.upper()


def test_deeply_nested_blocks_are_translated() -> None:
    text = "".join("  " * depth + "- word\n" for depth in range(25)) + "\nthe end\n"
    assert changed(text, "markdown") == text.upper()
    for nested in ("> " * 3_000 + "word\n", "- " * 3_000 + "word\n", "[^1]: " * 3_000 + "word\n"):
        assert opened(nested, "markdown").render([]) == nested.encode()


def test_html_in_a_list_is_translated() -> None:
    text = "- item\n\n  <div>\n  some <b>text</b>\n  </div>\n- <p>direct</p>\n\n> <p>quoted</p>\n"
    assert changed(text, "markdown") == (
        "- ITEM\n\n  <div>\n  SOME <b>TEXT</b>\n  </div>\n- <p>DIRECT</p>\n\n> <p>QUOTED</p>\n"
    )
    kept = "> <div>\n> kept\n> </div>\n"
    assert changed(kept, "markdown") == kept


def test_marks_of_footnotes_and_headings_are_kept() -> None:
    assert changed("Text^[a note] here {.x}\n\n# Head {#id}\n", "markdown") == (
        "TEXT^[A NOTE] HERE {.x}\n\n# HEAD {#id}\n"
    )


@pytest.mark.parametrize(
    "text",
    ["\u2028\nword", "\f  \nword", "a\u3000  \nword", "a\t  \nword\u3000\n", "> \u3000\n> word\n"],
)
def test_lines_with_white_space_of_any_kind_are_translated(text: str) -> None:
    assert changed(text, "markdown") == text.upper()


def test_words_after_a_hard_break_that_look_like_a_block_are_escaped() -> None:
    assert changed("a  \n\\- b\\\n1\\. c\n", "markdown") == "A  \n\\- B\\\n1\\. C\n"
    assert changed("word", "markdown", lambda _: ": x") == "\\: x"
