"""What is translated in each kind of document, and what stays: words in capitals show it."""

import itertools
import json
import re
import zipfile
from io import BytesIO

import docx
import pytest
from document_samples import (
    ASS,
    HTML,
    JSONL,
    MARKDOWN,
    PO,
    SRT,
    VTT,
    changed,
    each_text,
    opened,
    saved,
    tags_last,
    word_document,
)

from nmt_cli.data.markup.marked_text import Placeholder, Tag, Text, plain_text

SRT_TIME = "1\n00:00:01,000 --> 00:00:02,000\n"


def test_text_keeps_empty_lines_indentation_and_endings() -> None:
    text = "\ufeffTitle\r\n\r\n  An indented line, 3 %.\r\n\t\r\nmore\n\nlast {name} line"
    assert changed(text, "text") == (
        "\ufeffTITLE\r\n\r\n  AN INDENTED LINE, 3 %.\r\n\t\r\nMORE\n\nLAST {name} LINE"
    )


def test_tabs_in_text_are_kept() -> None:
    document = opened("1.\tThe dog.\tThe cat\t\t\n", "text")
    assert [plain_text(segment) for segment in document.segments] == ["The dog.", "The cat"]
    assert document.places == ["line 1", "line 1"]
    assert changed("1.\tThe dog.\tThe cat\t\t\n", "text") == "1.\tTHE DOG.\tTHE CAT\t\t\n"


def test_marks_of_list_items_in_text_are_kept() -> None:
    marks = ["1. ", "2)  ", "(3) ", "  a) ", "(iv) ", "(1)(c) ", "- ", "* ", "\u2022\t", "\u2013 "]
    document = opened("".join(f"{mark}A dog sleeps.\n" for mark in marks), "text")
    assert [plain_text(segment) for segment in document.segments] == ["A dog sleeps."] * len(marks)
    # These are words of the sentence.
    lines = ["-5 dogs sleep.", "A. Smith sleeps.", "3 dogs sleep.", "1.5 dogs sleep.", "1984."]
    document = opened("\n".join(lines), "text")
    assert [plain_text(segment) for segment in document.segments] == lines[:-1]


def test_marks_of_list_items_in_word_documents_are_kept() -> None:
    document = docx.Document()
    document.add_paragraph("(c) A dog sleeps.")
    document.add_paragraph("(d)\tA cat sleeps.")
    buffer = BytesIO()
    document.save(buffer)
    read = opened(buffer.getvalue(), "docx")
    assert [plain_text(segment) for segment in read.segments] == ["A dog sleeps.", "A cat sleeps."]
    written = docx.Document(BytesIO(read.render([(Text("Hund."),), (Text("Katze."),)])))
    assert [each.text for each in written.paragraphs] == ["(c) Hund.", "(d)\tKatze."]


def test_elements_of_html_in_markdown_that_are_not_translated_are_kept() -> None:
    text = 'See <span translate="no">Home *Page*</span> of <b class="x notranslate">it</b>.\n'
    assert changed(text, "markdown") == (
        'SEE <span translate="no">Home *Page*</span> OF <b class="x notranslate">it</b>.\n'
    )
    assert changed("a <b>c <i translate=no>d</i></b> e\n", "markdown") == (
        "A <b>C <i translate=no>d</i></b> E\n"
    )


def test_gaps_to_fill_in_are_kept() -> None:
    [segment] = opened("Tom has ____ (go) to ___.", "text").segments
    assert [piece.raw for piece in segment if isinstance(piece, Placeholder)] == ["____", "___"]
    [segment] = opened("a __main__ and ___name", "text").segments
    assert not any(isinstance(piece, Placeholder) for piece in segment)


def test_lines_without_words_are_no_segments() -> None:
    document = opened("42\n\n3.5 %\n---\nword\n", "text")
    assert [plain_text(segment) for segment in document.segments] == ["word"]
    assert document.places == ["line 5"]


