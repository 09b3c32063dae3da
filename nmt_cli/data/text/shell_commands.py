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
# Those of files that are converted to text, too.
_CONVERTED = (*TABLES, ".html", ".htm", ".docx", ".docm", ".sfm")

_COMPOSE = (
    "import sys, unicodedata as u; "
    "sys.stdout.write(u.normalize('NFC', open(0, encoding='utf-8', newline='').read()))"
)

# In Python: the text of a cell as one line. Only ASCII spaces are removed: U+0085 and U+00A0 are
# bytes of letters in UTF-8 that was read as Latin-1.
AS_LINE = (
    r'import re; as_line = lambda text: " ".join(filter(None, (part.strip(" ") '
    r'for part in re.split("[\t\r\n]", text))))'
)
# A quoted cell has no tabs; what precedes and follows it ends a cell or a row.
_UNQUOTED = (
    r're.sub("(?<![^\t\n])\"((?:[^\"\t]|\"\")*)\"(?![^\t\n])", '
    r'lambda cell: as_line(cell[1].replace("\"\"", "\"")), '
    'open(0, encoding="utf-8-sig", errors="surrogateescape").read())'
)
# Bytes that are not UTF-8 stay as they are, for the check of the file that is written.
KEEP_BYTES = 'sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")'
_UNQUOTE = f'import sys; {AS_LINE}; {KEEP_BYTES}; print({_UNQUOTED}, end="")'
_UNQUOTE_COLUMNS = (
    f"import sys; {AS_LINE}; {KEEP_BYTES}; text = {_UNQUOTED}; "
    r'[print(*(cell for i in sys.argv[1:] for cell in row.split("\t")[int(i) - 1 : int(i)]), '
    r'sep="\t") for row in text.removesuffix("\n").split("\n")]'
)


# A command that replaces HTML entities with their characters.
UNESCAPE = (
    "python3 -c 'import html, sys; [sys.stdout.write(html.unescape(line)) for line in sys.stdin]'"
)

# A command that joins the subwords of subword-nmt.
JOIN_SUBWORDS = "sed -E 's/@@( |$)//g'"

# In awk: a cue is a paragraph; its text follows the line with its time.
_CUES = (
    'BEGIN {RS = ""; FS = "\\n"} {text = ""; found = 0; for (i = 1; i <= NF; i++) '
    'if (found) text = text (text ? " " : "") $i; else if ($i ~ / --> /) found = 1; '
    "if (found) print text}"
)


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


def compose_command(name: str) -> str:
    """Return the command that writes the text of a file in the Unicode form NFC.

    >>> compose_command("test.de").rpartition("' ")[2]
    '< test.de > test.nfc.de'
    """
    return copy_command(f"python3 -c {shlex.quote(_COMPOSE)}", name, "nfc", takes_name=False)


def unescape_command(name: str) -> str:
    """Return the command that writes the text of a file without HTML entities.

    >>> unescape_command("test.de").rpartition("' ")[2]
    '< test.de > test.unescaped.de'
    """
    return copy_command(UNESCAPE, name, "unescaped", takes_name=False)


def cues_command(name: str) -> str:
    """Return the command that writes the text of each cue of a subtitle file to one line.

    >>> cues_command("film.en.srt").rpartition("' ")[2]
    '> film.cues.en'
    """
    stem = name
    for suffix in (*COMPRESSED, ".srt", ".vtt"):
        stem = stem.removesuffix(suffix)
    program = decompressor(name)
    text = f"{program} -dc {shlex.quote(name)} | tr" if program else f"< {shlex.quote(name)} tr"
    out = shlex.quote(name_beside(stem, "cues"))
    return f"{text} -d '\\r' | awk {shlex.quote(_CUES)} > {out}"


def unquote_command(name: str) -> str:
    """Return the command that unquotes the cells of a TSV file that a spreadsheet has quoted.

    Line breaks in these cells become spaces. Other quotation marks are kept.

    >>> unquote_command("a.tsv").partition(" < ")[2]
    'a.tsv > a.converted.tsv'
    """
    return copy_command(f"python3 -c {shlex.quote(_UNQUOTE)}", name, "converted", takes_name=False)


