"""Repairs that keep the words: entities, byte order marks, tags, wrong encodings.

Each repair searches many lines at once for its sign, and repairs single lines only if it was found.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence
from html import entities
from html import unescape as unescape_entity

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.letters.code_pages import CODE_PAGE_SIGN, undo_code_pages
from nmt_cli.data.cleaning.letters.combining_marks import MARK_SIGN, mark_repair_of
from nmt_cli.data.cleaning.letters.escapes import ESCAPE_SIGN, undo_escapes
from nmt_cli.data.cleaning.letters.look_alikes import MIXED_SIGN, replace_look_alikes
from nmt_cli.data.cleaning.letters.mojibake import (
    MOJIBAKE_SIGN,
    WINDOWS_SIGN,
    undo_latin1,
    undo_mojibake,
)
from nmt_cli.data.cleaning.letters.side_letters import letter_repair_of
from nmt_cli.data.cleaning.letters.typed_tildes import TILDE_SIGN, tilde_repair_of
from nmt_cli.data.cleaning.line_numbers import without_line_numbers
from nmt_cli.data.cleaning.signs import joined_lines, lines_with
from nmt_cli.data.languages.word_characters import CHARACTERS
from nmt_cli.data.text.formats.pair_files import unquoted
from nmt_cli.data.text.sanitize import SPACE_MARK, remove_direction_marks, remove_invisible

# Crawled corpora contain text that was escaped twice or three times, rarely more often.
MAX_ESCAPES = 3
_NAMED = "|".join(sorted((name[:-1] for name in entities.html5 if name.endswith(";")), key=len,
                         reverse=True))  # fmt: skip
_ENTITY = re.compile(rf"&(?:#\d{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|{_NAMED});")
# Some tokenisers insert spaces into entities.
_TORN_ENTITY = re.compile(r"& ?(amp|quot|lt|gt|apos|nbsp|# ?\d{1,7}) ?;")
# The kinds of text that was read in another encoding than its own.
WRONG_ENCODINGS = kinds.MOJIBAKE, kinds.WINDOWS
# Earlier characters are the same in all Unicode forms that keep letters; one match for a line.
_BEYOND_LATIN = re.compile("[\u0300-\U0010ffff].*")
_INVISIBLE_SIGN = re.compile("[\u00ad\u2060\u200b]")
_DIRECTION_SIGN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_DOUBLED = re.compile('""')
# Detokenisers attach marks of punctuation to `@@`: `Pilates@@;`, `(@@ FR@@)`.
_SUBWORD_MARK = re.compile(
    rf"(?<=[^\s@])@@(?: |$|(?=[^\w\s@]))|(?<=[{CHARACTERS}]) @-@ (?=[{CHARACTERS}])"
)
_TAG_NAMES = (
    "a|abbr|b|big|blockquote|body|bpt|br|caption|center|cite|code|dd|div|dl|dt|em|ept|font|h[1-6]|"
    "head|hr|html|i|img|input|label|li|link|meta|nobr|ol|option|p|ph|pre|script|seg|select|small|"
    "span|strike|strong|style|sub|sup|table|tbody|td|textarea|th|thead|title|tr|tt|u|ul"
)
# Those of XLIFF are words, too, so that they count only with an attribute or as closing tags.
_XLIFF_NAMES = r"(?:bx|ec|ex|g|it|mrk|pc|sc|x)(?=\s+[\w:]+\s*=)|(?<=/)(?:g|it|mrk|pc)(?=\s*>)"
_TAG = re.compile(
    rf"<(/?)({_TAG_NAMES}|{_XLIFF_NAMES})(?:\s[^<>]{{0,400}})?\s*/?>|<!--.{{0,400}}?-->",
    re.IGNORECASE,
)
# Tags that can be inside words; others are replaced with a space.
_INLINE = re.compile(
    "a|abbr|b|big|bpt|bx|cite|code|ec|em|ept|ex|font|g|i|it|mrk|pc|ph|sc|small|span|strike|strong|"
    "sub|sup|tt|u|x",
    re.IGNORECASE,
)


def repair_lines(
    src: Sequence[str],
    tgt: Sequence[str],
    repaired: "Repaired",
    languages: tuple[str, str] = ("", ""),
) -> tuple[list[str], list[str]]:
    """Return the repaired lines of both sides of files; repairs are added to `repaired`.

    Text files may be columns of a spreadsheet, too. Behind its quotation marks are line numbers.
    languages: as of `repair_sides`.
    """
    src, tgt = unquote_cells(src, repaired), unquote_cells(tgt, repaired)
    return repair_sides(src, tgt, repaired, languages)


def repair_sides(
    src: list[str], tgt: list[str], repaired: "Repaired", languages: tuple[str, str] = ("", "")
) -> tuple[list[str], list[str]]:
    """Return the repaired lines of both sides; repairs are added to `repaired`.

    languages: the codes of source and target, if they are known.
    """
    src, tgt = (_repair_side(lines, repaired) for lines in (src, tgt))
    tagged = {index for side in (src, tgt) for index in lines_with(_TAG, joined_lines(side), side)}
    for index in sorted(tagged):
        pair = _remove_different_tags(src[index], tgt[index])
        if pair != (src[index], tgt[index]):
            src[index], tgt[index] = pair
            repaired.add(kinds.TAG, index)
    _remove_line_numbers(src, tgt, repaired, languages)
    return src, tgt


def unquote_cells(cells: Sequence[str], repaired: "Repaired") -> list[str]:
    """Return the cells of a column of a spreadsheet without its quotation marks.

    Only cells in which marks are doubled (`"He said ""no""."`) can have no other ones; these
    repairs are added to `repaired`.
    """
    cells = list(cells)
    for index in lines_with(_DOUBLED, joined_lines(cells), cells):
        if (text := unquoted(cells[index])) != cells[index]:
            cells[index] = text
            repaired.add(kinds.QUOTED, index)
    return cells


class Repaired:
    """The indices of the pairs that were repaired, by kind; each is counted once per kind."""

    def __init__(self) -> None:
        """Create an empty record."""
        self.lines: dict[int, set[int]] = {}

    def add(self, kind: int, index: int) -> None:
        """Add the pair with this index, one of whose lines was repaired."""
        self.lines.setdefault(kind, set()).add(index)

    def kinds_by_line(self) -> dict[int, list[int]]:
        """Return the kinds of repairs of each repaired pair by its index, both ascending."""
        repair_kinds: dict[int, list[int]] = {}
        for kind, indices in sorted(self.lines.items()):
            for index in indices:
                repair_kinds.setdefault(index, []).append(kind)
        return dict(sorted(repair_kinds.items()))


def _remove_line_numbers(
    src: list[str], tgt: list[str], repaired: Repaired, languages: tuple[str, str]
) -> None:
    """Remove numbers at the start of lines whose other side lacks them."""
    # Both sides are compared before either is changed.
    shortened = [
        without_line_numbers(lines, others, language)
        for lines, others, language in zip((src, tgt), (tgt, src), languages, strict=True)
    ]
    for lines, shorter_lines in zip((src, tgt), shortened, strict=True):
        for index, line in shorter_lines.items():
            lines[index] = line
            repaired.add(kinds.LINE_NUMBER, index)


def _repair_side(side: Sequence[str], repaired: Repaired) -> list[str]:
    lines = list(side)
    text = joined_lines(lines)
    for kind, sign, repair in _REPAIRS:
        changed = False
        if kind == kinds.LOOK_ALIKE:
            sign, repair = letter_repair_of(text)
        elif kind == kinds.MARK:
            repair = mark_repair_of(text)
        elif sign is TILDE_SIGN:
            repair = tilde_repair_of(text)
        for index in lines_with(sign, text, lines):
            if (new := repair(lines[index])) != lines[index]:
                lines[index] = new
                changed = True
                repaired.add(kind, index)
        if changed:
            text = joined_lines(lines)
    return lines


def unescape(text: str) -> str:
    """Replace HTML entities with the characters that they stand for.

    >>> unescape("Tom &amp;amp; Jerry&#39;s AT&T"), unescape("a & quot ; b & c;")
    ("Tom & Jerry's AT&T", 'a " b & c;')
    """
    for _ in range(MAX_ESCAPES):
        new = _TORN_ENTITY.sub(lambda match: f"&{match[1].replace(' ', '')};", text)
        new = _ENTITY.sub(lambda match: unescape_entity(match[0]), new)
        if new == text:
            break
        text = new
    return text


def undo_wrong_encodings(text: str) -> str:
    r"""Repair text that was read in another encoding than its own, as training text is repaired.

    UTF-8 read in an encoding of one byte a letter, and Windows-1252 read as Latin-1.

    >>> undo_wrong_encodings("fÃ¼r"), undo_wrong_encodings("Ð´Ð°"), undo_wrong_encodings("a\x85")
    ('für', 'да', 'a…')
    """
    for kind, sign, repair in _REPAIRS:
        if kind in WRONG_ENCODINGS and sign.search(text):
            text = repair(text)
    return text


def escaped_characters(text: str) -> set[str]:
    """The characters for which the text has HTML entities.

    >>> sorted(escaped_characters("&quot; AT&amp;T &quot; & so on"))
    ['"', '&']
    """
    torn = _TORN_ENTITY.sub(lambda match: f"&{match[1].replace(' ', '')};", text)
    return {unescape_entity(match[0]) for match in _ENTITY.finditer(torn)}


def _remove_different_tags(src: str, tgt: str) -> tuple[str, str]:
    """Remove the tags of both sides unless they are the same and so part of the text."""
    tags = [sorted(match[0].lower() for match in _TAG.finditer(side)) for side in (src, tgt)]
    return (src, tgt) if tags[0] == tags[1] else (strip_tags(src), strip_tags(tgt))


def strip_tags(text: str) -> str:
    """Remove HTML tags and comments.

    >>> strip_tags("a <b>bold</b>er<br/>claim, 1 < 2"), strip_tags("<a@b.org> wrote:")
    ('a bolder claim, 1 < 2', '<a@b.org> wrote:')
    """
    new = _TAG.sub(lambda match: "" if _INLINE.fullmatch(match[2] or "") else " ", text)
    return " ".join(new.split()) if new != text else text


def _join_subwords(text: str) -> str:
    """Join the subwords of subword-nmt, and the hyphenated words of Moses' tokeniser.

    >>> _join_subwords("(@@ FR@@) Pil@@ at@@ es@@; self-@@ defence"), _join_subwords("a @-@ b @@x")
    ('(FR) Pilates; self-defence', 'a-b @@x')
    """
    return _SUBWORD_MARK.sub(lambda match: "-" if "-" in match.group() else "", text)


def _join_pieces(text: str) -> str:
    """Join the subwords of sentencepiece, which mark the space before a word.

    >>> _join_pieces("▁The ▁ho use ."), _join_pieces("a ▁ b"), _join_pieces("▁▂▃")
    ('The house.', 'a _ b', '_▂▃')
    """
    pieces = text.split()
    are_subwords = len(pieces) > 1 and pieces[0].startswith(SPACE_MARK)
    if are_subwords and all(SPACE_MARK not in piece[1:] for piece in pieces):
        return " ".join("".join(pieces).replace(SPACE_MARK, " ").split())
    return text.replace(SPACE_MARK, "_")


def _remove_byte_order_marks(text: str) -> str:
    return text.replace("\ufeff", "")


# Kind of noise, the sign of a line that may need the repair, and the repair.
_REPAIRS: tuple[tuple[int, re.Pattern[str], Callable[[str], str]], ...] = (
    # First, because what was escaped may need any of the other repairs.
    (kinds.ESCAPE, ESCAPE_SIGN, undo_escapes),
    (kinds.MOJIBAKE, CODE_PAGE_SIGN, undo_code_pages),
    # After it, because it would repair only those letters that Windows-1250 and -1252 share.
    (kinds.MOJIBAKE, MOJIBAKE_SIGN, undo_mojibake),
    # After it, because UTF-8 that was read as Latin-1 has the same control characters.
    (kinds.WINDOWS, WINDOWS_SIGN, undo_latin1),
    (kinds.BYTE_ORDER_MARK, re.compile("\ufeff"), _remove_byte_order_marks),
    (kinds.ENTITY, re.compile("&"), unescape),
    (kinds.INVISIBLE, _INVISIBLE_SIGN, remove_invisible),
    (kinds.DIRECTION, _DIRECTION_SIGN, remove_direction_marks),
    # After it, since an invisible character may stand between a letter and its accent.
    (kinds.UNICODE_FORM, _BEYOND_LATIN, functools.partial(unicodedata.normalize, "NFC")),
    # After it, since its sign is one of text in NFC. The repair depends on the side.
    (kinds.MARK, MARK_SIGN, str),
    # After NFC, since only letters that the side also has in NFC are repaired.
    (kinds.ESCAPE, TILDE_SIGN, str),
    # After these, because these marks and accents stand between letters of one word.
    (kinds.LOOK_ALIKE, MIXED_SIGN, replace_look_alikes),
    (kinds.SUBWORD_MARK, re.compile(SPACE_MARK), _join_pieces),
    (kinds.SUBWORD_MARK, re.compile("@@|@-@"), _join_subwords),
)
