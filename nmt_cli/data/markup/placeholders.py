"""Finds placeholders in a line: `{x}`, `${x}`, `%s`, and addresses."""

import re
from collections.abc import Iterator

from nmt_cli.data.markup.html_tags import Mark
from nmt_cli.data.markup.marked_text import Placeholder, Tag
from nmt_cli.data.markup.messages import find_messages

_ADDRESS = re.compile(
    # Markdown's and e-mails' <https://example.org>, <someone@example.org>
    r"<(?:(?:https?|ftp)://[^\s<>]+|mailto:[^\s<>]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)>"
    r"|(?<![\w@])(?:(?i:https?|ftps?|sftp|file|ssh|git)://|(?i:mailto|tel):(?=[\w+])"
    r"|(?i:www)\.(?=\w))[^\s<>\"“”«»\ufffc]+"
    r"|(?<![\w.+@-])[\w+-]+(?:\.[\w+-]+)*@\w[\w-]*(?:\.[\w-]+)+"
    # A domain with a path; a small letter and no space behind a full stop are rare without one.
    r"|(?<![\w.@/:~-])(?:[a-z\d][a-z\d-]*+\.)++[a-z]{2,}+(?::\d+)?/(?=[\w~?#])"
    r"[^\s<>\"“”«»\ufffc]+"
)
_TRAILING = ".,;:!?'’*_~|"
_CLOSERS = {")": "(", "]": "[", "}": "{"}
# What follows `%` in a format of printf, and in its number: `%-5.2f`, `%2$-5.2f`, `%.*s`. Pointers
# of bfd and Linux have a capital letter, `%pB`; `3 %p.a.` is a rate.
_LENGTH = r"(?:hh?|ll?|[qLzjt])?"
CONVERSION = (
    rf"[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?{_LENGTH}"
    r"(?:[diouxXeEfgGcsr@]|p[A-Z]?(?!\.a\b))"
)
# Units right behind a format, which stay with it: `%dkg`, `%.1fMB`. `%d` and `%s` with one of them
# begin no word, other than `%de` and `%im`, before which a space is missing.
_UNIT = r"(?:(?:[kKMGT]i?)?B|[kcm]m|[km]?g|[kMG]?Hz|px|dpi|fps|ms|[smhd])(?![A-Za-z0-9])"
# A per cent sign behind a format, which stays with its number.
_PER_CENT = r"(?:[ \u00a0]?%%)?"
# The same behind a value in braces; in `{n}%{m}`, `%` is the beginning of another one.
_SIGN = r"(?:[ \u00a0\u202f]?%(?![\w%({]))?"
# The specification of a value in braces: `{!r:>10}`.
_SPECIFICATION = r"(?:![rsa])?(?::[^\s{}]*)?"
NAMED = re.compile(
    # {{ name }}, {{ price, number }}, ${name}, #{name}, {name}, {0}, {name:.2f}, {user.name}, {}
    # with the per cent sign behind it: {ratio} %
    rf"\{{\{{\{{?[^{{}}]{{0,200}}\}}?\}}\}}{_SIGN}"
    rf"|[$#%]?\{{[\w.\-]*(?:\[[\w.]*\])*{_SPECIFICATION}\}}{_SIGN}"
    # %name%, %5.2f
    r"|(?<![%\w])%[A-Za-z_]\w*%(?![%\w])"
    rf"|(?<![\d%])%{CONVERSION}{_PER_CENT}(?![A-Za-z0-9])"
    # What looks like no text may be followed by a word: %(name)s, %1$s, %.2f, %dkg, %dx%d.
    rf"|(?<![\d%])%(?:\(\w+\)|\d+\$){CONVERSION}(?:{_PER_CENT}(?![A-Za-z0-9])|{_UNIT}|)"
    rf"|(?<![\d%])%[-+#0]*\d*\.\d+{_LENGTH}[diouxXeEfgGs](?:{_UNIT}|)"
    rf"|(?<![\d%])(?<!\d[ \u00a0])%0?\d*(?:ll?|z)?[ds](?:{_UNIT}|(?=x%))"
    # The text of the last error; it takes no value.
    r"|(?<![\d%])%m(?![A-Za-z0-9])"
    # %1 and %n of Qt, <%= name %>
    r"|(?<![\w%])%(?:n|L?\d{1,2})(?![\w%])"
    r"|<%[^<>]{1,200}?%>"
    # A per cent sign of a format: 100%%
    r"|(?:(?<!\w)\d+(?:[.,]\d+)*)?%%(?!\w)"
    # Gaps to fill in: ____
    r"|(?<!\w)_{3,}(?!\w)"
)
_UNNUMBERED = re.compile(rf"%{CONVERSION}(?:{_PER_CENT}|{_UNIT})|\{{{_SPECIFICATION}\}}{_SIGN}")
# An element of XLIFF that stands for such a one: <ph id="1">%s</ph>, <x id="1" equiv-text="%s"/>
_ELEMENT = re.compile(
    r"<(?:ph|x)\s(?:[^<>]*\s(?:equiv-text|disp)=\"(?P<shown>[^\"<>]*)\"[^<>]*|[^<>]*)"
    r"(?:/>|>(?P<code>[^<>]*)</ph>)"
)
# What users of programs write as it is. In doubt it is text: `--Of an output of 40 MW` is an item
# of a list, `word --and so on-- word` has dashes, `$x$` is a formula, and `$US` a currency.
_TYPED = re.compile(
    # --verbose, --output=file.txt
    r"(?<![^\s\"'“”‘’«»„(\[{|/])--[a-z]\w*+(?:-[a-z\d]\w*+)*+(?:=[\w./:@%+~-]*\w)?"
    # The words of `--verbose-Option` are joined by the last hyphen.
    r"(?!\w|-(?![^\W\d_a-z]))"
    r"(?![^-]*+(?<=[\w.,!?])--(?!\w))"
    # $name and $HOME
    r"|(?<![\w$\\])\$(?:[a-z_]\w++|[A-Z][A-Z\d_]{3,}+\b)(?!\$)"
    # v2.4.1, v2.4.x, v3.0.0-rc.1
    r"|(?<![\w.])v\d++(?:\.(?:\d++|x\b))++(?:-(?:alpha|beta|dev|pre|preview|rc)[.\d]*\b)?(?!\w)"
)
# A line break or tab as strings of programs write it. `C:\new`, `.\test` and `a\red` are paths.
_ESCAPES = re.compile(r"(?<!\\)(?<!\b[A-Za-z]:)(?:\\[ntr])++(?![_{]|\\\w)")


