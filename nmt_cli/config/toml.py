"""Reads TOML from untrusted sources in time linear in its length."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

from nmt_cli.errors import ConfigError
from nmt_cli.storage.byte_order_marks import other_encoding

# tomllib takes time quadratic in the parts of a key; a setting has two.
MOST_PARTS = 16
HINT = (
    'each line is `[section]` or `key = value`, with texts in quotes, such as src = "en"; '
    "`nmt config show` prints a valid file"
)
BACKSLASH_HINT = (
    "in double quotes a backslash has a special meaning: write such a path in single quotes, as in "
    "'C:\\Users\\me\\train.tsv', or with each backslash doubled"
)
# What tomllib says of a backslash that begins no escape.
_WRONG_ESCAPE = re.compile("Invalid hex value|Unescaped|Escaped character is not")
_STRINGS = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|' + r"'''.*?'''|" + r'"(?:[^"\\\n]|\\.)*+"?|' + r"'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


def read_toml(data: bytes) -> dict[str, Any]:
    """The document of a file's content; raises ValueError with the reason.

    >>> read_toml(b"[model]\\nheads = 4")
    {'model': {'heads': 4}}
    """
    text = data.decode("utf-8-sig")
    # Strings are replaced by one letter, because their dots separate nothing.
    if _LONG_KEY.search(_STRINGS.sub("x", text)):
        raise ValueError(f"a key has more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("brackets are nested too deeply") from error


def read_settings(data: bytes, path: Path, known_format: int) -> dict[str, object]:
    """The dotted keys and values of the settings file `path`, whose content is given.

    Raises ConfigError where it is not TOML, or of another format than `known_format`.
    """
    _require_utf8(data, path)
    try:
        document = read_toml(data)
    except ValueError as error:
        hint = BACKSLASH_HINT if _WRONG_ESCAPE.match(str(error)) else HINT
        raise ConfigError(f"`{path}` is not valid TOML: {error}", hint) from error
    _check_format(path, document.pop("format", known_format), known_format)
    values: dict[str, object] = {}
    for section, entries in document.items():
        if isinstance(entries, dict):
            values.update({f"{section}.{name}": value for name, value in entries.items()})
        else:
            values[section] = entries
    return values


def _require_utf8(data: bytes, path: Path) -> None:
    """Raise ConfigError if `data`, the content of `path`, is in another encoding."""
    encoding = other_encoding(data)
    if encoding:
        problem = f"`{path}` looks like {encoding}, UTF-8 is needed"
        raise ConfigError(problem, _conversion(path, encoding))
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"`{path}`, line {line}: not UTF-8", _conversion(path, "CP1252")
        ) from error


def _conversion(path: Path, encoding: str) -> str:
    new = path.with_name(f"{path.stem}.utf8{path.suffix}")
    command = f"iconv -f {encoding} -t UTF-8 {shlex.quote(str(path))} > {shlex.quote(str(new))}"
    return f"save it as UTF-8 in your editor, or convert it, for example: {command}"


def _check_format(path: Path, file_format: object, known: int) -> None:
    if file_format == known:
        return
    hint = f"a settings file of this nmt says `format = {known}`, or nothing of its format"
    if isinstance(file_format, int) and file_format > known:
        hint = "it was written by a newer nmt: update nmt"
    raise ConfigError(f"`{path}` has format {file_format!r}; this nmt reads format {known}", hint)
