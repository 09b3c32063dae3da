"""The text of one field of a record, and the two new fields that hold its translation and flags."""

from collections.abc import Container, Sequence
from typing import NamedTuple

from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.template import Template
from nmt_cli.documents.text import add_lines
from nmt_cli.errors import DataError

# The field of JSON lines, or column of a table, that is translated where none is named.
TEXT_FIELD = "text"


class FieldText(NamedTuple):
    """A text of one or more lines as a template.

    first: the index of its first segment in the document; is_empty: whether it has nothing to
    translate.
    """

    template: Template
    first: int
    is_empty: bool

    def translated(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]]
    ) -> tuple[str, list[str]]:
        """The translation of this text and its flags.

        translated, flags: those of all segments of the document.
        """
        indices = range(self.first, self.first + len(self.template.segments))
        # A text of several lines has the flags of all of them.
        text_flags = dict.fromkeys(flag for index in indices if flags for flag in flags[index])
        text = self.template.fill([translated[index] for index in indices])
        return text, ["empty"] if self.is_empty else list(text_flags)


def field_text(source: str, place: str, first: int) -> FieldText:
    """The text of a field, each line of which is a segment."""
    template = Template()
    add_lines(template, source, place)
    return FieldText(template, first, is_empty=not clean_line(source).strip())


def require_new_fields(names: Container[str], noun: str, number: int, options: ReadOptions) -> None:
    """Raise DataError if a record has a field of the name of a new one already.

    names: of its fields; noun: what these are called; number: the line.
    """
    taken = [name for name in (options.translation_field, options.flags_field) if name in names]
    if taken:
        fields = f"the {noun}{'s' * (len(taken) > 1)} " + " and ".join(f"`{n}`" for n in taken)
        raise DataError(
            f"`{options.name}`, line {number}: has {fields} already, which nmt would overwrite",
            "rename them"
            if options.is_served
            else f"rename them, or name other {noun}s for the result (`nmt translate "
            "--translation-field NAME --flags-field NAME`)",
        )
