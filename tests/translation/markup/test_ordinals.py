"""Tags around the ending of a number go around that of its translation."""

import pytest
from projections import project

from nmt_cli.data.markup.marked_text import raw_text

LINKS = [
    ("The", "Le"), ("the", "le"), ("report", "rapport"), ("and", "et"), ("3", "3"), ("rd", "Le"),
    ("th", "et"), ("3rd", "3"), ("3rd", "troisième"), ("3km", "3"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "target", "expected"),
    [
        ("The 3<sup>rd</sup> report", "Le 3e rapport", "Le 3<sup>e</sup> rapport"),
        ("The 3<f1>rd</f1> report", "Le rapport 3.er", "Le rapport 3.<f1>er</f1>"),
        ("The 3<sup>rd</sup> and the 4<sup>th</sup>", "Le 4e et le 3e",
         "Le 4<sup>e</sup> et le 3<sup>e</sup>"),
        ("The 3<sup>rd</sup> and 3<sup>rd</sup>", "Le 3e et 3e",
         "Le 3<sup>e</sup> et 3<sup>e</sup>"),
        ("The <b>3</b><sup>rd</sup> report", "Le 3e rapport", "Le <b>3</b><sup>e</sup> rapport"),
        ("The <b>3<sup>rd</sup></b> report", "Le 3e rapport", "Le <b>3<sup>e</sup></b> rapport"),
        # One with an ending rather than another number.
        ("The 3<sup>rd</sup> report", "Le 3 rapport 3e", "Le 3 rapport 3<sup>e</sup>"),
        # No ending: the tags are empty.
        ("The 3<sup>rd</sup> report", "Le rapport 3", "Le rapport 3<sup></sup>"),
        ("The 3<sup>rd</sup> report", "Le troisième rapport", "Le troisième<sup></sup> rapport"),
        # The mark of a note stays.
        ("The 12<sup>b</sup> report", "Le rapport 12", "Le rapport 12<sup>b</sup>"),
        ("The 12<sup>b</sup> report", "Le 12b rapport", "Le 12<sup>b</sup> rapport"),
        # Other tags, and other letters behind a number.
        ("The 3[rd](x) report", "Le rapport 3", "Le rapport [3](x)"),
        ("The 3<i>km</i> report", "Le rapport 3", "Le rapport <i>3</i>"),
    ],
)  # fmt: skip
def test_tags_around_endings_of_numbers(line: str, target: str, expected: str) -> None:
    result = project(line, target, LINKS, language="fr")
    assert raw_text(result.pieces) == expected
    assert not result.moved
