"""Repairs of a text that lose nothing true: entities, byte order marks, tags, wrong encodings.

Each repair looks for its sign in many lines at once, and at single lines only where there is one.
"""

import re
from collections.abc import Callable, Sequence
from html import entities
from html import unescape as unescape_entity

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.signs import joined_lines, lines_with

# Text that was escaped twice or three times is found in crawled corpora, more often hardly.
MOST_ESCAPES = 3
_NAMED = "|".join(sorted((name[:-1] for name in entities.html5 if name.endswith(";")), key=len,
                         reverse=True))  # fmt: skip
_ENTITY = re.compile(rf"&(?:#\d{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|{_NAMED});")
# Tokenisers put spaces into entities.
_TORN_ENTITY = re.compile(r"& ?(amp|quot|lt|gt|apos|nbsp|# ?\d{1,7}) ?;")
# A soft hyphen, a word joiner; a zero-width space, but where scripts mark their words with it.
_INVISIBLE = re.compile("[\u00ad\u2060]|(?<![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b")
_INVISIBLE_SIGN = re.compile("[\u00ad\u2060\u200b]")
_SUBWORD_MARK = re.compile(r"(?<=\w)@@(?: |$)|(?<=\w) @-@ (?=\w)")
_TAG_NAMES = (
    "a|abbr|b|big|blockquote|body|bpt|br|caption|center|cite|code|dd|div|dl|dt|em|ept|font|h[1-6]|"
    "head|hr|html|i|img|input|label|li|link|meta|nobr|ol|option|p|ph|pre|script|seg|select|small|"
    "span|strike|strong|style|sub|sup|table|tbody|td|textarea|th|thead|title|tr|tt|u|ul"
)
_TAG = re.compile(
    rf"<(/?)({_TAG_NAMES})(?:\s[^<>]{{0,400}})?\s*/?>|<!--.{{0,400}}?-->", re.IGNORECASE
)
# Tags that stand within words or between them without a space.
_INLINE = re.compile(
    "a|abbr|b|big|bpt|cite|code|em|ept|font|i|ph|small|span|strike|strong|sub|sup|tt|u",
    re.IGNORECASE,
)


def repair_sides(src: list[str], tgt: list[str], counts: "Repaired") -> tuple[list[str], list[str]]:
    """The repaired lines of both sides; what was done goes into `counts`."""
    src, tgt = (_repair_side(lines, counts) for lines in (src, tgt))
    signs = {number for side in (src, tgt) for number in lines_with(_TAG, joined_lines(side), side)}
    for number in sorted(signs):
        pair = _without_tags(src[number], tgt[number])
        if pair != (src[number], tgt[number]):
            src[number], tgt[number] = pair
            counts.add(kinds.TAG, number)
    return src, tgt


class Repaired:
    """Which lines were repaired, by kind; a pair counts once."""

    def __init__(self) -> None:
        """Nothing was repaired yet."""
        self.lines: dict[int, set[int]] = {}

    def add(self, kind: int, number: int) -> None:
        """Take down one more."""
        self.lines.setdefault(kind, set()).add(number)


def _repair_side(lines: Sequence[str], counts: Repaired) -> list[str]:
    repaired = list(lines)
    text = joined_lines(repaired)
    for kind, sign, repair in _REPAIRS:
        changed = False
        for number in lines_with(sign, text, repaired):
            if (new := repair(repaired[number])) != repaired[number]:
                repaired[number] = new
                changed = True
                counts.add(kind, number)
        if changed:
            text = joined_lines(repaired)
    return repaired


def unescape(text: str) -> str:
    """`text` with its HTML entities as the characters that they stand for.

    >>> unescape("Tom &amp;amp; Jerry&#39;s AT&T"), unescape("a & quot ; b & c;")
    ("Tom & Jerry's AT&T", 'a " b & c;')
    """
    for _ in range(MOST_ESCAPES):
        new = _TORN_ENTITY.sub(lambda match: f"&{match[1].replace(' ', '')};", text)
        new = _ENTITY.sub(lambda match: unescape_entity(match[0]), new)
        if new == text:
            break
        text = new
    return text


