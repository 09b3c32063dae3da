"""Plain text: each line is a segment.

Empty lines, indentation, marks of list items, tabs and line endings are kept. What stands before
and behind a tab are two segments.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from nmt_cli.data.markup.inline import parse_line, written_line
from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.data.markup.messages import find_messages
from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.encoding import BYTE_ORDER_MARK, decode, encode
from nmt_cli.documents.list_marks import ITEM
from nmt_cli.documents.template import Template

_TABS = re.compile("(\t+)")
_LINE_END = re.compile("[\r\n]")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


def lines_of(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a text, each with its ending; all of them together are the text.

    >>> list(lines_of("a\\r\\n\\nb"))
    [('a', '\\r\\n'), ('', '\\n'), ('b', '')]
    """
    position = 0
    while position < len(text):
        match = _LINE.match(text, position)
        assert match is not None
        yield match[1], match[2]
        position = match.end()


def add_lines(
    template: Template,
    text: str,
    place: str,
    parse: Callable[[str], MarkedText] = parse_line,
) -> None:
    """Add a text, each line of which is a segment; parse: finds the pieces of a line.

    Marks of list items and tabs are kept, and what stands before and behind a tab are two segments.
    A text with a message of ICU of several lines is kept: these lines are no texts.
    """
    choices = [text[begin:end] for begin, end in find_messages(text, choices_only=True)]
    if any(_LINE_END.search(choice) for choice in choices):
        template.keep(text)
        template.messages.append(place)
        return
    count = len(template.messages)
    for line, ending in lines_of(text):
        _add_line(template, line, place, parse)
        template.keep(ending)
    del template.messages[count + 1 :]


def _add_line(
    template: Template, line: str, place: str, parse: Callable[[str], MarkedText] = parse_line
) -> None:
    for cell in _TABS.split(_without_item(template, line)):
        if _TABS.fullmatch(cell):
            template.keep(cell)
        else:
            pieces = parse(cell)
            template.add_sentences(pieces, place, writer_like(pieces))


def _without_item(template: Template, line: str) -> str:
    """A line without the mark of a list item at its beginning, which the template keeps."""
    item = ITEM.match(line)
    if item:
        template.keep(item[0])
    return line[item.end() :] if item else line


def writer_like(source: MarkedText) -> Callable[[MarkedText], str]:
    """What writes a translation as a line; it has entities if `source` has them."""
    return partial(written_line, source=source)


class TextDocument:
    """A text file. Lines of a paragraph that is wrapped by hand are not joined."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        self._name = options.name
        text, self._encoding = decode(data, options.name)
        self._template = Template()
        if text.startswith(BYTE_ORDER_MARK):
            self._template.keep(BYTE_ORDER_MARK)
            text = text[1:]
        for number, (line, ending) in enumerate(lines_of(text), 1):
            _add_line(self._template, line, f"line {number}")
            self._template.keep(ending)
        self.segments, self.places = self._template.segments, self._template.places

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The text with a translation for each segment."""
        return encode(self._template.fill(translated), self._encoding, self._name)
