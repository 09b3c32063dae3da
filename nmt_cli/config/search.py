"""The settings of search (section 6.1), and which of them do not go together."""

from dataclasses import dataclass
from typing import Literal

from nmt_cli.config.values import setting
from nmt_cli.errors import ConfigError
from nmt_cli.plurals import agreeing

# Candidates of a source subword that a model's shortlist holds.
LONGEST_SHORTLIST = 100

# Source tokens times beam that suit a CPU: what is computed on stays in its caches.
BATCH_TOKENS = 2_048


@dataclass(frozen=True)
class SearchConfig:
    """Section 6.1."""

    beam: int = setting(4, "hypotheses kept; 1 is greedy", 1, 1_024)
    alpha: float = setting(0.6, "length penalty ((5+n)/6)^alpha", 0.0, 10.0)
    max_extra_length: int = setting(50, "longest output: source + this", 0, 65_536)
    n_best: int = setting(1, "hypotheses given for each line, each text once", 1, 1_024)
    batch_tokens: int | Literal["auto"] = setting(
        "auto", "source tokens times beam searched together; auto: what suits the device", 1, 2**31
    )
    length_penalty: Literal["gnmt", "power", "none"] = setting(
        "gnmt", "what log-probabilities are divided by: ((5+n)/6)^alpha, n^alpha, or nothing"
    )
    word_reward: float = setting(0.0, "added to the score for each subword", -100.0, 100.0)
    coverage_penalty: float = setting(
        0.0, "beta of GNMT's coverage penalty, by which finished hypotheses are ranked", 0.0, 100.0
    )
    min_length: int = setting(0, "shortest output, in subwords", 0, 65_536)
    max_length: int = setting(
        0, "longest output, in subwords; 0: max_extra_length alone", 0, 65_536
    )
    no_repeat_ngram: int = setting(
        0, "no so many subwords in a row come twice, such as 4; 0: they may", 0, 1_024
    )
    repetition_penalty: float = setting(
        1.0, "subwords that came already have their probability divided by this", 1.0, 1e6
    )
    sample: bool = setting(False, "draw translations by chance; n_best are drawn for each line")
    temperature: float = setting(1.0, "of sampling; below 1 likely subwords gain", 0.01, 100.0)
    top_k: int = setting(0, "sample from the k likeliest subwords; 0: from all", 0, 2**24)
    top_p: float = setting(
        1.0, "sample from the likeliest subwords that together have this probability", 0.0, 1.0
    )
    seed: int = setting(1, "of sampling", 0, 2**31)
    mbr: Literal["off", "chrf", "bleu"] = setting(
        "off", "choose, of `beam` hypotheses, the one most like the others by this metric"
    )
    replace_unknown: bool = setting(
        False, "give unknown words as the source has them, found by attention"
    )
    alignment: bool = setting(False, "tell which source word each word comes from")
    shortlist: int = setting(
        0,
        "likeliest subwords that each of the source lets in, from the list of `nmt shortlist`; "
        "0: all words may come",
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
        chooses = self.mbr != "off" or self.coverage_penalty > 0
        return self.rows if chooses else self.n_best


def check_search(search: SearchConfig) -> None:
    """Raise ConfigError for values that are each fine but do not fit together."""
    if search.n_best > search.rows:
        raise ConfigError(
            f"search.n_best={search.n_best} is more than search.beam={search.beam}",
            "a beam of B gives at most B hypotheses: raise search.beam (`nmt translate --beam`)",
        )
    if search.max_length and search.min_length > search.max_length:
        raise ConfigError(
            f"search.min_length={search.min_length} is more than "
            f"search.max_length={search.max_length}"
        )
    idle = {
        "temperature": search.temperature != 1.0,
        "top_k": search.top_k != 0,
        "top_p": search.top_p != 1.0,
    }
    named = [f"search.{name}" for name, given in idle.items() if given]
    if named and not search.sample:
        raise ConfigError(
            f"{' and '.join(named)} {agreeing(len(named), 'matters', 'matter')} to sampling only",
            "set search.sample=true (`nmt translate --sample`)",
        )
    if search.mbr != "off" and search.beam < 3:
        raise ConfigError(
            f"search.mbr chooses among hypotheses, but search.beam is {search.beam}",
            "raise search.beam (`nmt translate --beam`): of sampling it is the number of samples",
        )