def two_columns_command(name: str, columns: tuple[str, str], *, quoted: bool) -> str:
    r"""Return the command that takes two columns of a TSV file, which count from 1.

    quoted: whether it has cells that a spreadsheet has quoted, which are unquoted before.

    >>> two_columns_command("a.tsv", ("2", "3"), quoted=False)
    'cut -f2,3 a.tsv > a.two-columns.tsv'
    >>> two_columns_command("a.tsv", ("3", "2"), quoted=False).partition("{")[2]
    'print $3 "\\t" $2}\' a.tsv > a.two-columns.tsv'
    >>> two_columns_command("a.tsv", ("2", "3"), quoted=True).partition("' ")[2]
    '2 3 < a.tsv > a.two-columns.tsv'
    """
    if not quoted and columns[0].isdecimal() and int(columns[0]) > int(columns[1]):
        # `cut` keeps the order of the file.
        program = f'{{print ${columns[0]} "\\t" ${columns[1]}}}'
        return copy_command(shlex.join(["awk", "-F", r"\t", program]), name, "two-columns")
    if not quoted:
        return copy_command(f"cut -f{','.join(columns)}", name, "two-columns")
    command = shlex.join(["python3", "-c", _UNQUOTE_COLUMNS, *columns])
    return copy_command(command, name, "two-columns", takes_name=False)


def is_table_name(name: str) -> bool:
    """Whether a file of this name has pairs as one table, of nmt's format or another.

    >>> is_table_name("pairs.csv.gz"), is_table_name("mem.en-de.tmx"), is_table_name("train.en")
    (True, True, False)
    """
    return without_compression(name).lower().endswith(TABLES)


def decompressor(name: str) -> str:
    """The program that decompresses a file of this name, or "" if it is not compressed."""
    return COMPRESSED.get(PurePath(name).suffix.lower(), "")


def one_line(program: str) -> str:
    r"""A program in Python without three quotes in a row, as one line for any terminal.

    >>> one_line("if a:\n b").count("\n")
    0
    """
    shown = program.replace("\\", "\\\\").replace("\n", "\\n")
    return f'exec("""{shown} """)'


def removal_command(pattern: str, by: str = "") -> str:
    r"""The command that copies stdin without what a regular expression finds; it has no `"`.

    by: what replaces it.

    >>> removal_command(r"(?<![^\n])- ").rpartition("; ")[2]
    'print(re.sub(r"(?<![^\\n])- ", "", text), end="")\''
    """
    program = (
        f"import re, sys; {KEEP_BYTES}; "
        'text = open(0, encoding="utf-8-sig", errors="surrogateescape", newline="").read(); '
        f'print(re.sub(r"{pattern}", "{by}", text), end="")'
    )
    return shlex.join(["python3", "-c", program])


def tsv_command(command: Sequence[str], name: str, suffix: str = ".tsv", *, then: str = "") -> str:
    """The command that lets `command` read the file `name` from stdin and writes a TSV file.

    That is called like the file, or otherwise if there is a file of this name. Of stdin only
    `command` is returned. suffix: of the file that is written. then: another command, which changes
    what the first one writes.

    >>> tsv_command(["c", "a b"], "my/pairs.jsonl.gz"), tsv_command(["c"], "-")
    ("gzip -dc my/pairs.jsonl.gz | c 'a b' > my/pairs.tsv", 'c')
    """
    shown, quoted = shlex.join(command), shlex.quote(name)
    then = f" | {then}" if then else ""
    if name in STDIN_NAMES:
        return shown + then
    plain = without_compression(name)
    stem = next((plain.removesuffix(end) for end in _CONVERTED if plain.endswith(end)), plain)
    out = f"{stem}{suffix}"
    out = shlex.quote(name_beside(out, "converted") if os.path.lexists(out) else out)
    program = decompressor(name)
    if program:
        return f"{program} -dc {quoted} | {shown}{then} > {out}"
    return f"{shown} < {quoted}{then} > {out}"


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
