"""Finds the tags, comments and entities of HTML and XML in a line, without changing a byte."""

import html
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt_cli.data.markup.marked_text import MarkedPiece, Placeholder, Tag

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
     "track", "wbr")
)  # fmt: skip
# Elements whose content is not translated.
UNTRANSLATED = frozenset(("script", "style", "code", "pre"))
# Attributes that have no value; with any other one, `a <b and c> d` is no tag.
_FLAGS = (
    "allowfullscreen|async|autofocus|autoplay|checked|controls|default|defer|disabled|download|"
    "hidden|inert|ismap|itemscope|loop|multiple|muted|nomodule|noshade|novalidate|nowrap|open|"
    "playsinline|readonly|required|reversed|selected"
)
_TAG = re.compile(
    # An unclosed mark extends to the end of the line, so that it is scanned once.
    r"(?P<other><!--(?:(?!-->).)*+(?:-->|$)|<!\[CDATA\[(?:(?!\]\]>).)*+(?:\]\]>|$)"
    r"|<\?[A-Za-z](?:(?!\?>).)*+(?:\?>|$))|<!(?i:doctype)\b[^<>]*+>"
    # <0> and </0> are of react-i18next; `1<2>0` has no tag.
    r"|<(?P<close>/)?(?P<name>[A-Za-z][\w:.-]*+|(?<!\d<)(?<!\d</)\d{1,2}(?=\s*/?>))"
    r"(?P<attributes>(?:\s++(?:[A-Za-z_:@#*(\[][^\s\"'<>/=]*+\s*+=\s*+"
    r"(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\s\"'=<>`]++)"
    rf"|(?i:{_FLAGS})(?=[\s/>])))*+)\s*+/?>",
    re.DOTALL,
)
_NOT_TRANSLATED = re.compile(
    r"\s(?:translate\s*=\s*[\"']?no[\"']?(?=[\s/]|$)|class\s*=\s*[\"'][^\"']*\bnotranslate\b)",
    re.IGNORECASE,
)
_RAW_END = re.compile(r"</(?:script|style)\s*>", re.IGNORECASE)
ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class Mark(NamedTuple):
    """A tag or placeholder at the characters `begin` to `end` of a line."""

    begin: int
    end: int
    piece: MarkedPiece


def find_tags(line: str) -> Iterator[Mark]:
    """The tags of a line; an element that is not translated is one placeholder."""
    matches = [match for match in _TAG.finditer(line) if match[0].endswith(">")]
    ends = _ends_of_elements(matches)
    raw_ends = [match.end() for match in _RAW_END.finditer(line)]
    skip_to = 0
    for match in matches:
        if match.start() < skip_to:
            continue
        end = match.end()
        if _is_untranslated(match):
            end = ends.get(match.start(), end)
            if match["name"].lower() in ("script", "style"):
                # Their content may look like a tag that extends beyond their end.
                index = bisect_left(raw_ends, match.end())
                end = raw_ends[index] if index < len(raw_ends) else end
        raw = line[match.start() : end]
        skip_to = end
        if end > match.end() or raw.startswith("<![CDATA["):
            yield Mark(match.start(), end, Placeholder(raw))
        else:
            yield Mark(match.start(), end, _tag(match))


def _ends_of_elements(matches: Sequence[re.Match[str]]) -> dict[int, int]:
    """Where each element begins, and where it ends."""
    ends = {}
    opened: dict[str, list[int]] = {}
    for match in matches:
        tag = _tag(match)
        if tag.kind == "open":
            opened.setdefault(tag.name, []).append(match.start())
        elif tag.kind == "close" and opened.get(tag.name):
            ends[opened[tag.name].pop()] = match.end()
    return ends


def _tag(match: re.Match[str]) -> Tag:
    name = (match["name"] or "").lower()
    # `<x id=1/>`: the slash is no part of the value.
    if not name or name in VOID or match[0].endswith("/>"):
        return Tag(match[0], "empty", name)
    return Tag(match[0], "close" if match["close"] else "open", name)


def _is_untranslated(match: re.Match[str]) -> bool:
    if match["name"] is None or match["close"] or _tag(match).kind == "empty":
        return False
    name = match["name"].lower()
    return name in UNTRANSLATED or bool(_NOT_TRANSLATED.search(match["attributes"]))


def keeps_its_text(tag: str) -> bool:
    """Whether the text between such a tag of HTML and its end is not translated.

    >>> keeps_its_text('<span translate="no">'), keeps_its_text("<span>"), keeps_its_text("a")
    (True, False, False)
    """
    match = _TAG.fullmatch(tag)
    return match is not None and _is_untranslated(match)


class Resolved(NamedTuple):
    """A text without entities, and where in the text with entities each character begins.

    places: one more than characters; the last one is the end of the text.
    """

    text: str
    places: Sequence[int]


def resolved(text: str) -> Resolved:
    """What `unescaped` returns, with the places of its characters.

    >>> resolved("a&nbsp;b")
    Resolved(text='a b', places=[0, 1, 7, 8])
    """
    parts: list[str] = []
    places: list[int] = []
    end = 0
    for match in ENTITY.finditer(text) if "&" in text else ():
        character = unescaped(match[0])
        parts += [text[end : match.start()], character]
        places += [*range(end, match.start()), *[match.start()] * len(character)]
        end = match.end()
    if not end:
        return Resolved(text, range(len(text) + 1))
    return Resolved("".join([*parts, text[end:]]), [*places, *range(end, len(text) + 1)])


def unescaped(text: str) -> str:
    """Text with its entities resolved; a space that may not break is a plain one.

    >>> unescaped("Tom &amp; Ann&nbsp;&#33; &unknown; AT&T")
    'Tom & Ann ! &unknown; AT&T'
    """

    def character(match: re.Match[str]) -> str:
        found = html.unescape(match[0])
        return " " if found.isspace() else found

    return ENTITY.sub(character, text)


def escaped(text: str) -> str:
    """Text as HTML writes it."""
    return html.escape(text, quote=False)
