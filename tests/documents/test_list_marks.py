"""Marks of list items, which are kept outside of the segments."""

import io

import docx
import pytest
from document_samples import changed, each_text, opened, saved
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph

from nmt_cli.data.markup.marked_text import Text, plain_text

SRT_TIME = "1\n00:00:01,000 --> 00:00:02,000\n"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("html", "<p>(c) A dog.</p><li>2. <b>A</b> cat.", "<p>(c) A DOG.</p><li>2. <b>A</b> CAT."),
        ("html", "<p><b>(iv)</b> A dog.</p><p>(a)</p>", "<p><b>(iv)</b> A DOG.</p><p>(a)</p>"),
        ("html", '<img alt="- A dog">', '<img alt="- A DOG">'),
        ("markdown", "(a) a *dog*\n\n- (ii) a cat\n", "(a) A *DOG*\n\n- (ii) A CAT\n"),
        ("json", '{"a": "b) A dog.", "c": "b)"}', '{"a": "b) A DOG.", "c": "b)"}'),
        ("subtitles", SRT_TIME + "1) A dog.\n", SRT_TIME + "1) A DOG.\n"),
        # With entities, and marks behind marks.
        ("html", "<p>&#40;c) a</p><li>(i)&nbsp;b", "<p>&#40;c) A</p><li>(i)&nbsp;B"),
        ("html", "<p>&bull;&emsp;a &amp; b</p>", "<p>&bull;&emsp;A &amp; B</p>"),
        ("html", "<p><i>(a)</i>&nbsp;the b</p>", "<p><i>(a)</i>&nbsp;THE B</p>"),
        ("html", "<p>(a) (i) x</p><p>(a) <i>(i)</i> x", "<p>(a) (i) X</p><p>(a) <i>(i)</i> X"),
        ("html", "<p>(a) (b)</p><p>(a) <i>(i)</i>", "<p>(a) (b)</p><p>(a) <i>(i)</i>"),
        ("markdown", "\\(a\\) (i) a _dog_\n", "\\(a\\) (i) A _DOG_\n"),
        ("subtitles", SRT_TIME + "(a)\n(i) A\ndog.\n", SRT_TIME + "(a)\n(i) A\nDOG.\n"),
        # Marks of laws, and the number of a section.
        ("html", "<p>(a.1) a</p><p>(2.01)(i) a", "<p>(a.1) A</p><p>(2.01)(i) A"),
        ("html", "<p>(aa) a</p><p>bb) a", "<p>(aa) A</p><p>bb) A"),
        (
            "html",
            "<b>5</b> A man.<p><b><i>5.1</i></b> (a) a",
            "<b>5</b> A MAN.<p><b><i>5.1</i></b> (a) A",
        ),
        # Behind a space or tags around nothing, and with tags within them.
        ("html", "<p>&nbsp;<b>(a)</b> a b", "<p>&nbsp;<b>(a)</b> A B"),
        ("html", '<a id="x"></a><b>12</b> A b', '<a id="x"></a><b>12</b> A B'),
        ("html", '<a id="x"></a>(a) a <i>b</i>', '<a id="x"></a>(a) A <i>B</i>'),
        ("html", "<p><b>a</b>&#41; a <i>b</i>", "<p><b>a</b>&#41; A <i>B</i>"),
        ("markdown", "(*a*) a b\n", "(*a*) A B\n"),
        # Those of lines that end in hard breaks.
        ("markdown", "(a) a *b*;\\\n(b) c.\n", "(a) A *B*;\\\n(b) C.\n"),
        ("markdown", "> (a) a;  \n> **(b)** c.\n", "> (a) A;  \n> **(b)** C.\n"),
        # Roman numbers of paragraphs.
        (
            "html",
            "<p>II. The dog</p><p><b>XIV.</b> A cat",
            "<p>II. THE DOG</p><p><b>XIV.</b> A CAT",
        ),
        ("markdown", "IV. *The* dog\n", "IV. *THE* DOG\n"),
        (
            "html",
            "<p>IV. drip</p><p>IXI. It</p><p>XL. It",
            "<p>IV. DRIP</p><p>IXI. IT</p><p>XL. IT",
        ),
        # Numbers of headings.
        ("html", "<h3>5 A dog</h3>", "<h3>5 A DOG</h3>"),
        # These are words.
        ("html", "<p>5<sup>1)</sup> a", "<p>5<sup>1)</sup> A"),
        ("html", "<p><b>(a) a</b> b", "<p><b>(A) A</b> B"),
        ("html", "<p>(see) it</p><p>A. b</p>", "<p>(SEE) IT</p><p>A. B</p>"),
        ("html", "<p>(ab) a</p><p>(A&nbsp;B) c", "<p>(AB) A</p><p>(A\u00a0B) C"),
    ],
)
def test_marks_of_list_items_are_kept_in_every_kind(kind: str, text: str, expected: str) -> None:
    assert changed(text, kind) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a) <i>(i)</i> a dog", "a dog"),
        ("(a)&nbsp;(i)&emsp;a dog", "a dog"),
        ("<b>5</b>&nbsp;The dog", "The dog"),
        ("<b>5.1</b> (1) the dog", "the dog"),
        ("&nbsp;<b>(a)</b> the dog", "the dog"),
        ('<a id="x"></a><b>12</b> The dog', "The dog"),
        ('<a id="x"></a>(a) the dog', "the dog"),
        ("<b>2</b>. The dog", "The dog"),
        ("(<i>a</i>) the dog", "the dog"),
        ("II. The dog", "The dog"),
        ("<b>XIV.</b> The dog", "The dog"),
        # No Roman number, or none before a sentence.
        ("IXI. The dog", "IXI. The dog"),
        ("IV. drip", "IV. drip"),
        # A quantity belongs to its sentence, and so does a date.
        ("<b>5</b> dogs", "5 dogs"),
        ("<b>5</b>The dog", "5The dog"),
        ("3. 10. 2020 was", "10. 2020 was"),
        ("5 Dogs", "5 Dogs"),
        # The mark of a footnote belongs to its word, and tags to the words in them.
        ("5<sup>1)</sup> dogs", "51) dogs"),
        ("<b>(a) the</b> dog", "(a) the dog"),
    ],
)
def test_words_begin_behind_the_marks_of_list_items(text: str, expected: str) -> None:
    (segment,) = opened(f"<p>{text}</p>", "html").segments
    assert plain_text(segment) == expected


