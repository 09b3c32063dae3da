"""Detects text in another encoding or with other line endings, and names what converts it."""

from nmt_cli.data.text.repair_commands import decode_command
from nmt_cli.data.text.shell_commands import copy_command
from nmt_cli.errors import DataError
from nmt_cli.plurals import agreeing

# Text in another code page can be converted from Windows-1252 without an error, to wrong letters.
CODE_PAGES = (
    "CP1252 is Western European, CP1250 Central European, CP1257 Baltic, CP1251 Cyrillic, "
    "CP1253 Greek, CP1254 Turkish"
)
CR_TO_LF = r"tr '\r' '\n'"
# More lines than this are not corrected by hand.
MOST_BY_HAND = 3


def to_utf8_command(name: str, encoding: str = "CP1252") -> str:
    """Return the command that converts a file or stdin to UTF-8, by default from Windows-1252.

    Windows-1252 has the letters of Latin-1 at the same bytes, and quotation marks, dashes and the
    euro sign at 0x80 to 0x9F, where Latin-1 has control characters.

    >>> to_utf8_command("a.fr"), to_utf8_command("stdin")
    ('iconv -f CP1252 -t UTF-8 a.fr > a.utf8.fr', 'iconv -f CP1252 -t UTF-8')
    """
    return copy_command(f"iconv -f {encoding} -t UTF-8", name, "utf8")


def is_utf8(line: bytes) -> bool:
    """Whether all of a line is UTF-8."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def has_utf8_characters(line: bytes) -> bool:
    """Whether a line has characters of several bytes, and all of it is UTF-8.

    >>> [has_utf8_characters(line) for line in (b"Jorg", b"J\\xc3\\xb6rg", b"J\\xf6rg")]
    [False, True, False]
    """
    return not line.isascii() and is_utf8(line)


def repair_hint(name: str, invalid: int, *, has_utf8: bool) -> str:
    """How to repair a file of which `invalid` lines are not UTF-8.

    has_utf8: whether it has a byte order mark of UTF-8, or characters of several bytes in other
    lines; converting the whole file would damage these.

    >>> repair_hint("a.fr", 1, has_utf8=False).rpartition(", for example: ")[2]
    'iconv -f CP1252 -t UTF-8 a.fr > a.utf8.fr'
    >>> repair_hint("a.fr", 1, has_utf8=True)
    'correct that line: the others are UTF-8, and converting the whole file would damage them'
    >>> repair_hint("a.fr", 9, has_utf8=True).partition(", and")[0]
    'other lines are UTF-8; convert only the bytes that are not'
    """
    if not has_utf8:
        return conversion_hint(to_utf8_command(name))
    if invalid > MOST_BY_HAND:
        return (
            "other lines are UTF-8; convert only the bytes that are not, and look at the letters "
            f"({CODE_PAGES}): {decode_command(name)}"
        )
    return (
        f"correct {agreeing(invalid, 'that line', 'those lines')}: the others are UTF-8, and "
        "converting the whole file would damage them"
    )


def conversion_hint(command: str) -> str:
    """The advice to convert a file in an encoding that is not known by a command for CP1252."""
    return f"convert it, and look at its letters ({CODE_PAGES}), for example: {command}"


def line_ending_error(name: str) -> DataError:
    """The error for a file whose lines end at CR alone, as in old spreadsheets."""
    return DataError(
        f"`{name}` is a single line, because its line endings are CR (0x0D) without LF (0x0A)",
        f"convert it: {copy_command(CR_TO_LF, name, 'lf', takes_name=False)}",
    )
