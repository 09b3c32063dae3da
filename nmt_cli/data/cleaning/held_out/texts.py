"""Reads validation and test texts, without the header of a table."""

from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.config.schema import Config
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.tables.header_rows import header_row
from nmt_cli.plurals import counted


class HeldOutText(NamedTuple):
    """The lines of a validation or test text.

    name: validation or test; src, tgt: its lines, of the first reference; files: source and
    references, or one table; header: the number of the line of the table that names its columns, 0
    if there is none. The text begins in the line below it.
    """

    name: str
    src: Sequence[str] = ()
    tgt: Sequence[str] = ()
    files: Sequence[str] = ()
    header: int = 0

    @classmethod
    def read(cls, name: str, files: tuple[str, ...], config: Config) -> "HeldOutText":
        """Read the text without a header, as training text is read; no lines if `files` is empty.

        With `--no-clean` the header stays a pair, as in training text.
        """
        if not files:
            return cls(name)
        data, languages = config.data, config.languages
        pairs = list(read_pairs(files[:2], strict=data.strict))
        row = header_row(pairs, (languages.src, languages.tgt)) if len(files) == 1 else None
        # The lines above a header, such as a caption, have an empty side.
        header = 0 if row is None or data.clean == "off" else row + 1
        src, tgt = [src for src, _ in pairs[header:]], [tgt for _, tgt in pairs[header:]]
        return cls(name, src, tgt, files, header)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Source and target of each line."""
        return list(zip(self.src, self.tgt, strict=True))

    def counted(self, what: str) -> str:
        """How many pairs, or what else each line has, for a message.

        >>> HeldOutText("test", ["a"], ["b"]).counted("pair")
        '1 test pair'
        """
        return counted(len(self.src), f"{self.name} {what}")

    def line(self, index: int) -> int:
        """The number of a pair's line in the files, from 1.

        >>> HeldOutText("test", header=1).line(0), HeldOutText("test").line(0)
        (2, 1)
        """
        return self.header + index + 1

    @property
    def header_note(self) -> str:
        """What was done about the header, or "" if there is none.

        >>> HeldOutText("test", files=["t.tsv"], header=1).header_note
        'line 1 of `t.tsv` names the columns, so the test pairs begin in line 2'
        """
        if not self.header:
            return ""
        return (
            f"line {self.header:,} of `{self.files[0]}` names the columns, so the {self.name} "
            f"pairs begin in line {self.header + 1:,}"
        )


def read_held_out(config: Config) -> tuple[HeldOutText, HeldOutText]:
    """Read the validation and the test text that the settings name."""
    valid = HeldOutText.read("validation", config.data.valid, config)
    return valid, HeldOutText.read("test", config.data.test, config)
