"""Endings of stand-ins: `Annas` may be a form of `Anna`, but `Pariser` is another word."""

import re

import pytest
from faults.support.letters import copying_translator

from nmt_cli.translation.markup import window
from nmt_cli.translation.markup.segments import Segment
from nmt_cli.translation.markup.stand_ins import StandIns
from nmt_cli.translation.translator import Translator

ENDINGS = {"Anna": "s", "Maria": "s", "Paris": "er", "7": "s"}


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A translator that gives endings to Anna, Maria, Paris and 7."""
    segments = window._segments
    pattern = re.compile(rf"\b({'|'.join(ENDINGS)})\b")

    def segments_with_endings(*given: object) -> list[Segment]:
        return [
            segment._replace(
                text=pattern.sub(lambda word: word[0] + ENDINGS[word[0]], segment.text)
            )
            for segment in segments(*given)
        ]

    monkeypatch.setattr(window, "_segments", segments_with_endings)
    return copying_translator()[0]


@pytest.mark.parametrize(
    ("words", "line", "expected", "is_flagged"),
    [
        # An ending that one word alone gets is avoided, or the line is flagged.
        (("Paris", "Berlin"), "see {x} all", "see {x} all", False),
        (("Paris", "Anna", "Berlin"), "see {x} all", "see {x} all", False),
        (("Paris", "Anna"), "see {x} all", "see {x}er all", True),
        (("Paris",), "see {x} all", "see {x}er all", True),
        (("Paris", "Berlin"), "see %s all", "see %s all", False),
        (("Paris",), "see %s all", "see %s all", True),
        (("Paris", "Berlin", "London", "Madrid"), "see {x} and {y}", "see {x} and {y}", False),
        # Several words get the same one: it is that of the language.
        (("Anna", "Maria"), "see {x} all", "see {x}s all", False),
        (("Paris", "Anna", "Maria"), "see {x} all", "see {x}s all", False),
        (("Berlin", "Maria"), "see {x} all", "see {x} all", False),
        # What follows an apostrophe is no part of the word.
        (("Berlin", "London"), "see {x}'s dog", "see {x}'s dog", False),
        (("Anna", "Maria"), "see {x}'s dog", "see {x}s's dog", False),
        # A number that stands for itself.
        (("Berlin", "London"), "see 12 and {x}", "see 12 and {x}", False),
    ],
)
def test_endings_are_those_of_several_words(
    words: tuple[str, ...],
    line: str,
    expected: str,
    is_flagged: bool,
    ending: Translator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StandIns, "words", words)
    monkeypatch.setattr(StandIns, "numbers", ())
    [found] = ending.translate([line], keep_numbers=True)
    assert found.text == expected
    assert ("markup_moved" in found.flags) == is_flagged