def test_html() -> None:
    assert (
        changed(HTML, "html")
        == """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>DOGS &amp; CATS</title>
<meta name="description" content="ALL ABOUT DOGS."><style>p { color: red }</style></head>
<body><h1>HELLO <b>BIG</b> WORLD</h1><!-- a comment --><p class='x'>USE <code>x &lt; y</code>, A \
<a href="u" title="MY HOME">LINK HERE</a> © 2020.<br>SECOND LINE<p>BROKEN <b>BOLD <i>BOTH</b></i> \
A &lt; B
<ul><li>ONE<li>TWO</ul><img src=a.png alt="A DOG"><input type=submit value="GO">
<pre>keep  me</pre><p translate="no">Name</p><textarea>mine</textarea>
<script>if (a < b) { say("<p>no</p>") }</script><table><tr><td>CELL</td><td>42</td></tr></table>
<div><a href="v"><span>WRAPPED</span></a></div></body></html>
"""
    )


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text", "{}"), ("markdown", "{}"), ("jsonl", '{{"text": "{}"}}'),
        ("table", "id,text\n1,{}"), ("json", '["{}"]'),
        ("po", 'msgid "{}"\nmsgstr ""\n'),
    ],
)  # fmt: skip
def test_a_tag_that_ends_a_sentence_is_not_put_around_words_outside_of_it(
    kind: str, text: str
) -> None:
    line = "A line. <p>A <b>small</b> dog</p> and<br/>a <i>cat<br>too</i>"
    document = opened(text.format(line), kind)
    assert [plain_text(segment) for segment in document.segments] == [
        "A line.", "A small dog", "and", "a cattoo",
    ]  # fmt: skip
    wrong = [tags_last(segment) for segment in document.segments]
    assert "A LINE. <p><b>A SMALL DOG</b></p> AND<br/><i>A CATTOO<br></i>" in (
        document.render(wrong).decode()
    )


def test_html_says_its_new_language() -> None:
    page = "<html lang='en' xml:lang=en><p>word</p></html>"
    assert changed(page, "html", language="de") == (
        "<html lang='de' xml:lang=de><p>WORD</p></html>"
    )
    assert changed("<p lang=en>word</p>", "html", language="de") == "<p lang=en>WORD</p>"


def test_html_keeps_its_encoding() -> None:
    for head in ('<meta charset="iso-8859-1">', "<?xml version='1.0' encoding='iso-8859-1'?>\n"):
        page = f"{head}<p>Grün</p>".encode("latin-1")
        document = opened(page, "html")
        assert document.render(document.segments) == page
        [segment] = each_text(document.segments, lambda text: text + " ł ü")
        assert document.render([segment]) == f"{head}<p>Grün &#322; ü</p>".encode("latin-1")


def test_attribute_of_an_inline_tag_is_translated_where_the_tag_goes() -> None:
    document = opened('<p>See <a title="home">it</a> now</p>', "html")
    title, segment = document.segments
    assert plain_text(title) == "home"
    [title] = each_text([title], str.upper)
    assert document.render([title, segment]) == b'<p>See <a title="HOME">it</a> now</p>'
    assert document.render([title, tags_last(segment)]) == (
        b'<p><a title="HOME">SEE IT NOW</a></p>'
    )


def test_quotes_in_a_translated_attribute_are_escaped() -> None:
    assert changed("<img alt='a dog'>", "html", lambda text: 'l\'a & "b"') == (
        "<img alt='l&#x27;a &amp; &quot;b&quot;'>"
    )


