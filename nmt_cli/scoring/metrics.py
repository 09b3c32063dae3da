"""The metrics by name: those of sacreBLEU, and the paper's BLEU, which is built on its BLEU."""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt_cli import __version__
from nmt_cli.data.languages.codes import base_code
from nmt_cli.errors import UnavailableError, UsageError, did_you_mean
from nmt_cli.scoring.paper import paper_text, splits_compounds, tokenized_text

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreMetric
    from sacrebleu.metrics.bleu import BLEU

TOKENIZED_LINES, FEWEST_TOKENIZED = 100, 10
LOWER_IS_BETTER = frozenset({"ter"})


class Options(NamedTuple):
    """Options of a metric; "" is the metric's own default."""

    lowercase: bool = False
    tokenize: str = ""
    tgt_lang: str = ""


@dataclass(frozen=True)
class Metric:
    """One metric, ready to use.

    `engine` counts and computes over lines that `prepare` has returned. `extra` holds the entries
    of the signature beyond sacreBLEU's own; None: sacreBLEU's signature is printed unchanged.
    """

    engine: "SacreMetric"
    name: str = ""
    prepare: Callable[[Sequence[str]], Sequence[str]] = lambda lines: lines
    extra: Mapping[str, str] | None = None

    def signature(self, resamples: int, seed: int) -> str:
        """What has to be equal for two values to be comparable; call it after counting lines."""
        signature: Any = self.engine.get_signature()
        if resamples:
            signature.update("bs", resamples)
            signature.update("seed", str(seed))
        for key, value in (self.extra or {}).items():
            signature.update(key, value)
        return str(signature)


def check_metrics(names: Iterable[str], known: Sequence[str] = ()) -> None:
    """Raise UsageError for a name that is not in `known`, which is METRICS if it is not given."""
    known = known or list(METRICS)
    for name in names:
        if name not in known:
            raise UsageError(f"unknown metric `{name}`", did_you_mean(name, list(known)))


def make_metric(name: str, options: Options) -> Metric:
    """The metric called `name` in METRICS; raises UsageError or UnavailableError."""
    check_metrics([name])
    return METRICS[name](options)


def _make_bleu(options: Options) -> Metric:
    from sacrebleu.metrics.bleu import BLEU

    if options.tokenize and options.tokenize not in BLEU.TOKENIZERS:
        hint = did_you_mean(options.tokenize, list(BLEU.TOKENIZERS))
        raise UsageError(f"BLEU has no tokenizer `{options.tokenize}`", hint)
    language = base_code(options.tgt_lang)
    return Metric(_sacre_bleu(BLEU, options, language))


def _sacre_bleu(bleu: "type[BLEU]", options: Options, language: str) -> "BLEU":
    try:
        # `force` silences a warning on stderr, which `looks_tokenized` replaces.
        return bleu(
            lowercase=options.lowercase,
            tokenize=options.tokenize or None,
            trg_lang="" if options.tokenize else language,
            force=True,
        )
    except (ImportError, RuntimeError, AssertionError, OSError, SystemExit) as error:
        wanted = f"`{options.tokenize}`" if options.tokenize else f"for `{language}`"
        reason = " ".join(str(error).split())
        raise UnavailableError(
            f"the tokenizer {wanted} cannot be used: {reason}",
            "install what it needs, or choose another with --tokenize (`char` needs nothing)",
        ) from error


def _make_chrf(options: Options) -> Metric:
    from sacrebleu.metrics.chrf import CHRF

    return Metric(CHRF(lowercase=options.lowercase))


def _make_chrf_words(options: Options) -> Metric:
    from sacrebleu.metrics.chrf import CHRF

    return Metric(CHRF(lowercase=options.lowercase, word_order=2))


def _make_ter(_options: Options) -> Metric:
    from sacrebleu.metrics.ter import TER

    return Metric(TER())


def _make_paper_bleu(options: Options) -> Metric:
    language = _required_language(options, "the paper's BLEU")
    split = splits_compounds(language)
    return _moses_bleu("BLEU-paper", options, language, paper_text, split=split)


def _make_tokenized_bleu(options: Options) -> Metric:
    language = _required_language(options, "tokenised BLEU")
    return _moses_bleu("BLEU-tokenized", options, language, tokenized_text, split=False)


def _required_language(options: Options, metric: str) -> str:
    language = base_code(options.tgt_lang)
    if not language:
        raise UsageError(
            f"{metric} needs the language of the translation: its tokeniser's rules differ",
            "name it, for example `--tgt-lang de`",
        )
    return language


def _moses_bleu(
    name: str,
    options: Options,
    language: str,
    text: Callable[[Iterable[str], str], list[str]],
    *,
    split: bool,
) -> Metric:
    """BLEU as in multi-bleu.perl, over the tokens that `text` makes of lines of `language`."""
    from sacrebleu.metrics.bleu import BLEU

    engine = BLEU(lowercase=options.lowercase, tokenize="none", smooth_method="none", force=True)
    extra = {
        "tok": f"moses-{language}",
        "punct": "replaced",
        "compounds": "split" if split else "whole",
        "version": f"nmt-{__version__}+sacremoses-{version('sacremoses')}"
        f"+sacrebleu-{version('sacrebleu')}",
    }
    return Metric(engine, name, lambda lines: text(lines, language), extra)


METRICS: Mapping[str, Callable[[Options], Metric]] = types.MappingProxyType(
    {
        "bleu": _make_bleu,
        "chrf": _make_chrf,
        "chrf++": _make_chrf_words,
        "ter": _make_ter,
        "bleu-paper": _make_paper_bleu,
        "bleu-tokenized": _make_tokenized_bleu,
    }
)


def looks_tokenized(lines: Iterable[str]) -> bool:
    """Whether at least 100 lines end in a full stop with a space before it, as in sacreBLEU's rule.

    Of a short text, half of the lines are enough. sacreBLEU's tokenizers expect text that has not
    been tokenised.
    """
    ends = [line.endswith(" .") for line in lines]
    return sum(ends) >= min(TOKENIZED_LINES, max(FEWEST_TOKENIZED, len(ends) / 2))