def test_marks_of_list_items_have_formats_in_word() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph()
    paragraph.add_run("(a)").bold = True
    paragraph.add_run("\u00a0the name of it")
    (segment,) = opened(saved(document), "docx").segments
    assert plain_text(segment) == "the name of it"


def test_marks_of_list_items_may_have_bookmarks_and_other_formats_in_word() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph()
    _add_bookmark(paragraph, "Start")
    paragraph.add_run("(")
    paragraph.add_run("a").italic = True
    paragraph.add_run(")")
    _add_bookmark(paragraph, "End")
    paragraph.add_run(" the name of it")
    (segment,) = opened(saved(document), "docx").segments
    assert segment == (Text("the name of it"),)


def _add_bookmark(paragraph: Paragraph, end: str) -> None:
    paragraph._p.append(OxmlElement(f"w:bookmark{end}", {qn("w:id"): "0", qn("w:name"): "x"}))


def test_marks_of_list_items_may_have_tags_in_xliff() -> None:
    source = '<source>(<g id="1">a</g>) the name</source>'
    text = (
        '<xliff version="1.2"><file source-language="en" target-language="de" original="x" '
        f'datatype="x"><body><trans-unit id="1">{source}</trans-unit></body></file></xliff>'
    )
    assert opened(text, "xliff").segments == [(Text("the name"),)]
    assert '>(<g id="1">a</g>) THE NAME</target>' in changed(text, "xliff")


