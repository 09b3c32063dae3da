"""The kinds of documents, by suffix and by name."""

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import NamedTuple

from nmt_cli.documents.document import Document, ReadOptions
from nmt_cli.documents.encoding import require_size
from nmt_cli.documents.libraries import is_installed
from nmt_cli.errors import UsageError


class Kind(NamedTuple):
    """A kind of documents.

    reader: its class, by module and name. is_binary: not for a terminal. has_fields: the user may
    name the field that is translated. adds_fields: each record gets new fields. library: the module
    that reads it, "" for none.
    """

    suffixes: tuple[str, ...]
    reader: tuple[str, str]
    is_binary: bool = False
    has_fields: bool = False
    adds_fields: bool = False
    library: str = ""


KINDS = {
    "text": Kind((".txt", ".text"), ("text", "TextDocument")),
    "html": Kind((".html", ".htm", ".xhtml"), ("html.document", "HtmlDocument")),
    "markdown": Kind(
        (".md", ".markdown"), ("markdown.document", "MarkdownDocument"), library="markdown_it"
    ),
    "subtitles": Kind(
        (".srt", ".vtt", ".ass", ".ssa"), ("subtitles.document", "SubtitleDocument"),
        library="pysubs2",
    ),
    "po": Kind((".po", ".pot"), ("catalogue", "CatalogueDocument"), library="polib"),
    "xliff": Kind((".xlf", ".xliff"), ("xliff.document", "XliffDocument")),
    "docx": Kind((".docx",), ("word.document", "WordDocument"), is_binary=True, library="lxml"),
    "json": Kind((".json", ".arb"), ("json_document", "JsonDocument"), has_fields=True),
    "jsonl": Kind(
        (".jsonl", ".ndjson"), ("json_lines", "JsonLinesDocument"), has_fields=True,
        adds_fields=True,
    ),
    "table": Kind((".csv", ".tsv"), ("table", "TableDocument"), has_fields=True, adds_fields=True),
}  # fmt: skip
# Kinds whose suffixes stand for formats that differ.
_SUFFIXES_DIFFER = ("subtitles", "table")
# Documents that can hold programs, and other suffixes that are mistaken for a kind.
_REFUSED = {
    ".docm": "Word documents with macros are refused; save it as .docx",
    ".dotm": "Word documents with macros are refused; save it as .docx",
    ".doc": "save it as .docx",
    ".odt": "save it as .docx",
    ".xlsx": "save it as .csv",
    ".xls": "save it as .csv",
    ".ods": "save it as .csv",
    ".tmx": "convert its segments to lines, or translate the XLIFF of the project instead",
    ".pdf": "a PDF has no text that can be replaced; translate the document that it was made from",
}


def readable_suffixes() -> list[str]:
    """The suffixes of the kinds whose libraries are installed."""
    return [
        suffix
        for kind in KINDS.values()
        if not kind.library or is_installed(kind.library)
        for suffix in kind.suffixes
    ]


def kind_of(name: str, chosen: str | None = None) -> str:
    """The name of the kind of a file; chosen: the kind that the user names.

    Raises UsageError if the suffix is of no known kind.

    >>> kind_of("page.HTML"), kind_of("page.tmpl", "html")
    ('html', 'html')
    """
    if chosen is not None:
        return chosen
    kind = kind_by_suffix(name)
    if kind is not None:
        return kind
    known = " ".join(suffix for kind in KINDS.values() for suffix in kind.suffixes)
    raise UsageError(
        f"`{name}`: documents of this kind cannot be translated",
        _REFUSED.get(_suffix(name), f"name the kind with --kind; known suffixes are {known}"),
    )


def require_same_format(kind: str, name: str, output: str) -> None:
    """Raise UsageError if the suffix of `output` promises another format than that of the document.

    kind: that of the document `name`. Any document may be written as .txt, or with a suffix that is
    of no kind.
    """
    suffix, other = _suffix(output), kind_by_suffix(output)
    if suffix == _suffix(name) or "text" in (kind, other):
        return
    is_variant = kind in _SUFFIXES_DIFFER and kind_by_suffix(name) == kind
    if suffix in _REFUSED or (other is not None and (other != kind or is_variant)):
        raise UsageError(
            f"`{output}`: documents keep their format, and `{name}` is no {suffix}",
            f"name a {_suffix(name) or KINDS[kind].suffixes[0]} file",
        )


def kind_by_suffix(name: str) -> str | None:
    """The name of the kind that the suffix of a file stands for; None if it stands for none."""
    suffix = _suffix(name)
    return next((kind for kind, (suffixes, *_) in KINDS.items() if suffix in suffixes), None)


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()


def read_document(data: bytes, kind: str, options: ReadOptions) -> Document:
    """The document of these bytes; raises DataError if they are not of this kind."""
    require_size(data, options.name)
    module, name = KINDS[kind].reader
    reader: Callable[[bytes, ReadOptions], Document] = getattr(
        import_module(f"nmt_cli.documents.{module}"), name
    )
    return reader(data, options)