def find_addresses(line: str) -> Iterator[Mark]:
    """URLs and e-mail addresses, without the punctuation that follows them."""
    for match in _ADDRESS.finditer(line):
        raw = match[0]
        if not raw.startswith("<"):
            raw = _without_punctuation(raw)
        yield Mark(match.start(), match.start() + len(raw), Placeholder(raw))


def _without_punctuation(address: str) -> str:
    """The address without marks of its sentence: `(see https://x.org/a_(b)).`"""
    while address:
        last = address[-1]
        is_closed = address.count(_CLOSERS.get(last, last)) >= address.count(last)
        if last in _TRAILING or not is_closed:
            address = address[:-1]
        else:
            break
    return address


def find_tagged_messages(line: str) -> Iterator[Mark]:
    """Messages of ICU with tags within them, which are no tags of the line."""
    return (mark for mark in _messages(line) if "<" in line[mark.begin : mark.end])


def _messages(line: str) -> Iterator[Mark]:
    for begin, end in find_messages(line):
        yield Mark(begin, end, Placeholder(line[begin:end]))


def find_placeholders(line: str) -> Iterator[Mark]:
    """Names and formats that a program fills in; messages of ICU are kept as a whole."""
    yield from _messages(line)
    for match in NAMED.finditer(line):
        yield Mark(match.start(), match.end(), Placeholder(match[0]))


def without_per_cent(placeholder: str) -> str:
    """A value in braces without the per cent sign behind it, which may be a word elsewhere.

    >>> without_per_cent("{ratio} %"), without_per_cent("%name%")
    ('{ratio}', '%name%')
    """
    return re.sub(rf"(?<=\}}){_SIGN}\Z", "", placeholder)


def takes_next_value(placeholder: str) -> bool:
    """Whether a program fills in the next of its values there: it has neither name nor number.

    >>> [takes_next_value(raw) for raw in ("%s", "%-5.2f", "%*d", "%d %%", "%dkg", "{}", "{:>5}%")]
    [True, True, True, True, True, True, True]
    >>> [takes_next_value(raw) for raw in ("%1$s", "%(name)s", "%%", "%m", "{0}", "{name}", "%1")]
    [False, False, False, False, False, False, False]
    """
    element = _ELEMENT.fullmatch(placeholder)
    if element:
        placeholder = element["shown"] or element["code"] or ""
    return _UNNUMBERED.fullmatch(placeholder) is not None


def find_typed(line: str) -> Iterator[Mark]:
    """Options of commands, variables of shells, and versions."""
    for match in _TYPED.finditer(line):
        yield Mark(match.start(), match.end(), Placeholder(match[0]))


def find_escapes(line: str) -> Iterator[Mark]:
    r"""Line breaks and tabs that are written as `\n`, `\r` and `\t`; they separate words."""
    for match in _ESCAPES.finditer(line):
        if not line[match.end() : match.end() + 1].islower():
            yield Mark(match.start(), match.end(), Tag(match[0], "empty", "hard"))
