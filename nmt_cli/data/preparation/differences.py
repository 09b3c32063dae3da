"""How messages describe that a corpus was prepared from other text or settings than those now."""

import json
from collections.abc import Iterable, Iterator

from nmt_cli.plurals import MOST_NAMED, first_few

# Of more files, only those that differ are named.
MOST_LISTED = 2 * MOST_NAMED
TEXT_KEYS = ("data.train", "data.valid", "data.test")


def setting_change(key: str, old: object, new: object) -> str:
    """What a setting was and is; of many files, only those that are gone or new.

    key: the dotted key of the setting.

    >>> setting_change("data.vocab_size", 80, 70)
    'data.vocab_size was 80, is 70'
    >>> setting_change("data.train", [["a", "b"]], [["a", "c"]])
    'data.train was [["a", "b"]], is [["a", "c"]]'
    >>> tables = [[f"{number}.tsv"] for number in range(9)]
    >>> setting_change("data.train", tables[:-1], tables[1:])
    'data.train no longer has `0.tsv`, and now has `8.tsv`'
    """
    before, now = list(paths_in(old)), list(paths_in(new))
    if key not in TEXT_KEYS or max(len(before), len(now)) <= MOST_LISTED:
        return f"{key} was {as_json(old)}, is {as_json(new)}"
    gone = [path for path in dict.fromkeys(before) if path not in now]
    added = [path for path in dict.fromkeys(now) if path not in before]
    parts = [
        f"{verb} {_named(paths)}"
        for verb, paths in (("no longer has", gone), ("now has", added))
        if paths
    ]
    return f"{key} {', and '.join(parts) or 'has the same files in another order or number'}"


def text_changes(paths: Iterable[str]) -> list[str]:
    """That the text of these files has changed, in one sentence; none without files.

    >>> text_changes(["a", "b", "c", "d", "e"])
    ['the text of `a`, `b`, `c` and 2 more has changed']
    """
    named = _named(paths)
    return [f"the text of {named} has changed"] if named else []


def paths_in(value: object) -> Iterator[str]:
    """The file names in the value of a setting, which may be nested."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from paths_in(part)


def as_json(value: object) -> str:
    """The value as a message shows it, with letters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False)


def _named(paths: Iterable[str]) -> str:
    return first_few([f"`{path}`" for path in dict.fromkeys(paths)])
