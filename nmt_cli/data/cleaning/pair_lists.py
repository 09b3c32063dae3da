"""The lists of dropped and of repaired pairs, which `nmt prepare` writes as TSV."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.protected_files import needed_files, require_replaceable
from nmt_cli.data.cleaning.kinds import KINDS, UNICODE_FORM
from nmt_cli.errors import CannotCreateError, UsageError, replace_hint
from nmt_cli.storage.files import writing
from nmt_cli.storage.special_files import has_content

# The rows of the list of repaired pairs, in the directory of the cleaned text.
REPAIRED_ROWS = "repaired.tsv"
# What the list says of pairs that keep letters of another script.
LETTERS_LEFT = "letters of another script, not repaired"
_LINE_ENDS = str.maketrans("\t\n\r", "   ")
_UNICODE_FORM, _LETTERS_LEFT = KINDS[UNICODE_FORM].name.encode(), LETTERS_LEFT.encode()


class PairList(NamedTuple):
    """A kind of list: what was done with its pairs, and the header by which it is recognised."""

    action: str
    header: str

    def is_at(self, path: Path) -> bool:
        """Whether `path` is a list of this kind that nmt wrote."""
        if not has_content(path):
            # A pipe, which reading would empty, is not opened.
            return False
        header = self.header.encode()
        try:
            with path.open("rb") as file:
                return file.read(len(header)) == header
        except OSError:
            return False

    def check_path(self, path: Path, inputs: Sequence[str], *, force: bool = False) -> None:
        """Raise CannotCreateError if the list would overwrite another file.

        force: an earlier list of this kind may be replaced.
        """
        require_replaceable([path], needed_files("is an input file", *inputs), force=True)
        is_list = self.is_at(path)
        if has_content(path) and not is_list:
            raise CannotCreateError(
                f"`{path}` exists already, and is not a list of {self.action} pairs that nmt wrote",
                f"name another file, such as: --{self.action} {self.action}.tsv",
            )
        if is_list and not force:
            raise CannotCreateError(f"`{path}` exists already", replace_hint(f"--{self.action}"))
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise CannotCreateError(
                f"`{path}` cannot be written", "name a file in a directory that exists"
            )


DROPPED = PairList("dropped", "file\tline\treason\tsource\ttarget\n")
REPAIRED = PairList(
    "repaired", "file\tline\trepairs\tsource\ttarget\trepaired_source\trepaired_target\n"
)


def require_two_files(dropped: Path | None, repaired: Path | None) -> None:
    """Raise UsageError if both lists would be written to the same file."""
    if dropped is not None and repaired is not None and dropped.resolve() == repaired.resolve():
        raise UsageError("--dropped and --repaired name the same file", "name two files")


def cell(text: str) -> str:
    r"""`text` within one cell of a list: tabs and ends of lines become spaces.

    >>> cell("a\tb\r\nc")
    'a b  c'
    """
    return text.translate(_LINE_ENDS)


def write_repaired(directory: Path, path: Path) -> int:
    """Write the list of repaired pairs, whose rows the first pass has left in `directory`.

    Pairs with nothing but another Unicode form come last, since they look the same as before.
    Returns how many pairs are listed only because they keep letters of another script.
    """
    left = 0
    with (
        writing(path, replaces=REPAIRED.is_at(path)) as file,
        (directory / REPAIRED_ROWS).open("rb") as rows,
    ):
        file.write(REPAIRED.header.encode())
        for looks_same in (False, True):
            rows.seek(0)
            for row in rows:
                what = row.split(b"\t", 3)[2]
                if (what == _UNICODE_FORM) == looks_same:
                    file.write(row)
                    left += what == _LETTERS_LEFT
    return left
