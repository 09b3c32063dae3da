"""JSON lines: one object per line, of which one field is translated."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.documents.document import ReadOptions, message_notes
from nmt_cli.documents.encoding import BYTE_ORDER_MARK, decode
from nmt_cli.documents.field_texts import (
    TEXT_FIELD,
    FieldText,
    field_text,
    require_new_fields,
)
from nmt_cli.documents.json_strings import as_json
from nmt_cli.documents.text import lines_of
from nmt_cli.errors import DataError


class _Row(NamedTuple):
    """A line: as it is written, its ending, and its text."""

    raw: str
    ending: str
    text: FieldText


class JsonLinesDocument:
    """Objects in lines; each gets two new fields, its translation and the flags of it."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError for a line that is no object with a text in the field.

        Also for a line that already has a field with the name of a new one.
        """
        self._options = options
        self._field = options.field or TEXT_FIELD
        self._new_fields = (options.translation_field, options.flags_field)
        content, self._encoding = decode(data, options.name)
        self._mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else ""
        self._rows: list[_Row | str] = []
        self.segments: list[MarkedText] = []
        self.places: list[str] = []
        messages: list[str] = []
        for number, (line, ending) in enumerate(lines_of(content.removeprefix(self._mark)), 1):
            if not line.strip():
                self._rows.append(line + ending)
                continue
            source = self._text(self._object(line, number), number)
            text = field_text(source, f"line {number}", len(self.segments))
            self._rows.append(_Row(line, ending, text))
            self.segments += text.template.segments
            self.places += text.template.places
            messages += text.template.messages
        self.notes = message_notes(options.name, messages)

    def _object(self, line: str, number: int) -> dict[str, object]:
        try:
            content = json.loads(line)
        except json.JSONDecodeError as error:
            raise self._error(number, f"not JSON: {error.msg}") from error
        except (ValueError, RecursionError) as error:
            reason = "a number with too many digits, or brackets nested too deeply"
            raise self._error(number, f"not JSON that can be read: {reason}") from error
        if not isinstance(content, dict):
            raise self._error(number, "not a JSON object")
        require_new_fields(content, "field", number, self._options)
        return content

    def _text(self, content: dict[str, object], number: int) -> str:
        """The text of the field, which is found as a whole name first, then by its parts."""
        field = self._field
        value: object = content.get(field)
        if field not in content:
            value = content
            for name in field.split("."):
                if not isinstance(value, dict) or name not in value:
                    raise self._error(number, f"no field `{field}`")
                value = value[name]
        if not isinstance(value, str):
            raise self._error(number, f"the field `{field}` is not a text")
        return value

    def _error(self, number: int, reason: str) -> DataError:
        other = "`field` (beside `kind` or `file`)" if self._options.is_served else "--field"
        return DataError(
            f"`{self._options.name}`, line {number}: {reason}",
            f'each line must be like {{"{self._field}": "Hello."}}; {other} names another',
        )

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The lines with the fields of translations and flags; all else is as it was."""
        return (
            self._mark
            + "".join(
                row if isinstance(row, str) else self._written(row, translated, flags)
                for row in self._rows
            )
        ).encode(self._encoding, "replace")

    def _written(
        self, row: _Row, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]]
    ) -> str:
        fields = row.text.translated(translated, flags)
        added = as_json(dict(zip(self._new_fields, fields, strict=True)))
        body = row.raw.rstrip()
        # An object without the field of the text is refused, so there is a field before.
        return f"{body[:-1]}, {added[1:]}" + row.raw[len(body) :] + row.ending
