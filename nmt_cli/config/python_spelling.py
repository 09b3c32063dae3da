"""Settings and options in messages as Python spells them: as arguments of functions.

Messages name the options of the commands, which most users type. The functions that Python calls
let their errors pass through `python_errors`.
"""

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import get_args

from nmt_cli.config.schema import SETTINGS
from nmt_cli.errors import NmtError

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_LITERALS = {"true": "True", "false": "False"}
_CODE = re.compile(r"(`[^`]*`)")
_SET = r"--set [a-z_.]+=[^` ,;]+"
_SETS = re.compile(rf"{_SET}(?: {_SET})*")
_ASSIGNMENT = re.compile(r"`[a-z_]+=[^` ]+`")
# An option with its value, which is no command.
_OPTION_WITH_WORD = re.compile(r"`--([a-z]+(?:-[a-z]+)*) ([^`\s\"]+)`")
_OPTION_ALONE = re.compile(r"`--([a-z]+(?:-[a-z]+)*)`")
_OPTION = re.compile(
    r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?: (\d+(?:,\d+)?|[a-z]+)(?![\w-]))?(?![\w=-])"
)
_LANGUAGES = re.compile(r"--src-lang ([\w-]+) --tgt-lang ([\w-]+)")
# What options without a value set; no declaration of a setting has those of cleaning.
_FLAGS: dict[str, tuple[str, object]] = {
    "clean": ("data.clean", "strict"), "no_clean": ("data.clean", "off"),
    "joint": ("data.joint", True), "separate": ("data.joint", False),
    "normalize": ("data.normalize", True), "no_normalize": ("data.normalize", False),
}  # fmt: skip
_KEYS = {key.partition(".")[2]: key for key in SETTINGS if key.startswith("data.")}
_ASSIGNED = re.compile(r"(?<![\w.-])([a-z][a-z_]*)=([\w+-](?:[\w.+-]*\w)?)")


def python_value(value: str) -> str:
    """A value of `--set` as a literal of Python.

    >>> [python_value(value) for value in ("true", "2", "1e-5", "off")]
    ['True', '2', '1e-5', '"off"']
    """
    if _NUMBER.fullmatch(value):
        return value
    return _LITERALS.get(value, json.dumps(value))


def with_python_values(text: str, names: Collection[str]) -> str:
    """`text` with the values that it gives to these arguments as literals of Python.

    >>> with_python_values("set sample=true, not markup=off or x=off.", ["sample", "markup"])
    'set sample=True, not markup="off" or x=off.'
    """

    def spelt(match: re.Match[str]) -> str:
        name, value = match.groups()
        is_spelt = name not in names or value in ("True", "False", "None")
        return match[0] if is_spelt else f"{name}={python_value(value)}"

    return _ASSIGNED.sub(spelt, text)


@contextmanager
def python_errors(arguments: Collection[str]) -> Iterator[None]:
    """Let the errors of the block name `arguments` of a function instead of options."""
    try:
        yield
    except NmtError as error:
        error.message = in_python(error.message, arguments)
        error.hint = in_python(error.hint, arguments)
        error.args = (error.message,)
        raise


def in_python(text: str, arguments: Collection[str]) -> str:
    """A message with the names of arguments in place of options; commands are left as they are.

    >>> in_python("use --force to replace it, or another --out", ["force", "out"])
    'use force=True to replace it, or another `out`'
    >>> in_python("use --valid-split 20; `nmt train --out M`", ["valid_split", "out"])
    'use valid_split=20; `nmt train --out M`'
    >>> in_python("name it, for example `--tgt-lang de`", ["tgt_lang"])
    'name it, for example `tgt_lang="de"`'
    >>> in_python("give `--set train.seed=1 --set data.clean=off`", ["settings"])
    'give `settings={"train.seed": 1, "data.clean": "off"}`'
    >>> in_python("it needs joint=true (`joint=true`)", ["joint"])
    'it needs joint=True (`joint=True`)'
    >>> in_python("use --vocab-size 90 or more, or --subwords bytes", ["vocab_size", "settings"])
    'use vocab_size=90 or more, or settings={"data.subwords": "bytes"}'
    >>> in_python("`--clean` drops them, `--dropped FILE` lists them", ["dropped", "settings"])
    '`settings={"data.clean": "strict"}` drops them, `dropped="FILE"` lists them'
    """

    def renamed(match: re.Match[str]) -> str:
        name, word = match[1].replace("-", "_"), match[2] or ""
        literal = _literal(name, word)
        behind = f" {word}" if word and not literal else ""
        if name in arguments:
            value = literal or ("True" if name == "force" else "")
            return (f"{name}={value}" if value else f"`{name}`") + behind
        if "settings" in arguments and name in _FLAGS:
            return _in_settings(dict([_FLAGS[name]])) + (f" {word}" if word else "")
        if "settings" in arguments and name in _KEYS and literal:
            return _in_settings({_KEYS[name]: json.loads(literal)})
        return match[0]

    def spelt(span: str) -> str:
        if "settings" in arguments and _SETS.fullmatch(span.strip("`")):
            return f"`{_in_settings(_assigned(span))}`"
        if _ASSIGNMENT.fullmatch(span):
            return with_python_values(span, arguments)
        if alone := _OPTION_ALONE.fullmatch(span):
            name = alone[1].replace("-", "_")
            if name in arguments:
                return f"`{name}`"
            is_flag = "settings" in arguments and name in _FLAGS
            return f"`{_in_settings(dict([_FLAGS[name]]))}`" if is_flag else span
        match = _OPTION_WITH_WORD.fullmatch(span)
        name = match[1].replace("-", "_") if match else ""
        return f"`{name}={python_value(match[2])}`" if match and name in arguments else span

    def outside_code(span: str) -> str:
        if "settings" in arguments:
            span = _SETS.sub(lambda match: _in_settings(_assigned(match[0])), span)
        if {"src_lang", "tgt_lang"} <= {*arguments}:
            span = _LANGUAGES.sub(r'src_lang="\1" and tgt_lang="\2"', span)
        return with_python_values(_OPTION.sub(renamed, span), arguments)

    spans = [spelt(span) for span in _CODE.split(text)]
    return "".join(span if span.startswith("`") else outside_code(span) for span in spans)


def _literal(name: str, word: str) -> str:
    """The word behind an option as a literal of Python, or "" where it is not its value.

    >>> _literal("vocab_size", "90"), _literal("subwords", "bytes"), _literal("subwords", "or")
    ('90', '"bytes"', '')
    """
    allowed = get_args(SETTINGS[_KEYS[name]].type_hint) if name in _KEYS else ()
    is_value = word[:1].isdigit() or word == "auto" or word in allowed
    return python_value(word) if is_value else ""


def _assigned(sets: str) -> Mapping[str, object]:
    """The settings that options `--set KEY=VALUE` give."""
    words = (word for word in shlex.split(sets.strip("`")) if word != "--set")
    return dict(word.split("=", 1) for word in words)


def _in_settings(values: Mapping[str, object]) -> str:
    """The argument `settings` with these values.

    >>> _in_settings({"data.clean": "off", "data.joint": False})
    'settings={"data.clean": "off", "data.joint": False}'
    """
    shown = [
        f'"{key}": {python_value(value) if isinstance(value, str) else value}'
        for key, value in values.items()
    ]
    return f"settings={{{', '.join(shown)}}}"