def test_markdown() -> None:
    assert (
        changed(MARKDOWN, "markdown")
        == """---
title: kept
---
# A *HEADING* ##

SETEXT HEADING
===

A PARAGRAPH WITH **BOLD**, `code x`, A [LINK TEXT](http://a.b/c_(d) "t") AND A SECOND LINE\\* WITH \
<b>HTML</b> & 2 \\* 3 SNAKE_CASE {name}.  
HARD BREAK HERE\\
AND HERE.

> QUOTED LINE GOES ON LAZY TOO

- [ ] TASK ITEM
- ITEM TWO CONTINUED
  1. NESTED

```python
keep("me")
```

    indented code

| HEAD ONE | TWO |
|---|---|
| A \\| B | C |

<p align="center">HTML <em>BLOCK</em></p>

![ALT TEXT](img.png) [ref] \\[NOT A REF\\] [FULL][ref] [^1]

[ref]: http://x.y "title"
[^1]: THE NOTE.
"""
    )


def test_words_that_look_like_markdown_are_escaped() -> None:
    for words, written in {
        "# no heading": "\\# no heading", "1. no item": "1\\. no item", "- no": "\\- no",
        "a * b": "a \\* b", "x_y _z_": "x_y \\_z\\_", "<b>": "\\<b>", "&amp;": "\\&amp;",
        "two\nlines": "two lines", "> quote": "\\> quote",
    }.items():  # fmt: skip
        assert changed("word", "markdown", lambda _, words=words: words) == written


def test_srt() -> None:
    assert changed(SRT, "subtitles") == (
        SRT.replace("Hi there, I think\nthat you", "HI THERE, I\nTHINK THAT YOU")
        .replace("are right about the\nbig house", "ARE RIGHT ABOUT\nTHE BIG HOUSE")
        .replace("Yes, I am", "YES, I AM").replace("No, you are not", "NO, YOU ARE NOT")
        .replace("Some text", "SOME TEXT").replace("after an empty line", "AFTER AN EMPTY LINE")
        .replace("Last", "LAST")
    )  # fmt: skip


def test_vtt() -> None:
    assert changed(VTT, "subtitles") == (
        VTT.replace("Hello &amp; welcome\nto us", "HELLO &amp;\nWELCOME TO US")
        .replace("Fish</c> and chips", "FISH</c> AND CHIPS")
    )  # fmt: skip


def test_ass() -> None:
    assert changed(ASS, "subtitles") == ASS.replace(
        "Hello, you,\\Nmy {\\i1}friend{", "HELLO, YOU,\\NMY {\\i1}FRIEND{"
    )


def test_catalogue() -> None:
    assert changed(PO, "po") == (
        PO.replace("#, c-format", "#, fuzzy, c-format")
        .replace('msgstr[0] ""\nmsgstr[1] ""', 'msgstr[0] "ONE %s"\nmsgstr[1] "MANY %s"')
        .replace('msgid "Hello "\n"you"\nmsgstr ""',
                 '#, fuzzy\nmsgid "Hello "\n"you"\nmsgstr "HELLO YOU"')
        .replace('msgid "First \\"line\\".\\n"\n"Second.\\n"\nmsgstr ""\n',
                 '#, fuzzy\nmsgid "First \\"line\\".\\n"\n"Second.\\n"\nmsgstr ""\n'
                 '"FIRST \\"LINE\\".\\n"\n"SECOND.\\n"\n')
    )  # fmt: skip


def test_json_lines() -> None:
    document = opened(JSONL, "jsonl")
    flags = [["copied"], [], ["at_limit"]]
    assert document.render(each_text(document.segments, str.upper), flags).decode() == (
        '{"id": 1.50, "text": "Hello you.", "translation": "HELLO YOU.", "flags": ["copied"]}\n\n'
        '{"text": "two\\nlines", "a": {"b": "c"}, "translation": "TWO\\nLINES", '
        '"flags": ["at_limit"]}\n'
    )


def test_json_lines_with_another_field() -> None:
    line = '{"a": {"b": "word"}, "translation": "old"}'
    names = {"translation_field": "de", "flags_field": "doubts"}
    assert changed(line, "jsonl", field="a.b", **names) == (
        '{"a": {"b": "word"}, "translation": "old", "de": "WORD", "doubts": []}'
    )
    assert changed('{"a.b": "x"}', "jsonl", field="a.b") == (
        '{"a.b": "x", "translation": "X", "flags": []}'
    )


