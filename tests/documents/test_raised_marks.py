"""Raised marks, such as those of footnotes, are no words of the text in Word and XLIFF."""

import io

import docx
import pytest
from document_samples import opened, saved
from docx.text.run import Run

from nmt_cli.data.markup.marked_text import MarkedText, Tag, Text
from nmt_cli.documents.document import Document
from nmt_cli.translation.markup.carrier import carry

WORDS = "Section 5 of the Act is repealed."


def word(mark: str, position: str) -> Document:
    document = docx.Document()
    paragraph = document.add_paragraph("Section 5 of the Act")
    setattr(paragraph.add_run(mark).font, position, True)
    paragraph.add_run(" is repealed.")
    return opened(saved(document), "docx")


@pytest.mark.parametrize("position", ["superscript", "subscript"])
@pytest.mark.parametrize("mark", ["1", "12", "*", " 1", "†", "a", "(b)", "a,b"])
def test_raised_marks_in_word_are_no_words(mark: str, position: str) -> None:
    (segment,) = word(mark, position).segments
    assert carry(segment).text == WORDS
    assert sum(isinstance(piece, Tag) for piece in segment) == 2


def test_raised_letter_at_the_beginning_of_a_paragraph_in_word_is_no_word() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph()
    paragraph.add_run("a").font.superscript = True
    paragraph.add_run(" The Act is repealed.")
    (segment,) = opened(saved(document), "docx").segments
    assert carry(segment).text == "The Act is repealed."


def test_raised_words_in_word_are_words() -> None:
    (segment,) = word("th", "superscript").segments
    assert carry(segment).text == "Section 5 of the Actth is repealed."


def test_raised_marks_in_word_keep_their_format() -> None:
    document = word("1", "superscript")
    (segment,) = document.segments
    mark = next(index for index, piece in enumerate(segment) if isinstance(piece, Tag))
    note = segment[mark : mark + 3]
    translation: MarkedText = (Text("L\u2019article 5"), *note, Text(" est abrogé."))
    paragraph = docx.Document(io.BytesIO(document.render([translation]))).paragraphs[0]
    runs: list[Run] = paragraph.runs
    assert [(run.text, run.font.superscript) for run in runs] == [
        ("L\u2019article 5", None), ("1", True), (" est abrogé.", None),
    ]  # fmt: skip


def test_raised_format_is_never_the_usual_one() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph()
    paragraph.add_run("1").font.superscript = True
    paragraph.add_run(" A dog")
    paragraph.add_run("2").font.superscript = True
    (segment,) = opened(saved(document), "docx").segments
    assert segment[0] == Text("A dog")


@pytest.mark.parametrize(
    "mark", ['<g id="1">1</g>', '<ph id="1">1</ph>', '<g id="1"><g id="2">12</g></g>']
)
def test_numbers_in_elements_behind_words_are_no_words_in_xliff(mark: str) -> None:
    source = f"<source>Section 5 of the Act{mark} is repealed.</source>"
    text = (
        '<xliff version="1.2"><file original="a" source-language="en" datatype="x"><body>'
        f'<trans-unit id="1">{source}</trans-unit></body></file></xliff>'
    )
    (segment,) = opened(text, "xliff").segments
    assert carry(segment).text == WORDS


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('<p><a href="x">[1]</a> Section 5 of the Act is repealed.</p>', "html"),
        ("[\\[12\\]](x) Section 5 of the Act is repealed.", "markdown"),
        ("Section 5 of the Act [<i>[1]</i>](x) is repealed.", "markdown"),
    ],
)
def test_numbers_in_square_brackets_in_a_link_are_no_words(text: str, kind: str) -> None:
    (segment,) = opened(text, kind).segments
    assert carry(segment).text == WORDS


def test_other_numbers_in_a_link_are_words() -> None:
    (segment,) = opened('<p>Section <a href="x">5</a> of the Act is repealed.</p>', "html").segments
    assert carry(segment).text == WORDS
