"""The settings of search (section 6.1), and the conflicts between them.

Each setting is also an option of `nmt translate`, which is made from its declaration here.
"""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from nmt_cli.config.values import option_name, setting
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.plurals import agreeing

# Candidates of a source subword that a model's shortlist holds.
LONGEST_SHORTLIST = 100

# Source tokens times beam size for a CPU: the working set stays in its caches.
BATCH_TOKENS = 2_048

# Two hypotheses are equally similar to each other: minimum Bayes risk decoding needs more.
MIN_MBR_HYPOTHESES = 3


@dataclass(frozen=True)
class SearchConfig:
    """How translations are searched for; the defaults are those of section 6.1."""

    beam: int = setting(4, "beam size; 1 = greedy search", 1, 1_024)
    alpha: float = setting(
        0.6, "exponent of the length penalty; higher values favour longer translations", 0.0, 10.0
    )
    max_extra_length: int = setting(
        50, "maximum output length beyond the length of the source, in subwords", 0, 65_536
    )
    n_best: int = setting(
        1, "number of translations to return for each line, without duplicates", 1, 1_024
    )
    sentences: Literal["auto", "split", "line"] = setting(
        "auto",
        "lines of several sentences: split = translate each sentence on its own; line = translate "
        "the line as it is; auto = split unless the training text has such lines",
    )
    markup: Literal["keep", "off"] = setting(
        "keep",
        "tags and placeholders, such as <b> and {name}: keep = take them out and put them back "
        "where their words went, and copy text without a letter, such as 12:30; off = translate "
        "all of it like words",
    )
    keep_numbers: bool = setting(
        False,
        "keep numbers in digits, and part numbers such as AX-200/5, exactly as the source writes "
        "them, like placeholders",
    )
    retry: bool = setting(
        False,
        "translate doubtful lines once more with other settings and keep the better translation",
    )
    batch_tokens: int | Literal["auto"] = setting(
        "auto",
        "batch size: maximum number of source tokens times beam size",
        1,
        2**31,
        auto="chosen for the device",
    )
    length_penalty: Literal["gnmt", "power", "none"] = setting(
        "gnmt",
        "length penalty, which divides the log-probability: gnmt = ((5 + length) / 6)^alpha, "
        "power = length^alpha, none = 1",
    )
    word_reward: float = setting(
        0.0, "reward added to the score for each subword of the translation", -100.0, 100.0
    )
    coverage_penalty: float = setting(
        0.0,
        "weight (beta) of the GNMT coverage penalty, used to rerank finished hypotheses; 0 = off",
        0.0,
        100.0,
    )
    patience: float = setting(
        0.0,
        "end the beam search of a line when this number times the beam size of hypotheses are "
        "finished, as other toolkits do with 1; 0 = when no live hypothesis can be the best",
        0.0,
        1_024.0,
    )
    min_length: int = setting(0, "minimum output length, in subwords", 0, 65_536)
    max_length: int = setting(0, "absolute maximum output length, in subwords; 0 = none", 0, 65_536)
    no_repeat_ngram: int = setting(
        0, "never generate the same n-gram of this many subwords twice; 0 = off", 0, 1_024
    )
    repetition_penalty: float = setting(
        1.0,
        "penalty that divides the probability of subwords that were already generated; 1 = off",
        1.0,
        1e6,
    )
    sample: bool = setting(False, "sample translations at random instead of using beam search")
    temperature: float = setting(
        1.0, "sampling temperature; below 1 favours likely subwords", 0.01, 100.0
    )
    top_k: int = setting(
        0, "sample only from this number of most probable subwords; 0 = from all", 0, 2**24
    )
    top_p: float = setting(
        1.0,
        "nucleus sampling: sample only from the most probable subwords whose probabilities add up "
        "to this; 1 = from all",
        0.0,
        1.0,
    )
    seed: int = setting(1, "random seed for sampling", 0, 2**31)
    mbr: Literal["off", "chrf", "bleu"] = setting(
        "off",
        "minimum Bayes risk decoding: of all hypotheses of the beam, or samples, return the one "
        "that is most similar to the others by this metric",
    )
    replace_unknown: bool = setting(
        False, "replace each unknown word with the source word that has the most attention"
    )
    alignment: bool = setting(
        False, "add the word alignment, as pairs of source and target words such as 0-0 1-2"
    )
    shortlist: int = setting(
        0,
        "generate only from this many likely translations of each source subword, which "
        "`nmt shortlist` learns; 0 = from the whole vocabulary",
        0,
        LONGEST_SHORTLIST,
    )

    @property
    def rows(self) -> int:
        """Hypotheses of a source that the engine holds at a time."""
        return self.n_best if self.sample and self.mbr == "off" else self.beam

    @property
    def finished(self) -> int:
        """Finished hypotheses of a source that are kept, to choose `n_best` from."""
        reranks = self.mbr != "off" or self.coverage_penalty > 0
        return self.rows if reranks else self.n_best

    @property
    def enough(self) -> int:
        """Finished hypotheses that end the beam search of a source (patience); 0: no number."""
        return max(self.finished, math.ceil(self.patience * self.beam)) if self.patience else 0


