"""Notes which names of `--keep` never occur in the text: they may be spelt in another way there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.data.markup.kept import KeptNames

MOST_SHOWN = 5


class NameUse:
    """Which names were found in the texts that were added."""

    def __init__(self, names: Sequence[str], finder: "KeptNames") -> None:
        """finder: finds these names."""
        from nmt_cli.data.markup.kept import compared
        from nmt_cli.data.text.sanitize import clean_source

        self._finder = finder
        self._count = len(names)
        self._unseen = {compared(clean_source(name)).strip(): name for name in names}

    def add(self, text: str) -> None:
        """Look for the names that were not found before."""
        from nmt_cli.data.markup.kept import compared
        from nmt_cli.data.markup.marked_text import raw_text
        from nmt_cli.data.text.sanitize import clean_source

        if self._unseen:
            for mark in self._finder.find(clean_source(text)):
                self._unseen.pop(compared(raw_text([mark.piece])), None)

    @property
    def note(self) -> str:
        """The note of the names that were never found; "" if there are none."""
        unseen = [*self._unseen.values()]
        if not unseen:
            return ""
        shown = ", ".join(f"`{name}`" for name in unseen[:MOST_SHOWN])
        more = ", ..." if len(unseen) > MOST_SHOWN else ""
        does = agreeing(len(unseen), "does", "do")
        names = f"{len(unseen):,} of {counted(self._count, 'name')}"
        return f"{names} of --keep {does} not occur in the text as whole words: {shown}{more}"
