"""Finds messages of ICU: `{count, plural, one {# item} other {# items}}`; they are kept."""

import re
from collections.abc import Iterator

_BEGIN = re.compile(r"\{\s*\w+\s*,\s*\w+(?=\s*[,}])")
# With one of these types, no braces of other languages are meant.
_CHOICE = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
_BRACE = re.compile(r"[{}]")


def find_messages(text: str, *, choices_only: bool = False) -> Iterator[tuple[int, int]]:
    """Where each message begins and ends; those within others are left out.

    choices_only: messages of plural forms and the like, but no numbers or dates.

    >>> list(find_messages("On {day, date} {n, plural, other {all {n, number}}}"))
    [(3, 14), (15, 51)]
    """
    if "{" not in text or "," not in text:
        return
    ends: dict[int, int] | None = None
    skip_to = 0
    for match in (_CHOICE if choices_only else _BEGIN).finditer(text):
        ends = _ends_of_braces(text) if ends is None else ends
        end = ends.get(match.start())
        if match.start() >= skip_to and end:
            yield match.start(), end
            skip_to = end


def is_choice(raw: str) -> bool:
    """Whether a placeholder is a message that has texts for several cases."""
    return bool(_CHOICE.match(raw))


def _ends_of_braces(text: str) -> dict[int, int]:
    """Where each brace begins, and behind which character it is closed."""
    ends = {}
    opened: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            ends[opened.pop()] = match.end()
    return ends
