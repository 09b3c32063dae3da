"""Placeholders that take their values by their order stay in that of the source."""

from dataclasses import replace

import pytest
from document_samples import opened
from faults.support.letters import copying_translator

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.marked_text import shown_text
from nmt_cli.data.markup.placeholders import takes_next_value
from nmt_cli.translation.markup import window
from nmt_cli.translation.markup.carrier import StandIn
from nmt_cli.translation.markup.results import MarkedResult, as_line, as_marked
from nmt_cli.translation.markup.segments import Segment
from nmt_cli.translation.markup.stand_ins import Copied, StandIns, find_copies
from nmt_cli.translation.result import SentenceTranslation, copied_translation
from nmt_cli.translation.translator import Translator

LANGUAGES = ("en", "fr")


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("%d files of %s", "%s : %d fichiers", "%d : %s fichiers"),
        ("%s, %.2f %% of %-5s", "%.2f %% de %-5s, %s", "%s de %.2f %%, %-5s"),
        ("%ld, %u, %x, %c", "%c, %x, %u, %ld", "%ld, %u, %x, %c"),
        ("<b>%s</b> of %d", "%d de <b>%s</b>", "%s de <b>%d</b>"),
        ("{:d} of {}", "{} de {:d}", "{:d} de {}"),
        # Others take their values by name or number, and may move.
        ("%s of {name} at %d", "{name} à %d de %s", "{name} à %s de %d"),
        ("%s of %1$s at %(n)s", "%(n)s de %1$s à %s", "%(n)s de %1$s à %s"),
        ("{0} of {1}", "{1} de {0}", "{1} de {0}"),
        ("%d of %s and %%", "%% et %d de %s", "%% et %d de %s"),
    ],
)
def test_values_are_in_the_order_of_the_source(source: str, target: str, expected: str) -> None:
    pieces = parse_line(target)
    copied = copied_translation("", "")
    sentences = (SentenceTranslation(source, target),)
    translation = replace(copied, hypotheses=copied.hypotheses * 2, sentences=sentences, flags=())
    result = MarkedResult([pieces, pieces], translation)
    line = as_line(source, parse_line(source), result, Kept(), LANGUAGES)
    assert line.text == expected
    assert [hypothesis.text for hypothesis in line.hypotheses] == [expected] * 2
    assert [sentence.text for sentence in line.sentences] == [expected]
    assert ("markup_moved" in line.flags) == (expected != target)
    marked = as_marked(source, parse_line(source), result, Kept(), LANGUAGES)
    assert (shown_text(marked.pieces), marked.translation.flags) == (expected, line.flags)


@pytest.mark.parametrize(
    ("raw", "takes"),
    [
        ('<ph id="1">%s</ph>', True), ('<x id="1" equiv-text="%d"/>', True),
        ('<ph id="1" disp="%s">code</ph>', True), ('<ph id="1">%1$s</ph>', False),
        ('<x id="1" equiv-text="{name}"/>', False), ('<x id="1"/>', False),
        ("<code>%s</code>", False), ("`%s`", False), ("%@", True), ("%n", False),
    ],
)  # fmt: skip
def test_elements_of_xliff_take_values_as_what_they_stand_for(raw: str, takes: bool) -> None:
    assert takes_next_value(raw) == takes


@pytest.mark.parametrize(
    ("raw", "ending"), [("{x}", "s"), ("%s", ""), ("%%", ""), ("%d%%", ""), ("%d %%", "")]
)
def test_format_gets_no_ending_that_would_make_it_another_one(raw: str, ending: str) -> None:
    [copy] = find_copies("Annas Hund", [StandIn(0, 4, "Anna", raw)], "Anna")
    assert copy == Copied(0, 5, raw, ending)


@pytest.fixture
def reversing(monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A translator that reverses the words of its lines."""
    segments = window._segments

    def reversed_segments(*given: object) -> list[Segment]:
        return [
            segment._replace(text=" ".join(segment.text.rstrip(".").split()[::-1]))
            for segment in segments(*given)
        ]

    monkeypatch.setattr(window, "_segments", reversed_segments)
    monkeypatch.setattr(StandIns, "words", ("Anna", "Paris", "Berlin"))
    monkeypatch.setattr(StandIns, "numbers", ("7", "12"))
    return copying_translator()[0]


@pytest.mark.parametrize(
    ("line", "expected", "is_flagged"),
    [
        ("copied %d to %s", "%d to %s copied", True),
        # They are alike, and each has the value of the other.
        ("copied %s to %s", "%s to %s copied", True),
        ("copied {} to {}", "{} to {} copied", True),
        ("copied %1$d to %2$s", "%2$s to %1$d copied", False),
        ("copied {a} to {b}", "{b} to {a} copied", False),
        ("copied %s to {b}", "{b} to %s copied", False),
        ("copied all to %s", "%s to all copied", False),
    ],
)
def test_line_whose_values_are_put_in_order_is_flagged(
    reversing: Translator, line: str, expected: str, is_flagged: bool
) -> None:
    [found] = reversing.translate([line])
    assert found.text == expected
    assert ("markup_moved" in found.flags) == is_flagged


@pytest.mark.parametrize(
    ("flag", "expected", "is_flagged"),
    [("c-format", "%2$s to %1$s copied", False), ("python-format", "%s to %s copied", True)],
)
def test_entry_of_a_catalogue_is_flagged_where_it_gets_no_numbers(
    reversing: Translator, flag: str, expected: str, is_flagged: bool
) -> None:
    document = opened(f'#, {flag}\nmsgid "copied %s to %s"\nmsgstr ""\n', "po")
    [found] = reversing.translate_marked(document.segments)
    assert ("markup_moved" in found.translation.flags) == is_flagged
    written = document.render([found.pieces]).decode()
    assert f'msgstr "{expected}"' in written
