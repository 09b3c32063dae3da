"""Commands of nmt that write a repaired copy of a text, for hints."""

from collections.abc import Collection

from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.sanitize import JOINERS
from nmt_cli.data.text.shell_commands import name_beside

# Apostrophes of words, and the repairs that write all of them so.
APOSTROPHE_REPAIRS = {
    "'": "straight-apostrophes",
    "\u2019": "curly-apostrophes",
    "\u2018": "turned-apostrophes",
}


def apostrophe_command(name: str, mark: str) -> str:
    """The command that writes a text with this apostrophe in all words, one with a repair.

    >>> apostrophe_command("my/a.fr", "'")
    'nmt convert my/a.fr --repair straight-apostrophes -o my/a.one-apostrophe.fr'
    """
    return convert_command(
        name, name_beside(name, "one-apostrophe"), repairs=[APOSTROPHE_REPAIRS[mark]]
    )


def compose_command(name: str) -> str:
    """The command that writes the text of a file in the Unicode form NFC.

    >>> compose_command("test.de"), compose_command("stdin")
    ('nmt convert test.de --repair nfc -o test.nfc.de', 'nmt convert - --repair nfc')
    """
    return convert_command(name, name_beside(name, "nfc"), repairs=["nfc"])


def unescape_command(name: str) -> str:
    """The command that writes the text of a file without HTML entities.

    >>> unescape_command("my/test.de.gz")
    'nmt convert my/test.de.gz --repair entities -o my/test.unescaped.de'
    """
    return convert_command(name, name_beside(name, "unescaped"), repairs=["entities"])


def mark_command(name: str) -> str:
    """The command that writes the text of a file with repaired combining marks.

    >>> mark_command("dev.yo")
    'nmt convert dev.yo --repair marks -o dev.marks.yo'
    """
    return convert_command(name, name_beside(name, "marks"), repairs=["marks"])


def encoding_command(name: str) -> str:
    """The command that writes a text in place of one that was read in another encoding.

    >>> encoding_command("dev.tsv.gz")
    'nmt convert dev.tsv.gz --repair wrong-encoding -o dev.decoded.tsv'
    """
    return convert_command(name, name_beside(name, "decoded"), repairs=["wrong-encoding"])


def decode_command(name: str) -> str:
    """The command that writes a text in UTF-8 whose other bytes are those of Windows-1252."""
    return convert_command(name, name_beside(name, "utf8"), repairs=["invalid-bytes"])


def without_invisible_command(name: str, characters: Collection[str]) -> str:
    r"""The command that writes a text without these invisible characters, and others like them.

    >>> without_invisible_command("a.fa", ["\u200c", "\u00ad"])
    'nmt convert a.fa --repair invisible --repair joiners -o a.visible.fa'
    """
    joiners = JOINERS.intersection(characters)
    repairs = ["invisible"] if len(joiners) < len(characters) else []
    repairs += ["joiners"] if joiners else []
    return convert_command(name, name_beside(name, "visible"), repairs=repairs)
