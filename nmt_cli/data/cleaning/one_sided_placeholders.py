"""Finds pairs of which one side has placeholders or tags, and the other side lacks them."""

import re

from nmt_cli.data.markup.html_tags import find_tags
from nmt_cli.data.markup.messages import is_choice
from nmt_cli.data.markup.placeholders import find_placeholders, without_per_cent

# Lines without any of these have neither a placeholder nor a tag that counts.
PLACEHOLDER_SIGN = re.compile(r"\{|%[\w(.$#*+-]|<%|</|/>|<\w[^<>]*=")
# What programs write values in place of: %s, %-10d, %2$s. Its letter may be followed by text.
_FORMAT = re.compile(r"(?<![\d%])%(?:\d+\$)?[-+#0-9.*]*[A-Za-z@]")
# A per cent sign without a space behind it: `50 %Le`.
_PER_CENT = re.compile(r"\d[ \u00a0\u202f]?\Z")
# Gaps to fill in and dots may be written in another way, and a doubled per cent sign as a word;
# `%50` is fifty per cent in Turkish, and a list in braces is translated: {all,none}.
_NO_VALUE = re.compile(
    r"_+|[\d.,]*%%|%L?\d+|\{\.+\}|\{\s*\w+\s*,(?!\s*(?:number|date|time)\b)[^{}]*\}", re.IGNORECASE
)
_ARGUMENT = re.compile(r"\{\s*\w+\s*,")


def has_one_sided_placeholder(src: str, tgt: str) -> bool:
    """Return whether a side lacks a placeholder of the other side, or all of its formats or tags.

    Formats such as `%s` and `%2$s` may be in another order, and the texts of a message of ICU are
    translated. An opening tag without attributes may be the name of a value: `<file>`.

    >>> has_one_sided_placeholder("{name} is here", "ist da")
    True
    >>> has_one_sided_placeholder("%s of %d", "%2$d: %1$s"), has_one_sided_placeholder("%s", "a")
    (False, True)
    >>> has_one_sided_placeholder("see <file>", "a"), has_one_sided_placeholder("<x>a</x>", "a")
    (False, True)
    """
    return any(
        _lacks_placeholder(other, side) or ("<" not in other and _has_tag(side))
        for side, other in ((src, tgt), (tgt, src))
    )


def _has_tag(side: str) -> bool:
    tags = (side[mark.begin : mark.end] for mark in find_tags(side))
    return any(tag.startswith("</") or tag.endswith("/>") or "=" in tag for tag in tags)


def _lacks_placeholder(text: str, side: str) -> bool:
    """Return whether a text lacks a placeholder of the other side."""
    end = 0
    for mark in sorted(find_placeholders(side), key=lambda mark: mark.begin):
        is_within = mark.begin < end
        end = max(end, mark.end)
        if is_within or _PER_CENT.search(side, max(0, mark.begin - 2), mark.begin):
            continue
        if not _is_in(text, side[mark.begin : mark.end]):
            return True
    return False


def _is_in(text: str, placeholder: str) -> bool:
    """Return whether a text has a placeholder, in any form that its language may need."""
    if is_choice(placeholder) and (argument := _ARGUMENT.match(placeholder)):
        placeholder = argument[0]
    elif _NO_VALUE.fullmatch(placeholder):
        return True
    elif _FORMAT.match(placeholder):
        return _FORMAT.search(text) is not None
    return _without_spaces(without_per_cent(placeholder)) in _without_spaces(text)


def _without_spaces(text: str) -> str:
    return "".join(text.split())
