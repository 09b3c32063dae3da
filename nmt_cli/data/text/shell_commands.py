"""Shell commands that write a changed copy of a file, for hints."""

import itertools
import os
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from nmt_cli.data.preparation.text_check import COMPRESSED

STDIN_NAMES = ("-", "stdin")
# The suffixes of files with pairs that are not parallel files.
TABLES = (".tsv", ".csv", ".jsonl", ".ndjson", ".json", ".tmx")


def copy_command(command: str, name: str, tag: str, *, takes_name: bool = True) -> str:
    """The command that lets `command` read the file `name` and write another one beside it.

    tag: a word that the name of the other file has more; the suffixes, which may name languages,
    are kept. A compressed file is decompressed. Of stdin only `command` is returned. takes_name:
    whether `command` opens files that it is given; otherwise it only reads stdin.

    >>> copy_command("cut -f1,2", "my/pairs.en-de.tsv", "two-columns")
    'cut -f1,2 my/pairs.en-de.tsv > my/pairs.two-columns.en-de.tsv'
    >>> copy_command("cut -f1,2", "a b.tsv.gz", "new"), copy_command("cut -f1,2", "-", "new")
    ("gzip -dc 'a b.tsv.gz' | cut -f1,2 > 'a b.new.tsv'", 'cut -f1,2')
    """
    if name in STDIN_NAMES:
        return command
    out, program = shlex.quote(_name_beside(name, tag)), decompressor(name)
    if program:
        return f"{program} -dc {shlex.quote(name)} | {command} > {out}"
    return f"{command} {'' if takes_name else '< '}{shlex.quote(name)} > {out}"


def is_table_name(name: str) -> bool:
    """Whether a file of this name has pairs as one table, of nmt's format or another.

    >>> is_table_name("pairs.csv.gz"), is_table_name("mem.en-de.tmx"), is_table_name("train.en")
    (True, True, False)
    """
    return without_compression(name).lower().endswith(TABLES)


def decompressor(name: str) -> str:
    """The program that decompresses a file of this name, or "" if it is not compressed."""
    return COMPRESSED.get(PurePath(name).suffix.lower(), "")


def tsv_command(command: Sequence[str], name: str) -> str:
    """The command that lets `command` read the file `name` from stdin and writes a TSV file.

    That is called like the file, or otherwise if there is a file of this name. Of stdin only
    `command` is returned.

    >>> tsv_command(["c", "a b"], "my/pairs.jsonl.gz"), tsv_command(["c"], "-")
    ("gzip -dc my/pairs.jsonl.gz | c 'a b' > my/pairs.tsv", 'c')
    """
    shown, quoted = shlex.join(command), shlex.quote(name)
    if name in STDIN_NAMES:
        return shown
    plain = without_compression(name)
    stem = next((plain.removesuffix(end) for end in TABLES if plain.endswith(end)), plain)
    out = f"{stem}.tsv"
    out = shlex.quote(_name_beside(out, "converted") if os.path.lexists(out) else out)
    program = decompressor(name)
    if program:
        return f"{program} -dc {quoted} | {shown} > {out}"
    return f"{shown} < {quoted} > {out}"


def without_compression(name: str) -> str:
    """The name of the file without the suffix of a compressed one.

    >>> without_compression("pairs.tsv.gz"), without_compression("train.en")
    ('pairs.tsv', 'train.en')
    """
    return name[: -len(PurePath(name).suffix)] if decompressor(name) else name


def _name_beside(name: str, tag: str) -> str:
    """A name in the same folder that no file has."""
    folder, slash, file = without_compression(name).rpartition("/")
    stem, dot, suffixes = file.partition(".")
    tags = itertools.chain([tag], (f"{tag}-{count}" for count in itertools.count(2)))
    names = (f"{folder}{slash}{stem}.{tag}{dot}{suffixes}" for tag in tags)
    return next(other for other in names if not os.path.lexists(other))
