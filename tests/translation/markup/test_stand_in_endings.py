"""Endings of stand-ins: `Annas` may be a form of `Anna`, but `Pariser` is another word."""

import re
from collections.abc import Callable

import pytest
from byte_models import byte_config
from faults.support.letters import copying_translator

from nmt_cli.translation.markup import window
from nmt_cli.translation.markup.segments import Segment
from nmt_cli.translation.markup.stand_ins import StandIns
from nmt_cli.translation.translator import Translator

ENDINGS = {"Anna": "n", "Maria": "n", "Paris": "er", "Eva": "s", "7": "s"}


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Translator]:
    """Makes a translator into a language that gives endings to Anna, Maria, Paris, Eva and 7."""
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
    return lambda language: copying_translator(byte_config({"languages.tgt": language}))[0]


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
        (("Anna", "Maria"), "see {x} all", "see {x}n all", False),
        (("Paris", "Anna", "Maria"), "see {x} all", "see {x}n all", False),
        (("Berlin", "Maria"), "see {x} all", "see {x} all", False),
        # What follows an apostrophe is no part of the word.
        (("Berlin", "London"), "see {x}'s dog", "see {x}'s dog", False),
        (("Anna", "Maria"), "see {x}'s dog", "see {x}n's dog", False),
        # A number that stands for itself.
        (("Berlin", "London"), "see 12 and {x}", "see 12 and {x}", False),
    ],
)
def test_endings_are_those_of_several_words(
    words: tuple[str, ...],
    line: str,
    expected: str,
    is_flagged: bool,
    ending: Callable[[str], Translator],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StandIns, "words", words)
    monkeypatch.setattr(StandIns, "numbers", ())
    [found] = ending("xnd").translate([line], keep_numbers=True)
    assert found.text == expected
    assert ("markup_moved" in found.flags) == is_flagged


@pytest.mark.parametrize(
    ("language", "words", "expected", "is_flagged"),
    [
        ("de", ("Eva",), "see {x}s all", False),
        ("sv-SE", ("Eva",), "see {x}s all", False),
        ("de", ("Paris",), "see {x}er all", True),
        ("fr", ("Eva",), "see {x}s all", True),
    ],
)
def test_genitives_of_names_are_endings_of_their_language(
    language: str,
    words: tuple[str, ...],
    expected: str,
    is_flagged: bool,
    ending: Callable[[str], Translator],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StandIns, "words", words)
    [found] = ending(language).translate(["see {x} all"])
    assert found.text == expected
    assert ("markup_moved" in found.flags) == is_flagged