@pytest.mark.parametrize(
    ("texts", "segments"),
    [
        (["A. The dog", "It is.", "<b>B.</b> A cat", "C. D. Man"],
         ["The dog", "It is.", "A cat", "D. Man"]),
        (["I. Dogs", "A. Small", "B. Big", "II. Cats"], ["Dogs", "Small", "Big", "Cats"]),
        (["IV. Dogs", "V. Cats"], ["Dogs", "Cats"]),
        # Initials of names, and words.
        (["A. Smith", "M. Jones", "C. Miller"], ["A. Smith", "M. Jones", "C. Miller"]),
        (["L. Smith", "M. Jones"], ["L. Smith", "M. Jones"]),
        (["A. small", "B. big"], ["A. small", "B. big"]),
    ],
)  # fmt: skip
def test_letters_of_a_sequence_of_paragraphs_are_kept(
    texts: list[str], segments: list[str]
) -> None:
    data = "".join(f"<p>{text}</p>" for text in texts)
    document = opened(data, "html")
    assert list(map(plain_text, document.segments)) == segments
    assert document.render(document.segments).decode() == data
    written = document.render([(Text("x"),) for _ in segments]).decode()
    for text, words in zip(texts, segments, strict=True):
        assert f"<p>{text.replace(words, 'x')}</p>" in written


def test_letters_of_a_sequence_keep_their_tags_with_texts() -> None:
    data = '<p>A. Dog</p><p><b title="a cat">B.</b> Cat</p>'
    document = opened(data, "html")
    assert list(map(plain_text, document.segments)) == ["Dog", "a cat", "Cat"]
    translated = each_text(document.segments, str.upper)
    assert document.render(translated).decode() == data.replace("a cat", "A CAT").replace(
        "Dog", "DOG"
    ).replace("Cat", "CAT")


def test_letters_of_headings_continue_those_of_paragraphs() -> None:
    document = opened("A. Dogs\n\n# B. Cats\n\nC. Men\n", "markdown")
    assert list(map(plain_text, document.segments)) == ["Dogs", "Cats", "Men"]


def test_roman_numbers_of_paragraphs_are_kept_in_word() -> None:
    document = docx.Document()
    document.add_paragraph("II. The dog")
    data = saved(document)
    (segment,) = opened(data, "docx").segments
    assert segment == (Text("The dog"),)
    translated = opened(data, "docx").render([(Text("Der Hund"),)])
    assert docx.Document(io.BytesIO(translated)).paragraphs[0].text == "II. Der Hund"


def test_breaks_of_lines_before_items_end_segments_in_word() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("(a) the dog of")
    paragraph.add_run().add_break()
    paragraph.add_run("it;")
    paragraph.add_run().add_break()
    paragraph.add_run("(b)").bold = True
    paragraph.add_run(" the cat.")
    data = saved(document)
    segments = opened(data, "docx").segments
    assert [plain_text(segment) for segment in segments] == ["the dog ofit;", "the cat."]
    translated = opened(data, "docx").render(each_text(segments, str.upper))
    (paragraph,) = docx.Document(io.BytesIO(translated)).paragraphs
    assert paragraph.text == "(a) THE DOG OF\nIT;\n(b) THE CAT."


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("(a) the court;\\\n(b) the judge.", ["the court;", "the judge."]),
        ("the court;  \n**(b)** the judge.", ["the court;", "the judge."]),
        ("**(a) the court;**\\\n**(b) the judge.**", ["the court;", "the judge."]),
        # Tags around all of the items.
        ("**(a) the court\\\n(b) the judge**", ["the court", "the judge"]),
        ("<b>*(a) the court<br>(b) the judge*</b>", ["the court", "the judge"]),
        ("*the court\\\nthe judge*", ["the courtthe judge"]),
        ("the court\\\nthe judge", ["the courtthe judge"]),
    ],
)
def test_hard_breaks_before_items_end_segments(text: str, segments: list[str]) -> None:
    assert list(map(plain_text, opened(text, "markdown").segments)) == segments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**(a) the dog\\\n(b) the cat**\n", "**(a) THE DOG\\\n(b) THE CAT**\n"),
        ("*1. a  \n2. b*\n", "*1. A  \n2. B*\n"),
        ("*<b>(A) a<br>(B) b</b>*\n", "*<b>(A) A<br>(B) B</b>*\n"),
    ],
)
def test_tags_around_items_stay_around_them(text: str, expected: str) -> None:
    assert changed(text, "markdown") == expected


