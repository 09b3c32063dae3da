"""Marks that a model has written itself are removed, and take the place of those of the source."""

from dataclasses import replace

import pytest

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import MARKS_ONLY, Kept, KeptNames
from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text, shown_text
from nmt_cli.translation.markup.own_marks import without_own_marks
from nmt_cli.translation.markup.results import MarkedResult, as_line, as_marked
from nmt_cli.translation.quality.checker import CheckedSentence, QualityChecker
from nmt_cli.translation.result import empty_translation

OPENING, CLOSING = Tag("<b>", "open", "b"), Tag("</b>", "close", "b")
NAME, BUTTON, NUMBER = Placeholder("{name}"), Placeholder("{button}"), Placeholder("%d")
PUMP = Placeholder("HydroMax")
NAMES = Kept(names=KeptNames(["HydroMax"]))


def shown(pieces: MarkedText, source: str, kept: Kept = MARKS_ONLY) -> tuple[str, bool]:
    found, is_lost = without_own_marks(pieces, parse_line(source, kept), kept)
    return shown_text(found), is_lost


@pytest.mark.parametrize(
    ("pieces", "source", "expected"),
    [
        ((Text("Drücke {button} "), NAME, Text(" zum Start.")), "Press {name} to start.",
         ("Drücke {name} zum Start.", True)),
        ((Text("Drücke "), NAME, Text(" {button}.")), "Press {name}.", ("Drücke {name}.", True)),
        # The place where the model has written it is the better one.
        ((BUTTON, Text(" Drücke auf {button} hier.")), "Press {button} here.",
         ("Drücke auf {button} hier.", False)),
        ((NAME, Text(" Drücke {name} und {button} hier.")), "Press {name} here.",
         ("Drücke {name} und hier.", True)),
        ((Text("Seite %d"), NUMBER, Text(": x %d")), "Page %d: x", ("Seite %d: x", True)),
        # A tag was placed within a tag of the model's own.
        ((OPENING, Text("Dreh das <b"), CLOSING, Text(">Ventil</b> zu.")), "Turn the <b>valve</b>.",
         ("<b>Dreh das </b>Ventil zu.", True)),
        ((Text("Der <i>Hund</i> von "), NAME), "The dog of {name}", ("Der Hund von {name}", True)),
        # Which of two it stands for is not known.
        ((BUTTON, Text(" und "), BUTTON, Text(" oder {button}.")), "{button} and {button}.",
         ("{button} und {button} oder.", True)),
        # A pair stays around what it had.
        ((OPENING, BUTTON, CLOSING, Text(" drücken, {button} hier.")), "<b>{button}</b> here",
         ("<b>{button}</b> drücken, hier.", True)),
    ],
)  # fmt: skip
def test_marks_of_the_model_are_removed(
    pieces: MarkedText, source: str, expected: tuple[str, bool]
) -> None:
    assert shown(pieces, source) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Of the spaces on both sides of one, or of several beside each other, one stays.
        ("Drücke {a} hier", "Drücke hier"), ("Drücke {a} {b} hier", "Drücke hier"),
        ("Drücke {a}{b} hier", "Drücke hier"), ("Drücke {a}, {b} hier", "Drücke, hier"),
        # None stays at the ends and before marks that close something.
        ("{a} Drücke", "Drücke"), ("{a} {b} Drücke", "Drücke"), ("Drücke {a}", "Drücke"),
        ("Drücke {a} {b}", "Drücke"), ("(Drücke {a}) hier", "(Drücke) hier"),
        ("Drücke {a}. Ja", "Drücke. Ja"), ("Drücke {a} {b}!", "Drücke!"),
        ("Drücke {a}: hier", "Drücke: hier"), ("Drücke {a} !", "Drücke !"),
        # Words that it was joined to keep their spaces.
        ("Drücke x{a} hier", "Drücke x hier"), ("Drücke {a}x hier", "Drücke x hier"),
        ("{a}. Ja", ". Ja"), ("{a}", ""),
    ],
)  # fmt: skip
def test_marks_of_the_model_leave_one_space(text: str, expected: str) -> None:
    assert shown((Text(text),), "Press here") == (expected, True)


def test_kept_names_that_the_model_writes_are_not_doubled() -> None:
    pieces = Text("La "), PUMP, Text(" pompe HydroMax pèse 71 kg.")
    found, is_lost = without_own_marks(pieces, parse_line("The HydroMax pump", NAMES), NAMES)
    assert shown_text(found) == "La pompe HydroMax pèse 71 kg."
    assert PUMP in found
    assert not is_lost
    assert shown(pieces, "The HydroMax pump")[0] == shown_text(pieces)


def test_names_that_are_not_in_the_source_stay() -> None:
    """They may be words of the language."""
    target = Text("HydroMax, "), NAME, Text(".")
    source = parse_line("But {name}.", NAMES)
    assert without_own_marks(target, source, NAMES) == (target, False)


def test_text_that_only_looks_like_marks_in_a_document_stays() -> None:
    """A document about HTML has tags in its text, and its translation as many."""
    source = Text("Write <b> before "), OPENING, Text("bold"), CLOSING, Text(" text.")
    target = Text("Vor "), OPENING, Text("fettem"), CLOSING, Text(" Text steht <b>.")
    assert without_own_marks(target, source, MARKS_ONLY) == (target, False)
    twice = (*target, Text(" <b>"))
    assert without_own_marks(twice, source, MARKS_ONLY)[1]


def result_of(pieces: MarkedText) -> MarkedResult:
    return MarkedResult([pieces], replace(empty_translation("", "empty"), flags=()))


def test_results_of_lines_and_documents_have_no_own_marks() -> None:
    source = parse_line("Press {name}.")
    result = result_of((Text("Drücke {button} "), NAME, Text(".")))
    line = as_line("Press {name}.", source, result, Kept(), ("en", "de"))
    assert (line.text, line.flags) == ("Drücke {name}.", ("markup_moved",))
    marked = as_marked("Press {name}.", source, result, Kept(), ("en", "de"))
    assert shown_text(marked.pieces) == marked.translation.text == "Drücke {name}."
    assert marked.translation.flags == ("markup_moved",)


@pytest.mark.parametrize(
    ("source", "text", "is_flagged"),
    [
        ("Tighten the motor.", "Serrez le <b>capteur</b>.", True),
        ("See page %s.", "Voir page %s %d.", True),
        ("The <b>dog</b>", "Le <b>chien</b>", False),
        ("5 % of 5 * 3 * 2 < 7", "5 % de 5 * 3 * 2 < 7", False),
    ],
)
def test_lines_with_more_marks_than_their_source_are_flagged(
    source: str, text: str, is_flagged: bool
) -> None:
    flags = QualityChecker(("en", "fr")).flags([CheckedSentence(source, text)])
    assert ("markup_moved" in flags) == is_flagged
