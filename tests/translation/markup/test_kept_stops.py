"""Stops that a translation has behind a kept name which ends with one."""

import pytest
from projections import aligned_by, job

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import Kept, KeptNames
from nmt_cli.data.markup.marked_text import raw_text
from nmt_cli.translation.markup.carrier import carry
from nmt_cli.translation.markup.kept_stops import without_second_stops

KEPT = Kept(names=KeptNames(["Nord Ltd.", "Yahoo!", "Ask?", "Wait…", "Pad"]))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("The dog of Nord Ltd.", "Der Hund von Nord Ltd..", "Der Hund von Nord Ltd."),
        ("<b>Nord Ltd.</b>", "<b>Nord Ltd.</b>.", "<b>Nord Ltd.</b>"),
        ("<b>Nord Ltd.</b> It", "<b>Nord Ltd.</b>. Es", "<b>Nord Ltd.</b> Es"),
        ("Nord Ltd. and Nord Ltd.", "Nord Ltd. und Nord Ltd..", "Nord Ltd. und Nord Ltd."),
        ("Is it Yahoo!", "Ist es Yahoo!.", "Ist es Yahoo!"),
        ("Is it Ask?", "Ist es Ask??", "Ist es Ask?"),
        ("Wait… She waits.", "Wait…. Sie wartet.", "Wait… Sie wartet."),
    ],
)
def test_second_stop_is_taken_out(source: str, target: str, expected: str) -> None:
    pieces = without_second_stops(parse_line(source, KEPT), parse_line(target, KEPT))
    assert raw_text(pieces) == expected


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Nord Ltd..", "Nord Ltd.."),
        ("Nord Ltd., Nord Ltd..", "Nord Ltd.. und Nord Ltd."),
        ("Is it Nord Ltd.?", "Ist es Nord Ltd.?"),
        ("Nord Ltd. sleeps", "Nord Ltd. schläft."),
        ("Nord Ltd. <i>sleeps</i>.", "Nord Ltd. <i>schläft</i>."),
        ("Yahoo! sleeps.", "Es schläft Yahoo!."),
        ("The Pad.", "Das Pad."),
        ("The Pad sleeps..", "Das Pad.."),
    ],
)
def test_other_stops_stay(source: str, target: str) -> None:
    pieces = parse_line(target, KEPT)
    assert without_second_stops(parse_line(source, KEPT), pieces) == pieces


def test_translation_and_its_sentences_have_one_stop() -> None:
    source = parse_line("The dog of <b>Nord Ltd.</b>", KEPT)
    links = [("dog", "Hund"), ("of", "von"), ("Anna", "Anna")]
    translated = job(source, carry(source, ["Anna"]), ["Der Hund von Anna."])
    [found] = aligned_by(links).project([translated])
    assert raw_text(found.pieces) == "Der Hund von <b>Nord Ltd.</b>"
    assert found.sentences == [("The dog of Nord Ltd.", "Der Hund von Nord Ltd.")]
