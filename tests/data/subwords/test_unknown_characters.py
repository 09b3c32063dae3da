"""The characters that an existing vocabulary lacks: which they are, how often, and where."""

import numpy as np

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.preparation.unknown_characters import (
    MOST_LISTED,
    MOST_NAMED,
    UnknownCharacter,
    UnknownCharacters,
    find_unknown,
    named,
)
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import SPECIAL
from nmt_cli.data.subwords.wordpiece import WordPieces

DATA = DataConfig(train=(("one.src", "one.tgt"), ("two.tsv",)))


def test_character_that_is_known_only_at_the_start_of_words_counts_where_it_is_unknown() -> None:
    subwords = Subwords(WordPieces([*SPECIAL, "▁", "▁a", "b"]))
    lines = ["a b", "ba", "b c"]
    ids = subwords.encode_source(lines)
    places = find_unknown(subwords, "src", lines, ids, np.array([4, 7, 9]))
    assert places == {("src", "a"): (1, [7]), ("src", "c"): (1, [9])}


def test_lines_are_added_up_for_each_file() -> None:
    unknown = UnknownCharacters(DATA)
    unknown.add(0, {("src", "x"): (4, [1, 2, 3, 4])})
    unknown.add(0, {("src", "x"): (3, [7, 8, 9]), ("tgt", "x"): (1, [7])})
    unknown.add(1, {("tgt", "y"): (2, [5, 6])})
    assert unknown.listed() == (
        UnknownCharacter("x", "U+0078", "src", "one.src", 7, (1, 2, 3, 4, 7)),
        UnknownCharacter("y", "U+0079", "tgt", "two.tsv", 2, (5, 6)),
        UnknownCharacter("x", "U+0078", "tgt", "one.tgt", 1, (7,)),
    )


def test_those_of_most_lines_are_listed() -> None:
    """Text of another script has thousands of them."""
    unknown = UnknownCharacters(DATA)
    for number in range(MOST_LISTED + 5):
        unknown.add(0, {("src", chr(0x4E00 + number)): (number + 1, [1])})
    assert [each.lines for each in unknown.listed()] == list(range(MOST_LISTED + 5, 5, -1))


def test_characters_that_cannot_be_seen_are_named_by_their_code_only() -> None:
    found = [
        UnknownCharacter(character, f"U+{ord(character):04X}", "src", "f", 1, (2,))
        for character in "é\u0301\u200b→"
    ]
    assert named(found) == (
        ": é (U+00E9, 1 kept line of `f`: 2), (U+0301, 1 kept line of `f`: 2), "
        "(U+200B, 1 kept line of `f`: 2), → (U+2192, 1 kept line of `f`: 2)"
    )


def test_few_characters_are_named_and_the_others_counted() -> None:
    found = [UnknownCharacter("x", "U+0078", "src", "f", 1, (2,))] * (MOST_NAMED + 3)
    text = named(found)
    assert text.count("U+0078") == MOST_NAMED
    assert text.endswith("), 3 more, which --json lists")
    assert named(found[:MOST_NAMED]).endswith(": 2)")
