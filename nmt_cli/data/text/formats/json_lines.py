"""Recognises pairs in JSON lines and arrays, and reads them."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import IO

from nmt_cli.data.languages.labels import in_given_order
from nmt_cli.data.text.formats.conversion import (
    Columns,
    Conversion,
    Row,
    SourceFile,
    as_line,
    first_numbers,
)
from nmt_cli.data.text.language_hints import FormatAdvice
from nmt_cli.data.text.tables.column_choice import sentence_columns
from nmt_cli.errors import DataError

# The keys that lead to a text: one, or two where an object within the row has it.
Keys = tuple[str, ...]
# At least this share of the lines that are not empty are objects.
LEAST_OBJECTS = 0.5
# What precedes the first and each other object of an array.
_NEXT_OBJECT = re.compile(r"\s*[\[,]\s*(?=\{)")
MOST_OBJECTS = 300


def json_advice(
    rows: Sequence[str], name: str, languages: Sequence[str] = ()
) -> FormatAdvice | None:
    """What a file of JSON lines, or of one JSON array, is, and how to convert it; None for others.

    rows: its first lines; languages: the codes of source and target, if they are known.
    """
    if objects := json_objects(rows):
        return _advice(objects, name, languages, "JSON lines", is_array=False)
    if objects := array_objects(rows):
        return _advice(objects, name, languages, "a JSON array", is_array=True)
    return None


def _advice(
    objects: Sequence[dict[str, object]],
    name: str,
    languages: Sequence[str],
    kind: str,
    *,
    is_array: bool,
) -> FormatAdvice:
    """How to convert a file with these objects."""
    fields = text_fields(objects, languages)
    known = {".".join(keys): keys for row in objects for keys in _texts(row)}
    read = partial(_json_rows, fields=known, is_array=is_array)
    if fields is None:
        return FormatAdvice(
            kind,
            "no two texts are found in its objects, or in objects within them: write a file with "
            "the source sentences, a tab and their translations",
            Conversion(kind, read, tuple(known), tuple(known)) if known else None,
        )
    src, tgt = map(".".join, fields)
    conversion = Conversion(kind, read, (src, tgt), tuple(known))
    return FormatAdvice.of(
        conversion, name, f"convert it, with `{src}` as source and `{tgt}` as target"
    )


def json_objects(rows: Sequence[str]) -> list[dict[str, object]]:
    """The objects in `rows` if most of these are JSON objects, else none; empty rows do not count.

    >>> json_objects(['{"a": 1}', "", '{"b": 2}', '{"c": ']), json_objects(["A dog."])
    ([{'a': 1}, {'b': 2}], [])
    """
    objects = []
    filled = [row for row in rows if row.strip()]
    for row in filled:
        try:
            value = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            objects.append(value)
    return objects if len(objects) > LEAST_OBJECTS * len(filled) else []


def array_objects(rows: Sequence[str]) -> list[dict[str, object]]:
    """The first objects of a JSON array; [] if it is none, or of other values.

    rows: the first lines of its file.

    >>> array_objects(["[", '  {"a": 1},', '  {"b": 2}, {"c":'])
    [{'a': 1}, {'b': 2}]
    >>> array_objects(["[1, 2]"]), array_objects(["[A dog.]"]), array_objects(['{"a": 1}'])
    ([], [], [])
    """
    text = "\n".join(rows).lstrip("\ufeff").strip()
    objects: list[dict[str, object]] = []
    decoder, separator = json.JSONDecoder(), _NEXT_OBJECT.match(text)
    # The last object may be cut off.
    with contextlib.suppress(ValueError, RecursionError):
        while separator and len(objects) < MOST_OBJECTS:
            value, end = decoder.raw_decode(text, separator.end())
            objects.append(value)
            separator = _NEXT_OBJECT.match(text, end)
    return objects


def text_fields(
    objects: Sequence[dict[str, object]], languages: Sequence[str] = ()
) -> tuple[Keys, Keys] | None:
    """Return the fields with the source and the target, or None if there are no two texts.

    They are the two with most letters, or others if these are in two languages, as sentences are,
    or are called like the `languages`.

    >>> text_fields([{"id": "a1", "by": "Ann", "en": "A small dog.", "de": "Ein Hund."}])
    (('en',), ('de',))
    >>> text_fields([{"id": "a", "x": {"xnd": "Ka mi to.", "en": "A dog."}}], ("en", "xnd"))
    (('x', 'en'), ('x', 'xnd'))
    >>> text_fields([{"en": "A dog."}])
    """
    rows = [_texts(fields) for fields in objects]
    names = list(dict.fromkeys(keys for row in rows for keys in row))
    if len(names) < 2:
        return None
    table = [[row.get(keys, "") for keys in names] for row in rows]
    if found := sentence_columns(table):
        first, second = (column - 1 for column in found[0])
    else:
        letters = [sum(map(str.isalpha, "".join(column))) for column in zip(*table, strict=True)]
        most = sorted(range(len(names)), key=lambda index: -letters[index])[:2]
        first, second = sorted(most)
    src, tgt = in_given_order([keys[-1] for keys in names], (first, second), languages)
    return names[src], names[tgt]


def _texts(fields: dict[str, object]) -> dict[Keys, str]:
    """The texts of an object and of the objects in it, by their keys.

    >>> _texts({"id": "7", "length": 2, "texts": {"en": "Yes.", "de": None}})
    {('id',): '7', ('texts', 'en'): 'Yes.'}
    """
    texts = {}
    for name, value in fields.items():
        inner = value.items() if isinstance(value, dict) else ()
        entries = [((name,), value), *(((name, key), text) for key, text in inner)]
        texts.update({keys: text for keys, text in entries if isinstance(text, str)})
    return texts


def _json_rows(
    source: SourceFile, columns: Columns, fields: Mapping[str, Keys], *, is_array: bool
) -> Iterator[Row]:
    """The texts of each object; those without one of them are counted in the notes.

    Two texts are left out then. One text is empty, so that its line keeps its number, as those of
    the other side do.
    """
    keys = [fields[column] for column in columns]
    bad = []
    with source.text() as text:
        objects = _array(source, text) if is_array else map(_parsed, text)
        for number, row in enumerate(objects, 1):
            texts = [_text(row, path) for path in keys]
            if all(texts) or len(texts) == 1:
                yield texts
            if not all(texts):
                bad.append(number)
    if bad:
        what = "entries that lack" if is_array else "lines that are not JSON or lack"
        done = "skipped" if len(keys) > 1 else "wrote empty lines for"
        source.notes.append(f"{done} {what} a text: {first_numbers(bad)}")


def _array(source: SourceFile, text: IO[str]) -> list[object]:
    try:
        value = json.load(text)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"`{source.name}` is no complete JSON array: {error}", "write it again, in full"
        ) from error
    return value if isinstance(value, list) else []


def _parsed(line: str) -> object:
    """The value of a line of JSON; None if it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _text(row: object, keys: Keys) -> str:
    """The text in an object that these keys lead to; "" if there is none that can be written."""
    for key in keys:
        row = row.get(key) if isinstance(row, dict) else None
    if not isinstance(row, str):
        return ""
    try:
        row.encode("utf-8", errors="surrogateescape")
    except UnicodeEncodeError:
        # Half a surrogate pair.
        return ""
    return as_line(row)
