"""Says how many rows of a table do not have two columns, and how to mend or remove them."""

from pathlib import Path
from typing import NamedTuple

from nmt_cli.data.text.formats.separated_values import two_columns_command, unquote_command
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.shell_commands import copy_command
from nmt_cli.data.text.tables.column_choice import LONGEST_NAME, MOST_COLUMNS
from nmt_cli.data.text.tables.columns import TWO_COLUMNS
from nmt_cli.data.text.tables.header_rows import BrokenCells, has_quoted_cell
from nmt_cli.errors import DataError, NmtError
from nmt_cli.plurals import agreeing, counted

# In awk: the rows of two columns; the others with the numbers of their lines.
_RIGHT_ROWS = r"awk -F '\t' 'NF == 2'"
_WRONG_ROWS = r"""awk -F '\t' 'NF != 2 {print FNR ": " $0}'"""


class WrongRows(NamedTuple):
    """The rows of a table that do not have two columns.

    first, row: the number of the first one's line, and its text; wrong: how many there are; wide:
    how many of them have more columns; rows: all rows of the table; broken: pairs that line breaks
    in quoted cells have spread over several rows; quoted: whether a wide row has a quoted cell.
    """

    first: int = 0
    row: str = ""
    wrong: int = 0
    wide: int = 0
    rows: int = 0
    broken: int = 0
    quoted: bool = False

    @classmethod
    def of_table(cls, name: str) -> "WrongRows":
        """Read the table to its end; none are found if it cannot be read, or only once."""
        found, cells = cls(), BrokenCells()
        if not Path(name).is_file():
            return found
        try:
            with read_lines(name) as rows:
                for number, row in enumerate(rows, 1):
                    is_wrong = TWO_COLUMNS.pair(row) is None
                    cells.add(row, is_bad=is_wrong)
                    if is_wrong:
                        found = found._with(number, row)
                    found = found._replace(rows=number)
        except NmtError:
            return cls()
        return found._replace(broken=cells.records)

    def _with(self, number: int, row: str) -> "WrongRows":
        is_wide = row.count("\t") > 1
        return self._replace(
            first=self.first or number,
            row=row if not self.first else self.row,
            wrong=self.wrong + 1,
            wide=self.wide + is_wide,
            quoted=self.quoted or (is_wide and has_quoted_cell(row)),
        )

    @property
    def are_few(self) -> bool:
        """Whether there are such rows, and most rows have two columns."""
        return 0 < 2 * self.wrong <= self.rows

    def error(self, name: str) -> DataError:
        """The error for the table `name`, which has such rows."""
        columns = counted(self.row.count("\t") + 1, "column")
        of_all = f"; {self.wrong:,} of {counted(self.rows, 'line')} do not have 2"
        return DataError(
            f"`{name}`, line {self.first:,}: {columns}, 2 are needed{self._shown_row}"
            f"{of_all if self.wrong > 1 else ''}",
            f"each line must be: source, tab, target; {self._remedy(name)}",
        )

    @property
    def _shown_row(self) -> str:
        cells = [cell.strip() for cell in self.row.split("\t")[:MOST_COLUMNS]]
        shown = " | ".join(
            cell if len(cell) <= LONGEST_NAME else f"{cell[:LONGEST_NAME]}..." for cell in cells
        )
        return f" (`{shown}`)" if any(cells) else " (it is empty)"

    def _remedy(self, name: str) -> str:
        if self.broken:
            return (
                f"line breaks in cells in quotation marks spread {counted(self.broken, 'pair')} "
                f"over several lines; to remove the line breaks and marks: {unquote_command(name)}"
            )
        if self.wide == self.wrong:
            command = two_columns_command(name, ("1", "2"), quoted=self.quoted)
            return f"to keep columns 1 and 2: {command}"
        show = copy_command(_WRONG_ROWS, name, "").rpartition(" > ")[0]
        remove = copy_command(_RIGHT_ROWS, name, "two-columns")
        these = agreeing(self.wrong, "this line", "these lines")
        return f"to see {these}: {show}; to leave {these} out: {remove}"