def _without_tags(src: str, tgt: str) -> tuple[str, str]:
    """Both sides without tags, unless they carry the same ones: those are part of the text."""
    tags = [sorted(match[0].lower() for match in _TAG.finditer(side)) for side in (src, tgt)]
    return (src, tgt) if tags[0] == tags[1] else (strip_tags(src), strip_tags(tgt))


def strip_tags(text: str) -> str:
    """`text` without HTML tags and comments.

    >>> strip_tags("a <b>bold</b>er<br/>claim, 1 < 2"), strip_tags("<a@b.org> wrote:")
    ('a bolder claim, 1 < 2', '<a@b.org> wrote:')
    """
    new = _TAG.sub(lambda match: "" if _INLINE.fullmatch(match[2] or "") else " ", text)
    return " ".join(new.split()) if new != text else text


# -- UTF-8 that somebody decoded as Latin-1 or Windows-1252 ----------------------------------------

_BYTE_OF = {
    **{chr(one): one for one in range(0x80, 0x100)},
    **{
        bytes([one]).decode("cp1252"): one
        for one in range(0x80, 0xA0)
        if one not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
    },
}
_FOLLOWS = "[" + re.escape("".join(one for one, byte in _BYTE_OF.items() if byte < 0xC0)) + "]"
_C1 = "[" + re.escape("".join(one for one, byte in _BYTE_OF.items() if byte < 0xA0)) + "]"
_MOJIBAKE_SIGN = re.compile(f"[Â-ô]{_FOLLOWS}")
_MOJIBAKE = re.compile(
    # Latin letters and signs: one is enough, unless it may end a word in capitals (IRMÃ»).
    rf"(?:(?<![A-ZÀ-Þ])[ÂÃ]{_FOLLOWS}|[ÂÃ]{_FOLLOWS}(?=[A-Za-z]))+"
    # So it is for punctuation, a byte order mark and emoji.
    rf"|â{_C1}{_FOLLOWS}|ï»¿|ð[\u0178\x9f]{_FOLLOWS}{{2}}"
    # Other letters are believed in a row: one alone may be French (qualité »).
    rf"|(?:[Â-ß]{_FOLLOWS}){{2,}}|(?:[à-ï]{_FOLLOWS}{{2}}){{2,}}"
)


def undo_mojibake(text: str) -> str:
    """`text` with UTF-8 that was decoded as Latin-1 or Windows-1252 put right.

    >>> undo_mojibake("fÃ¼r 10 â‚¬"), undo_mojibake("« À Noël », IRMÃ»")
    ('für 10 €', '« À Noël », IRMÃ»')
    """
    for _ in range(2):
        new = _MOJIBAKE.sub(_decoded, text)
        if new == text:
            break
        text = new
    return text


def _decoded(match: re.Match[str]) -> str:
    try:
        return bytes(_BYTE_OF[one] for one in match.group()).decode("utf-8")
    except UnicodeDecodeError:
        return match.group()


def _join_subwords(text: str) -> str:
    return _SUBWORD_MARK.sub(lambda match: "-" if "-" in match.group() else "", text)


def _without_marks(text: str) -> str:
    return text.replace("\ufeff", "")


def _without_invisible(text: str) -> str:
    return _INVISIBLE.sub("", text)


# Kind, the sign of a line that may need the repair, the repair.
_REPAIRS: tuple[tuple[int, re.Pattern[str], Callable[[str], str]], ...] = (
    (kinds.MOJIBAKE, _MOJIBAKE_SIGN, undo_mojibake),
    (kinds.BYTE_ORDER_MARK, re.compile("\ufeff"), _without_marks),
    (kinds.ENTITY, re.compile("&"), unescape),
    (kinds.INVISIBLE, _INVISIBLE_SIGN, _without_invisible),
    (kinds.SUBWORD_MARK, re.compile("@@|@-@"), _join_subwords),
)
