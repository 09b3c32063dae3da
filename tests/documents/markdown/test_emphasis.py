"""Emphasis beside punctuation, as CommonMark has it."""

import pytest
from projections import aligned_by, job

from nmt_cli.data.markup.emphasis import has_valid_emphasis
from nmt_cli.data.markup.marked_text import Tag, raw_text
from nmt_cli.data.markup.pairs import tag_pairs
from nmt_cli.documents.markdown.inline import parse_marks
from nmt_cli.translation.markup.carrier import carry


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('The dog sees **the "cat"**.', ["open", "close"]),
        ("*the cat (1)*.", ["open", "close"]),
        ("**Minister (Ottawa)**, by order", ["open", "close"]),
        ("~~the cat!~~.", ["open", "close"]),
        ('**"Yes"** and **"no"**.', ["open", "close"] * 2),
        ("*(a)* and (*b*)", ["open", "close"] * 2),
        ("_(x)_.", ["open", "close"]),
        ("**a *b!***", ["open", "open", "close", "close"]),
        ("a * b, 2 * 3", []),
        # A vowel sign at the end of a word is no punctuation.
        ("**हिन्दी**में", ["open", "close"]),
        ("हिन्दी_में_", []),
    ],
)
def test_emphasis_beside_punctuation(text: str, kinds: list[str]) -> None:
    pieces = parse_marks(text)
    assert [piece.kind for piece in pieces if isinstance(piece, Tag)] == kinds


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("The **Minister***s* agent", ["**Minister**", "*s*"]),
        ("The *Minister***s** agent", ["*Minister*", "**s**"]),
        ("a**b***c*", ["**b**", "*c*"]),
        ("**a *b***c", ["**a *b***", "*b*"]),
        ("*a **b*** c", ["*a **b***", "**b**"]),
        # Which of the two marks of a run is the outer one, the first end says.
        ("***a** b*", ["***a** b*", "**a**"]),
        ("***a* b**", ["***a* b**", "*a*"]),
        ("___a__ b_", ["___a__ b_", "__a__"]),
        ("***a** **b***", ["***a** **b***", "**a**", "**b**"]),
        ("***a** b", ["**a**"]),
        # These are no ends, since the lengths of the two runs add up to 3 or 6.
        ("*a**b*", ["*a**b*"]),
        ("**a****b**", ["**a****b**"]),
    ],
)
def test_runs_may_end_emphasis_and_begin_another(text: str, pairs: list[str]) -> None:
    pieces = parse_marks(text)
    found = [raw_text(pieces[first : last + 1]) for first, last in tag_pairs(pieces).items()]
    assert found == pairs
    assert has_valid_emphasis(pieces)


def test_emphasis_that_touches_within_a_word_stays() -> None:
    source = parse_marks("The **Minister***s* agent")
    links = [("The", "der"), ("Minister", "Minister"), ("agent", "Agent")]
    [result] = aligned_by(links).project([job(source, carry(source), ["der Agent Minister"])])
    # The mark of both is at the word of which each has a part.
    assert raw_text(result.pieces) == "der Agent ***Minister***"
    assert not result.moved
