"""Forms: encoded like addresses, or in parts as browsers and `curl -F` send them (RFC 7578)."""

import logging
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from nmt_cli.server.bodies import read_body
from nmt_cli.server.limits import Limits
from nmt_cli.server.refusals import RefusedError

MAX_FIELDS = 1_000
MULTIPART = "multipart/form-data"

# It would write bytes of wrong forms to stderr, and the text of requests is never written.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Upload:
    """The text fields of a form, and its field `file`: name and content."""

    fields: dict[str, str]
    name: str
    data: bytes


@dataclass
class _Part:
    """A part of a form: the options of its content-disposition, and its content."""

    options: dict[bytes, bytes] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)

    def option(self, name: bytes) -> str:
        """An option as text; raises UnicodeDecodeError if it is not in UTF-8."""
        return self.options.get(name, b"").decode("utf-8")

    @property
    def is_text(self) -> bool:
        """Whether it is a text field, and not a file."""
        return b"filename" not in self.options

    def text(self) -> str:
        """Its content; raises UnicodeDecodeError if it is not in UTF-8."""
        return self.data.decode("utf-8")


class _FormReader:
    """Collects the parts of a form from the events of the parser."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self.is_complete = False
        self._header = bytearray()
        self._value = bytearray()

    def on_part_begin(self) -> None:
        if len(self.parts) == MAX_FIELDS:
            raise FormParserError(f"more than {MAX_FIELDS:,} parts")
        self.parts.append(_Part())

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            _, self.parts[-1].options = parse_options_header(bytes(self._value))
        self._header, self._value = bytearray(), bytearray()

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self.parts[-1].data += data[start:end]

    def on_end(self) -> None:
        self.is_complete = True


def form_fields(body: bytes, content_type: str) -> dict[str, Any]:
    """The texts of a form by their names, a list where a name occurs several times.

    Files are left out. Raises RefusedError if the body is no form in UTF-8.
    """
    try:
        if content_type.partition(";")[0].strip().lower() == MULTIPART:
            texts: dict[str, list[str]] = {}
            for part in _parts(body, content_type):
                if part.is_text:
                    texts.setdefault(part.option(b"name"), []).append(part.text())
        else:
            texts = urllib.parse.parse_qs(
                body.decode("utf-8"), keep_blank_values=True, max_num_fields=MAX_FIELDS,
                errors="strict",
            )  # fmt: skip
    except (FormParserError, ValueError):
        raise RefusedError(400, "the body is not a form in UTF-8, and not JSON") from None
    return {name: values if len(values) > 1 else values[0] for name, values in texts.items()}


async def read_upload(request: Request, limits: Limits) -> Upload:
    """The form of a request; raises RefusedError if it is none, too large or without a file."""
    body = await read_body(request, limits)
    try:
        return _upload(_parts(body, request.headers.get("content-type", "")))
    except (FormParserError, UnicodeDecodeError) as error:
        reason = str(error) if isinstance(error, FormParserError) else "a text is not in UTF-8"
        raise RefusedError(400, f"the body is not a form with a file: {reason}") from None


def _parts(body: bytes, content_type: str) -> list[_Part]:
    """The parts of a form; raises FormParserError if the body has none."""
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != MULTIPART.encode() or not boundary:
        raise FormParserError(f"its content-type is not {MULTIPART} with a boundary")
    reader = _FormReader()
    callbacks = {name: getattr(reader, name) for name in dir(reader) if name.startswith("on_")}
    parser = MultipartParser(boundary, callbacks)  # type: ignore[arg-type]
    parser.write(body)
    parser.finalize()
    if not reader.is_complete:
        raise FormParserError("its end is missing")
    return reader.parts


def _upload(parts: list[_Part]) -> Upload:
    """The fields and the file of a form; of several files called `file`, the last."""
    fields, name, data = {}, "", b""
    for part in parts:
        if part.is_text:
            fields[part.option(b"name")] = part.text()
        elif part.option(b"name") == "file":
            name, data = part.option(b"filename"), bytes(part.data)
    if not name:
        raise RefusedError(400, "the form has no field `file` with a file")
    return Upload(fields, name, data)
