"""The text files of a project: their roles, their first lines, and how to swap their sides."""

import itertools
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from nmt_cli.data.text.formats.pair_files import unquoted
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.shell_commands import decompressor, without_compression
from nmt_cli.data.text.tables.columns import TWO_COLUMNS, TableColumns
from nmt_cli.errors import NmtError
from nmt_cli.plurals import agreeing, enumerated

# Removes a byte order mark and the line ends of Windows, which would end up within the lines.
PLAIN_LINES = r"""NR == 1 {sub(/^\357\273\277/, "")} {sub(/\r$/, "")}"""
LINES_CHECKED = 2_000
SIDES = ("source", "target")


def swap_command(table: str, action: str = "{print $2, $1}") -> str:
    """The command that writes a table with its columns swapped into a file that does not exist.

    action: of awk, for each line. A compressed table is decompressed.
    """
    path, program = Path(without_compression(table)), decompressor(table)
    text = shlex.quote(table)
    counts = itertools.chain([""], map(str, itertools.count(2)))
    names = (f"{path.stem}.swapped{count}.tsv" for count in counts)
    free = next(name for name in map(path.with_name, names) if not name.exists())
    awk = rf"awk -F'\t' -v OFS='\t' '{PLAIN_LINES} {action}'"
    swap = f"{program} -dc {text} | {awk}" if program else f"{awk} {text}"
    return f"{swap} > {shlex.quote(str(free))}"


class TextFiles(NamedTuple):
    """Parallel files or one TSV file with these columns, and their role.

    role: training, validation or test.
    """

    role: str
    paths: tuple[str, ...]
    columns: TableColumns = TWO_COLUMNS

    @property
    def shown(self) -> str:
        """The names of the files for a message."""
        return " and ".join(f"`{path}`" for path in self.paths[:2])

    @property
    def is_training_table(self) -> bool:
        """Whether its columns are those of the setting `data.tsv_columns`."""
        return self.role == "training" and len(self.paths) == 1

    @property
    def remedy(self) -> str:
        """The option with the files swapped, or the command that swaps the columns of a table."""
        if len(self.paths) < 2 and self.columns.numbers:
            src, tgt = self.columns.numbers
            action = f"{{src = ${src}; ${src} = ${tgt}; ${tgt} = src; print}}"
            return f"swap the columns: {swap_command(self.paths[0], action)}"
        if len(self.paths) < 2:
            return f"swap the columns: {swap_command(self.paths[0])}"
        option = {"training": "--train", "validation": "--valid", "test": "--test"}[self.role]
        return f"{option} {shlex.quote(self.paths[1])} {shlex.quote(self.paths[0])}"


def remedies(swapped: Sequence[TextFiles], texts: Iterable[TextFiles]) -> list[str]:
    """How to swap the sides of each of these texts; texts: all of the project, them among these.

    The option that names the columns is for all training tables, so it is the remedy where all of
    them are swapped.
    """
    option = ""
    tables = [text for text in texts if text.is_training_table]
    if tables and all(table in swapped for table in tables):
        src, tgt = tables[0].columns.numbers or (1, 2)
        option = f"--tsv-columns {tgt},{src}"
    return [option if option and text in tables else text.remedy for text in swapped]


def texts_of(
    train: Sequence[Sequence[str]],
    valid: Sequence[str],
    test: Sequence[str],
    tsv_columns: str = "",
) -> list[TextFiles]:
    """Return all files of a project with their roles; tsv_columns: the setting of this name."""
    columns = TableColumns.of_training(tsv_columns, train)
    texts = [TextFiles("training", tuple(paths), columns) for paths in train]
    named = (("validation", valid), ("test", test))
    return texts + [TextFiles(role, tuple(paths)) for role, paths in named if paths]


def side_of(texts: Sequence[TextFiles], index: int) -> str:
    """One side of texts of one role in a message: `training source column of ...`."""
    role = f"{texts[0].role} {SIDES[index]}"
    if len(texts[0].paths) > 1:
        return f"{role} `{texts[0].paths[index]}`"
    column = agreeing(len(texts), "column", "columns")
    return f"{role} {column} of {enumerated(f'`{text.paths[0]}`' for text in texts)}"


def head_of(text: TextFiles) -> tuple[list[str], list[str]]:
    """Return the first lines of both sides; none if a file cannot be read, or only once.

    Rows of a table with other columns have empty sides, so that all lines keep their numbers; a
    table without other rows has no lines.
    """
    if not text.paths or not all(Path(path).is_file() for path in text.paths[:2]):
        return [], []
    try:
        if len(text.paths) == 1:
            rows = [text.columns.pair(line) for line in _first_lines(text.paths[0])]
            pairs = [row or ("", "") for row in rows] if any(rows) else []
            # As all cells are read from a table.
            return [unquoted(src) for src, _ in pairs], [unquoted(tgt) for _, tgt in pairs]
        return list(_first_lines(text.paths[0])), list(_first_lines(text.paths[1]))
    except NmtError:
        # The error is reported when the file is read as a whole.
        return [], []


def _first_lines(path: str) -> Iterator[str]:
    with read_lines(path) as lines:
        yield from islice(lines, LINES_CHECKED)
