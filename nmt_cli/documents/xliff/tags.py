"""Tags of XML as they are written, and the encoding that a file declares."""

import codecs
import re
from collections.abc import Mapping
from html import escape, unescape

_DECLARATION = re.compile(rb"\A<\?xml\s[^>]*?\sencoding\s*=\s*[\"']([\w.:-]+)[\"']")
_ATTRIBUTE = re.compile(r"\s([^\s=\"'<>/]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_END = re.compile(r"\s*/?>\Z")


def declaration_in(data: bytes) -> re.Match[bytes] | None:
    """Where a file declares its encoding, with its name as first group."""
    return _DECLARATION.match(data)


def declared_encoding(data: bytes) -> str:
    """The encoding that the declaration of XML names; UTF-8 if it names none that is known.

    >>> declared_encoding(b"<?xml version='1.0' encoding='ISO-8859-2'?><xliff/>")
    'iso8859-2'
    """
    match = declaration_in(data)
    if match is None:
        return "utf-8"
    try:
        encoding = codecs.lookup(match[1].decode("ascii")).name
        "a".encode(encoding)
    except (LookupError, UnicodeError):
        return "utf-8"
    # Where the declaration can be read as bytes, the file is in no encoding of two bytes.
    return "utf-8" if encoding.startswith(("utf-16", "utf-32")) else encoding


def inherited(tag: str) -> dict[str, str]:
    """The attributes of a tag that its content depends on: namespaces, and how space is read.

    >>> inherited("<source id='1' xmlns:m='urn:m' xml:space='preserve'>")
    {'xmlns:m': 'urn:m', 'xml:space': 'preserve'}
    """
    return {
        match[1]: unescape(match[2][1:-1])
        for match in _ATTRIBUTE.finditer(tag)
        if match[1] in ("xmlns", "xml:space") or match[1].startswith("xmlns:")
    }


def with_attributes(tag: str, attributes: Mapping[str, str]) -> str:
    """A tag in which attributes have these values; those that it lacks come last.

    >>> with_attributes("<target id='1' state='new'/>", {"state": "final", "lang": "de"})
    '<target id=\\'1\\' state="final" lang="de"/>'
    """
    for name, value in attributes.items():
        quoted = f'"{escape(value)}"'
        attribute = next((match for match in _ATTRIBUTE.finditer(tag) if match[1] == name), None)
        if attribute:
            tag = tag[: attribute.start(2)] + quoted + tag[attribute.end(2) :]
            continue
        end = _END.search(tag)
        at = end.start() if end else len(tag)
        tag = f"{tag[:at]} {name}={quoted}{tag[at:]}"
    return tag
