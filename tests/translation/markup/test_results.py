"""What documents get for a segment: its translation, or the segment itself, which is flagged.

And lines with marks: their text, and whether the marks had to be moved.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text
from nmt_cli.translation.markup import window
from nmt_cli.translation.markup.results import (
    MarkedResult,
    MarkedTranslation,
    as_line,
    in_document,
    safe_line,
)
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


@pytest.mark.parametrize("space", [" ", "  "])
def test_segment_of_kept_names_alone_is_not_flagged(space: str) -> None:
    segment = (Text("NordPad "), NAME)
    result = translated(Placeholder("NordPad"), Text(space), NAME, flag="split")
    assert in_document(segment, result) == MarkedTranslation(segment, result.translation)


@pytest.mark.parametrize(
    ("pieces", "line", "is_moved"),
    [
        ((Text("Hallo "), NAME), "Hallo {name}", False),
        # A word that looks like a tag, and words that are others beside the placeholder.
        ((Text("<b>Hallo "), NAME), "Hallo {name}", False),
        ((Text("Hallo{"), NAME, Text("}")), "Hallo {name}", True),
        ((Text("$"), NAME, Text("x, ja")), "$x, ja {name}", True),
        # Words that are a mark without the placeholder, too.
        ((Text("Ha{l"), Text("lo}, "), NAME), "Ha llo , {name}", True),
    ],
)
def test_words_that_look_like_marks_do_not_become_some(
    pieces: MarkedText, line: str, is_moved: bool
) -> None:
    assert safe_line(pieces, (Text("Hello "), NAME)) == (line, is_moved)


@pytest.mark.parametrize("moved", [0, 1])
def test_line_whose_best_translation_has_moved_marks_is_flagged(moved: int) -> None:
    source = (Text("Hello "), NAME)
    pieces: list[MarkedText] = [(Text("Hallo "), NAME)] * 2
    pieces[moved] = (Text("Hallo{"), NAME, Text("}"))
    empty = empty_translation("Hello {name}", "split")
    result = MarkedResult(pieces, replace(empty, hypotheses=empty.hypotheses * 2))
    flags = as_line("Hello {name}", source, result, Kept(), ("en", "de")).flags
    assert flags == (("split", "markup_moved") if moved == 0 else ("split",))


@pytest.mark.parametrize(
    ("moved", "lost", "stand_ins", "swapped", "is_flagged"),
    [
        (False, 0, 1, False, False), (True, 0, 1, False, True), (False, 1, 1, False, True),
        (False, 0, 0, False, True), (False, 0, 1, True, True),
    ],
)  # fmt: skip
def test_marks_that_were_moved_lost_taken_out_or_swapped_are_flagged(
    moved: bool, lost: int, stand_ins: int, swapped: bool, is_flagged: bool
) -> None:
    line = SimpleNamespace(translation=empty_translation("Hello {name}", "split"))
    carrier = SimpleNamespace(stand_ins=["Tom"] * stand_ins)
    searched = SimpleNamespace(
        line=line, carrier=carrier, lost=lost, joined=0, strange=0, is_swapped=swapped
    )
    projected = SimpleNamespace(pieces=(Text("Hallo "), NAME), moved=moved, sentences=())
    item = SimpleNamespace(source=(Text("Hello "), NAME))
    result = window._result(item, searched, [0], [projected])
    assert ("markup_moved" in result.translation.flags) is is_flagged
