"""Shell commands that write a changed copy of a file, for hints."""

import itertools
import os
import shlex
from pathlib import PurePath

from nmt_cli.data.preparation.text_check import COMPRESSED

STDIN_NAMES = ("-", "stdin")
# The suffixes of files with pairs that are not parallel files.
TABLES = (".tsv", ".csv", ".jsonl", ".ndjson", ".json", ".tmx")
# Those of files that are converted to text, too.
_CONVERTED = (*TABLES, ".html", ".htm", ".docx", ".docm", ".sfm")

# A command that joins the subwords of subword-nmt.
JOIN_SUBWORDS = "sed -E 's/@@( |$)//g'"


def copy_command(
    command: str, name: str, tag: str, *, takes_name: bool = True, then: str = ""
) -> str:
    """The command that lets `command` read the file `name` and write another one beside it.

    tag: a word that the name of the other file has more; the suffixes, which may name languages,
    are kept. A compressed file is decompressed. Of stdin only `command` is returned. takes_name:
    whether `command` opens files that it is given; otherwise it only reads stdin. then: another
    command, which changes what the first one writes.

    >>> copy_command("cut -f1,2", "my/pairs.en-de.tsv", "two-columns")
    'cut -f1,2 my/pairs.en-de.tsv > my/pairs.two-columns.en-de.tsv'
    >>> copy_command("cut -f1,2", "a b.tsv.gz", "new"), copy_command("cut -f1,2", "-", "new")
    ("gzip -dc 'a b.tsv.gz' | cut -f1,2 > 'a b.new.tsv'", 'cut -f1,2')
    """
    then = f" | {then}" if then else ""
    if name in STDIN_NAMES:
        return command + then
    out, program = shlex.quote(name_beside(name, tag)), decompressor(name)
    if program:
        return f"{program} -dc {shlex.quote(name)} | {command}{then} > {out}"
    return f"{command} {'' if takes_name else '< '}{shlex.quote(name)}{then} > {out}"


def is_table_name(name: str) -> bool:
    """Whether a file of this name has pairs as one table, of nmt's format or another.

    >>> is_table_name("pairs.csv.gz"), is_table_name("mem.en-de.tmx"), is_table_name("train.en")
    (True, True, False)
    """
    return without_compression(name).lower().endswith(TABLES)


def decompressor(name: str) -> str:
    """The program that decompresses a file of this name, or "" if it is not compressed."""
    return COMPRESSED.get(PurePath(name).suffix.lower(), "")


def converted_name(name: str, suffix: str) -> str:
    """The name of a converted copy beside a file, with another suffix, which no file has.

    >>> converted_name("my/pairs.csv.gz", ".tsv"), converted_name("pairs", ".tsv")
    ('my/pairs.tsv', 'pairs.tsv')
    """
    plain = without_compression(name)
    stem = next((plain.removesuffix(end) for end in _CONVERTED if plain.endswith(end)), plain)
    out = f"{stem}{suffix}"
    return name_beside(out, "converted") if os.path.lexists(out) else out


def without_compression(name: str) -> str:
    """The name of the file without the suffix of a compressed one.

    >>> without_compression("pairs.tsv.gz"), without_compression("train.en")
    ('pairs.tsv', 'train.en')
    """
    return name[: -len(PurePath(name).suffix)] if decompressor(name) else name


def name_beside(name: str, tag: str) -> str:
    """A name in the same folder that no file has."""
    folder, slash, file = without_compression(name).rpartition("/")
    stem, dot, suffixes = file.partition(".")
    tags = itertools.chain([tag], (f"{tag}-{count}" for count in itertools.count(2)))
    names = (f"{folder}{slash}{stem}.{tag}{dot}{suffixes}" for tag in tags)
    return next(other for other in names if not os.path.lexists(other))
