"""What every kind of document offers: its segments, and itself with translated segments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from nmt_cli.data.markup.marked_text import MarkedText, Tag, Text
from nmt_cli.data.markup.reference_marks import may_be_mark
from nmt_cli.data.text.letters import has_letters
from nmt_cli.documents.list_marks import ITEM_ALONE
from nmt_cli.plurals import agreeing, counted

# A document and its segments are held in memory.
MAX_DOCUMENT_BYTES = 64 << 20
# Symbols of units that most languages share; models invent words for a cell with one alone.
_UNITS = frozenset(
    ("m", "km", "dm", "cm", "mm", "µm", "μm", "nm", "ha", "g", "kg", "mg", "µg", "μg", "t", "kt",
     "Mt", "l", "L", "hl", "hL", "dl", "dL", "cl", "cL", "ml", "mL", "s", "ms", "min", "h", "V",
     "kV", "mV", "A", "mA", "W", "kW", "MW", "GW", "TW", "Wh", "kWh", "MWh", "GWh", "TWh", "J",
     "kJ", "MJ", "GJ", "TJ", "PJ", "N", "kN", "Pa", "hPa", "kPa", "MPa", "Hz", "kHz", "MHz", "GHz",
     "C", "F", "K", "mol", "ppm", "ppb", "dB", "kB", "MB", "GB", "TB", "lm", "lx", "Nm", "kNm",
     "mbar", "VA", "kVA", "MVA", "Ah", "mAh")
)  # fmt: skip
# These are words, too, where they are without a number.
_UNITS_OF_NUMBERS = frozenset(("bar", "psi"))
_LONGEST_AMOUNT = 40


class Document(Protocol):
    """A document that has been read.

    segments: its texts, in the order of the document; each has words to translate. places: where
    each of them stands, such as `line 3`.
    """

    segments: Sequence[MarkedText]
    places: Sequence[str]

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The document with a translation for each segment.

        A segment that is given back as it is (`segments`) is written as it was. flags: those of
        each translation, for kinds of documents that keep them.
        """
        ...


@dataclass(frozen=True)
class ReadOptions:
    """How a document is read and written.

    name: of the file, for messages. language: the code of the target language, for documents that
    say their language; "" leaves it. source_language: that of the model's source, "" if it is not
    known. field: the field of JSON or JSON lines that is translated, with dots for fields in
    fields, or the column of a table; "": the usual one.
    translation_field, flags_field: the fields or columns that these get; columns may exist, empty.
    fuzzy: translate fuzzy entries of a catalogue, too, and translations in XLIFF that are to be
    reviewed. encoding: of the bytes, whatever the document declares; "": as it declares.
    is_served: the document came in a request, so that hints name fields of requests in place of
    options of the command.
    """

    name: str
    language: str = ""
    field: str = ""
    translation_field: str = "translation"
    flags_field: str = "flags"
    fuzzy: bool = False
    encoding: str = ""
    is_served: bool = False
    source_language: str = ""


def notes_of(document: Document) -> Sequence[str]:
    """What a person should know of the document, such as texts in it that are not translated.

    Kinds of documents that have nothing to say have no `notes`.
    """
    notes: Sequence[str] = getattr(document, "notes", ())
    return notes


def warnings_of(document: Document) -> Sequence[str]:
    """What is likely wrong with the translation of a document, such as its language.

    Kinds of documents that find nothing of the kind have no `warnings`.
    """
    warnings: Sequence[str] = getattr(document, "warnings", ())
    return warnings


def left_note(name: str, document: Document) -> str:
    """The note about entries of a document that stay without a translation; "" if none does.

    Kinds of documents that keep source and translation have `left` once they are rendered: the
    places of entries that got no translation, or their source as one.
    """
    left: Sequence[str] = getattr(document, "left", ())
    if not left:
        return ""
    return (
        f"`{name}`: {counted(len(left), 'entry')} "
        f"{agreeing(len(left), 'stays', 'stay')} without a translation, first {left[0]}: what the "
        "model gave is empty, or the source itself"
    )


def message_notes(name: str, messages: Sequence[str]) -> list[str]:
    """The note about texts with messages of ICU; messages: their places, which may be none."""
    if not messages:
        return []
    return [
        f"`{name}`: {counted(len(messages), 'text')} {agreeing(len(messages), 'has', 'have')} a "
        f"plural or select message of ICU, first {messages[0]}; the texts in these messages are "
        "not translated"
    ]


def has_words(pieces: MarkedText) -> bool:
    """Whether there is a letter to translate; numbers, signs and units alone stay as they are.

    So does a raised letter alone, which is the mark of a note.

    >>> [has_words((Text(text),)) for text in ("3.5 %", "25 km/h", "m²", "(a)", "3 dogs")]
    [False, False, False, False, True]
    >>> [has_words((Text(text),)) for text in ("2.5 bar", "0–3 bar", "12 Nm", "bar", "10 bars")]
    [False, False, False, True, True]
    """
    texts = [piece.text for piece in pieces if isinstance(piece, Text)]
    if not any(map(has_letters, texts)):
        return False
    text = "".join(texts)
    is_raised = any(isinstance(piece, Tag) and piece.name == "sup" for piece in pieces)
    if is_raised and may_be_mark(text):
        return False
    return not ITEM_ALONE.fullmatch(text) and not _has_only_units(text)


def _has_only_units(text: str) -> bool:
    if len(text) > _LONGEST_AMOUNT:
        return False
    words = "".join(letter if letter.isalpha() else " " for letter in text).split()
    units = _UNITS | _UNITS_OF_NUMBERS if any(map(str.isdecimal, text)) else _UNITS
    # A letter alone may be anything.
    return len(text.strip()) > 1 and all(word in units for word in words)