class SearchConflictError(ConfigError):
    """Settings of search that are valid on their own but conflict with each other."""

    def __init__(self, message: str, hint: str, search: SearchConfig) -> None:
        super().__init__(message, hint)
        self.search = search

    def as_usage_error(self, typed: Collection[str]) -> UsageError | None:
        """The same conflict in terms of options; None if none of its settings was an option.

        typed: names of the settings that were given as options of `nmt translate`.
        """
        conflict = next(_conflicts(self.search, _Names(self.search, typed)))
        if set(conflict.settings).isdisjoint(typed):
            return None
        return UsageError(conflict.message, conflict.hint)


def check_search(search: SearchConfig) -> None:
    """Raise SearchConflictError for values that are valid on their own but conflict."""
    for conflict in _conflicts(search, _Names(search, ())):
        raise SearchConflictError(conflict.message, conflict.hint, search)


class _Conflict(NamedTuple):
    settings: tuple[str, ...]
    message: str
    hint: str


class _Names:
    """How an error names settings: as options where they were typed, else by their dotted keys."""

    def __init__(self, search: SearchConfig, typed: Collection[str]) -> None:
        self._search = search
        self._typed = typed

    def name(self, setting_name: str) -> str:
        """Such as `--beam` or `search.beam`."""
        if setting_name in self._typed:
            return option_name(setting_name)
        return f"search.{setting_name}"

    def assigned(self, setting_name: str) -> str:
        """The name with its value, such as `--beam 4` or `search.beam=4`."""
        equals = " " if setting_name in self._typed else "="
        return f"{self.name(setting_name)}{equals}{getattr(self._search, setting_name)}"

    def advised(self, setting_name: str) -> str:
        """What to change, for a hint: the option, or the setting with its option in brackets."""
        option = option_name(setting_name)
        return option if self._typed else f"search.{setting_name} (`nmt translate {option}`)"

    def undone(self, setting_name: str, value: str) -> str:
        """How to go without a setting: leave out its option, or set it to this value."""
        if setting_name in self._typed:
            return f"leave out {option_name(setting_name)}"
        assigned = f"search.{setting_name}={value}"
        return f"add `--set {assigned}`" if self._typed else f"set {assigned}"

    def sampling(self) -> tuple[str, str]:
        """How sampling is turned on, and the hint that says so."""
        if self._typed:
            return "--sample", "add --sample, which draws translations at random"
        return "search.sample=true", "set search.sample=true (`nmt translate --sample`)"


def _conflicts(search: SearchConfig, names: _Names) -> Iterator[_Conflict]:
    """The conflicts among the values of `search`, the most general first."""
    if search.n_best > search.rows:
        yield _Conflict(
            ("n_best", "beam"),
            f"{names.assigned('n_best')} is more than {names.assigned('beam')}",
            f"a beam of B gives at most B hypotheses: raise {names.advised('beam')}",
        )
    if search.max_length and search.min_length > search.max_length:
        yield _Conflict(
            ("min_length", "max_length"),
            f"{names.assigned('min_length')} is more than {names.assigned('max_length')}",
            f"lower {names.advised('min_length')}, or raise {names.advised('max_length')}",
        )
    unused = tuple(
        name
        for name, neutral in (("temperature", 1.0), ("top_k", 0), ("top_p", 1.0))
        if getattr(search, name) != neutral
    )
    if unused and not search.sample:
        named = " and ".join(names.name(name) for name in unused)
        sampling, hint = names.sampling()
        verb = agreeing(len(unused), "needs", "need")
        yield _Conflict(unused, f"{named} {verb} {sampling}", hint)
    if search.keep_numbers and search.markup == "off":
        yield _Conflict(
            ("keep_numbers", "markup"),
            f"{names.name('keep_numbers')} treats numbers like markup, and "
            f"{names.assigned('markup')} translates markup like words",
            f"{names.undone('keep_numbers', 'false')}, or {names.undone('markup', 'keep')}",
        )
    if search.patience and search.sample:
        yield _Conflict(
            ("patience", "sample"),
            f"{names.name('patience')} ends a beam search, and {names.name('sample')} draws "
            "translations at random",
            f"leave out {names.advised('patience')}",
        )
    if search.mbr != "off" and search.beam < MIN_MBR_HYPOTHESES:
        yield _Conflict(
            ("mbr", "beam"),
            f"{names.name('mbr')} compares at least {MIN_MBR_HYPOTHESES} hypotheses, but "
            f"{names.name('beam')} is {search.beam}",
            f"raise {names.advised('beam')}: with sampling it is the number of samples",
        )
