"""Shell commands that write a changed copy of a file, for hints."""

import itertools
import os
import shlex
from pathlib import PurePath

from nmt_cli.data.preparation.text_check import COMPRESSED

STDIN_NAMES = ("-", "stdin")


def copy_command(command: str, name: str, tag: str) -> str:
    """The command that lets `command` read the file `name` and write another one beside it.

    tag: a word that the name of the other file has more; the suffixes, which may name languages,
    are kept. A compressed file is decompressed. Of stdin only `command` is returned.

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
    return f"{command} {shlex.quote(name)} > {out}"


def decompressor(name: str) -> str:
    """The program that decompresses a file of this name, or "" if it is not compressed."""
    return COMPRESSED.get(PurePath(name).suffix.lower(), "")


def _name_beside(name: str, tag: str) -> str:
    """A name in the same folder that no file has."""
    plain = name[: -len(PurePath(name).suffix)] if decompressor(name) else name
    folder, slash, file = plain.rpartition("/")
    stem, dot, suffixes = file.partition(".")
    tags = itertools.chain([tag], (f"{tag}-{count}" for count in itertools.count(2)))
    names = (f"{folder}{slash}{stem}.{tag}{dot}{suffixes}" for tag in tags)
    return next(other for other in names if not os.path.lexists(other))
