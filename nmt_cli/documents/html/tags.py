"""What the tags and attributes of HTML mean for a translation."""

import codecs
import re
from collections.abc import Sequence
from html import unescape
from typing import NamedTuple

from nmt_cli.data.markup.html_tags import UNTRANSLATED

# Elements within a sentence; all others end it.
INLINE = frozenset((
    "a", "abbr", "acronym", "audio", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn",
    "em", "font", "i", "img", "ins", "label", "mark", "meter", "nobr", "output", "picture",
    "progress", "q", "rb", "rp", "rt", "ruby", "s", "small", "source", "span", "strike",
    "strong", "sub", "sup", "time", "track", "u", "video", "wbr",
))  # fmt: skip
# Elements that end a sentence, as all but inline ones do; those that stand in Markdown.
BLOCK = frozenset((
    "address", "article", "aside", "blockquote", "br", "caption", "center", "dd", "details", "div",
    "dl", "dt", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "li", "main", "nav", "ol", "p", "section", "summary", "table", "tbody", "td",
    "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
# Elements that are words of a sentence and not translated.
INLINE_KEPT = frozenset(["code", "kbd", "samp", "tt", "var"])
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
# Elements whose content is kept.
KEPT = (UNTRANSLATED - INLINE_KEPT) | frozenset(
    ["iframe", "listing", "math", "svg", "textarea", "xmp"]
)
_TRANSLATED = frozenset(["alt", "aria-description", "aria-label", "placeholder", "title"])
_META = frozenset(
    f"{prefix}{name}" for prefix in ("", "og:", "twitter:") for name in ("description", "title")
)
_ATTRIBUTE = re.compile(
    r"[\s/]([^\s/>=\"'<]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+)))?"
)
_CHARSET = re.compile(
    rb"(?:\A\s*<\?xml[^>]*\sencoding|<meta[^>]+charset)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE
)
# Browsers look for the encoding in this many bytes.
DECLARED_IN = 1_024


class Attribute(NamedTuple):
    """An attribute of a tag. begin, end: where its value with its quotes stands in the tag."""

    name: str
    raw_value: str
    quote: str
    begin: int
    end: int

    @property
    def value(self) -> str:
        """The value without entities."""
        return unescape(self.raw_value)


def attributes_of(tag: str) -> list[Attribute]:
    """The attributes of a tag as it is written.

    >>> attributes = attributes_of("<a href='x' title=Home>")
    >>> [(attribute.name, attribute.value) for attribute in attributes]
    [('href', 'x'), ('title', 'Home')]
    """
    attributes = []
    for match in _ATTRIBUTE.finditer(tag):
        group = next((group for group in (2, 3, 4) if match[group] is not None), None)
        if group is None:
            continue
        quote = {2: '"', 3: "'", 4: ""}[group]
        begin, end = match.start(group) - len(quote), match.end(group) + len(quote)
        attributes.append(Attribute(match[1].lower(), match[group], quote, begin, end))
    return attributes


def is_excluded(attributes: Sequence[Attribute]) -> bool:
    """Whether the author says that an element is not to be translated."""
    return any(
        (attribute.name == "translate" and attribute.value.strip().lower() == "no")
        or (attribute.name == "class" and "notranslate" in attribute.value.split())
        for attribute in attributes
    )


def is_in_language(attributes: Sequence[Attribute], language: str) -> bool:
    """Whether the author says that an element is in this language, whatever the country.

    >>> is_in_language(attributes_of('<span lang="fr-CA">'), "fr")
    True
    """
    code = language.lower().partition("-")[0]
    return bool(code) and any(
        attribute.name in ("lang", "xml:lang")
        and attribute.value.strip().lower().partition("-")[0] == code
        for attribute in attributes
    )


def language_of(attributes: Sequence[Attribute]) -> Attribute | None:
    """The attribute that says the language of an element; None if none does.

    >>> language_of(attributes_of('<html xml:lang="en" lang="en-GB">')).value
    'en-GB'
    """
    by_name = {attribute.name: attribute for attribute in reversed(attributes)}
    return by_name.get("lang") or by_name.get("xml:lang")


def is_translated(tag: str, attribute: Attribute, attributes: Sequence[Attribute]) -> bool:
    """Whether the value of an attribute is text for readers."""
    if is_excluded(attributes):
        return False
    values = {other.name: other.value.strip().lower() for other in attributes}
    if tag == "meta":
        name = values.get("name") or values.get("property", "")
        return attribute.name == "content" and name in _META
    if tag == "input" and attribute.name == "value":
        return values.get("type") in ("button", "reset", "submit")
    if tag in ("optgroup", "option", "track") and attribute.name == "label":
        return True
    return attribute.name in _TRANSLATED


def declaration_in(data: bytes) -> re.Match[bytes] | None:
    """Where a page declares its encoding, with its name as first group."""
    return _CHARSET.search(data[:DECLARED_IN])


def declared_encoding(data: bytes) -> str:
    """The encoding that a page declares, as browsers read it; UTF-8 if it declares none.

    >>> declared_encoding(b"<meta charset='latin-1'>")
    'cp1252'
    >>> declared_encoding(b'<?xml version="1.0" encoding="koi8-r"?><html>')
    'koi8-r'
    """
    match = declaration_in(data)
    if match is None:
        return "utf-8"
    name = match[1].decode("ascii", "replace")
    try:
        encoding = codecs.lookup(name).name
        "a".encode(encoding)
    except (LookupError, UnicodeError):
        return "utf-8"
    if encoding.startswith("utf-16"):
        # The declaration itself could be read, so it is wrong.
        return "utf-8"
    return "cp1252" if encoding in ("iso8859-1", "ascii") else encoding
