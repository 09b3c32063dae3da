"""With --keep-numbers, ranges keep their dashes, and numbers stand for amounts and scores."""

from dataclasses import replace

import pytest
from faults.support.letters import copying_translator

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.marked_text import shown_text
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import source_spellings
from nmt_cli.translation.markup.results import MarkedResult, as_line, as_marked
from nmt_cli.translation.markup.stand_ins import StandIns
from nmt_cli.translation.result import copied_translation

NUMBERS = Kept(numbers=True)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("aged 10-12 years", "10 12 Jahre alt", "10-12 Jahre alt"),
        ("lost 1–2", "(1 2)", "(1–2)"),
        ("lost 1-2", "1\u00a02 verloren", "1-2 verloren"),
        # What the model writes between them is right, or may be.
        ("aged 10-12 years", "10 bis 12 Jahre", "10 bis 12 Jahre"),
        ("aged 10-12 years", "10, 12 Jahre", "10, 12 Jahre"),
        # The source has no dash between these.
        ("lost 1-2", "2 1 verloren", "2 1 verloren"),
        ("pages 10, 12", "Seiten 10 12", "Seiten 10 12"),
        ("pages 10, 12-14", "12 10 14", "12 10 14"),
        ("{a}-{b}", "{a} {b}", "{a} {b}"),
    ],
)
def test_numbers_side_by_side_get_the_dash_of_the_source(
    source: str, target: str, expected: str
) -> None:
    pieces = parse_line(target, NUMBERS)
    copied = copied_translation("", "")
    result = MarkedResult([pieces] * 2, replace(copied, hypotheses=copied.hypotheses * 2))
    given = source, parse_line(source, NUMBERS), result, NUMBERS, ("en", "de")
    assert [each.text for each in as_line(*given).hypotheses] == [expected] * 2
    assert shown_text(as_marked(*given).pieces) == expected


def test_numbers_stand_for_amounts_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIns, "words", ("Anna", "Paris"))
    monkeypatch.setattr(StandIns, "numbers", ("7", "12"))
    translator, copying = copying_translator()
    line = "pay N4.5 for AX-200/5, as they won 2-1"
    [found] = translator.translate([line], keep_numbers=True)
    assert (found.text, found.flags) == (line, ("copied",))
    spellings = source_spellings(translator.subwords)
    searched = {SpelledIds(source.ids[:-1], spellings).text for source in copying.sources}
    assert "pay 7 for Anna, as they won 12" in searched
