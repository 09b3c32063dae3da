"""The tags, texts and comments of HTML, in linear time; all of them together are the source.

`html.parser` of Python before 3.11.14 needs quadratic time for unclosed comments and tags.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt_cli.data.markup.messages import find_messages

# Elements whose content has no tags.
RAW_TEXT = frozenset(
    ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
)
_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")
# A tag whose attributes may have `>` between quotes, and one with single quotes that never end.
_QUOTED_TAG = re.compile(r"""<[A-Za-z](?:[^>"']|"[^"]*"|'[^']*')*+>""")
_PLAIN_TAG = re.compile(r"<[A-Za-z][^<>]*+>")
_END_TAG = re.compile(r"</[A-Za-z][^<>]*+>")


class Event(NamedTuple):
    """A part of the source.

    kind: start, empty, end, text, other, or `message` (of ICU, with elements within it); name: of
    the tag.
    """

    kind: str
    name: str
    raw: str
    begin: int


def find_events(text: str) -> list[Event]:
    """The events of a text, neighbouring texts joined.

    >>> [(event.kind, event.raw) for event in find_events("<p>a < b<br/><!-- c")]
    [('start', '<p>'), ('text', 'a < b'), ('empty', '<br/>'), ('other', '<!-- c')]
    """
    events: list[Event] = []
    for kind, begin, end in _Scanner(text).run():
        raw = text[begin:end]
        if kind == "text" and events and events[-1].kind == "text":
            last = events.pop()
            events.append(last._replace(raw=last.raw + raw))
            continue
        match = _NAME.match(raw) if kind in ("start", "empty", "end") else None
        events.append(Event(kind, match[1].lower() if match else "", raw, begin))
    return events


def with_messages(events: list[Event], text: str) -> list[Event]:
    """The events of a text, where each message of ICU is one, with the elements within it.

    >>> text = "{n, plural, one {<b>a</b> dog} other {dogs}} <i>sleep"
    >>> [(event.kind, event.raw) for event in with_messages(find_events(text), text)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('message', '{n, plural, one {<b>a</b> dog} other {dogs}}'), ('text', ' '), ('start', '<i>'),
     ('text', 'sleep')]
    """
    # Braces in tags and comments are none of the text.
    words = "".join(event.raw if event.kind == "text" else " " * len(event.raw) for event in events)
    messages = list(find_messages(words, choices_only=True))
    if not messages:
        return events
    starts = [event.begin for event in events]
    result: list[Event] = []
    at = 0
    for begin, end in messages:
        result += _cut(events, starts, at, begin)
        result.append(Event("message", "", text[begin:end], begin))
        at = end
    return [*result, *_cut(events, starts, at, len(text))]


def _cut(events: Sequence[Event], starts: Sequence[int], begin: int, end: int) -> Iterator[Event]:
    """The events of the characters `begin` to `end`, which begin and end within texts."""
    for event in events[bisect_right(starts, begin) - 1 : bisect_left(starts, end)]:
        first, last = max(begin - event.begin, 0), end - event.begin
        if event.raw[first:last]:
            yield event._replace(raw=event.raw[first:last], begin=event.begin + first)


class _Scanner:
    """Finds where events begin and end; what never ends is searched for only once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._has_open_quote = self._has_open_section = False

    def run(self) -> Iterator[tuple[str, int, int]]:
        """Each event as (kind, begin, end)."""
        text, position = self._text, 0
        while position < len(text):
            begin = text.find("<", position)
            if begin != position:
                end = len(text) if begin < 0 else begin
                yield "text", position, end
                position = end
                continue
            kind, end = self._mark(begin)
            yield kind, begin, end
            position = end
            if kind == "start":
                match = _NAME.match(text, begin)
                name = match[1].lower() if match else ""
                if name in RAW_TEXT:
                    closing = re.compile(f"</{name}", re.IGNORECASE).search(text, position)
                    end = closing.start() if closing else len(text)
                    if end > position:
                        yield "text", position, end
                    position = end

    def _mark(self, begin: int) -> tuple[str, int]:
        """The kind and the end of what begins with `<`."""
        text = self._text
        if text.startswith("<!--", begin):
            return "other", self._end(text.find("-->", begin + 4), 3)
        if text.startswith("<![CDATA[", begin) and not self._has_open_section:
            end = text.find("]]>", begin)
            if end >= 0:
                return "other", end + 3
            self._has_open_section = True
        if text.startswith(("<!", "<?"), begin):
            return "other", self._end(text.find(">", begin), 1)
        if match := _END_TAG.match(text, begin):
            return "end", match.end()
        tag = None if self._has_open_quote else _QUOTED_TAG.match(text, begin)
        if tag is None and text[begin + 1 : begin + 2].isalpha():
            self._has_open_quote = True
            tag = _PLAIN_TAG.match(text, begin)
        if tag is None:
            return "text", begin + 1
        return "empty" if tag[0].endswith("/>") else "start", tag.end()

    def _end(self, at: int, length: int) -> int:
        return len(self._text) if at < 0 else at + length
