"""Links of a Word document stay beside each other in its translation."""

import pytest
from projections import aligned_by, job

from nmt_cli.documents.word.paragraph import WORD, Paragraph
from nmt_cli.translation.markup.carrier import carry

etree = pytest.importorskip("lxml.etree")


def test_no_link_of_a_paragraph_gets_into_another_one() -> None:
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>".format
    links = [f"<w:hyperlink w:anchor='{word}'>{run(word)}</w:hyperlink>" for word in ("a", "b")]
    namespace = WORD.strip("{}")
    element = etree.fromstring(f"<w:p xmlns:w='{namespace}'>{links[0]}{run(' ')}{links[1]}</w:p>")
    paragraph = Paragraph(element)
    projector = aligned_by([("a", "Wort"), ("b", "Wort")])
    [result] = projector.project([job(paragraph.pieces, carry(paragraph.pieces), ["Wort"])])
    assert result.moved
    paragraph.write(result.pieces)
    written = [
        (link.get(f"{WORD}anchor"), link.getparent().tag, "".join(link.itertext()))
        for link in element.iter(f"{WORD}hyperlink")
    ]
    assert written == [("a", f"{WORD}p", "Wort"), ("b", f"{WORD}p", " ")]
