"""Lines of addresses and forms are segments; breaks within a sentence are not at their ends."""

import io

import docx
import pytest
from document_samples import each_text, opened, saved
from docx.enum.text import WD_ALIGN_PARAGRAPH

from nmt_cli.data.markup.marked_text import plain_text

BLOCKS = [
    # Blocks of lines.
    "Department of Transport|Place de Ville, Tower C|Ottawa, Ontario|Canada",
    "Jane Smith|Director",
    "Schedule 2|Section 5",
    "Name of employer:|Address:|Date of birth",
    # A line that goes on in the next one within a block.
    "Jane Smith|Director of the+Department of Transport|Place de Ville|Ottawa",
    "Jane Smith|Place de Ville,+Tower C|Ottawa|Canada",
    # Sentences.
    "He sees the dog of the man who sleeps in the house beside the old river today.|She calls.",
    "The forms are:|1 A for the dog of the man who sleeps in the house beside the river today",
    # Lines of one sentence.
    "the court+the judge",
    "The minister lives in+Ottawa, Canada.",
    "The minister visited+Ottawa.",
    "The minister visited the court of+Ottawa and the+Canada of old",
    "See section+5 of the Act",
    "Dear Sir,+Thank you for it.",
    "Mr.+Smith",
    # Lines that are too long for a block.
    "The minister of the old town that lies beside the river in the north visited+"
    "Ottawa and the office of the court that stands beside the house of the judge",
]


def expected(text: str) -> list[str]:
    return [line.replace("+", "") for line in text.split("|")]


def word(text: str, style: str | None = None) -> bytes:
    document = docx.Document()
    document.add_paragraph(text.replace("|", "\n").replace("+", "\n"), style)
    return saved(document)


@pytest.mark.parametrize("text", BLOCKS)
def test_lines_of_blocks_are_segments_in_word(text: str) -> None:
    document = opened(word(text), "docx")
    assert list(map(plain_text, document.segments)) == expected(text)
    written = document.render(each_text(document.segments, str.upper))
    (paragraph,) = docx.Document(io.BytesIO(written)).paragraphs
    assert paragraph.text == text.replace("|", "\n").replace("+", "\n").upper()


@pytest.mark.parametrize("text", BLOCKS)
def test_lines_of_blocks_are_segments_in_markdown(text: str) -> None:
    written = text.replace("|", "\\\n").replace("+", "  \n")
    document = opened(written, "markdown")
    assert list(map(plain_text, document.segments)) == expected(text)
    upper = document.render(each_text(document.segments, str.upper))
    assert upper.decode() == written.upper()


def test_lines_of_blocks_within_tags_are_segments() -> None:
    document = opened("**Jane Smith\\\nPlace de Ville**", "markdown")
    assert list(map(plain_text, document.segments)) == ["Jane Smith", "Place de Ville"]


def test_lines_of_headings_are_one_segment() -> None:
    (segment,) = opened(word("Environmental+Protection Act", "Heading 1"), "docx").segments
    assert plain_text(segment) == "EnvironmentalProtection Act"


def title(
    text: str, *, style: str | None = None, centred: bool = False, bold: bool = False
) -> bytes:
    document = docx.Document()
    paragraph = document.add_paragraph(style=style)
    paragraph.add_run(text.replace("|", "\n").replace("+", "\n")).bold = bold or None
    if centred:
        paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
    return saved(document)


@pytest.mark.parametrize("style", ["Title", "Subtitle", "Caption"])
def test_lines_of_styles_of_titles_are_one_segment(style: str) -> None:
    for text in ("Environmental+Protection Act", "Budget 2024|Department of Transport"):
        segments = opened(title(text, style=style), "docx").segments
        assert list(map(plain_text, segments)) == expected(text)


def test_centred_lines_that_are_not_bold_are_not_a_title() -> None:
    segments = opened(title("Jane Smith|Director", centred=True), "docx").segments
    assert list(map(plain_text, segments)) == ["Jane Smith", "Director"]


@pytest.mark.parametrize("look", [{"bold": True}, {"centred": True, "bold": True}])
def test_lines_that_look_like_a_title_are_one_segment(look: dict[str, bool]) -> None:
    for text in (
        "Environmental+Protection Act",
        # These are not of one title.
        "Schedule 2|Section 5",
        "PART II|General Provisions",
        "Place de Ville, Tower C|Ottawa",
        "10 Main Street|Ottawa",
        "Name of employer:|Address",
        "Jane Smith|Director|Department of Transport|Ottawa",
    ):
        segments = opened(title(text, **look), "docx").segments
        assert list(map(plain_text, segments)) == expected(text)


def test_three_bold_lines_are_a_title_only_if_they_are_centred() -> None:
    text = "Environmental|Protection|Act"
    document = opened(title(text, bold=True), "docx")
    assert list(map(plain_text, document.segments)) == expected(text)
    (segment,) = opened(title(text, centred=True, bold=True), "docx").segments
    assert plain_text(segment) == "EnvironmentalProtectionAct"


def test_of_cells_only_bold_lines_are_a_title() -> None:
    document = docx.Document()
    cells = document.add_table(1, 2).rows[0].cells
    for cell, is_bold in zip(cells, (False, True), strict=True):
        cell.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.CENTER
        cell.paragraphs[0].add_run("Total\nAmount").bold = is_bold
    segments = opened(saved(document), "docx").segments
    assert list(map(plain_text, segments)) == ["Total", "Amount", "TotalAmount"]


def test_empty_lines_end_segments() -> None:
    segments = opened(word("the dog||the cat"), "docx").segments
    assert list(map(plain_text, segments)) == ["the dog", "the cat"]
