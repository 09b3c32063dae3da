"""Terms of a glossary are aligned with their forms, whatever the attention says."""

import numpy as np
import pytest

from nmt_cli.data.lexical.glossary import Entry, Glossary
from nmt_cli.translation.markup.term_alignment import align_terms
from nmt_cli.translation.markup.tokens import tokens_of

GLOSSARY = Glossary([Entry("hot dog", ("Hotdog",), 1), Entry("dog", ("Hund", "Hunde"), 2)])


def aligned(source: str, text: str) -> dict[str, list[str]]:
    """The source words that each word of the translation is aligned with."""
    src, tgt = tokens_of(source), tokens_of(text)
    matrix = np.full((len(tgt), len(src)), 0.5)
    align_terms(matrix, list(GLOSSARY.matches(source)), text, src, tgt)
    return {
        text[row.begin : row.end]: [
            source[column.begin : column.end]
            for column, value in zip(src, values, strict=True)
            if value == 1.0
        ]
        for row, values in zip(tgt, matrix.tolist(), strict=True)
    }


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("the dog sleeps", "ein Hund schläft", {"Hund": ["dog"]}),
        ("a hot dog", "ein Hotdog", {"Hotdog": ["hot", "dog"]}),
        # In their order, by whole words.
        ("dog or dogs, dog", "Hund oder Hunden, Hunde", {"Hund": ["dog"], "Hunde": ["dog"]}),
        # It is there once in the source, twice in the translation.
        ("the dog", "Hund Hunde", {}),
        ("the dog", "der Hundekuchen", {}),
    ],
)
def test_words_of_terms_are_aligned_with_their_forms(
    source: str, text: str, expected: dict[str, list[str]]
) -> None:
    assert {word: words for word, words in aligned(source, text).items() if words} == expected


def test_no_other_word_is_aligned_with_a_term() -> None:
    src, tgt = tokens_of("the dog"), tokens_of("ein Hund")
    matrix = np.full((2, 2), 0.5)
    align_terms(matrix, list(GLOSSARY.matches("the dog")), "ein Hund", src, tgt)
    assert matrix.tolist() == [[0.5, 0.0], [0.0, 1.0]]
