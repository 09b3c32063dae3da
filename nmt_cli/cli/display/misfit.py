"""Warnings of text that the model was not trained on: of another kind, or wrongly decoded."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.translator import Translator

_C1 = re.compile("[\x80-\x9f]")


def warn_of_misfit(
    texts: Sequence[str],
    translator: "Translator",
    console: "Console",
    places: Sequence[str] | None = None,
) -> None:
    """Warn before the work if the first texts are of another kind than the training text.

    places: where each text stands in a document; None: they are lines.
    """
    from nmt_cli.translation.quality.input_check import find_misfit

    misfit = find_misfit(texts, translator.subwords, translator.quality.text)
    if misfit is not None:
        console.warning(misfit.shown(places))


class ControlCharacters:
    """Counts lines with C1 control characters, which real text does not have."""

    def __init__(self, index: Callable[[int], int]) -> None:
        """index: the index in the whole text of the line with an index here."""
        self._index = index
        self._lines = 0
        self._first = 0

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines as they are."""
        for own, line in enumerate(lines):
            if not line.isascii() and _C1.search(line):
                self._first = self._first if self._lines else self._index(own) + 1
                self._lines += 1
            yield line

    def warn(self, name: str, console: "Console") -> None:
        """Warn once, if there were any; name: of the text."""
        if self._lines:
            console.warning(
                f"`{name}`: {counted(self._lines, 'line')} "
                f"{agreeing(self._lines, 'has', 'have')} control characters from U+0080 to U+009F, "
                f"first in line {self._first:,}, which were not translated. Text in Windows-1252 "
                "that was read as Latin-1 has them in place of quotation marks and dashes: convert "
                "the original text with `iconv -f CP1252 -t UTF-8`"
            )
