"""Warnings of text that the model was not trained on: of another kind, or wrongly decoded."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.translator import Translator

_C1 = re.compile("[\x80-\x9f]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")


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

    texts = list(map(translator.repair, texts))
    misfit = find_misfit(texts, translator.subwords, translator.quality.text)
    if misfit is not None:
        console.warning(misfit.shown(places))


class UnusualCharacters:
    """Counts lines with control characters of C1 or HTML entities, which plain text does not have.

    They are translated as they are, since a text may be about them.
    """

    def __init__(self, index: Callable[[int], int], *, resolves_entities: bool) -> None:
        """index: the index in the whole text of the line with an index here.

        resolves_entities: whether entities are no words, as translation keeps markup.
        """
        self._index = index
        self._resolves_entities = resolves_entities
        # The number of lines with each, and the first of them, from 1.
        self._controls, self._entities = LineCount(), LineCount()

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines unchanged, and count those with such characters."""
        for own, line in enumerate(lines):
            if not line.isascii() and _C1.search(line):
                self._controls.add(self._index(own) + 1)
            if not self._resolves_entities and "&" in line and (entity := first_entity(line)):
                self._entities.add(self._index(own) + 1, entity)
            yield line

    def warn(self, name: str, console: "Console") -> None:
        """Warn once of each, if there were any; name: of the text."""
        if count := self._controls.lines:
            console.warning(
                f"`{name}`: {counted(count, 'line')} {agreeing(count, 'has', 'have')} control "
                f"characters from U+0080 to U+009F, first in line {self._controls.first:,}, which "
                "were not translated. Text in Windows-1252 that was read as Latin-1 has them in "
                "place of quotation marks and dashes: convert the original text with "
                "`iconv -f CP1252 -t UTF-8`"
            )
        if count := self._entities.lines:
            from nmt_cli.data.text.repair_commands import unescape_command

            console.warning(
                f"`{name}`: {counted(count, 'line')} {agreeing(count, 'has', 'have')} HTML "
                f"entities, first `{self._entities.example}` in line {self._entities.first:,}, "
                "which were translated as if they were words: use `--markup keep`, or give "
                f"lines with the characters themselves, as `{unescape_command(name)}` writes them"
            )


@dataclass
class LineCount:
    """A number of lines. first: the first of them, from 1; example: what was found in it."""

    lines: int = 0
    first: int = 0
    example: str = ""

    def add(self, line: int, example: str = "") -> None:
        """Count another line."""
        if not self.lines:
            self.first, self.example = line, example
        self.lines += 1


def first_entity(line: str) -> str:
    """The first HTML entity of a line that stands for a character; "" if there is none.

    >>> first_entity("AT&T; Tom &amp; Ann&#39;s"), first_entity("a & b; c&d")
    ('&amp;', '')
    """
    from html.entities import html5

    entities = (match[0] for match in _ENTITY.finditer(line))
    return next((text for text in entities if text[1] == "#" or text[1:] in html5), "")
