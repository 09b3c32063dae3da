"""Deleted words of HTML are segments of their own, at their place in the sentence."""

import pytest
from document_samples import changed, opened

from nmt_cli.data.markup.marked_text import raw_text
from nmt_cli.translation.markup.carrier import carry


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_deletion_is_no_part_of_its_sentence(kind: str) -> None:
    text = (
        "The <del>Minister</del> <ins>Governor</ins> may "
        "<del>re<b>fuse</b></del><ins>issue</ins> it."
    )
    document = opened(text, kind)
    deleted, other, sentence = document.segments
    assert (raw_text(deleted), raw_text(other)) == ("Minister", "re<b>fuse</b>")
    assert carry(sentence).text == "The Governor may issue it."
    expected = (
        "THE <del>MINISTER</del> <ins>GOVERNOR</ins> MAY "
        "<del>RE<b>FUSE</b></del><ins>ISSUE</ins> IT."
    )
    assert changed(text, kind) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A part of a word has no meaning of its own.
        ("The dog<del>s</del> sees it.", "THE DOG<del>s</del> SEES IT."),
        ("A <del>un</del>able dog <del>2</del>", "A <del>un</del>ABLE DOG <del>2</del>"),
        # Without other words, the deletion is the sentence.
        ("<del>The dog.</del>", "<del>THE DOG.</del>"),
        ("<del>a dog</del>, <del>a dog</del> or it", "<del>A DOG</del>, <del>A DOG</del> OR IT"),
        ('A <del><a title="my dog">dog</a></del> cat',
         'A <del><a title="MY DOG">DOG</a></del> CAT'),
    ],
)  # fmt: skip
def test_parts_of_words_and_whole_paragraphs(text: str, expected: str) -> None:
    assert changed(f"<p>{text}</p>", "html") == f"<p>{expected}</p>"