def test_json_line_without_text_has_the_flag_of_an_empty_line() -> None:
    document = opened('{"text": ""}\n{"text": " \u00a0\\n "}\n{"text": "12"}\n', "jsonl")
    flags: list[list[str]] = [[] for _ in document.segments]
    rows = document.render(document.segments, flags).decode().splitlines()
    assert [json.loads(row)["flags"] for row in rows] == [["empty"], ["empty"], []]


def word_texts(data: bytes) -> list[str]:
    document = docx.Document(BytesIO(data))
    section = document.sections[0]
    return [
        *(paragraph.text for paragraph in document.paragraphs),
        *(cell.text for table in document.tables for cell in table.rows[0].cells if cell.text),
        section.header.paragraphs[0].text, section.footer.paragraphs[0].text,
    ]  # fmt: skip


def test_word_document() -> None:
    source = opened(word_document(), "docx")
    data = source.render(each_text(source.segments, str.upper))
    assert word_texts(data) == [
        "A TITLE", "THE BIG DOG SLEEPS.\tAFTER THE TAB {name}.",
        "SEE THE SITE ON PAGE seven TODAY.", "A CELL", "THE HEADER", "THE FOOTER",
    ]  # fmt: skip
    paragraphs = docx.Document(BytesIO(data)).paragraphs
    assert [run.text for run in paragraphs[1].runs if run.bold] == ["BIG"]
    assert paragraphs[0].style.name == "Heading 1"
    assert [link.text for link in paragraphs[2].hyperlinks] == ["THE SITE"]
    assert paragraphs[2].hyperlinks[0].address == "http://x.y"
    assert "PAGE" in paragraphs[2]._p.xml
    # Everything but the parts with text keeps its bytes.
    before, after = (zipfile.ZipFile(BytesIO(each)) for each in (word_document(), data))
    assert before.namelist() == after.namelist()
    assert before.read("word/styles.xml") == after.read("word/styles.xml")


def test_columns_of_a_word_document_are_segments_and_amounts_are_kept() -> None:
    document = docx.Document()
    document.add_paragraph("\tTotal\t1,200.00\t€")
    paragraph = document.add_paragraph("1.\tThe ")
    paragraph.add_run("big").bold = True
    paragraph.add_run(" dog\t7\tsleeps")
    document.add_paragraph("1\t2")
    opened_document = opened(saved(document), "docx")
    texts = [plain_text(segment) for segment in opened_document.segments]
    assert texts == ["Total", "The big dog", "sleeps"]
    assert opened_document.places == ["paragraph 1", "paragraph 2", "paragraph 2"]
    data = opened_document.render(each_text(opened_document.segments, str.upper))
    paragraphs = docx.Document(BytesIO(data)).paragraphs
    assert [paragraph.text for paragraph in paragraphs] == [
        "\tTOTAL\t1,200.00\t€", "1.\tTHE BIG DOG\t7\tSLEEPS", "1\t2",
    ]  # fmt: skip
    assert [run.text for run in paragraphs[1].runs if run.bold] == ["BIG"]


@pytest.mark.parametrize(
    ("parts", "tagged"),
    [
        # The plain words around a longer bold part are the sentence.
        ([("A man is ", False), ("riding a bike", True), (".", False)], ["riding a bike"]),
        # A short part at each end does not make its format that of the sentence.
        ([("A", True), (" man is riding a ", False), ("b", True)], ["A", "b"]),
        ([("Note: ", True), ("the dog sleeps", False)], ["Note: "]),
        ([("The dog ", False), ("sleeps in the house", True)], ["The dog "]),
        ([("The dog", True)], []),
    ],
)
def test_the_format_of_a_sentence_is_that_which_needs_the_fewest_tags(
    parts: list[tuple[str, bool]], tagged: list[str]
) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph()
    for text, is_bold in parts:
        paragraph.add_run(text).bold = is_bold or None
    source = opened(saved(document), "docx")
    (segment,) = source.segments
    found = []
    for piece, following in itertools.pairwise(segment):
        if isinstance(piece, Tag) and piece.kind == "open" and isinstance(following, Text):
            found.append(following.text)
    assert found == tagged
    (written,) = docx.Document(BytesIO(source.render([segment]))).paragraphs
    assert [(run.text, bool(run.bold)) for run in written.runs] == parts


