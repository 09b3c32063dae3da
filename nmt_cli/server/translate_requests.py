"""The body of `POST /v1/translate`: what is to be translated, and how."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nmt_cli.config.schema import Config, LanguagesConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.lexical.glossary import entries_of
from nmt_cli.documents.document import Document, ReadOptions
from nmt_cli.documents.kinds import KINDS, kind_by_suffix, read_document
from nmt_cli.errors import NmtError, UsageError, did_you_mean
from nmt_cli.server.limits import Limits
from nmt_cli.server.refusals import RefusedError
from nmt_cli.translation.calls import chosen_settings
from nmt_cli.translation.constraints import NO_CONSTRAINTS, Constraints

# The settings of a search that a request may give, with their types.
OPTIONS: dict[str, type] = {
    "beam": int, "n_best": int, "alignment": bool, "sentences": str, "markup": str,
    "keep_numbers": bool, "retry": bool, "replace_unknown": bool,
}  # fmt: skip
# What other servers call the text.
OTHER_NAMES = ("text", "texts", "q", "input", "source", "src")
FIELDS = ("lines", "document", "glossary", "keep", *OPTIONS)
TYPE_NAMES = {int: "a whole number", bool: "true or false", str: "a text"}


@dataclass(frozen=True)
class DocumentText:
    """A document to translate: its content and its kind.

    encoding: of a document that came as text, whatever it declares; "": of a file, as it declares.
    field: of JSON, JSON lines and tables, the one that is translated; "": the usual one.
    """

    kind: str
    data: bytes
    encoding: str = ""
    field: str = ""

    def read(self, languages: LanguagesConfig) -> Document:
        """The segments of the document; languages: those of the model."""
        # "src" and "tgt" are the names of languages that nobody has named.
        source = "" if languages.src == "src" else languages.src
        target = "" if languages.tgt == "tgt" else languages.tgt
        options = ReadOptions(
            "document", target, self.field, encoding=self.encoding, is_served=True,
            source_language=source,
        )  # fmt: skip
        return read_document(self.data, self.kind, options)

    def written(self, data: bytes) -> dict[str, str]:
        """The translated document, in the form in which it was given."""
        if KINDS[self.kind].is_binary:
            return {"kind": self.kind, "base64": base64.b64encode(data).decode("ascii")}
        return {"kind": self.kind, "text": data.decode("utf-8", "replace")}


@dataclass(frozen=True)
class TranslateRequest:
    """Lines, or a document, with the settings of the search, a glossary and kept names."""

    lines: tuple[str, ...]
    search: SearchConfig
    constraints: Constraints = NO_CONSTRAINTS
    document: DocumentText | None = None


def parse_request(
    fields: Mapping[str, Any],
    config: Config,
    search: SearchConfig,
    limits: Limits,
    general: Constraints = NO_CONSTRAINTS,
) -> TranslateRequest:
    """The request with these fields; raises RefusedError for one that is wrong or too large.

    search: the settings that the request may change; general: the constraints of every request,
    which do not count for its size.
    """
    for name in fields:
        if name not in FIELDS:
            hint = did_you_mean(name, FIELDS)
            if name in OTHER_NAMES:
                hint = 'the text is a list of lines: {"lines": ["first line", "second line"]}'
            raise RefusedError(400, f"there is no field `{name[:40]}`", hint)
    if ("lines" in fields) == ("document" in fields):
        raise RefusedError(400, "give either `lines` or `document`")
    document = _document(fields["document"]) if "document" in fields else None
    if document is not None:
        _require_fit_for_documents(fields)
    lines = _lines(fields["lines"]) if "lines" in fields else ()
    constraints = _constraints(fields.get("glossary", {}), fields.get("keep", []))
    text = [*lines, *constraints.keep, *(entry.source for entry in constraints.entries)]
    text += [form for entry in constraints.entries for form in entry.forms]
    require_characters(text, limits)
    constraints = constraints.over(general)
    return TranslateRequest(
        lines, _search(fields, config, search, constraints, limits), constraints, document
    )


def _require_fit_for_documents(fields: Mapping[str, Any]) -> None:
    """Raise RefusedError for options that `nmt translate --document` does not have either."""
    wrong = ["`n_best`"] if fields.get("n_best", 1) != 1 else []
    wrong += ["`alignment`"] if fields.get("alignment", False) is not False else []
    if wrong:
        raise RefusedError(
            400, f"{', '.join(wrong)}: not for documents", "leave it out, or translate `lines`"
        )


def require_characters(texts: Sequence[str], limits: Limits) -> None:
    """Raise RefusedError if the texts, each counted with a character more, are too long."""
    count = sum(len(text) + 1 for text in texts)
    if count > limits.characters:
        raise RefusedError(
            413,
            f"the text has {count:,} characters, with one for the end of each line; a request may "
            f"have {limits.characters:,}",
            "send less at once; `nmt serve --max-chars` sets the limit",
        )  # fmt: skip


def _lines(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
        raise RefusedError(400, "`lines` must be a list of texts")
    return tuple(value)


def _json_type(value: object) -> str:
    """What a value of JSON is.

    >>> [_json_type(value) for value in (None, True, 2.5, [1], {})]
    ['null', 'true or false', 'a number', 'an array', 'an object']
    """
    for kind, name in (
        (str, "a string"), (bool, "true or false"), (int | float, "a number"), (list, "an array"),
        (dict, "an object"),
    ):  # fmt: skip
        if isinstance(value, kind):
            return name
    return "null"


def _document(value: object) -> DocumentText:
    if not isinstance(value, dict) or not value.keys() <= {"kind", "text", "base64", "field"}:
        raise RefusedError(400, "`document` must have `kind`, and `text` or `base64`")
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        meant = kind_by_suffix(f"document.{kind}")
        hint = f"did you mean `{meant}`?" if meant else f"known: {', '.join(KINDS)}"
        raise RefusedError(400, "`document.kind` is not a kind of documents", hint)
    name = "base64" if KINDS[kind].is_binary else "text"
    content = value.get(name)
    other = "text" if name == "base64" else "base64"
    if other in value:
        raise RefusedError(
            400, f"a document of kind {kind} has its content in `document.{name}`, not in "
            f"`document.{other}`", f"send `document.{name}` only",
        )  # fmt: skip
    if not isinstance(content, str):
        got = f"is {_json_type(content)}" if name in value else "is missing"
        form = "the file in base64" if name == "base64" else "the text of the file"
        raise RefusedError(
            400, f"`document.{name}` of a document of kind {kind} {got}; it must be a string",
            f"send {form} as a string",
        )  # fmt: skip
    field = value.get("field", "")
    if not isinstance(field, str) or ("field" in value and not KINDS[kind].has_fields):
        *others, last = (kind_name for kind_name, entry in KINDS.items() if entry.has_fields)
        kinds = f"{', '.join(others)} and {last}"
        raise RefusedError(
            400, f"`document.field` is a text, and only for documents of the kinds {kinds}"
        )
    if name == "text":
        return DocumentText(kind, content.encode("utf-8"), "utf-8", field)
    try:
        return DocumentText(kind, base64.b64decode(content, validate=True))
    except binascii.Error as error:
        raise RefusedError(400, f"`document.base64`: {error}") from None


def _constraints(glossary: object, keep: object) -> Constraints:
    if not isinstance(glossary, dict):
        raise RefusedError(400, "`glossary` must be an object: source term -> target forms")
    if not isinstance(keep, list) or not all(isinstance(name, str) for name in keep):
        raise RefusedError(400, "`keep` must be a list of texts")
    try:
        entries = entries_of(glossary)
    except ValueError as error:
        raise RefusedError(400, f"`glossary`, {error}") from None
    try:
        return Constraints((), entries, keep) if entries or keep else NO_CONSTRAINTS
    except UsageError as error:
        raise RefusedError(400, f"`keep`: {error.message}") from None


def _search(
    fields: Mapping[str, Any],
    config: Config,
    search: SearchConfig,
    constraints: Constraints,
    limits: Limits,
) -> SearchConfig:
    given = {name: value for name, value in fields.items() if name in OPTIONS}
    for name, value in given.items():
        if type(value) is not OPTIONS[name]:
            raise RefusedError(400, f"`{name}` must be {TYPE_NAMES[OPTIONS[name]]}")
    if given.get("beam", 1) > limits.beam:
        raise RefusedError(400, f"`beam` may be {limits.beam} at most")
    is_limited_by_beam = not search.sample or search.mbr != "off"
    if "beam" in given and "n_best" not in given and is_limited_by_beam:
        # The number of translations is the default of the server, of which clients know nothing.
        given["n_best"] = max(1, min(search.n_best, given["beam"]))
    try:
        chosen = chosen_settings(config, search, given)
    except NmtError as error:
        raise RefusedError(400, error.message.removeprefix("translate(): "), error.hint) from None
    if constraints.glossary and chosen.sample:
        raise RefusedError(
            400, "this server samples translations, which cannot be made to contain a term",
            "leave out `glossary`",
        )  # fmt: skip
    return chosen
