"""Finds hypotheses and references that write apostrophes, quotes or dashes in another way."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nmt_cli.plurals import counted, enumerated

# Fewer lines, and a smaller share of them, hardly change a score.
LEAST_LINES = 10
LEAST_SHARE = 0.01
# A text has marks of one kind if at least this share of them is.
NEARLY_ALL = 0.95


class _Marks(NamedTuple):
    """A kind of mark: how it is called, and its forms on a typewriter and in print, as patterns."""

    name: str
    plain: "re.Pattern[str]"
    printed: "re.Pattern[str]"


class _Form(NamedTuple):
    """The form of nearly all marks of a text, and the commonest of them."""

    pattern: "re.Pattern[str]"
    mark: str


# Apostrophes only between letters, where none is a quotation mark.
_KINDS = (
    _Marks(
        "apostrophes",
        re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])"),
        re.compile("(?<=[^\\W\\d_])[\u2019\u02bc](?=[^\\W\\d_])"),
    ),
    _Marks(
        "quotation marks",
        re.compile('"'),
        re.compile("[\u201c-\u201f\u00ab\u00bb]"),
    ),
    _Marks(
        "dashes",
        re.compile(r"(?<=\s)--?(?=\s)"),
        re.compile(r"(?<=\s)[\u2013\u2014](?=\s)"),
    ),
)


def typography_note(
    hypotheses: Sequence[str], references: Sequence[tuple[str, Sequence[str]]]
) -> str:
    """The note on a reference with typographic marks beside hypotheses with plain ones, or "".

    Or the reverse. references: the lines of each, with its name. Nearly all marks of either side
    must be of one form, since texts with both may quote others.
    """
    for name, lines in references:
        differences = list(filter(None, (_difference(kind, hypotheses, lines) for kind in _KINDS)))
        if differences:
            return (
                f"the hypotheses and the reference `{name}` write {enumerated(differences)}: these "
                "count as wrong, so that the scores are too low; give both the same ones, as in "
                "the text that the model should write"
            )
    return ""


def _difference(kind: _Marks, hypotheses: Sequence[str], lines: Sequence[str]) -> str:
    """The mark with the forms of both sides and the number of lines that differ, or ""."""
    own, other = _form(kind, hypotheses), _form(kind, lines)
    if own is None or other is None or own.pattern == other.pattern:
        return ""
    differing = sum(
        own.pattern.search(hypothesis) is not None and other.pattern.search(line) is not None
        for hypothesis, line in zip(hypotheses, lines, strict=False)
    )
    if differing < max(LEAST_LINES, LEAST_SHARE * len(hypotheses)):
        return ""
    shown = f"{own.mark} and {other.mark}"
    return f"{kind.name} in different ways ({shown}, in {counted(differing, 'line')})"


def _form(kind: _Marks, lines: Iterable[str]) -> _Form | None:
    """The form of nearly all marks; None if there are none, or many of both forms."""
    forms = (kind.plain, kind.printed)
    counts: list[Counter[str]] = [Counter(), Counter()]
    for line in lines:
        for form, count in zip(forms, counts, strict=True):
            count.update(form.findall(line))
    totals = [count.total() for count in counts]
    most = max(totals)
    if not most or most < NEARLY_ALL * sum(totals):
        return None
    index = totals.index(most)
    return _Form(forms[index], counts[index].most_common(1)[0][0])
