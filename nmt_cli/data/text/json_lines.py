"""Recognises pairs in JSON lines, and names the command that converts them to TSV."""

import json
from collections.abc import Sequence

from nmt_cli.data.languages.labels import in_given_order
from nmt_cli.data.text.shell_commands import tsv_command
from nmt_cli.data.text.tables import sentence_columns

# The keys that lead to a text: one, or two where an object within the row has it.
Keys = tuple[str, ...]
# At least this share of the lines that are not empty are objects.
LEAST_OBJECTS = 0.5
# Lines that cannot be converted are counted, and the first of them named.
_JSON_TO_TSV = """\
import json, sys
sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
bad = []
for n, line in enumerate(sys.stdin, 1):
 try:
  row = json.loads(line)
  pair = [" ".join(str.split(text)) for text in (SOURCE, TARGET)]
  if not all(pair): raise ValueError
  print("\\t".join(pair))
 except (ValueError, KeyError, TypeError): bad.append(n)
if bad: print("skipped lines that are not JSON or lack a text:", len(bad), "in all, the first:", \
*bad[:9], file=sys.stderr)"""


def json_lines_hint(rows: Sequence[str], name: str, languages: Sequence[str] = ()) -> str | None:
    """Return how to convert a file of JSON lines, or None if it is none.

    rows: some of its lines; languages: the codes of source and target, if they are known.
    """
    objects = json_objects(rows)
    if not objects:
        return None
    fields = text_fields(objects, languages)
    if fields is None:
        return (
            "no two texts are found in its objects, or in objects within them: write a file with "
            "the source sentences, a tab and their translations"
        )
    src, tgt = map(".".join, fields)
    command = json_to_tsv(name, fields)
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
        found = [((name,), value), *(((name, key), text) for key, text in inner)]
        texts.update({keys: text for keys, text in found if isinstance(text, str)})
    return texts


def json_to_tsv(name: str, fields: tuple[Keys, Keys]) -> str:
    """Return the command that converts two fields of a file of JSON lines to TSV.

    It leaves out the lines without both texts, and says on stderr which these are.
    """
    src, tgt = ("row" + "".join(f"[{_literal(key)}]" for key in keys) for keys in fields)
    program = _JSON_TO_TSV.replace("SOURCE, TARGET", f"{src}, {tgt}")
    # An argument of one line can be copied from any terminal.
    one_line = program.replace("\\", "\\\\").replace("\n", "\\n")
    return tsv_command(["python3", "-c", f'exec("""{one_line} """)'], name)


def _literal(key: str) -> str:
    """A key as Python code."""
    return json.dumps(key, ensure_ascii=False)
