"""The columns of a TSV file in which source and target are."""

from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.config.tsv_columns import column_numbers


class TableColumns(NamedTuple):
    """The columns of source and target.

    numbers: these, from 1, in tables that may have more columns; None for tables of just two.
    names_option: whether hints name the option that sets the numbers.
    """

    numbers: tuple[int, int] | None = None
    names_option: bool = False

    @classmethod
    def of_training(cls, setting: str, entries: Sequence[Sequence[str]]) -> "TableColumns":
        """The columns by the setting `data.tsv_columns`, for training files, in pairs or alone.

        They are those of all tables, so hints name the option only where there is one table.
        """
        tables = sum(len(entry) == 1 for entry in entries)
        return cls(column_numbers(setting), names_option=tables == 1)

    def pair(self, row: str) -> tuple[str, str] | None:
        r"""Source and target of a row, or None if it does not have these columns.

        >>> TableColumns((3, 1)).pair("a\tb\tc"), TableColumns((3, 1)).pair("a\tb")
        (('c', 'a'), None)
        >>> TableColumns().pair("a\tb"), TableColumns().pair("a\tb\tc")
        (('a', 'b'), None)
        """
        cells = row.split("\t")
        src, tgt = self.numbers or (1, 2)
        has_both = len(cells) == 2 if self.numbers is None else len(cells) >= max(src, tgt)
        return (cells[src - 1], cells[tgt - 1]) if has_both else None


TWO_COLUMNS = TableColumns()
