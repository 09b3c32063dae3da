"""What documents get for a segment: its translation, or the segment itself, which is flagged."""

import pytest

from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text
from nmt_cli.translation.markup.results import MarkedTranslation, in_document
from nmt_cli.translation.result import empty_translation

OPENING, CLOSING = Tag("<b>", "open", "b"), Tag("</b>", "close", "b")
NAME = Placeholder("{name}")
HELLO = (Text("Hello "), OPENING, NAME, CLOSING, Text(", welcome."))


def translated(*pieces: Text | Tag | Placeholder, flag: str) -> MarkedTranslation:
    return MarkedTranslation(pieces, empty_translation("Hello {name}, welcome.", flag))


@pytest.mark.parametrize("flag", ["failed", "empty", "sentences_lost"])
@pytest.mark.parametrize("pieces", [(), (NAME,), (Text(" "), OPENING, NAME, CLOSING, Text("\n"))])
def test_segment_whose_translation_has_no_text_is_kept_and_flagged(
    pieces: MarkedText, flag: str
) -> None:
    found = in_document(HELLO, translated(*pieces, flag=flag))
    assert found.pieces == HELLO
    assert found.translation.flags == (flag, "source_kept")


@pytest.mark.parametrize("pieces", [(Text("Hallo "), NAME), (NAME, Text("."))])
def test_translation_with_text_is_written(pieces: MarkedText) -> None:
    result = translated(*pieces, flag="sentences_lost")
    assert in_document(HELLO, result) == result


def test_segment_of_kept_names_alone_is_not_flagged() -> None:
    segment = (Text("NordPad "), NAME)
    result = translated(Placeholder("NordPad"), Text(" "), NAME, flag="split")
    assert in_document(segment, result) == MarkedTranslation(segment, result.translation)
