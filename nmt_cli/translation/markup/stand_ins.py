"""Words that a model copies, which stand for placeholders while a line is translated.

They are chosen by test translations: a word of both vocabularies that is translated by itself.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.languages.word_characters import MARK, borders
from nmt_cli.data.markup.kept_numbers import is_amount
from nmt_cli.data.markup.marked_text import Placeholder
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import SPACE
from nmt_cli.translation.markup.carrier import StandIn
from nmt_cli.translation.result import Translation

# Names that many languages write the same; the model's own vocabulary gives more.
NAMES = (
    "Anna", "Berlin", "Maria", "London", "Peter", "Paris", "Martin", "Madrid", "Thomas", "Tokyo",
    "Daniel", "Toronto", "Sandra", "Boston", "David", "Amsterdam",
)  # fmt: skip
NUMBERS = ("7", "12", "25", "40", "5", "30")
MAX_CANDIDATES = 400
# This many stand-ins are kept, and a line has at most this many.
MOST = 12
# A line is translated with this many choices of stand-ins, and the best translation is kept; where
# all of them are lost, this many more are tried.
TRIED, TRIED_AGAIN = 2, 3
# A stand-in may get an ending: `Annas`.
_LONGEST_ENDING = 2
# What follows a word after an apostrophe: `Anna's`.
_BEGIN, _END = borders()
_CLITIC = re.compile(rf"(?:['’](?:[^\W\d_]|{MARK})+{_END})?")
_MARKS = ".,:/'’"
THOUSANDS_DIGITS = 3
# Placeholders of numbers: `%d`, `{count}`.
_COUNT = re.compile(
    r"%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|[qLzjt])?[diuoxXfFeEgG]"
    r"|[$#%{]+\s*(?:\w*[._])?(?:count|counts|num|number|n|total|amount|quantity|size|days|hours|"
    r"minutes|seconds|years|percent|price|age)\s*(?::[^{}]*)?\}+|[$#%{]+[^{}]*\}+[ \u00a0\u202f]?%",
    re.IGNORECASE,
)
# Messages of ICU with a choice.
_CHOICE = re.compile(r"\{\s*\w+\s*,")
_NUMBER = re.compile(r"[+\-−]?\d[\d.,:/'’]*")
# `(1)` of `subsection 5(1)`.
_BRACKETED = re.compile(r"\((\d[\d.,]*)\)")

Translate = Callable[[Sequence[str], SearchConfig], Sequence[Translation]]


class StandIns:
    """The stand-ins of one model, which are found when they are first needed."""

    def __init__(self, translate: Translate, subwords: Subwords) -> None:
        self._translate = translate
        self._subwords = subwords

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words that are copied, those that the model is surest of first."""
        return self._copied(self._candidates())[:MOST]

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Numbers that are copied."""
        return self._copied(NUMBERS)

    def _copied(self, candidates: Sequence[str]) -> tuple[str, ...]:
        settings = SearchConfig(beam=1, max_extra_length=3, sentences="line", markup="off")
        translations = self._translate([f"{word}." for word in candidates], settings)
        copied = [
            (-translation.score, word)
            for word, translation in zip(candidates, translations, strict=True)
            if translation.text == f"{word}."
        ]
        return tuple(word for _, word in sorted(copied))

    def _candidates(self) -> list[str]:
        subwords = self._subwords
        target = set(subwords.target_pieces(range(subwords.tgt_size)))
        whole = [
            piece.removeprefix(SPACE)
            for piece in subwords.source_pieces(range(subwords.src_size))
            if piece.startswith(SPACE) and piece in target
        ]
        named = [word for word in whole if len(word) > 2 and word.isalpha() and word.istitle()]
        return list(dict.fromkeys([*NAMES, *named]))[:MAX_CANDIDATES]

    def choices(self, placeholders: Sequence[Placeholder], text: str) -> list[list[str | None]]:
        """The choices of stand-ins for these placeholders, the first ones to be tried first.

        A number stands for itself. None: there is no word. text: the rest of the line, and what
        its translation must contain, whose words cannot be stand-ins.
        """
        fixed = [piece.raw if _NUMBER.fullmatch(piece.raw) else None for piece in placeholders]
        if None not in fixed:
            return [[*fixed]]
        words = [word for word in self.words if word not in text]
        counts = [
            _COUNT.fullmatch(piece.raw) is not None or is_amount(piece.raw)
            for piece in placeholders
        ]
        numbers = [word for word in self.numbers if word not in text] if any(counts) else []
        choices: list[list[str | None]] = []
        # The words of one kind are often next to each other: the first choices are far apart.
        stride = max(1, len(words) // 4)
        order = sorted(range(len(words)), key=lambda first: (first % stride, first))
        for first in order or [0]:
            named, counted = (
                iter([*values[first % max(1, len(values)) :], *values[: first % len(values)]])
                if values
                else iter(())
                for values in (words, numbers)
            )
            choices.append(
                [
                    raw or (next(counted, None) if is_count else None) or next(named, None)
                    for raw, is_count in zip(fixed, counts, strict=True)
                ]
            )
        return choices[: TRIED + TRIED_AGAIN]


class Copied(NamedTuple):
    """Where a stand-in is in a translation; ending: what follows the placeholder."""

    begin: int
    end: int
    raw: str
    ending: str = ""


def find_copies(text: str, stand_ins: Sequence[StandIn], source: str) -> list[Copied | None]:
    """The place of each stand-in of `source` in its translation; None if it is lost, or not clear.

    Equal numbers are found in their order; a stand-in that occurs more often than in the source is
    not clear, unless it stands for itself. A number in brackets is also found if another number is
    in its brackets instead.

    >>> find_copies("Annas Hund.", [StandIn(0, 4, "Anna", "{name}")], "Anna's dog.")
    [Copied(begin=0, end=5, raw='{name}', ending='s')]
    >>> find_copies("Anna's dog.", [StandIn(0, 4, "Anna", "{name}")], "Anna's dog.")
    [Copied(begin=0, end=6, raw='{name}', ending="'s")]
    >>> find_copies("Annas Hund.", [StandIn(0, 4, "Anna", "{count}")], "Anna dogs.")
    [Copied(begin=0, end=5, raw='{count}', ending='')]
    >>> find_copies("paragraphe 5(2)", [StandIn(13, 14, "1", "1")], "subsection 5(1)")
    [Copied(begin=13, end=14, raw='1', ending='')]
    """
    copies: list[Copied | None] = [None] * len(stand_ins)
    lost: list[int] = []
    by_word: dict[str, list[int]] = defaultdict(list)
    for index, stand_in in enumerate(stand_ins):
        by_word[stand_in.word].append(index)
    for word, indices in by_word.items():
        is_number = _NUMBER.fullmatch(word) is not None
        first = stand_ins[indices[0]]
        spans = _numbers_like(text, word) if is_number else _words_like(text, first)
        if len(spans) > len(indices) and first.raw != word:
            continue
        for index, (begin, end, ending) in zip(indices, spans, strict=False):
            copies[index] = Copied(begin, end, stand_ins[index].raw, ending)
        lost += indices[len(spans) :]
    in_brackets = [index for index in lost if _is_number_in_brackets(source, stand_ins[index])]
    begins = {copy.begin for copy in copies if copy}
    strange = _strange_numbers(text, source)
    surplus = [match for match in _BRACKETED.finditer(text) if match.start(1) not in begins]
    matches = strange if len(strange) == len(in_brackets) else surplus
    for index, match in zip(in_brackets, matches, strict=False):
        copies[index] = Copied(*match.span(1), stand_ins[index].raw)
    return copies


def _is_number_in_brackets(source: str, stand_in: StandIn) -> bool:
    around = source[max(0, stand_in.begin - 1) : stand_in.end + 1]
    return around == f"({stand_in.word})" and _BRACKETED.fullmatch(around) is not None


def _strange_numbers(text: str, source: str) -> "list[re.Match[str]]":
    """The numbers in brackets that are nowhere in the source."""
    known = {re.sub(r"\D", "", number) for number in _NUMBER.findall(source)}
    return [
        match for match in _BRACKETED.finditer(text) if re.sub(r"\D", "", match[1]) not in known
    ]


def _words_like(text: str, stand_in: StandIn) -> list[tuple[int, int, str]]:
    """The spans of a stand-in's word with the ending that it may have got, and this ending."""
    letters = rf"(?:[^\W\d_]|{MARK}){{0,{_LONGEST_ENDING}}}"
    pattern = rf"{_BEGIN}{re.escape(stand_in.word)}({letters})({_CLITIC.pattern}){_END}"
    # An ending would become a part of an address or of `%s`, and `%%` would look like a format.
    # A number, or one of several texts (`{n, plural, ...}`), has no ending of a name.
    raw = stand_in.raw
    is_name = not (_COUNT.fullmatch(raw) or _CHOICE.match(raw))
    keeps_ending = is_name and not (raw[-1].isalnum() or raw.endswith("%"))
    return [
        (match.start(), match.end(), (match[1] if keeps_ending else "") + match[2])
        for match in re.finditer(pattern, text)
    ]


def _is_same_number(number: str, other: str) -> bool:
    """Whether two numbers have the same groups of digits, or the same thousands.

    >>> _is_same_number("12,50", "12.50"), _is_same_number("1,000", "1000")
    (True, True)
    >>> _is_same_number("12", "1/2"), _is_same_number("25", "2.5")
    (False, False)
    """
    groups, others = re.findall(r"\d+", number), re.findall(r"\d+", other)
    are_thousands = all(len(group) == THOUSANDS_DIGITS for group in [*groups[1:], *others[1:]])
    return groups == others or (are_thousands and "".join(groups) == "".join(others))


def _numbers_like(text: str, number: str) -> list[tuple[int, int, str]]:
    """The spans and endings of a number, or else of others like it: 12,50 for 12.50."""
    numbers = list(_NUMBER.finditer(text))
    matches = [match for match in numbers if match[0].rstrip(_MARKS) == number]
    if not matches:
        matches = [match for match in numbers if _is_same_number(match[0], number)]
    spans = []
    for match in matches:
        end = match.start() + len(match[0].rstrip(_MARKS))
        ending = _CLITIC.match(text, end)
        assert ending is not None
        spans.append((match.start(), ending.end(), ending[0]))
    return spans