@pytest.mark.parametrize("name", ["moveTo", "customXml", "bdo", "dir"])
def test_text_in_every_container_of_a_word_document_is_translated(name: str) -> None:
    document = docx.Document()
    container = docx.oxml.OxmlElement(f"w:{name}")
    container.append(document.add_paragraph("The dog")._p[-1])
    document.paragraphs[0]._p.append(container)
    source = opened(saved(document), "docx")
    data = source.render(each_text(source.segments, str.upper))
    xml = docx.Document(BytesIO(data)).paragraphs[0]._p.xml
    assert f"<w:{name}>" in xml
    assert "THE DOG" in xml


def test_a_word_document_is_rendered_twice_alike() -> None:
    document = opened(word_document(), "docx")
    words = each_text(document.segments, str.upper)
    assert word_texts(document.render(words)) == word_texts(document.render(words))


def test_objects_of_a_word_document_are_never_lost() -> None:
    """Not even if the translator loses their tags."""
    document = opened(word_document(), "docx")
    data = document.render([tags_last(segment)[:1] for segment in document.segments])
    assert "PAGE" in docx.Document(BytesIO(data)).paragraphs[2]._p.xml


def test_table_of_contents_is_left_to_word() -> None:
    document = docx.Document()
    start = docx.oxml.OxmlElement("w:fldChar")
    start.set(docx.oxml.ns.qn("w:fldCharType"), "begin")
    document.add_paragraph("Contents")._p.append(start)
    document.add_paragraph("A chapter  7")
    end = docx.oxml.OxmlElement("w:fldChar")
    end.set(docx.oxml.ns.qn("w:fldCharType"), "end")
    document.add_paragraph("")._p.append(end)
    document.add_paragraph("A chapter")
    texts = [plain_text(segment) for segment in opened(saved(document), "docx").segments]
    assert texts == ["A chapter"]


def test_no_tag_or_placeholder_is_lost_when_tags_move() -> None:
    """Tags all at the end: bad, but every kind writes them."""
    for text, kind in ((HTML, "html"), (MARKDOWN, "markdown"), (SRT, "subtitles")):
        document = opened(text, kind)
        written = document.render([tags_last(each) for each in document.segments]).decode()
        for mark in re.findall(r"</?\w+|\{\\an8\}|`[^`]+`|\]\([^)]*\)|\{name\}", text):
            assert written.count(mark) == text.count(mark), mark


def test_messages_of_icu_with_elements_of_html_are_kept() -> None:
    message = "{n, plural, =1 {<b>one</b> {x}} other {{{n}} all<!-- } --><i title='}'>s</i>}}"
    assert changed(f"<p>Now {message} <b>ago</b></p>", "html") == (
        f"<p>NOW {message} <b>AGO</b></p>"
    )
    # Elements that begin a line, and two messages.
    message = "{n, select, a {<p>word</p>} other {{m, plural, one {<b>a</b>}}\n<p>word</p>}}"
    assert changed(f"<div>b {message} c {message} d</div><p>e", "html") == (
        f"<div>B {message} C {message} D</div><p>E"
    )
    # No message: nothing that chooses, or no end.
    for text in ("{a, b, <b>c</b>} d", "{n, plural, one {<b>c</b>} d"):
        assert "<b>C</b>" in changed(f"<p>{text}</p>", "html")
    # In an element that is kept, and in a script.
    for kept in (f"<code>{message}</code>", "<script>f({n, plural, a {'<b>'}})</script>"):
        assert changed(f"<p>word {kept} word</p>", "html") == f"<p>WORD {kept} WORD</p>"
