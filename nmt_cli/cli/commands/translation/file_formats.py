"""Warnings of files that are translated line by line although their names say another format."""

import shlex
from typing import TYPE_CHECKING

from nmt_cli.cli.commands.translation.document import TABLE, document_command
from nmt_cli.cli.options.typed import typed_options

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console


def warn_of_format(console: "Console", file: str, language: str) -> None:
    """Say how to translate the text of `file` if its name is that of another format than text.

    language: the code of the source language.
    """
    from nmt_cli.data.languages.names import is_tsv
    from nmt_cli.data.languages.words import base_code
    from nmt_cli.data.text.shell_commands import STDIN_NAMES, without_compression
    from nmt_cli.data.text.tmx import tmx_to_tsv
    from nmt_cli.documents.kinds import kind_by_suffix
    from nmt_cli.translation.callers.pivot import UNNAMED

    again = "nmt translate" + typed_options()
    plain = without_compression(file)
    if plain.lower().endswith(".tmx"):
        is_named = language not in UNNAMED
        code = base_code(language) if is_named else "en"
        segments = _reading(tmx_to_tsv(STDIN_NAMES[0], [code]), file)
        console.warning(
            f"`{file}` is named like a translation memory: its tags are translated as text; to "
            f"translate its segments in the language `{code}`"
            f"{'' if is_named else ', or another code'}: {segments} | {again}"
        )
    elif kind_by_suffix(plain) == TABLE:
        first_column = f"; without a header: {_reading('cut -f1', file)} | {again}"
        console.warning(
            f"`{file}` is named like a table: its columns are translated as one text; for one "
            f"column: {document_command(file)}{first_column if is_tsv(plain.lower()) else ''}"
        )
    elif kind_by_suffix(file) not in (None, "text"):
        console.note(
            f"`{file}` is translated as plain text, line by line; to translate its text and keep "
            f"its format: {document_command(file)}"
        )


def _reading(command: str, file: str) -> str:
    """The command that lets `command` read a file from stdin.

    >>> _reading("cut -f1", "my a.tsv"), _reading("cut -f1", "a.tsv.gz")
    ("cut -f1 < 'my a.tsv'", 'gzip -dc a.tsv.gz | cut -f1')
    """
    from nmt_cli.data.text.shell_commands import decompressor

    program, name = decompressor(file), shlex.quote(file)
    return f"{program} -dc {name} | {command}" if program else f"{command} < {name}"
