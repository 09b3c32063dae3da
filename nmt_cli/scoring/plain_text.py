"""Refuses JSON in place of the plain text that metrics compare."""

import json
from collections.abc import Iterable, Sequence
from itertools import islice

from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.shell_commands import converted_name, is_table_name, name_beside
from nmt_cli.errors import DataError

LINES_LOOKED_AT = 20
# The field of a line of `nmt translate --json` that has the translation.
TEXT = "text"


def require_plain_text(
    texts: Sequence[tuple[str, Sequence[str]]], *, are_files: bool = True
) -> None:
    """Raise DataError for a text with a JSON object in each line beside one without any.

    texts: name and lines of each, of files or not; the words and signs of JSON would count as those
    of its text. Where all texts have objects, they are what was translated.
    """
    objects_by_name = {name: _objects(lines) for name, lines in texts}
    if all(objects_by_name.values()):
        return
    for name, objects in objects_by_name.items():
        if objects:
            raise DataError(
                f"{f'`{name}`' if are_files else name}: each line is a JSON object, but plain text "
                "is compared",
                _hint(name if are_files else "", objects),
            )


def _objects(lines: Iterable[str]) -> list[dict[str, object]]:
    """The JSON objects of the first lines; empty unless each of these lines is one."""
    rows = []
    for line in islice((line for line in lines if line.strip()), LINES_LOOKED_AT):
        try:
            row = json.loads(line) if line.lstrip().startswith("{") else None
        except (ValueError, RecursionError):
            return []
        if not isinstance(row, dict):
            return []
        rows.append(row)
    return rows


def _hint(file: str, objects: Sequence[dict[str, object]]) -> str:
    """How to get plain text; file: its name, or ""."""
    if not all(isinstance(row.get(TEXT), str) and "schema" in row for row in objects):
        return "take the text of each line out of its object, and score that"
    hint = "`nmt translate` writes plain text without --json"
    if file:
        out = converted_name(file, ".txt") if is_table_name(file) else name_beside(file, TEXT)
        command = convert_command(file, out, columns=TEXT)
        hint += f"; to take it out of this text: {command}"
    return hint