ITEMS = [
    ("(a) a dog; (b) a <b>cat</b>; and (c) it.", ["a dog;", "a cat; and", "it."]),
    ("He sees: (i) a dog; or (ii) a cat.", ["He sees:", "a dog; or", "a cat."]),
    ("He sees the <i>dog</i> — 1) of it; 2) of him", ["He sees the dog —", "of it;", "of him"]),
    ("(a) Tom &amp; Ann;\n (b) it", ["Tom & Ann;", "it"]),
    # No sequence from its first one on, or no semicolon before each other one.
    ("See: (b) a dog; (c) a cat", ["See: (b) a dog; (c) a cat"]),
    ("See: (a) a dog; (c) a cat", ["See: (a) a dog; (c) a cat"]),
    ("See paragraph (a); (b) is not", ["See paragraph (a); (b) is not"]),
    ("(a) a dog, (b) a cat", ["a dog, (b) a cat"]),
    ("(a) a dog; b) a cat", ["a dog; b) a cat"]),
    ("(a) a dog <b>; (b) a</b> cat", ["a dog ; (b) a cat"]),
]


@pytest.mark.parametrize(("text", "segments"), ITEMS)
def test_items_in_one_line_are_segments(text: str, segments: list[str]) -> None:
    document = opened(f"<p>{text}</p>", "html")
    assert list(map(plain_text, document.segments)) == segments
    assert document.render(document.segments).decode() == f"<p>{text}</p>"


def test_marks_of_items_in_one_line_are_kept() -> None:
    text = "(a) Tom &amp; Ann;\n (b) it; or (c) a *dog*"
    expected = "(a) TOM &amp; ANN;\n (b) IT; OR (c) A *DOG*"
    assert changed(f"<p>{text}</p>", "html") == f"<p>{expected}</p>"


def test_a_hard_break_behind_all_words_is_left_out() -> None:
    document = opened("**A dog\\\nsleeps.** Now.\n", "markdown")
    (segment,) = document.segments
    opening, _, hard, _, closing, _ = segment
    translated = (opening, Text("Ein Hund."), hard, closing)
    assert document.render([translated]) == b"**Ein Hund.**\n"
    kept = (opening, Text("Ein Hund"), hard, Text("ruht."), closing)
    assert document.render([kept]) == b"**Ein Hund\\\nruht.**\n"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("markdown", "### 5 Application of it\n", "Application of it"),
        ("markdown", "### 1.2 Application\n", "Application"),
        ("markdown", "**5** (a) A dog\n===\n", "A dog"),
        ("markdown", "5 Dogs\nof it\n===\n", "Dogs of it"),
        ("markdown", "5 Dogs\n", "5 Dogs"),
        ("markdown", "### 5 dogs\n", "5 dogs"),
        ("html", "<h2>1.2 <i>The</i> dog</h2>", "The dog"),
        ("html", "<h2>1.2<a></a> <i>The</i> dog</h2>", "The dog"),
        ("html", "<h2></h2><p>5 Dogs", "5 Dogs"),
        ("html", "<h2>5 dogs</h2>", "5 dogs"),
        ("markdown", "### A. Definitions\n", "Definitions"),
        ("markdown", "A. Definitions\n", "A. Definitions"),
        ("html", "<h2>IV. <i>The</i> dog</h2>", "The dog"),
        ("html", "<h2>B. (2) The dog</h2>", "The dog"),
        ("html", "<h2>A. dog</h2>", "A. dog"),
        ("html", "<h2>U.S. Dogs</h2><p>", "U.S. Dogs"),
    ],
)
def test_numbers_of_headings_are_kept(kind: str, text: str, expected: str) -> None:
    (segment,) = opened(text, kind).segments
    assert plain_text(segment) == expected


def test_numbers_of_headings_are_kept_in_word() -> None:
    document = docx.Document()
    document.add_heading("1.2 Application", 2)
    document.add_paragraph("5 Dogs")
    data = saved(document)
    segments = opened(data, "docx").segments
    assert list(map(plain_text, segments)) == ["Application", "5 Dogs"]
    translated = opened(data, "docx").render(each_text(segments, str.upper))
    heading, _ = docx.Document(io.BytesIO(translated)).paragraphs
    assert heading.text == "1.2 APPLICATION"


