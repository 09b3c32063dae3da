"""Lines of a translation with words of another line are flagged, right translations are not."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from projections import project

from nmt_cli.data.markup.marked_text import MarkedPiece, Tag, Text
from nmt_cli.translation.markup.ranges import has_mixed_lines

# Lines and their right translations, which are longer or shorter than the lines.
LINES = [
    ("Environmental", "Loi sur la protection"),
    ("Protection Act", "de l’environnement"),
    ("Department of Transport", "Ministère des Transports"),
    ("Short title", "Titre abrégé"),
    ("Definitions", "Définitions"),
    ("Coming into force", "Entrée en vigueur"),
    ("Judge", "Juge"),
    ("Regulations made under this Act", "Règlements pris en vertu de la présente loi"),
    ("Application for a permit", "Demande de permis"),
    ("An Act respecting the courts", "Loi concernant les tribunaux"),
    ("Offences and punishment", "Infractions et peines"),
    ("Service by registered mail", "Signification par courrier recommandé"),
]


def lines(texts: Sequence[str]) -> list[MarkedPiece]:
    pieces: list[MarkedPiece] = []
    for text in texts:
        pieces += (Text(text), Tag("\\\n", "empty", "hard"))
    return pieces[:-1]


def test_right_translations_have_no_mixed_lines() -> None:
    for group in (*pairwise(LINES), *zip(LINES, LINES[1:], LINES[2:], strict=False)):
        sources, targets = zip(*group, strict=True)
        assert not has_mixed_lines(lines(sources), lines(targets)), sources


@pytest.mark.parametrize(
    "targets",
    [
        ("Loi", "sur la protection de l’environnement et de la santé"),
        ("Loi sur la protection de l’environnement et de la", "santé"),
        ("", "Loi sur la protection de l’environnement"),
    ],
)
def test_lines_with_a_very_different_share_of_the_words_are_mixed(targets: Sequence[str]) -> None:
    sources = ("Environmental and Health", "Protection Act of Canada")
    assert has_mixed_lines(lines(sources), lines(targets))


def test_short_lines_and_lost_breaks_are_not_mixed() -> None:
    assert not has_mixed_lines(lines(("I", "Scope")), lines(("Partie I", "Objet")))
    assert not has_mixed_lines(lines(("Scope of it", "Definitions of it")), [Text("Objet")])
    assert not has_mixed_lines(lines(("***", "---")), lines(("Objet", "Définitions")))


def test_mixed_lines_are_flagged() -> None:
    links = [("the", "le"), ("judge", "juge"), ("visits", "visite"), ("court", "tribunal")]
    line = "the judge visits \\n court"
    assert not project(line, "le juge visite tribunal", links).moved
    assert project(line, "le tribunal visite juge extraordinaire immédiatement", links).moved
