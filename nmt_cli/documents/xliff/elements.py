"""The units of an XLIFF file as elements, each with the bytes at which its tags stand."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from nmt_cli.errors import DataError

SPACE = "http://www.w3.org/XML/1998/namespace space"
# As many as common parsers of XML read.
MAX_DEPTH = 256
_TAG = re.compile(rb"<(?:[^>\"']|\"[^\"]*\"|'[^']*')*+>")
_PREFIX = re.compile(rb"<(?:([^\s/>:]+):)?")
_UNITS = {1: "trans-unit", 2: "unit"}


@dataclass(slots=True)
class XmlElement:
    """An element and where it stands.

    name: without a prefix if it is in the namespace of the root, else with its namespace. begin,
    end: its bytes; content, content_end: the bytes of what it contains. An empty tag (`<x/>`) has
    its content at its end. children: its elements; only those of units are kept.
    """

    name: str
    attributes: Mapping[str, str]
    line: int
    begin: int
    content: int
    content_end: int = 0
    end: int = 0
    children: list["XmlElement"] = field(default_factory=list)

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written as one tag."""
        return self.content == self.end

    def child(self, name: str) -> "XmlElement | None":
        """The first of its elements that has this name."""
        return next((child for child in self.children if child.name == name), None)


@dataclass(frozen=True, slots=True)
class Scope:
    """What holds within an element: whether it is translated, and whether white space is kept."""

    is_translated: bool = True
    keeps_space: bool = False

    def within(self, element: XmlElement) -> "Scope":
        """What holds within an element in this scope."""
        translate, space = element.attributes.get("translate"), element.attributes.get(SPACE)
        return Scope(
            translate == "yes" if translate in ("yes", "no") else self.is_translated,
            space == "preserve" if space in ("preserve", "default") else self.keeps_space,
        )


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit. parents: the elements around it, from the root; their ends are not known yet."""

    element: XmlElement
    scope: Scope
    parents: tuple[XmlElement, ...]


class UnitReader:
    """Reads the units of a file. version: 1 or 2, known when the first unit is."""

    def __init__(self, data: bytes, name: str) -> None:
        """data: the file in UTF-8; name: of the file, for messages."""
        self._data, self._name = data, name
        self._opened: list[tuple[XmlElement, Scope]] = []
        self._unit_depth = 0
        self._namespace = ""
        self.version = 1
        self._take: Callable[[Unit], None] = lambda _: None

    def read(self, take: Callable[[Unit], None]) -> None:
        """Call `take` for each unit; raises DataError if this is no XLIFF, or damaged."""
        self._take = take
        # A declared encoding counts no longer.
        parser = self._parser = expat.ParserCreate("utf-8", " ")
        parser.StartDoctypeDeclHandler = self._refuse_document_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        try:
            parser.Parse(self._data, True)
        except expat.ExpatError as error:
            raise DataError(
                f"`{self._name}`, line {error.lineno}: this is not well-formed XML: "
                f"{expat.ErrorString(error.code)}",
                "`xmllint` shows what is wrong with it",
            ) from error

    def _refuse_document_type(self, *_: object) -> NoReturn:
        raise self._refused("it declares a document type", "remove `<!DOCTYPE ...>` from it")

    def _refused(self, reason: str, hint: str) -> DataError:
        line = self._parser.CurrentLineNumber
        return DataError(f"`{self._name}`, line {line}, is refused: {reason}", hint)

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        namespace, _, name = qualified.rpartition(" ")
        if not self._opened:
            self._namespace = namespace
            self._check_root(name, attributes)
        if len(self._opened) >= MAX_DEPTH:
            raise self._refused(
                f"elements are nested more than {MAX_DEPTH} deep",
                "XLIFF needs no such depth: check the program that wrote it",
            )
        begin = self._parser.CurrentByteIndex
        tag = _TAG.match(self._data, begin)
        assert tag is not None
        element = XmlElement(
            name if namespace == self._namespace else qualified, attributes,
            self._parser.CurrentLineNumber, begin, tag.end(),
        )  # fmt: skip
        scope = self._opened[-1][1] if self._opened else Scope()
        if self._unit_depth:
            self._opened[-1][0].children.append(element)
        elif element.name == _UNITS[self.version]:
            self._unit_depth = len(self._opened) + 1
        self._opened.append((element, scope.within(element)))

    def _check_root(self, name: str, attributes: Mapping[str, str]) -> None:
        if name != "xliff":
            raise DataError(
                f"`{self._name}`, line {self._parser.CurrentLineNumber}: the document is "
                f"`<{name}>`, not `<xliff>`: this is not XLIFF",
                "XLIFF 1.2 and 2.x can be translated",
            )
        version = attributes.get("version", "")
        number = version or self._namespace.rpartition(":")[2]
        if version and version[:2] not in ("1.", "2."):
            raise self._refused(f"its version is `{version}`", "XLIFF 1.2 and 2.x can be read")
        self.version = 2 if number.startswith("2.") else 1

    def _end(self, _: str) -> None:
        element, scope = self._opened.pop()
        begin = self._parser.CurrentByteIndex
        if self._data.startswith(b"/>", element.content - 2):
            element.content_end = element.end = element.content
        else:
            element.content_end, element.end = begin, self._data.index(b">", begin) + 1
        if len(self._opened) + 1 == self._unit_depth:
            self._unit_depth = 0
            self._take(Unit(element, scope, tuple(parent for parent, _ in self._opened)))


def prefix_of(data: bytes, element: XmlElement) -> str:
    """The prefix of the name of an element as it is written, with its colon; "" without one.

    >>> prefix_of(b"<x:source/>", XmlElement("source", {}, 1, 0, 11))
    'x:'
    """
    match = _PREFIX.match(data, element.begin)
    return f"{match[1].decode()}:" if match and match[1] else ""
