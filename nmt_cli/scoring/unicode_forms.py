"""Finds references in another Unicode form than the hypotheses, whose words never match."""

from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import is_normalized

from nmt_cli.plurals import counted

# A smaller share of lines in another form hardly changes a score.
MIN_SHARE = 0.01


class FormDifference(NamedTuple):
    """The name of a reference in another form, and what to say of it."""

    reference: str
    note: str


def form_difference(
    hypotheses: Sequence[str], references: Sequence[tuple[str, Sequence[str]]]
) -> FormDifference | None:
    """Find a reference whose lines have another Unicode form than the hypotheses.

    references: the lines of each, with its name.
    """
    for name, lines in references:
        differing_lines = sum(
            is_normalized("NFC", line) != is_normalized("NFC", hypothesis)
            for line, hypothesis in zip(lines, hypotheses, strict=False)
        )
        if differing_lines >= max(1, MIN_SHARE * len(hypotheses)):
            note = (
                f"{counted(differing_lines, 'line')} of `{name}` and of the hypotheses have "
                "different Unicode forms, in which the same letters count as others; translations "
                "of nmt have the form NFC"
            )
            return FormDifference(name, note)
    return None
