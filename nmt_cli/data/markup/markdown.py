"""Finds the marks of Markdown within a line: code, links and images, emphasis.

In doubt a mark is text: `5 * 3 * 2`, `snake_case`, `__init__` and `*.txt` have none.
"""

import re
from collections.abc import Iterator

from nmt_cli.data.languages.word_characters import CHARACTERS
from nmt_cli.data.markup.html_tags import Mark
from nmt_cli.data.markup.marked_text import Placeholder, Tag

# A span of emphasis or of code is at most so long, so that the time is linear.
LONGEST = 1_000
_CODE = re.compile(
    rf"(?<![`{CHARACTERS}])(?P<ticks>`{{1,3}})(?![\s`])[^`]{{1,1000}}(?<!\s)(?P=ticks)"
    rf"(?![`{CHARACTERS}])"
)
_LINK = re.compile(
    r"(?P<begin>!?\[)(?P<text>[^\[\]]{1,1000})"
    r"(?P<end>\]\((?:[^()\s]|\([^()\s]*\)){0,2000}?(?:\s+\"[^\"]*\")?\))"
)
# Brackets that are no link, which a link may have in its text.
_BRACKETS = re.compile(r"(?<!!)\[[^\[\]]{1,1000}\](?![(\[])")
_OPENED, _CLOSED = rf"(?<![{CHARACTERS}*_~\\])", rf"(?![{CHARACTERS}*_~])"
_EMPHASIS = re.compile(
    rf"{_OPENED}(?P<mark>\*{{1,3}}|~~|_)(?![\s*_~])(?P<text>.{{1,{LONGEST}}}?)(?<![\s*_~\\])"
    rf"(?P=mark){_CLOSED}"
    # `__init__` is no emphasis, but `__several words__` is.
    rf"|{_OPENED}(?P<strong>__)(?![\s_])(?P<words>[^\s_]{{1,100}}\s.{{1,{LONGEST}}}?)(?<![\s_])"
    rf"__{_CLOSED}"
)


def find_code(line: str) -> Iterator[Mark]:
    """Code between backticks, which is not translated."""
    for match in _CODE.finditer(line):
        yield Mark(match.start(), match.end(), Placeholder(match[0]))


def find_links(line: str) -> Iterator[Mark]:
    """Both ends of links and images, also of links around images: `[![alt](a.png)](page)`.

    >>> [mark.piece.raw for mark in find_links("[![a](b) c](d)")]
    ['![', '](b)', '[', '](d)']
    >>> [mark.piece.raw for mark in find_links("[the [court] name](x)")]
    ['[', '](x)']
    """
    outside = line
    for match in _LINK.finditer(line):
        yield from _ends_of(match)
        if match["begin"] == "![":
            outside = _without_brackets(outside, match)
    for match in _BRACKETS.finditer(outside):
        outside = _without_brackets(outside, match)
    if outside != line:
        for match in _LINK.finditer(outside):
            # Within a link, brackets of another one are none of its own.
            if line[match.start("text") : match.end("text")] != match["text"]:
                yield from _ends_of(match)


def _ends_of(match: re.Match[str]) -> Iterator[Mark]:
    yield Mark(*match.span("begin"), Tag(match["begin"], "open", "link"))
    yield Mark(*match.span("end"), Tag(match["end"], "close", "link"))


def _without_brackets(line: str, match: re.Match[str]) -> str:
    """The line with letters in the place of what was found."""
    return line[: match.start()] + "x" * (match.end() - match.start()) + line[match.end() :]


def find_emphasis(line: str) -> Iterator[Mark]:
    """Both ends of emphasis, which may be nested once."""
    for match in _EMPHASIS.finditer(line):
        mark, group = (match["mark"], "text") if match["mark"] else ("__", "words")
        begin, end = match.span(group)
        yield Mark(begin - len(mark), begin, Tag(mark, "open", mark))
        for inner in _EMPHASIS.finditer(line, begin, end):
            inner_mark = inner["mark"] or "__"
            span = inner.start(), inner.end()
            size = len(inner_mark)
            yield Mark(span[0], span[0] + size, Tag(inner_mark, "open", inner_mark))
            yield Mark(span[1] - size, span[1], Tag(inner_mark, "close", inner_mark))
        yield Mark(end, end + len(mark), Tag(mark, "close", mark))
