"""Writes the results of lines and texts with marks: their text, their alternatives and flags."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from nmt_cli.data.cleaning.numbers.comparison import numbers_changed, numbers_repeated
from nmt_cli.data.cleaning.numbers.enumerations import is_enumeration_lost
from nmt_cli.data.markup.inline import marks_of, parse_line, without_marks, written_line
from nmt_cli.data.markup.kept import MARKS_ONLY, Kept
from nmt_cli.data.markup.marked_text import MarkedText, Text, plain_text, raw_text, shown_text
from nmt_cli.translation.markup.dashes import with_dashes
from nmt_cli.translation.markup.own_marks import without_own_marks
from nmt_cli.translation.markup.projection import at_ends, words_of
from nmt_cli.translation.markup.value_order import text_with_values_in_order, with_values_in_order
from nmt_cli.translation.quality.flags import in_order
from nmt_cli.translation.result import Translation


@dataclass(frozen=True)
class MarkedTranslation:
    """The translation of a marked text; translation: its words, score, alternatives and flags."""

    pieces: MarkedText
    translation: Translation


class MarkedResult(NamedTuple):
    """A translation whose marks are put back; pieces: those of each alternative, best first."""

    pieces: list[MarkedText]
    translation: Translation


def as_line(
    line: str,
    source: MarkedText | None,
    result: MarkedResult,
    kept: Kept,
    languages: tuple[str, str],
) -> Translation:
    """The result as the translation of a line."""
    assert source is not None
    result = _repaired(result, source, kept)
    written = [safe_line(pieces, source) for pieces in result.pieces]
    translation = _with_texts(result, line, [text for text, _ in written], moved=written[0][1])
    return _check_numbers(translation, line, translation.text, kept, languages)


def as_marked(
    line: str, source: MarkedText, result: MarkedResult, kept: Kept, languages: tuple[str, str]
) -> MarkedTranslation:
    """The result as the translation of a text of a document, whose tags may have numbers."""
    result = _repaired(result, source, kept)
    pieces = result.pieces[0]
    translation = _with_texts(result, line)
    return MarkedTranslation(
        pieces, _check_numbers(translation, plain_text(source), plain_text(pieces), kept, languages)
    )


def _repaired(result: MarkedResult, source: MarkedText, kept: Kept) -> MarkedResult:
    """The result without marks of the model's own, with dashes and the order of values put right.

    It has `markup_moved` where this changes the marks of its best translation.
    """
    cleaned = [without_own_marks(pieces, source, kept) for pieces in result.pieces]
    ordered = [with_values_in_order(with_dashes(pieces, source), source) for pieces, _ in cleaned]
    translation = result.translation
    if cleaned[0][1] or ordered[0][1]:
        flags = in_order({*translation.flags, "markup_moved"})
        sentences = tuple(
            replace(sentence, text=text_with_values_in_order(sentence.text, sentence.source))
            for sentence in translation.sentences
        )
        translation = replace(translation, flags=flags, sentences=sentences)
    return MarkedResult([pieces for pieces, _ in ordered], translation)


def in_document(segment: MarkedText, result: MarkedTranslation) -> MarkedTranslation:
    """What a document gets for a segment: its translation, or the segment if that has no text.

    The translation has the flag `source_kept` then, unless its tags and placeholders are all that
    is in the segment, as with a name that is kept.
    """
    if any(isinstance(piece, Text) and piece.text.strip() for piece in result.pieces):
        return result
    translation = result.translation
    if shown_text(result.pieces).split() != shown_text(segment).split():
        flags = in_order({*translation.flags, "source_kept"})
        translation = replace(translation, flags=flags)
    return MarkedTranslation(segment, translation)


def _check_numbers(
    translation: Translation, source: str, text: str, kept: Kept, languages: tuple[str, str]
) -> Translation:
    """The translation with `number_mismatch` as the whole `text` has it, where numbers are kept.

    The words alone were checked, without the numbers that are put back. As these are put back once
    each, others with the same digits are the model's own.
    """
    if not kept.numbers:
        return translation
    flags = {*translation.flags} - {"number_mismatch"}
    if (
        numbers_repeated(source, text)
        or numbers_changed(source, text, languages)
        or is_enumeration_lost(source, text)
    ):
        flags.add("number_mismatch")
    return replace(translation, flags=in_order(flags))


def _with_texts(
    result: MarkedResult, line: str, texts: Sequence[str] = (), *, moved: bool = False
) -> Translation:
    """The translation of a result with the texts of its alternatives, which have the marks."""
    translation = result.translation
    texts = texts or [shown_text(pieces) for pieces in result.pieces]
    flags = {*translation.flags, *(["markup_moved"] if moved else [])}
    hypotheses = tuple(
        replace(hypothesis, text=text)
        for hypothesis, text in zip(translation.hypotheses, texts, strict=True)
    )
    return replace(
        translation, source=line, text=texts[0], hypotheses=hypotheses, flags=in_order(flags)
    )


def safe_line(pieces: MarkedText, source: MarkedText) -> tuple[str, bool]:
    """The line, and whether its marks had to be moved, so that it has those of the source only.

    Words of the translation may look like marks, alone or beside one.
    """
    # Numbers and names that are kept are no marks for a reader of the line.
    wanted = marks_of(parse_line(raw_text(source), MARKS_ONLY))
    line = written_line(pieces, source)
    if marks_of(parse_line(line, MARKS_ONLY)) == wanted:
        return line, False
    cleaned = tuple(
        Text(without_marks(piece.text)) if isinstance(piece, Text) else piece for piece in pieces
    )
    line = written_line(cleaned, source)
    if marks_of(parse_line(line, MARKS_ONLY)) == wanted:
        return line, False
    words = words_of(cleaned)
    letters = "".join(letter if letter.isalnum() or letter in " .,;?!" else " " for letter in words)
    for text in (words, letters):
        line = written_line(at_ends(source, text), source)
        if marks_of(parse_line(line, MARKS_ONLY)) == wanted:
            break
    return line, True