@pytest.mark.parametrize(
    ("text", "segments", "expected"),
    [
        ("(a) A dog\nsleeps.\n(b) A cat.", ["A dog sleeps.", "A cat."],
         "(a) A DOG\nSLEEPS.\n(b) A CAT."),
        ("<i>1. A dog</i>\n<i>2. A cat</i>", ["A dog", "A cat"],
         "<i>1. A DOG</i>\n<i>2. A CAT</i>"),
        ("<b>(a)</b> a dog\n<b>(b)</b> a cat", ["a dog", "a cat"],
         "<b>(a)</b> A DOG\n<b>(b)</b> A CAT"),
        ("<b>(a)</b>\na dog\n<b>(b)</b> a cat", ["a dog", "a cat"],
         "<b>(a)</b>\nA DOG\n<b>(b)</b> A CAT"),
        ("• a dog\n• a cat", ["a dog", "a cat"], "• A DOG\n• A CAT"),
        # Items behind the words that they belong to.
        ("He sees:\n(a) a dog;\n(b) a\ncat.", ["He sees:", "a dog;", "a cat."],
         "HE SEES:\n(a) A DOG;\n(b) A\nCAT."),
        ("He\nsees\n1. a dog;\n2. a cat.", ["He sees", "a dog;", "a cat."],
         "HE\nSEES\n1. A DOG;\n2. A CAT."),
        ("<i>He sees:\n<b>(a)</b> a dog</i>", ["He sees:", "a dog"],
         "<i>HE SEES:\n<b>(a)</b> A DOG</i>"),
        ("He sees:\n(a) a dog of\n(3) it;\n(i) b;\n(ii) c", ["He sees:", "a dog of (3) it;", "b;",
         "c"], "HE SEES:\n(a) A DOG OF\n(3) IT;\n(i) B;\n(ii) C"),
        ("He sees: (i) a dog; or\n(ii) a black\ncat", ["He sees:", "a dog; or", "a black cat"],
         "HE SEES: (i) A DOG; OR\n(ii) A BLACK\nCAT"),
        # A sentence, in which a line begins with a mark by chance.
        ("Of a dog\n(1) of it\n(3) of us", ["Of a dog (1) of it (3) of us"],
         "OF A DOG\n(1) OF IT\n(3) OF US"),
        ("A dog of\n(b) sleeps.", ["A dog of (b) sleeps."], "A DOG OF\n(B) SLEEPS."),
    ],
)  # fmt: skip
def test_items_in_a_cue_are_segments(text: str, segments: list[str], expected: str) -> None:
    document = opened(SRT_TIME + text + "\n", "subtitles")
    assert [plain_text(segment) for segment in document.segments] == segments
    assert changed(SRT_TIME + text + "\n", "subtitles") == SRT_TIME + expected + "\n"


@pytest.mark.parametrize(
    "text",
    ["{\\an8}1) A dog\\N2) A cat", "{\\b1}(a){\\b0} A dog\\N{\\b1}(b){\\b0} A cat"],
)
def test_items_in_a_cue_of_ass_are_segments(text: str) -> None:
    event = "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,"
    head = "[Script Info]\n\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, "
    head += "MarginV, Effect, Text\n"
    document = opened(f"{head}{event}{text}\n", "subtitles")
    assert [plain_text(segment) for segment in document.segments] == ["A dog", "A cat"]


@pytest.mark.parametrize(
    "text",
    [
        "The dog sees:\n(a) a black cat;\n(b) a man of it; or\n(c) a small dog.",
        "The dog sees: (a) a black cat;\n(b) a man of it; or\n(c) a small dog.",
        "(a) a black cat; (b) a man\nof it; or (c) a small dog.",
    ],
)
def test_items_in_a_cue_keep_their_number_of_lines(text: str) -> None:
    document = opened(f"{SRT_TIME}{text}\n", "subtitles")
    longer = each_text(document.segments, lambda words: f"{words} and many other words")
    lines = document.render(longer).decode().splitlines()[2:]
    assert len(lines) == len(text.splitlines())


@pytest.mark.parametrize(
    ("first", "second"), [("(a) a dog", "(b) a cat"), ("(a) a dog\n(b) a", "cat")]
)
def test_items_of_several_cues_are_not_joined(first: str, second: str) -> None:
    cue = f"\n2\n00:00:02,100 --> 00:00:03,000\n{second}\n"
    document = opened(f"{SRT_TIME}{first}\n{cue}", "subtitles")
    assert plain_text(document.segments[-1]) in ("a cat", "cat")
