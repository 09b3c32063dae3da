"""Detects text in another encoding or with other line endings, and names what converts it."""

from typing import TYPE_CHECKING

from nmt_cli.data.text.shell_commands import copy_command
from nmt_cli.errors import DataError

if TYPE_CHECKING:
    from nmt_cli.data.text.lines import Lines

CR_TO_LF = r"tr '\r' '\n'"
# A file with more invalid lines than both of these limits is in another encoding, not damaged.
MAX_INVALID_SHARE, MIN_INVALID_LINES = 0.05, 20


def conversion(name: str, encoding: str = "CP1252") -> str:
    """Return the command that converts a file or stdin to UTF-8, by default from Windows-1252.

    Windows-1252 has the letters of Latin-1 at the same bytes, and quotation marks, dashes and the
    euro sign at 0x80 to 0x9F, where Latin-1 has control characters.

    >>> conversion("a.fr"), conversion("stdin")
    ('iconv -f CP1252 -t UTF-8 a.fr > a.utf8.fr', 'iconv -f CP1252 -t UTF-8')
    """
    return copy_command(f"iconv -f {encoding} -t UTF-8", name, "utf8")


def refuse_other_encoding(lines: "Lines") -> None:
    """Raise DataError if too many lines are not UTF-8.

    The rest of the file is read only if too many of the lines read so far are not UTF-8.
    """
    if _is_other_encoding(lines):
        for _ in lines:
            pass
        if _is_other_encoding(lines):
            raise DataError(
                f"`{lines.name}`: {lines.invalid:,} of {lines.count:,} lines are not UTF-8, "
                f"the first at line:byte {lines.first_invalid}; the file is in another encoding",
                f"convert it, for example: {conversion(lines.name)}",
            )


def line_ending_error(name: str) -> DataError:
    """The error for a file whose lines end at CR alone, as in old spreadsheets."""
    return DataError(
        f"`{name}` is a single line, because its line endings are CR (0x0D) without LF (0x0A)",
        f"convert it: {copy_command(CR_TO_LF, name, 'lf', takes_name=False)}",
    )


def _is_other_encoding(lines: "Lines") -> bool:
    return lines.invalid >= MIN_INVALID_LINES and lines.invalid > MAX_INVALID_SHARE * lines.count
