"""The strings of a JSON file, each with where it is written and its path.

The module json decides what is valid, but says no positions of what it has read.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.text import lines_of
from nmt_cli.errors import DataError

MAX_DEPTH = 256
# Python reads no integers with more digits.
MAX_DIGITS = 4300
# Of a path, places show this much at most, and this much of each key.
_LONGEST_PATH = 200
_LONGEST_KEY = 60
_LINE_END = re.compile("\r\n|\r|\n")
# Possessive, so that the time grows with the length of the file alone.
_BRACKET = re.compile(r'"[^"\\]*+(?:\\(?:.|\Z)[^"\\]*+)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_TOKEN = re.compile(r'["{}\[\],:]|NaN|-?Infinity|-?[0-9][0-9.eE+-]*')
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[\w.:/@$-]+")
# Characters that other programs take for the end of a line.
_ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")
_DECODER = json.JSONDecoder()
_NOT_JSON = "JSON has no comments, no single quotation marks, and no comma behind the last value"


class JsonString(NamedTuple):
    """A string to translate.

    begin, end: where it is written, with its quotation marks; path: such as `menu.open[2]`.
    """

    begin: int
    end: int
    value: str
    path: str


def as_json(value: object, *, ensure_ascii: bool = False) -> str:
    """A value as JSON, without characters that other programs take for the end of a line.

    >>> as_json("Gr\u00fc\u00dfe\u2028"), as_json("Gr\u00fc\u00dfe", ensure_ascii=True)
    ('"Gr\u00fc\u00dfe\\\\u2028"', '"Gr\\\\u00fc\\\\u00dfe"')
    """
    text = json.dumps(value, ensure_ascii=ensure_ascii)
    return _ENDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@dataclass
class _Level:
    """An object or a list that is being read.

    path: its own; names: the last keys that lead to it; is_chosen: whether the strings at its
    present key, or in the list, are translated; key: the present key; index: in the list.
    """

    is_object: bool
    path: str
    names: tuple[str, ...]
    is_chosen: bool
    key: str = ""
    index: int = 0

    @property
    def place(self) -> str:
        """The path of the present value."""
        return _joined(self.path, _key_path(self.key, self.path) if self.is_object
                       else f"[{self.index}]")  # fmt: skip


class JsonStrings:
    """The strings of a file that are translated: all, or those of the field of the options.

    Without a field, keys that begin with `@` are left out with all that is in them, and of a
    catalogue of Chrome all but the messages. has_escapes: whether the file writes other characters
    than ASCII as escapes.
    """

    def __init__(self, text: str, options: ReadOptions) -> None:
        """Raises DataError if the text is not JSON."""
        self._text = text
        self._options = options
        self._field = options.field
        self._parts = tuple(options.field.split("."))
        self.has_escapes = False
        self._require_depth()
        content = self._loaded()
        self._is_chrome = not self._field and _is_chrome(content)

    def __iter__(self) -> Iterator[JsonString]:
        """The strings in their order; raises DataError for what cannot be read for sure."""
        levels: list[_Level] = []
        is_chosen = not self._field and not self._is_chrome
        is_ascii, is_key = self._text.isascii(), False
        position = 0
        while token := _TOKEN.search(self._text, position):
            position = token.end()
            level = levels[-1] if levels else None
            if token[0] in "{[":
                is_key = token[0] == "{"
                path = level.place if level else ""
                names = self._names(level) if level else ()
                chosen = level.is_chosen if level else is_chosen
                levels.append(_Level(is_key, path, names, chosen))
            elif token[0] in "}]":
                levels.pop()
                is_key = False
            elif token[0] == ",":
                assert level is not None
                is_key = level.is_object
                level.index += 1
            elif token[0] == '"':
                value, position = self._string(token.start())
                self.has_escapes |= is_ascii and not value.isascii()
                if is_key:
                    assert level is not None
                    level.key, is_key = value, False
                    level.is_chosen = self._is_chosen(levels, is_chosen)
                elif level.is_chosen if level else is_chosen:
                    path = level.place if level else "text"
                    yield JsonString(token.start(), position, value, path)
            elif token[0] != ":":
                self._require_number(token)

    def _is_chosen(self, levels: Sequence[_Level], root: bool) -> bool:
        """Whether the strings at the key that was just read are translated."""
        level = levels[-1]
        if self._is_chrome:
            return len(levels) == 2 and level.key == "message"
        # What holds for the object itself is what holds for its key in the one around it.
        is_chosen = levels[-2].is_chosen if len(levels) > 1 else root
        if not self._field:
            return is_chosen and not level.key.startswith("@")
        return is_chosen or level.key == self._field or self._names(level) == self._parts

    def _names(self, level: _Level) -> tuple[str, ...]:
        """The last keys that lead to the present value, as many as the name of the field has."""
        if not level.is_object:
            return level.names
        return (*level.names, level.key)[-len(self._parts) :]

    def _string(self, begin: int) -> tuple[str, int]:
        """The string whose quotation mark stands here, and where it ends."""
        value, end = _DECODER.raw_decode(self._text, begin)
        assert isinstance(value, str)
        if not value.isascii() and _SURROGATE.search(value):
            raise self._error(
                begin + 1, "a string with half of a surrogate pair, such as \\ud83d alone",
                "write the whole character in its place",
            )  # fmt: skip
        return value, end

    def _require_number(self, token: re.Match[str]) -> None:
        digits = token[0].removeprefix("-")
        if "N" in digits or digits.startswith("I"):
            raise self._error(
                token.start() + 1, f"{token[0]} is no value of JSON", "write null or a number"
            )
        if digits.isdigit() and len(digits) > MAX_DIGITS:
            raise self._error(
                token.start() + 1, f"a number of more than {MAX_DIGITS:,} digits",
                "other programs cannot read it either: write it as a string",
            )  # fmt: skip

    def _require_depth(self) -> None:
        """Raise DataError if brackets are nested more deeply than any parser reads for sure."""
        depth = 0
        for match in _BRACKET.finditer(self._text):
            if match[0] in "[{":
                depth += 1
                if depth > MAX_DEPTH:
                    raise self._error(
                        match.end(), f"brackets that are nested more than {MAX_DEPTH} deep",
                        "a file of texts needs no such depth",
                    )  # fmt: skip
            elif match[0] in "]}":
                depth -= 1

    def _loaded(self) -> object:
        try:
            # Numbers are not needed, and large ones are refused with their position.
            return json.loads(self._text, parse_int=len)
        except json.JSONDecodeError as error:
            reason = error.msg.removesuffix(" at").removesuffix(" starting")
            hint = _NOT_JSON
            if error.msg == "Extra data":
                reason = "more text behind the end of the value"
                hint = self._lines_hint() or "a JSON file has one value; put several into a list"
            raise self._error(error.pos + 1, f"not JSON: {reason}", hint) from error

    def _lines_hint(self) -> str:
        """How to translate a file of JSON lines; "" if this is none."""
        lines = [line for line, _ in lines_of(self._text) if line.strip()]
        try:
            is_lines = all(isinstance(json.loads(line), dict) for line in lines[:2])
        except ValueError:
            return ""
        way = "`kind` jsonl" if self._options.is_served else "--kind jsonl"
        if not is_lines:
            return ""
        return f"each line is an object of its own, so these are JSON lines: {way}"

    def _error(self, end: int, reason: str, hint: str) -> DataError:
        """The error at the character before `end`."""
        ends = list(_LINE_END.finditer(self._text, 0, end - 1))
        column = end - (ends[-1].end() if ends else 0)
        return DataError(
            f"`{self._options.name}`, line {len(ends) + 1}, column {column}: {reason}", hint
        )


def _is_chrome(content: object) -> bool:
    """Whether all that a file has is messages, each with what it says to translators of it."""
    return isinstance(content, dict) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("message"), str)
        and isinstance(entry.get("description", ""), str)
        and isinstance(entry.get("placeholders", {}), dict)
        and entry.keys() <= {"message", "description", "placeholders"}
        for entry in content.values()
    )


def _key_path(key: str, path: str) -> str:
    """A key as a part of a path.

    >>> _key_path("open", "menu"), _key_path("open", ""), _key_path("Open it", "menu")
    ('.open', 'open', '["Open it"]')
    """
    shown = key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}..."
    if _PLAIN_KEY.fullmatch(shown):
        return f".{shown}" if path else shown
    return f"[{as_json(shown)}]"


def _joined(path: str, part: str) -> str:
    """A path with a part more; the beginning of a long one is left out."""
    whole = path + part
    return whole if len(whole) <= _LONGEST_PATH else "..." + whole[-_LONGEST_PATH:].lstrip(".")
