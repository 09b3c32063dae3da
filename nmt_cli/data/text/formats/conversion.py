"""How files of other formats become tables of tab-separated values, for `nmt convert` and hints."""

import io
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nmt_cli.data.text.shell_commands import STDIN_NAMES, converted_name
from nmt_cli.data.text.streams import Readable, decompressed, open_raw
from nmt_cli.errors import DataError

Row = Sequence[str]
# The source and the target, or one of them, by their names in the file: numbers of columns, fields,
# languages.
Columns = tuple[str, ...]
# Only ASCII spaces: U+0085 and U+00A0 are bytes of letters in UTF-8 that was read as Latin-1.
_BREAKS = re.compile(r"[\t\r\n]")
FIRST_NAMED = 9


@dataclass
class SourceFile:
    """A file that is read for a conversion.

    path: where it is; name: how messages call it; notes: what was left out, or changed; changed:
    how many lines were repaired, or None if none should be.
    """

    path: str
    name: str
    notes: list[str] = field(default_factory=list)
    changed: int | None = None
    _raw: Readable | None = None

    def binary(self) -> io.BufferedReader:
        """The bytes of the file, decompressed."""
        self._raw = open_raw(self.path, self.name)
        return decompressed(self._raw)

    @property
    def size(self) -> int:
        """The bytes of the file, before decompression."""
        return Path(self.path).stat().st_size

    @property
    def bytes_read(self) -> int:
        """How many of them were read so far."""
        if self._raw is None:
            return 0
        return self.size if self._raw.closed else self._raw.tell()

    def text(self, newline: str | None = None) -> io.TextIOWrapper:
        """The lines of the file; bytes that are not UTF-8 stay as they are, as surrogates.

        newline: as of `open`.
        """
        return io.TextIOWrapper(
            self.binary(), encoding="utf-8-sig", errors="surrogateescape", newline=newline
        )


Reader = Callable[[SourceFile, Columns], Iterator[Row]]


@dataclass(frozen=True)
class Conversion:
    """How a file of another format is read.

    kind: what it looks like; columns: what becomes source and target, or None if the reader writes
    all there is; known: the names that `columns` may have, empty if they are not known; read:
    yields the cells of each row; suffix: of the file that is written; as_it_is: whether cells may
    have line breaks and spaces at their ends.
    """

    kind: str
    read: Reader
    columns: Columns | None = None
    known: Sequence[str] = ()
    suffix: str = ".tsv"
    as_it_is: bool = False

    def with_columns(self, text: str) -> "Conversion":
        """The conversion of the columns `SOURCE,TARGET`, or of one.

        Raises DataError if there are none such.

        >>> csv = Conversion("CSV", lambda *_: iter(()), ("1", "2"))
        >>> csv.with_columns("3,1").columns, csv.with_columns("2").columns
        (('3', '1'), ('2',))
        """
        if self.columns is None:
            raise DataError(
                f"--columns {text}: there are no columns to choose in {self.kind}",
                "leave out --columns",
            )
        for columns in _readings(text):
            if all(name in self.known for name in columns) if self.known else all(columns):
                return replace(self, columns=columns)
        of_file = f"; the file has {', '.join(self.known)}" if self.known else ""
        raise DataError(
            f"--columns {text}: one or two names are needed, separated by a comma{of_file}",
            f"such as --columns {shlex.quote(','.join(self.columns))}",
        )

    def rows(self, source: SourceFile) -> Iterator[list[str]]:
        """Yield the cells of each row, usually without line breaks and tabs in them."""
        for row in self.read(source, self.columns or ("1", "2")):
            yield list(row) if self.as_it_is else [as_line(cell) for cell in row]

    def command(self, name: str, out: str = "") -> str:
        """The command that converts the file `name`; out: the new file, "" for the usual one."""
        # The first two columns of a table are taken anyway.
        is_named = self.columns is not None and self.columns != ("1", "2")
        columns = ",".join(self.columns or ()) if is_named else ""
        return convert_command(name, out or converted_name(name, self.suffix), columns=columns)


def _readings(text: str) -> Iterator[Columns]:
    """The columns that a text may name; names may have commas.

    >>> list(_readings("en,de")), list(_readings("en"))
    ([('en', 'de')], [('en',)])
    >>> list(_readings("a,b,c"))
    [('a', 'b,c'), ('a,b', 'c')]
    """
    names = text.split(",")
    if len(names) == 1:
        yield (text,)
    for at in range(1, len(names)):
        yield ",".join(names[:at]), ",".join(names[at:])


def convert_command(
    *names: str, columns: str = "", unquote: bool = False, repairs: Sequence[str] = ()
) -> str:
    """The command of nmt that converts one file, or two; the last of the names is the new file.

    columns, repairs: the values of these options. Of stdin the result is written to stdout.

    >>> convert_command("a b.jsonl", "a.tsv", columns="en,de")
    "nmt convert 'a b.jsonl' --columns en,de -o a.tsv"
    >>> convert_command("stdin", "stdin.tsv", unquote=True)
    'nmt convert - --unquote'
    """
    *files, out = names
    is_stdin = files[0] in STDIN_NAMES
    words = ["nmt", "convert", *(["-"] if is_stdin else files)]
    words += ["--columns", columns] if columns else []
    words += ["--unquote"] if unquote else []
    words += [word for repair in repairs for word in ("--repair", repair)]
    return shlex.join(words if is_stdin else [*words, "-o", out])


def as_line(text: str) -> str:
    r"""The text of a cell as one line: its lines joined by spaces, without spaces at their ends.

    >>> as_line(" Yes,\r\n he said.\t"), as_line("\x85 \xa0")
    ('Yes, he said.', '\x85 \xa0')
    """
    return " ".join(filter(None, (part.strip(" ") for part in _BREAKS.split(text))))


def first_numbers(numbers: Sequence[int]) -> str:
    """How many lines or rows there are, and the first ones.

    >>> first_numbers([3, 1200])
    '2 (3, 1,200)'
    """
    first = ", ".join(f"{number:,}" for number in numbers[:FIRST_NAMED])
    more = ", ..." if len(numbers) > FIRST_NAMED else ""
    return f"{len(numbers):,} ({first}{more})"
