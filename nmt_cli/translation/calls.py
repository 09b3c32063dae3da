"""The arguments of `Translator.translate`: lines of several types and search settings by name."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, TypedDict

from nmt_cli.config.python_spelling import with_python_values
from nmt_cli.config.schema import SETTINGS, Config, with_values
from nmt_cli.config.search import SearchConfig
from nmt_cli.config.values import require_type
from nmt_cli.errors import ArgumentError, ConfigError, did_you_mean
from nmt_cli.translation.constraints import Constraints

PRECISION_NAMES = ("float32", "bf16", "int8", "split", "fp16")
EXPECTED = "translate() takes a line (str), a list of lines, or another iterable of lines"


class SearchOptions(TypedDict, total=False):
    """The settings of `SearchConfig` as keyword arguments, each by its name there."""

    beam: int
    alpha: float
    max_extra_length: int
    n_best: int
    sentences: Literal["auto", "split", "line"]
    markup: Literal["keep", "off"]
    keep_numbers: bool
    retry: bool
    batch_tokens: int | Literal["auto"]
    length_penalty: Literal["gnmt", "power", "none"]
    word_reward: float
    coverage_penalty: float
    patience: float
    min_length: int
    max_length: int
    no_repeat_ngram: int
    repetition_penalty: float
    sample: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int
    mbr: Literal["off", "chrf", "bleu"]
    replace_unknown: bool
    alignment: bool
    shortlist: int


# The arguments that messages may name as options.
ARGUMENTS = tuple(SearchOptions.__annotations__)
# Where a hint also names the option of the command.
_COMMAND = re.compile(r" \(`nmt translate [^`]*`\)")
# Options of other toolkits, and parts of constraints.
OTHER_NAMES = {
    **dict.fromkeys(("beam_size", "num_beams"), "did you mean `beam`?"),
    **dict.fromkeys(("lenpen", "length_penalty_weight"), "did you mean `alpha`?"),
    **dict.fromkeys(("nbest", "num_return_sequences", "num_hypotheses"), "did you mean `n_best`?"),
    **dict.fromkeys(("max_new_tokens", "max_decoding_length"), "did you mean `max_length`?"),
    "glossary": 'give it as constraints=Constraints(glossary={"dog": "Hund"})',
    **dict.fromkeys(("ban", "banned"), 'give them as constraints=Constraints(ban=["dog"])'),
    **dict.fromkeys(("keep", "kept"), 'give them as constraints=Constraints(keep=["NordPad"])'),
}


def chosen_settings(
    config: Config, search: SearchConfig | None, options: Mapping[str, object]
) -> SearchConfig:
    """The settings of a search: `search`, else those of `config`, with `options` in their place.

    Raises TypeError for an unknown option and a value of a wrong type, ConfigError for an invalid
    value.
    """
    base = search or config.search
    if not options:
        return base
    known = [field.name for field in dataclasses.fields(SearchConfig)]
    for name in options:
        if name not in known:
            hint = OTHER_NAMES.get(name) or did_you_mean(name, known)
            raise TypeError(f"translate() has no option `{name}`; {hint}")
        require_type(f"translate(): `{name}`", SETTINGS[f"search.{name}"], options[name])
    given = {f"search.{name}": value for name, value in options.items()}
    try:
        chosen = with_values(dataclasses.replace(config, search=base), given).search
    except ConfigError as error:
        # A Python caller passed an argument; there is no settings file to name.
        message, hint = (_as_argument(text, known) for text in (error.message, error.hint))
        raise ConfigError(message, hint) from None
    if "seed" in options and not chosen.sample:
        raise ConfigError("seed needs sample=True", "set sample=True")
    return chosen


def _as_argument(text: str, names: Collection[str]) -> str:
    """A message about settings with the names and values of arguments of translate().

    >>> _as_argument("set search.sample=true (`nmt translate --sample`)", ["sample"])
    'set sample=True'
    """
    text = _COMMAND.sub("", text.replace("config: `search.", "translate(): `"))
    return with_python_values(text.replace("search.", ""), names)


def require_precision(precision: str) -> None:
    """Raise ConfigError for a precision that does not exist."""
    if precision not in PRECISION_NAMES:
        raise ConfigError(
            f"there is no precision `{precision}`", did_you_mean(precision, PRECISION_NAMES)
        )


def one_line(text: str) -> str:
    """`text` without the line break at its end; raises ArgumentError where it has others.

    >>> one_line("The dog.\\n")
    'The dog.'
    """
    line = text.removesuffix("\n")
    if "\n" in line:
        raise ArgumentError(
            "the text has several lines, and a str is one line",
            "give a list of its lines, `text.splitlines()`",
        )
    return line


def require_lines(lines: object) -> None:
    """Raise TypeError where `lines` cannot be lines: a number, None, bytes or a mapping.

    The elements of a list or tuple are checked now, those of other iterables as they are read.
    """
    if not isinstance(lines, Iterable) or isinstance(lines, bytes | bytearray | Mapping):
        raise TypeError(f"{EXPECTED}, not {type(lines).__name__}")
    if isinstance(lines, list | tuple):
        for _ in each_line(lines):
            pass


def each_line(lines: Iterable[str]) -> Iterator[str]:
    """The lines in their order; raises TypeError for one that is not a str."""
    for line_number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise TypeError(f"line {line_number:,} is of type {type(line).__name__}; {EXPECTED}")
        yield line


def require_constraints(constraints: object) -> None:
    """Raise TypeError for anything but Constraints."""
    if not isinstance(constraints, Constraints):
        raise TypeError(
            'constraints are Constraints(ban=["dog"], glossary={"dog": "Hund"}), not '
            f"{type(constraints).__name__}"
        )


def each_prefix(prefixes: Iterable[str]) -> Iterator[str]:
    """The prefixes in their order; raises TypeError for one that is not a str."""
    for number, prefix in enumerate(prefixes, 1):
        if not isinstance(prefix, str):
            raise TypeError(f"prefix {number:,} is of type {type(prefix).__name__}, not str")
        yield prefix


def require_prefixes(prefixes: object) -> None:
    """Raise TypeError where `prefixes` of several lines is a single text or not iterable."""
    if isinstance(prefixes, str | bytes | bytearray) or not isinstance(prefixes, Iterable):
        actual = type(prefixes).__name__
        raise TypeError(f"prefixes are an iterable of str, one for each line, not {actual}")
