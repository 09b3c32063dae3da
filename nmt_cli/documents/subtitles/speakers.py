"""Labels of speakers at the beginnings of lines, and marks of lists that go on in other cues."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nmt_cli.data.text.item_labels import SEQUENCES

_TAGS = r"(?:<[^<>/][^<>]*>|\{[^{}]*\})*"
# `JUDGE:`, `- JUDGE (whispering):`. The break before it, and the label with the space behind it.
_LABEL = re.compile(
    rf"(?:\A|\\N|[\r\n]+)[ \t]*{_TAGS}[ \t]*(?:[-–—‐][ \t]?)?"
    r"(?P<name>[^\W\d_][^\r\n\\:()<>{}\[\],;!?]{0,39})"
    r"(?:\([^()\r\n\\]{1,30}\)[ \t]?)?:(?:</[^<>]*>|\{[^{}]*\})*"
    r"(?:[ \t]*(?:\\N|[\r\n]+)[ \t]*|[ \t]+|\Z)"
)
_MARKUP = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_MOST_WORDS = 3
# For each small letter, a text that is not in capitals has fewer capital letters than this.
_MOST_CAPITALS = 4
# How many cues before and behind one are searched for the other items of a list.
_NEAR = 5
_FOLLOWING = {pair for sequence in SEQUENCES for pair in pairwise(sequence)}
_DASHES = "-–—"


def label_spans(raw: str) -> list[tuple[int, int]]:
    """The labels of the speakers in a cue, each with the break before it: beginnings and ends.

    A label has at most three words in capital letters, and perhaps something in brackets.

    >>> label_spans("Yes.\\nJUDGE (whispering): It is late: go.")
    [(4, 25)]
    """
    return [
        match.span()
        for match in _LABEL.finditer(raw)
        if match["name"].isupper() and len(match["name"].split()) <= _MOST_WORDS
    ]


def parts_at_labels(raw: str) -> Iterator[tuple[str, bool]]:
    """The text of a cue, cut at labels of speakers and breaks before them; whether each is kept."""
    end = 0
    for begin, label_end in label_spans(raw):
        yield raw[end:begin], False
        yield raw[begin:label_end], True
        end = label_end
    yield raw[end:], False


def has_usual_letters(texts: Sequence[str]) -> bool:
    """Whether there are small letters; in texts in capitals, labels of speakers are not told.

    >>> has_usual_letters(["<i>JUDGE: IT IS LATE.</i>"]), has_usual_letters(["JUDGE: It is late."])
    (False, True)
    """
    shown = [_MARKUP.sub("", text) for text in texts]
    small, capital = (
        sum(sum(map(kind, text)) for text in shown) for kind in (str.islower, str.isupper)
    )
    return small * _MOST_CAPITALS > capital


def cues_of_lists(marks: Sequence[Sequence[str]]) -> set[int]:
    """Which cues begin with an item of a list whose other items are in cues near them.

    marks: those at the beginnings of the lines of each cue; "" for a line without one.

    >>> cues_of_lists([[""], ["(a)"], [""], ["(b)"], [""], ["(2)"]])
    {1, 3}
    """
    return {
        index
        for index, (first, *_) in enumerate(marks)
        if first
        and (
            _has_next(first, marks[index + 1 : index + 1 + _NEAR])
            or _has_previous(first, marks[max(0, index - _NEAR) : index])
        )
    }


def _has_next(mark: str, others: Sequence[Sequence[str]]) -> bool:
    return any(_follows(mark, other) for lines in others for other in lines)


def _has_previous(mark: str, others: Sequence[Sequence[str]]) -> bool:
    return any(_follows(other, mark) for lines in others for other in lines)


def _follows(mark: str, other: str) -> bool:
    """Whether a mark is written like another one and is the next one of a list, or its bullet."""
    label, following = (item.strip("().").lower() for item in (mark, other))
    if not label[:1].isalnum():
        # Dashes are those of speakers.
        return mark == other and mark not in ("", *_DASHES)
    return (label, following) in _FOLLOWING and mark.replace(label, following, 1) == other
