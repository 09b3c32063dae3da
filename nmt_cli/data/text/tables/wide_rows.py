"""Warns of the rows of a table that are dropped since they have more than two columns."""

from nmt_cli.data.text.formats.separated_values import two_columns_command
from nmt_cli.data.text.labels.line_labels import is_label, without_label_cells_command
from nmt_cli.data.text.tables.column_choice import LONGEST_NAME, MOST_COLUMNS
from nmt_cli.data.text.tables.columns import TWO_COLUMNS, TableColumns
from nmt_cli.data.text.tables.header_rows import has_quoted_cell
from nmt_cli.plurals import agreeing, counted

# If so large a share of the rows of a table of two columns has more, a warning says so.
LEAST_WIDE = 0.01
# If this share of them has two columns without the cells that are labels, of which there are at
# most so many, the warning says how to remove these.
LEAST_LABELLED, MOST_LABELS = 0.9, 20


class WideRows:
    """The rows of a table of two columns that have more, such as notes of translators.

    count: how many there were so far.
    """

    def __init__(self, columns: TableColumns = TWO_COLUMNS) -> None:
        """Start before the first row; columns: those of the table that are read."""
        self.count = 0
        self._columns = columns
        self._first = (0, "")
        self._has_quoted = False
        self._labelled = 0
        self._labels: dict[str, None] = {}

    def add(self, line: int, row: str) -> None:
        """Add a row that does not have two columns, and the number of its line."""
        if self._columns.numbers is not None or "\t" not in row:
            return
        self._first = self._first if self.count else (line, row)
        self.count += 1
        self._has_quoted |= has_quoted_cell(row)
        cells = row.split("\t")
        labels = [cell.strip() for cell in cells[:-1] if is_label(cell)]
        if len(cells) - len(labels) == 2:
            self._labelled += 1
            if len(self._labels) <= MOST_LABELS:
                self._labels.update(dict.fromkeys(labels))

    def notes(self, name: str, rows: int) -> list[str]:
        r"""The warning if many of the rows of the file `name` are dropped for their columns.

        >>> wide = WideRows()
        >>> wide.add(7, "Yes.\tJa.\tsaid by Tom")
        >>> [note] = wide.notes("a.tsv", 99)
        >>> note.partition(" (")[0]
        '`a.tsv`: 1 of 99 lines has more than two columns and is dropped, the first in line 7'
        >>> note.partition("; ")[2]
        'to keep columns 1 and 2: nmt convert a.tsv --columns 1,2 -o a.two-columns.tsv'
        """
        if self.count < LEAST_WIDE * rows:
            return []
        line, row = self._first
        cells = " | ".join(_beginning(cell) for cell in row.split("\t")[:MOST_COLUMNS])
        keep = f"to keep columns 1 and 2: {self._two_columns(name)}"
        are_labels = self._labelled >= LEAST_LABELLED * self.count
        if are_labels and len(self._labels) <= MOST_LABELS:
            command = without_label_cells_command(name)
            keep = f"to remove the labels in columns of their own: {command}"
        return [
            f"`{name}`: {self.count:,} of {counted(rows, 'line')} "
            f"{agreeing(self.count, 'has', 'have')} more than two columns and "
            f"{agreeing(self.count, 'is', 'are')} dropped, the first in line {line:,} "
            f"(`{cells}`); {keep}"
        ]

    def _two_columns(self, name: str) -> str:
        """The option, or else the command, that keeps the columns 1 and 2."""
        keep = two_columns_command(name, ("1", "2"), quoted=self._has_quoted)
        if self._columns.names_option and not self._has_quoted:
            keep = "--tsv-columns 1,2"
        return keep


def _beginning(cell: str) -> str:
    return cell if len(cell) <= LONGEST_NAME else f"{cell[:LONGEST_NAME]}..."
