"""Warnings of files that are translated line by line although their names say another format."""

import shlex
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.commands.translation.document import TABLE, document_command
from nmt_cli.cli.options.typed import typed_options
from nmt_cli.errors import NmtError

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console


def warn_of_format(console: "Console", file: str, language: str) -> None:
    """Say how to translate the text of `file` if its name is that of another format than text.

    language: the code of the source language.
    """
    from nmt_cli.data.languages.codes import base_code
    from nmt_cli.data.languages.names import is_tsv
    from nmt_cli.data.text.shell_commands import without_compression
    from nmt_cli.data.text.tables.source_column import source_column
    from nmt_cli.documents.kinds import kind_by_suffix
    from nmt_cli.translation.callers.pivot import UNNAMED

    again = "nmt translate" + typed_options()
    plain = without_compression(file)
    if plain.lower().endswith(".tmx"):
        is_named = language not in UNNAMED
        code = base_code(language) if is_named else "en"
        segments = shlex.join(["nmt", "convert", file, "--columns", code])
        console.warning(
            f"`{file}` is named like a translation memory: its tags are translated as text; to "
            f"translate its segments in the language `{code}`"
            f"{'' if is_named else ', or another code'}: {segments} | {again}"
        )
    elif kind_by_suffix(plain) == TABLE:
        way = document_command(file)
        if is_tsv(plain.lower()):
            number, name = source_column(_first_rows(file), language)
            way = f"{document_command(file, name or 'NAME')}; without a header: "
            way += f"{_reading(f'cut -f{number}', file)} | {again}"
        console.warning(
            f"`{file}` is named like a table: its columns are translated as one text; for one "
            f"column: {way}"
        )
    elif kind_by_suffix(file) not in (None, "text"):
        console.note(
            f"`{file}` is translated as plain text, line by line; to translate its text and keep "
            f"its format: {document_command(file)}"
        )


def _first_rows(file: str) -> list[str]:
    """The first rows of a table; none of what can be read only once or not at all."""
    from nmt_cli.data.text.line_pairs import ROWS_SAMPLED
    from nmt_cli.data.text.lines import read_lines

    if not Path(file).is_file():
        return []
    try:
        with read_lines(file) as lines:
            return list(islice(lines, ROWS_SAMPLED))
    except NmtError:
        # The error is reported when the file is translated.
        return []


def _reading(command: str, file: str) -> str:
    """The command that lets `command` read a file from stdin.

    >>> _reading("cut -f1", "my a.tsv"), _reading("cut -f1", "a.tsv.gz")
    ("cut -f1 < 'my a.tsv'", 'gzip -dc a.tsv.gz | cut -f1')
    """
    from nmt_cli.data.text.shell_commands import decompressor

    program, name = decompressor(file), shlex.quote(file)
    return f"{program} -dc {name} | {command}" if program else f"{command} < {name}"
