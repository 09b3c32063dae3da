"""Validation and test text is given as files or as a number of pairs to set apart, not as both.

What the command line says replaces what the project file says in the other way. Errors about these
settings say where their values come from.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, MutableMapping

from nmt_cli.errors import NmtError

ALTERNATIVES = (("data.valid", "data.valid_split"), ("data.test", "data.test_split"))
COMMAND_LINE = "command line"
# The origins of what the caller of a command or a function has typed.
_TYPED = (COMMAND_LINE, "--set", "settings")
# Not within the name of a file.
_KEY = re.compile(r"(?<![\w./`-])data\.(?:valid|test)(?:_split)?(?![\w./`-])")


def drop_overridden(
    values: MutableMapping[str, object], origins: Mapping[str, str], defaults: Mapping[str, object]
) -> None:
    """Reset the file names, or the number of pairs, that a layer of settings above replaces.

    values, origins, defaults: by dotted key.
    """
    for keys in ALTERNATIVES:
        lower, upper = sorted(keys, key=lambda key: _level(origins[key]))
        if values[upper] and values[lower] and _level(origins[lower]) < _level(origins[upper]):
            values[lower] = defaults[lower]


def _level(origin: str) -> int:
    if origin in _TYPED or origin.endswith("()"):
        return 2
    return 1 if origin.startswith("NMT_") else 0


def is_of_project(origin: str) -> bool:
    """Whether a value with this origin is from a project file.

    >>> [is_of_project(text) for text in ("nmt.toml", "preset tiny", "model a", "--set")]
    [True, False, False, False]
    """
    # Those of a model are what fine-tuning takes from it; a call has `config` and `settings`.
    if origin in ("default", "preset", "config", "settings"):
        return False
    return not origin.startswith(("preset ", "model ")) and _level(origin) == 0


@contextlib.contextmanager
def naming_origins(origins: Mapping[str, str], options: Mapping[str, str]) -> Iterator[None]:
    """Let the errors of the block say where the values of these settings come from.

    origins: by dotted key; options: the options that set them.
    """

    def named(match: re.Match[str]) -> str:
        key, origin = match[0], origins[match[0]]
        if origin == COMMAND_LINE:
            return options[key]
        is_known = origin == "default" or origin.startswith("preset ") or _level(origin) == 2
        return key if is_known else f"{key} of {origin}"

    try:
        yield
    except NmtError as error:
        error.message, error.hint = (_KEY.sub(named, text) for text in (error.message, error.hint))
        error.args = (error.message,)
        raise
