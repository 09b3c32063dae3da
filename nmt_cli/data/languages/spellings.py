"""Letters and marks that only one of two texts in a language has: other spellings, lost marks."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from nmt_cli.data.languages.side_notes import Head
from nmt_cli.data.languages.text_files import side_of
from nmt_cli.plurals import agreeing, enumerated

# A letter counts if at least this share of the lines of one text has it, and the other text would
# have it so often if it were as frequent there, but has at most this share of that number.
LEAST_LINES, LEAST_EXPECTED, MOST_FOUND = 0.01, 30, 0.02
# The one text has it so often itself: a rare word of a small text says nothing.
FEWEST_FOUND = 20
# Fewer training lines, as those of a domain, lack letters by chance.
FEWEST_TRAINED = 1_000
# Texts with more letters than alphabets have are of another kind of script, such as Chinese, in
# which a frequent letter may be one of the subject.
MOST_LETTERS = 300
SHOWN, FIRST_NAMED = 8, 5
# Marks that a program may remove from a text, in all their forms.
_MARKS = {
    "marks at the ends of sentences": re.compile(
        "[.!?\u2026\u0964\u061f\u06d4\u3002\uff01\uff1f]\\W*$"
    ),
    "quotation marks": re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb]'),
    "apostrophes within words": re.compile(
        "(?<=[^\\W\\d_])['\u2019\u02bc\u2018`\u00b4](?=[^\\W\\d_])"
    ),
}
# In some texts they stand for letters that a program could not write: `su*nú`.
_MARKS |= {
    f"`{sign}` within words": re.compile(f"(?<=[^\\W\\d_]){re.escape(sign)}(?=[^\\W\\d_])")
    for sign in "*+=$^~|\\[{"
}


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
        if count >= FEWEST_FOUND
        and count * ratio >= LEAST_EXPECTED
        and there[letter] <= MOST_FOUND * count * ratio
        and _lines_with(letter, lines) >= LEAST_LINES * len(lines)
    ]


def _lines_with(letter: str, lines: Sequence[str]) -> int:
    return sum(letter in unicodedata.normalize("NFC", line).lower() for line in lines)


def marks_of_one(lines: Sequence[str], others: Sequence[str]) -> list[tuple[str, int, int, int]]:
    """The kinds of marks that `others` hardly have.

    Of each: its name, how many `lines` have, how many `others` have, and how many would be usual
    there.

    >>> marks_of_one(['He said "yes".'] * 20, ["He said yes"] * 20)
    [('quotation marks', 40, 0, 40)]
    """
    letters, letters_there = (sum(map(str.isalpha, "".join(text))) for text in (lines, others))
    result = []
    for name, pattern in _MARKS.items():
        found, there = (
            sum(len(pattern.findall(line)) for line in text) for text in (lines, others)
        )
        usual = round(found * letters_there / max(1, letters))
        with_marks = sum(pattern.search(line) is not None for line in lines)
        if (
            found >= FEWEST_FOUND
            and usual >= LEAST_EXPECTED
            and there <= MOST_FOUND * usual
            and with_marks >= LEAST_LINES * len(lines)
        ):
            result.append((name, found, there, usual))
    return result


def spelling_notes(heads: Sequence[Head]) -> Iterator[str]:
    """Yield the warnings that a validation or test text is not written as the training text is.

    Sides that look like another language have warnings of their own.
    """
    for index in (0, 1):
        trained = [head for head in heads if head.text.role == "training"]
        lines = [line for head in trained for line in head.cleaned[index]]
        for head in heads:
            is_other = any(each.others[index] for each in (head, *trained))
            is_short = len(lines) < FEWEST_TRAINED
            if head.text.role == "training" or is_other or is_short:
                continue
            only_there = letters_of_one(head.cleaned[index], lines)
            only_trained = letters_of_one(lines, head.cleaned[index])
            only = [
                f"only the {role} text has {_shown(letters)}"
                for role, letters in (("training", only_trained), (head.text.role, only_there))
                if letters
            ]
            if only_there:
                only[-1] += f"; {_first_lines(only_there, head.cleaned[index])}"
            side = side_of([head.text], index)
            for rich, poor, sides in (
                ("training", head.text.role, (lines, head.cleaned[index])),
                (head.text.role, "training", (head.cleaned[index], lines)),
            ):
                for name, found, there, usual in marks_of_one(*sides):
                    yield (
                        f"{name} of the {side}: of their first lines, the {rich} text has "
                        f"{found:,}, and the {poor} text {there:,}, where about {usual:,} would be "
                        "usual; if a program has removed them, scores say nothing of lines with "
                        "them, and a model reads other words than it has learnt"
                    )
            if only:
                yield (
                    f"the {side} seems to be spelt differently from the "
                    f"training text: of their first lines, {' and '.join(only)}; a model knows "
                    "words only as the training text spells them: spell all texts in one way, "
                    "unless these are words of another language; if a program has removed letters, "
                    "take the text from where it has them"
                )


def _first_lines(letters: Sequence[tuple[str, int]], lines: Sequence[str]) -> str:
    """Where the letters that are shown are.

    >>> _first_lines([("ù", 2)], ["a", "Où", "où"])
    'the first such lines are 2 and 3'
    """
    shown = {letter for letter, _ in letters[:SHOWN]}
    found = [
        f"{number:,}"
        for number, line in enumerate(lines, 1)
        if shown.intersection(unicodedata.normalize("NFC", line).lower())
    ]
    numbers = enumerated(found[:FIRST_NAMED])
    return f"the first such {agreeing(len(found), 'line is', 'lines are')} {numbers}"


def _shown(letters: Sequence[tuple[str, int]]) -> str:
    """The letters with their numbers.

    >>> _shown([("\u00e3", 1243)])
    '`\u00e3` (U+00E3) 1,243 times'
    """
    shown = [f"`{letter}` (U+{ord(letter):04X}) {count:,} times" for letter, count in letters]
    more = [f"{len(shown) - SHOWN} other letters"] if len(shown) > SHOWN else []
    return enumerated([*shown[:SHOWN], *more])
