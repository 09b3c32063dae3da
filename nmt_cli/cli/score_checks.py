"""Warnings of `nmt score`: texts that are scored, but are hardly meant to be."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.texts import STDIN

if TYPE_CHECKING:
    from nmt_cli.console import Console

NamedLines = tuple[str, Sequence[str]]
# Enough to be sure, in 15 ms.
LINES_LOOKED_AT = 300


def warn_of_references(
    hypotheses: NamedLines, references: Sequence[NamedLines], console: "Console"
) -> None:
    """One warning where a reference is the hypothesis itself, or in another language.

    Nothing is said when quiet: the scores are what was asked for.
    """
    if console.quiet:
        return
    for reference in references:
        warning = _same_text(hypotheses, reference) or _other_language(hypotheses, reference)
        if warning:
            console.warning(warning)
            return


def _same_text(hypotheses: NamedLines, reference: NamedLines) -> str:
    name, other = hypotheses[0], reference[0]
    if STDIN not in (name, other) and Path(name).resolve() == Path(other).resolve():
        return f"`{name}` is scored against itself: hypothesis and reference are the same file"
    if hypotheses[1] == reference[1]:
        return f"the hypotheses and the reference `{other}` are identical: is this the right file?"
    return ""


def _other_language(hypotheses: NamedLines, reference: NamedLines) -> str:
    from nmt_cli.data.languages.words import differing_languages

    differing = differing_languages(
        *(islice(lines, LINES_LOOKED_AT) for _, lines in (hypotheses, reference))
    )
    if differing is None:
        return ""
    return (
        f"the hypotheses seem to be in {differing[0]}, the reference `{reference[0]}` "
        f"in {differing[1]}"
    )
