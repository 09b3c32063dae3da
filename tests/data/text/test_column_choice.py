"""Hints for tables of several columns of which only one is in a language that nmt knows."""

import random
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.text.tables.column_choice import chosen_columns

SYLLABLES = ["kag", "mur", "tol", "wun", "nef", "rik", "saw", "bor", "gul", "thad", "ndok"]
ENGLISH = [
    "the",
    "dog",
    "of",
    "that",
    "man",
    "was",
    "in",
    "a",
    "house",
    "and",
    "she",
    "saw",
    "it",
    "with",
    "her",
    "sister",
    "there",
]
SPANISH = [
    "el",
    "perro",
    "de",
    "la",
    "casa",
    "que",
    "está",
    "en",
    "un",
    "pueblo",
    "y",
    "no",
    "se",
    "ve",
    "por",
    "la",
    "noche",
]
HEADER = ["Ref", "Mubu", "Morphemes", "Gloss", "English", "Notes"]


def sentences(words: list[str], seed: int, joined: str = "") -> list[str]:
    """Sentences of these words, or of words of several of them."""
    source = random.Random(seed)
    return [
        " ".join(
            joined.join(source.choices(words, k=3)) if joined else source.choice(words)
            for _ in range(7)
        )
        for _ in range(60)
    ]


def table(*others: list[str]) -> list[list[str]]:
    """Interlinear text: reference, text, morphemes, gloss, translation, notes, and more."""
    morphemes = sentences(SYLLABLES, 1, "-")
    columns = [
        [f"XND{number:04d}.001" for number in range(60)],
        [text.replace("-", "") for text in morphemes],
        morphemes,
        [f"3SG-{text}" for text in sentences(SYLLABLES, 2, ".")],
        sentences(ENGLISH, 3),
        [""] * 60,
        *others,
    ]
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("header", [HEADER, None])
def test_the_only_known_language_takes_its_side_and_the_other_is_a_guess(
    header: list[str] | None,
) -> None:
    rows = [*([header] if header else []), *table()]
    sure = "" if header else "looks like English"
    assert chosen_columns(rows, ("en", "xnd")) == ((5, 2), None, (sure, "a guess"))
    assert chosen_columns(rows, ("xnd", "en")) == ((2, 5), None, ("a guess", sure))
    # A header that names the other language, too, leaves nothing to guess.
    named = [["id", "parse", "xnd", "gloss", "en", "note"], *table()]
    assert chosen_columns(named, ("en", "xnd")) == ((5, 3), None, ("looks like English", ""))


def rows_of(*columns: list[str]) -> list[list[str]]:
    return [list(row) for row in zip(*columns, strict=True)]


MUBU = [text.replace("-", "") for text in sentences(SYLLABLES, 1, "-")]
TRANSLATION = sentences(ENGLISH, 3)
# Of many words, unlike a column of names.
CASTILIAN = [f"{text} {mubu}" for text, mubu in zip(sentences(SPANISH, 4), MUBU, strict=True)]


def test_a_third_known_language_is_not_the_other_side() -> None:
    rows = rows_of(CASTILIAN, MUBU, TRANSLATION)
    assert chosen_columns(rows, ("en", "xnd")) == ((3, 2), None, ("looks like English", ""))


def test_two_known_languages_are_recognised_in_the_given_order() -> None:
    """Also if only one of them is given, and there is no other column for the other side."""
    rows = rows_of(TRANSLATION, CASTILIAN)
    assert chosen_columns(rows, ("en", "es"))[:2] == ((1, 2), ("en", "es"))
    assert chosen_columns(rows, ("es", "en"))[:2] == ((2, 1), ("es", "en"))
    assert chosen_columns(rows, ("en", "xnd"))[:2] == ((1, 2), ("en", "es"))
    assert chosen_columns(rows, ("xnd", "en"))[:2] == ((2, 1), ("es", "en"))


def test_a_header_decides_the_order_against_the_text() -> None:
    """What the text looks like goes with its column, or is left out for other columns."""
    rows = [["Spanish", "English"], *rows_of(TRANSLATION, CASTILIAN)]
    assert chosen_columns(rows, ("en", "es"))[:2] == ((2, 1), ("es", "en"))
    rows = [["Spanish", "text", "English"], *rows_of(TRANSLATION, CASTILIAN, MUBU)]
    assert chosen_columns(rows, ("en", "es"))[:2] == ((3, 1), None)


