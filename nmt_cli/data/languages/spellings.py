"""Letters that only one of two texts in a language has, as where they are spelt in two ways."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from nmt_cli.data.languages.side_notes import Head
from nmt_cli.data.languages.text_files import side_of
from nmt_cli.plurals import enumerated

# A letter counts if at least this share of the lines of one text has it, and the other text would
# have it so often if it were as frequent there, but has at most this share of that number.
LEAST_LINES, LEAST_EXPECTED, MOST_FOUND = 0.01, 30, 0.02
# Fewer training lines, as those of a domain, lack letters by chance.
FEWEST_TRAINED = 1_000
# Texts with more letters than alphabets have are of another kind of script, such as Chinese, in
# which a frequent letter may be one of the subject.
MOST_LETTERS = 300
SHOWN = 8


def letters_of_one(lines: Sequence[str], others: Sequence[str]) -> list[tuple[str, int]]:
    """The letters that `others` hardly have, with their numbers in `lines`, most frequent first.

    Capital letters count as small ones, and accents as parts of their letters (NFC).

    >>> letters_of_one(["hagu\u00e3 ko"] * 40, ["hagu\u00e2 ko"] * 40)
    [('\u00e3', 40)]
    >>> letters_of_one(["hagu\u00e3 ko"] * 40, ["hagu\u00e2 ko"] * 20)
    []
    """
    found, there = Counter[str](), Counter[str]()
    for letters, text in ((found, lines), (there, others)):
        for line in text:
            letters.update(filter(str.isalpha, unicodedata.normalize("NFC", line).lower()))
    if not there or max(len(found), len(there)) > MOST_LETTERS:
        return []
    ratio = there.total() / max(1, found.total())
    return [
        (letter, count)
        for letter, count in found.most_common()
        if count * ratio >= LEAST_EXPECTED
        and there[letter] <= MOST_FOUND * count * ratio
        and _lines_with(letter, lines) >= LEAST_LINES * len(lines)
    ]


def _lines_with(letter: str, lines: Sequence[str]) -> int:
    return sum(letter in unicodedata.normalize("NFC", line).lower() for line in lines)


def spelling_notes(heads: Sequence[Head]) -> Iterator[str]:
    """Yield the warnings that a validation or test text is not spelt as the training text is.

    Sides that look like another language have warnings of their own.
    """
    for index in (0, 1):
        trained = [head for head in heads if head.text.role == "training"]
        lines = [line for head in trained for line in head.sides[index]]
        for head in heads:
            is_other = any(each.others[index] for each in (head, *trained))
            is_short = len(lines) < FEWEST_TRAINED
            if head.text.role == "training" or is_other or is_short:
                continue
            only_there = letters_of_one(head.sides[index], lines)
            only_trained = letters_of_one(lines, head.sides[index])
            only = [
                f"only the {role} text has {_shown(letters)}"
                for role, letters in (("training", only_trained), (head.text.role, only_there))
                if letters
            ]
            if only:
                yield (
                    f"the {side_of([head.text], index)} seems to be spelt differently from the "
                    f"training text: of their first lines, {' and '.join(only)}; a model knows "
                    "words only as the training text spells them: spell all texts in one way"
                )


def _shown(letters: Sequence[tuple[str, int]]) -> str:
    """The letters with their numbers.

    >>> _shown([("\u00e3", 1243)])
    '`\u00e3` (U+00E3) 1,243 times'
    """
    shown = [f"`{letter}` (U+{ord(letter):04X}) {count:,} times" for letter, count in letters]
    more = [f"{len(shown) - SHOWN} other letters"] if len(shown) > SHOWN else []
    return enumerated([*shown[:SHOWN], *more])
