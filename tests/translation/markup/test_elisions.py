"""Marks that stand alone get neither into an elision nor add a space before punctuation."""

import pytest
from projections import aligned_by, job, project

from nmt_cli.data.markup.marked_text import Tag, Text, raw_text
from nmt_cli.translation.markup.carrier import carry

LINKS = [
    ("office", "emploi"), ("under", "sous"), ("is", "est"), ("section", "article"), ("5", "5"),
    ("those", "qu"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "target", "expected"),
    [
        ("under <br/>office is", "sous l’emploi est", "sous <br/>l’emploi est"),
        ("under<br/>office is", "sous l’emploi est", "sous<br/>l’emploi est"),
        ("under <a name='x'></a>section", "sous l'article", "sous <a name='x'></a>l'article"),
        ("under <b><img/>office</b> is", "sous l’emploi est", "sous <b><img/>l’emploi</b> est"),
        # Behind the word to which it belongs.
        ("those<img/> under", "qu’emploi sous", "qu’emploi<img/> sous"),
        ("those<img/> <b>office</b> is", "qu’emploi est", "qu’<b>emploi</b><img/> est"),
        # Two words before the last one.
        ("under <br/>office", "sous d’l’emploi", "sous <br/>d’l’emploi"),
    ],
)
def test_marks_that_stand_alone_get_into_no_elision(line: str, target: str, expected: str) -> None:
    assert raw_text(project(line, target, LINKS, language="fr").pieces) == expected


@pytest.mark.parametrize(
    ("line", "target", "expected"),
    [
        ("office<img/> is", "est emploi.", "est emploi<img/>."),
        ("office<img/> is", "est emploi, sous", "est emploi<img/>, sous"),
        ("office<a name='x'></a> is", "est (emploi)", "est (emploi<a name='x'></a>)"),
        # The translation has the space itself.
        ("office<img/> is", "est emploi\u00a0; sous", "est emploi<img/>\u00a0; sous"),
    ],
)
def test_no_space_gets_between_a_mark_and_punctuation(
    line: str, target: str, expected: str
) -> None:
    assert raw_text(project(line, target, LINKS, language="fr").pieces) == expected


def test_marks_of_footnotes_in_markdown_get_into_no_elision() -> None:
    source = (Text("those"), Tag("[^c]", "empty", "note"), Text(" office"),
              Tag("[^d]", "empty", "note"), Text(" is"))  # fmt: skip
    [result] = aligned_by(LINKS, "fr").project([job(source, carry(source), ["qu’emploi, est"])])
    assert raw_text(result.pieces) == "qu’emploi[^c][^d], est"


def test_marks_of_footnotes_stay_at_their_word_without_the_comma_behind_them() -> None:
    source = (Text("those"), Tag("[^a]", "empty", "note"), Text(" office"),
              Tag("[^b]", "empty", "note"), Text(", is"))  # fmt: skip
    [result] = aligned_by(LINKS, "fr").project([job(source, carry(source), ["qu’emploi est"])])
    assert raw_text(result.pieces) == "qu’emploi[^a][^b] est"


@pytest.mark.parametrize("mark", ["<br/>", "\\n"])
def test_lines_that_have_lost_their_words_are_flagged(mark: str) -> None:
    line = f"under the {mark} office"
    assert not project(line, "sous l’ emploi", LINKS, language="fr").moved
    assert project(line, "emploi", LINKS, language="fr").moved
    assert project(f"under {mark}{mark} office", "sous emploi", LINKS, language="fr").moved is False
