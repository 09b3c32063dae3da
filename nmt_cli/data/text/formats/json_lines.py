"""Recognises pairs in JSON lines and arrays, and names the command that converts them to TSV."""

import contextlib
import json
import re
from collections.abc import Sequence

from nmt_cli.data.languages.labels import in_given_order
from nmt_cli.data.text.shell_commands import AS_LINE, one_line, tsv_command
from nmt_cli.data.text.tables.column_choice import sentence_columns

# The keys that lead to a text: one, or two where an object within the row has it.
Keys = tuple[str, ...]
# At least this share of the lines that are not empty are objects.
LEAST_OBJECTS = 0.5
# Lines that cannot be converted are counted, and the first of them named.
_JSON_TO_TSV = """\
import json, sys
AS_LINE
sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
bad = []
for n, line in enumerate(sys.stdin, 1):
 try:
  row = json.loads(line)
  pair = [*map(as_line, (SOURCE, TARGET))]
  if not all(pair): raise ValueError
  print("\\t".join(pair))
 except (ValueError, KeyError, TypeError): bad.append(n)
if bad: print("skipped lines that are not JSON or lack a text:", len(bad), "in all, the first:", \
*bad[:9], file=sys.stderr)"""

# What the program for an array has in place of parts of that for lines: all of it is read at once,
# and its entries are numbered.
_ROWS = "enumerate(sys.stdin, 1)", "enumerate(json.load(sys.stdin), 1)"
_LINE = "row = json.loads(line)", "row = line"
_SKIPPED = "skipped lines that are not JSON or lack", "skipped entries that lack"
# What precedes the first and each other object of an array.
_NEXT_OBJECT = re.compile(r"\s*[\[,]\s*(?=\{)")
MOST_OBJECTS = 300


def json_lines_hint(rows: Sequence[str], name: str, languages: Sequence[str] = ()) -> str | None:
    """Return how to convert a file of JSON lines, or None if it is none.

    rows: some of its lines; languages: the codes of source and target, if they are known.
    """
    objects = json_objects(rows)
    return _objects_hint(objects, name, languages) if objects else None


def json_array_hint(rows: Sequence[str], name: str, languages: Sequence[str] = ()) -> str | None:
    """Return how to convert a file of one JSON array, or None if it is none.

    rows: its first lines; languages: the codes of source and target, if they are known.
    """
    objects = array_objects(rows)
    return _objects_hint(objects, name, languages, is_array=True) if objects else None


def _objects_hint(
    objects: Sequence[dict[str, object]],
    name: str,
    languages: Sequence[str],
    *,
    is_array: bool = False,
) -> str:
    """How to convert a file with these objects."""
    fields = text_fields(objects, languages)
    if fields is None:
        return (
            "no two texts are found in its objects, or in objects within them: write a file with "
            "the source sentences, a tab and their translations"
        )
    src, tgt = map(".".join, fields)
    command = json_to_tsv(name, fields, is_array=is_array)
    return f"convert it, with `{src}` as source and `{tgt}` as target: {command}"


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


def json_to_tsv(name: str, fields: tuple[Keys, Keys], *, is_array: bool = False) -> str:
    """Return the command that converts two fields of a file of JSON lines, or an array, to TSV.

    It leaves out the lines without both texts, and says on stderr which these are.
    """
    src, tgt = ("row" + "".join(f"[{_literal(key)}]" for key in keys) for keys in fields)
    program = _JSON_TO_TSV.replace("AS_LINE", AS_LINE)
    program = program.replace("SOURCE, TARGET", f"{src}, {tgt}")
    if is_array:
        for lines_code, array_code in (_ROWS, _LINE, _SKIPPED):
            program = program.replace(lines_code, array_code)
    return tsv_command(["python3", "-c", one_line(program)], name)


def _literal(key: str) -> str:
    """A key as Python code."""
    return json.dumps(key, ensure_ascii=False)