def test_a_first_row_with_a_sentence_is_no_header() -> None:
    rows = rows_of(["en", *MUBU[1:]], [f"the dog {'of the man ' * 5}", *TRANSLATION[1:]])
    assert chosen_columns(rows, ("en", "xnd")) == ((2, 1), None, ("looks like English", ""))


def test_of_two_columns_of_the_known_language_the_last_is_taken() -> None:
    rows = rows_of(TRANSLATION, MUBU, TRANSLATION)
    assert chosen_columns(rows, ("en", "xnd")) == ((3, 2), None, ("looks like English", ""))


@pytest.mark.parametrize(
    "others",
    [
        # Identifiers, in all cells and in most of them.
        ([f"kagtol{n}" for n in range(60)], MUBU),
        ([text if n % 3 else f"kagtol{n}k" for n, text in enumerate(["s1k"] * 60)], MUBU),
        ([f"kagtol{n}" if n % 3 else MUBU[n] for n in range(60)], MUBU),
        # Categories are none, however long their names are.
        (["Kagtol murbor (spoken)", "Ndok tol (sung)"] * 30, MUBU),
        # If all others are unlikely, that with most letters: licences are short.
        ([f"CC BY (A{n % 9})" for n in range(60)], [f"Kagtol murbor ({n % 9})" for n in range(60)]),
        # Glosses in the known language are no text in the other one.
        (
            [f"{words} of the {text}" for words, text in zip(TRANSLATION, MUBU, strict=True)],
            [f"Kagtol murbor ({n % 9})" for n in range(60)],
        ),
    ],
)
def test_columns_that_are_unlikely_to_be_the_other_side(
    others: tuple[list[str], list[str]],
) -> None:
    rows = rows_of(*others, TRANSLATION)
    assert chosen_columns(rows, ("en", "xnd")) == ((3, 2), None, ("looks like English", ""))


def test_of_two_likely_columns_the_first_is_a_guess() -> None:
    rows = rows_of(MUBU, MUBU[::-1], TRANSLATION)
    assert chosen_columns(rows, ("en", "xnd")) == ((3, 1), None, ("looks like English", "a guess"))


def test_numbers_are_never_the_other_side() -> None:
    rows = rows_of(TRANSLATION[::-1], TRANSLATION, [f"{n} a" * 2 + "000" for n in range(60)])
    assert chosen_columns(rows, ("en", "xnd")) == ((1, 2), None, ("", ""))


def test_the_known_language_is_told_beside_text_with_some_of_its_words() -> None:
    rows = rows_of([f"the {text} of that {text}" for text in MUBU], TRANSLATION)
    assert chosen_columns(rows, ("en", "xnd")) == ((2, 1), None, ("looks like English", ""))
    assert chosen_columns(rows, ("xnd", "en")) == ((1, 2), None, ("", "looks like English"))


@pytest.mark.parametrize(
    "short", [["AN", "IN"], ["check this one with her", "to be checked"], ["in", "", "at"]]
)
def test_initials_and_repeated_notes_are_not_taken_for_the_language(short: list[str]) -> None:
    cells = [short[number % len(short)] for number in range(60)]
    nouns = sentences(SYLLABLES, 5, "")
    english = [
        " ".join(word for both in zip(cell.split(), noun.split(), strict=True) for word in both)
        for cell, noun in zip(sentences(ENGLISH, 3), nouns, strict=True)
    ]
    rows = [[row[1], text, row[6]] for row, text in zip(table(cells), english, strict=True)]
    assert chosen_columns(rows, ("en", "xnd")) == ((2, 1), None, ("looks like English", ""))


@pytest.mark.parametrize("mark", ["\t", ","])
def test_the_hint_names_the_columns(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("".join(mark.join(row) + "\n" for row in [HEADER, *table()]))
    assert main(["init", "--train-tsv", "a.txt", "--src-lang", "en", "--tgt-lang", "xnd"]) == 65
    assert (
        "column 5 (English) as source and column 2 (Mubu, a guess) as target"
    ) in capsys.readouterr().err
