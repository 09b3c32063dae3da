"""Reads the constraints and prefixes of `nmt translate`; warns of swapped columns."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.errors import NmtError
from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.config.schema import LanguagesConfig
    from nmt_cli.data.lexical.glossary import Entry
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.constraints import Constraints

LINES_CHECKED = 2_000
# As word lists separate meanings; `and/or` is a word.
_OTHER_SEPARATOR = re.compile(r"\w\s*;\s|\w\s+/\s+\w")
# Swaps the columns, and gives each of several target forms a line of its own.
SWAP = '{n = split($2, form, "|"); for (i = 1; i <= n; i++) print form[i], $1}'


class ConstraintFiles(NamedTuple):
    """The files of --glossary, --keep, --ban and --prefix."""

    glossaries: Sequence[Path] = ()
    names: Sequence[Path] = ()
    ban: Path | None = None
    prefix: Path | None = None

    @property
    def paths(self) -> tuple[Path | None, ...]:
        """All of them."""
        return (*self.glossaries, *self.names, self.ban, self.prefix)


def read_constraints(files: ConstraintFiles, file: str | None, console: "Console") -> "Constraints":
    """Read the files but prefixes; warns if a glossary seems to have the other direction.

    file: the text in the source language of the glossary; None if there is no such file.
    """
    from nmt_cli.data.lexical.glossary import read_glossaries
    from nmt_cli.translation.constraints import Constraints, read_banned, read_kept

    glossaries, names, ban, _ = files
    banned = read_banned(ban) if ban else ()
    constraints = Constraints(banned, read_glossaries(glossaries), read_kept(names))
    files_with_terms = {entry.file for entry in constraints.entries}
    if empty := [path for path in glossaries if str(path) not in files_with_terms]:
        more = "" if files_with_terms else ": translations are those without a glossary"
        console.warning(f"{_have(empty)} no term{more}")
    if warning := other_separators_warning(constraints.entries):
        console.warning(warning)
    if names and not constraints.keep:
        console.warning(f"{_have(names)} no name: nothing is kept")
    if ban and not banned:
        console.warning(f"`{ban}` has no word or phrase: nothing is banned")
    for glossary in glossaries:
        warning = swapped_columns_warning(glossary, file) if file is not None else ""
        if warning:
            console.warning(warning)
    return constraints


def without_headers(
    constraints: "Constraints", languages: "LanguagesConfig", console: "Console"
) -> "Constraints":
    """The constraints without the lines of glossaries that name the columns; says which these are.

    languages: those of the model whose translations have the terms.
    """
    from nmt_cli.data.lexical.glossary_header import Likeness, first_entries, header_likeness

    headers = []
    for entry in first_entries(constraints.entries):
        likeness = header_likeness(entry, (languages.src, languages.tgt))
        line = f"line {entry.line} of `{entry.file}`"
        if likeness == Likeness.SURE:
            headers.append(entry)
            console.note(f"{line} names the columns, and is no term")
        elif likeness == Likeness.PERHAPS:
            console.warning(
                f"{line}, `{entry.source}`, may name the columns, and counts as a term: if it is "
                "none, remove that line"
            )
    if not headers:
        return constraints
    glossary = tuple(entry for entry in constraints.entries if entry not in headers)
    return replace(constraints, glossary=glossary)


def other_separators_warning(entries: Sequence["Entry"]) -> str:
    """The warning that forms may be separated by other marks than `|`, or ""."""
    forms = [form for entry in entries for form in entry.forms if _OTHER_SEPARATOR.search(form)]
    if not forms:
        return ""
    more = ""
    if others := len(forms) - 1:
        more = f", and so {agreeing(others, 'is', 'are')} {others:,} more"
    return (
        f"`{forms[0]}` is one form of a term, which is written as it is{more}; several forms are "
        "separated by `|`"
    )


def _have(paths: Sequence[Path]) -> str:
    names = " and ".join(f"`{path}`" for path in paths)
    return f"{names} {agreeing(len(paths), 'has', 'have')}"


def swapped_columns_warning(glossary: Path, file: str) -> str:
    """The warning that target forms of the glossary occur in `file`, but no source term; or "".

    Only the first lines are read, and none of stdin and pipes, which can be read only once.
    """
    from nmt_cli.data.languages.text_files import swap_command
    from nmt_cli.data.languages.unspaced import UNSPACED
    from nmt_cli.data.languages.word_characters import borders
    from nmt_cli.data.lexical.glossary import Entry, Glossary, read_glossary
    from nmt_cli.data.text.lines import read_lines

    if not Path(file).is_file():
        return ""
    try:
        with read_lines(file) as lines:
            text = "\n".join(islice(lines, LINES_CHECKED))
    except NmtError:
        # The error is reported when the file is translated.
        return ""
    entries = read_glossary(glossary)
    # Where there are no spaces between words, parts of what looks like a word count, too.
    edges = ("", "") if UNSPACED.search(text) else borders(r"[^\W_]")
    sources = "|".join(re.escape(entry.source.casefold()) for entry in entries)
    if re.search(f"{edges[0]}(?:{sources}){edges[1]}", text.casefold()):
        return ""
    forms = dict.fromkeys(form for entry in entries for form in entry.forms)
    swapped = Glossary([Entry(form, (), line) for line, form in enumerate(forms, 1)])
    occurring = len(swapped.find(text))
    if not occurring:
        return ""
    count = counted(occurring, "target form")
    return (
        f"no source term of `{glossary}` occurs in `{file}`, but {count} of it: are its "
        "columns swapped? The source term comes first; to swap them: "
        f"{swap_command(str(glossary), SWAP)}"
    )
