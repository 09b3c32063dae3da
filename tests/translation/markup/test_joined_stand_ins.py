"""Stand-ins that the model joins to a word with a hyphen: `30-hoses` for `30 hoses`."""

import pytest
from faults.support.letters import copying_translator

from nmt_cli.translation.markup import window
from nmt_cli.translation.markup.segments import Segment
from nmt_cli.translation.markup.stand_ins import StandIns
from nmt_cli.translation.translator import Translator


@pytest.fixture
def joining(monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A translator that joins Anna, Paris and 7 to the words behind them."""
    segments = window._segments

    def joined_segments(*given: object) -> list[Segment]:
        joined = []
        for segment in segments(*given):
            text = segment.text
            for word in ("Anna", "Paris", "7"):
                text = text.replace(f"{word} ", f"{word}-")
            joined.append(segment._replace(text=text))
        return joined

    monkeypatch.setattr(window, "_segments", joined_segments)
    monkeypatch.setattr(StandIns, "numbers", ("7",))
    return copying_translator()[0]


@pytest.mark.parametrize(
    ("words", "line", "expected", "is_flagged"),
    [
        (("Anna", "Paris"), "see {x} all", "see {x}-all", True),
        (("Anna", "Paris", "Berlin"), "see {x} all", "see {x} all", False),
        # As in German compounds.
        (("Anna", "Paris"), "see {x} All", "see {x}-All", False),
        (("Anna", "Paris"), "see {x}-all", "see {x}-all", False),
        (("Anna", "Paris"), "see all {x}", "see all {x}", False),
        ((), "see %d all", "see %d-all", True),
    ],
)
def test_joined_stand_ins_are_avoided_or_flagged(
    words: tuple[str, ...],
    line: str,
    expected: str,
    is_flagged: bool,
    joining: Translator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StandIns, "words", words)
    [found] = joining.translate([line])
    assert found.text == expected
    assert ("markup_moved" in found.flags) == is_flagged
