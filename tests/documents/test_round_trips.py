"""With a translator that changes nothing, a document has the same bytes."""

import random

import pytest
from document_samples import JSON, KINDS, SAMPLES, each_text, opened, word_document
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.data.markup.marked_text import raw_text
from nmt_cli.documents.document import Document
from nmt_cli.errors import DataError

# Parts from which documents are thrown together, by kind.
PARTS = {
    "text": ["a ", "word", "\n", "\r\n", "\r", "\t", "{x}", "<b>", "&amp;", "é", "\f", "\u2028"],
    "html": [
        "<p>", "</p>", "<b>", "</b>", "a ", "word", "<", "&", "&amp;", "&nbsp", "\n", "<!--",
        "-->", "<code>", "</code>", "<script>", "</script>", "<![CDATA[", "]]>", "</", "<?x", ">",
        "<br/>", "<a title=", "'", '"', "é", "<!D", "<img alt='x y'>", "<pre>", "</pre>", "\r\n",
        "<p translate=no>", "<html lang=en>", "</>", "<![if x]>", "<![",
    ],
    "markdown": [
        "# ", "> ", "- ", "  ", "    ", "1. ", "a ", "word", "**", "*", "_", "`", "```\n", "\n",
        "\n\n", "[", "]", "](u)", "][r]", "|", "|---|\n", "<b>", "</b>", "<p>", "\\", "&amp;",
        "![", "é", "\t", "\r\n", "<!--", "-->", "~~", "===\n", "---\n", "[r]: x\n", "$", "<code>",
        "[^1]: ", "^[", ": ", "::: x\n", "!!! x\n", "<br>", "</code>", "  \n",
        "\u3000", "\f", "\u2028",
    ],
    "po": [
        'msgid "a"\nmsgstr ""\n\n', 'msgid "a"\n"b"\nmsgstr "c"\n"d"\n', "\n", "# x\n", "\r\n",
        'msgid "a"\nmsgid_plural "as"\nmsgstr[0] ""\n"x"\nmsgstr[1] ""\n\n', "#, fuzzy\n",
        'msgctxt "m"\nmsgid "a\\n"\r\nmsgstr ""\n', '#| msgid "x"\n', '"c\\n"\n',
        '#~ msgid "o"\n', "#, c-format\n",
    ],
    "subtitles": [
        "1\n", "00:00:01,000 --> 00:00:02,000\n", "00:00:02,100 --> 00:00:03,000\n", "\n", "Hello",
        " you", "<i>", "</i>", "{\\an8}", "- ", "42\n", "WEBVTT\n", "NOTE x\n", "é", ", ", "\r\n",
    ],
}  # fmt: skip


def is_same(document: Document, data: bytes) -> bool:
    return document.render(document.segments) == data


@pytest.mark.parametrize("name", [*SAMPLES, "a.json"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_identity_gives_the_same_bytes(name: str, ending: str, encoding: str) -> None:
    text = {**SAMPLES, "a.json": JSON}[name].removeprefix("\ufeff").replace("\n", ending)
    data = text.encode(encoding)
    document = opened(data, KINDS[name.rpartition(".")[2]])
    assert is_same(document, data)
    # The segments by their pieces, too, so that a failed segment can be written.
    assert all(document.segments)


def test_identity_gives_the_same_word_document() -> None:
    data = word_document()
    assert is_same(opened(data, "docx"), data)


@pytest.mark.parametrize("kind", PARTS)
def test_identity_of_documents_thrown_together(kind: str) -> None:
    chosen = random.Random(kind)
    read = 0
    for _ in range(600):
        text = "".join(chosen.choices(PARTS[kind], k=chosen.randrange(1, 25)))
        data = text.encode()
        try:
            document = opened(data, kind)
        except DataError:
            continue
        read += 1
        assert is_same(document, data), text
        document.render(each_text(document.segments, str.upper))
    assert read > 100


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60).filter(lambda text: "\0" not in text))
@pytest.mark.parametrize("kind", ["text", "html", "markdown"])
def test_identity_of_any_text(kind: str, text: str) -> None:
    data = text.encode("utf-8", "replace")
    assert is_same(opened(data, kind), data)


def test_a_segment_that_is_given_back_is_written_as_it_was() -> None:
    """Beside translated ones: this is how a failed translation is written."""
    text = "<p>One &amp; two</p><p>three   <b>four</b></p>"
    document = opened(text, "html")
    first, second = document.segments
    [changed] = each_text([first], str.upper)
    assert document.render([changed, second]) == (b"<p>ONE &amp; TWO</p><p>three   <b>four</b></p>")
    assert raw_text(second) == "three   <b>four</b>"


def test_another_number_of_translations_is_an_error() -> None:
    for name, text in SAMPLES.items():
        document = opened(text, KINDS[name.rpartition(".")[2]])
        with pytest.raises(ValueError, match="translations of"):
            document.render(document.segments[:-1])
