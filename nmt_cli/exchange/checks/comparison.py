"""Compares a model here with the same model in another toolkit, on the same lines."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from nmt_cli.config.search import SearchConfig
from nmt_cli.config.values import shortened
from nmt_cli.data.text.sanitize import clean_words
from nmt_cli.errors import NmtError, QualityGateError
from nmt_cli.exchange.target import BatchTranslator, ForeignTranslator, WordsTranslator
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model_dir import LoadedModel
from nmt_cli.plurals import agreeing, counted
from nmt_cli.translation.translator import Translator

# The largest difference of a sentence's log-probability, in nats, for weights in float32.
TOLERANCE = 1e-3
# The smallest share of equal greedy translations for weights of a lower precision.
SMALLEST_SHARE = 0.8
# Differing lines that an error shows.
SHOWN = 3
REPORT = "this is a bug of nmt or of a new version of the library; please report it"


@dataclass(frozen=True)
class CheckResult:
    """How two forms of a model differ.

    lines: the number of compared lines; equal_translations: those whose greedy translation is the
    same; log_prob_difference: the largest difference of a log-probability, in nats, of the
    sentence pairs that were scored; None if the other toolkit scores none.
    """

    lines: int
    equal_translations: int
    scored_pairs: int
    log_prob_difference: float | None

    def as_document(self) -> dict[str, object]:
        """The result for JSON."""
        return asdict(self)

    def in_words(self) -> str:
        """The result for a person."""
        equal = f"{self.equal_translations} of {counted(self.lines, 'greedy translation')} equal"
        if self.log_prob_difference is None:
            return equal
        return f"{equal}, log-probabilities differ by at most {self.log_prob_difference:.2g}"


@contextlib.contextmanager
def foreign_errors(title: str, verb: str = "exported") -> Iterator[None]:
    """Raise QualityGateError for what the library of the other toolkit raises in the block."""
    try:
        yield
    except (NmtError, MemoryError):
        raise
    except Exception as error:  # each library has classes of its own
        raise QualityGateError(
            f"{title} cannot run the {verb} model: {shortened(str(error) or type(error).__name__)}",
            REPORT,
        ) from error


def compare_models(
    loaded: LoadedModel,
    foreign: ForeignTranslator | WordsTranslator,
    lines: Sequence[str],
    precision: str,
    title: str,
    *,
    verb: str = "exported",
) -> CheckResult:
    """Compare source ids, log-probabilities and greedy translations of `lines`.

    precision: of the weights in the other toolkit; verb: exported or imported, for messages. Raises
    QualityGateError, which shows lines that differ.
    """
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    lines = [translator.repair(clean_words(line)) for line in lines]
    sources = loaded.subwords.encode_source(lines)
    with foreign_errors(title, verb):
        _check_source_ids(foreign, lines, sources, title, verb)
    search = SearchConfig(
        beam=1,
        max_extra_length=loaded.config.search.max_extra_length,
        sentences="line",
        markup="off",
    )
    translations = translator.translate(list(lines), search=search)
    targets = [list(translation.hypotheses[0].ids) for translation in translations]
    pairs: list[tuple[list[int], list[int]]] = []
    difference = None
    # Each source is scored with its own translation, which is likely, and with that of the next
    # line, which is not: errors of unlikely words show there.
    if not isinstance(foreign, WordsTranslator):
        pairs = list(zip(sources, targets, strict=True))
        pairs += list(zip(sources, [*targets[1:], *targets[:1]], strict=True))
        with foreign_errors(title, verb):
            difference = _largest_difference(loaded, foreign, pairs)
    # Spaces at the ends are no words; other toolkits keep them.
    expected = [translation.text.strip() for translation in translations]
    limits = [len(ids) - 1 + search.max_extra_length for ids in sources]
    with foreign_errors(title, verb):
        actual = [text.strip() for text in _greedy_translations(foreign, lines, limits)]
    same = sum(text == other for text, other in zip(expected, actual, strict=True))
    result = CheckResult(len(lines), same, len(pairs), difference)
    if precision == "float32" and difference is not None and not difference <= TOLERANCE:
        raise QualityGateError(
            f"the {verb} model gives other probabilities in {title}: the log-probability of a "
            f"sentence differs by {difference:.2g}, which is more than {TOLERANCE:g}",
            _epsilon_hint(loaded, foreign, title) or REPORT,
        )
    least = 1.0 if precision == "float32" else SMALLEST_SHARE
    if same < least * len(lines):
        raise _translations_error(lines, expected, actual, precision, title)
    return result


def _epsilon_hint(
    loaded: LoadedModel, foreign: ForeignTranslator | WordsTranslator, title: str
) -> str:
    """What to do where the layer norms of the other toolkit have another epsilon; or ""."""
    own = loaded.config.model.norm_epsilon
    other = getattr(foreign, "norm_epsilon", own)
    if other == own:
        return ""
    return (
        f"the layer norms of {title} have the epsilon {other:g} and those of this model {own:g}, "
        "which shows in models that were trained briefly: train it longer, or anew with --set "
        f"model.norm_epsilon={other:g}; --no-check exports it as it is"
    )


def _check_source_ids(
    foreign: ForeignTranslator | WordsTranslator,
    lines: Sequence[str],
    sources: Sequence[Sequence[int]],
    title: str,
    verb: str,
) -> None:
    for line, expected in zip(lines, sources, strict=True):
        actual = foreign.source_ids(line)
        if actual != list(expected):
            raise QualityGateError(
                f"the {verb} model splits `{shortened(line)}` into other subwords in {title}: "
                f"ids {shortened(str(actual))} instead of {shortened(str(list(expected)))}",
                REPORT,
            )


def _largest_difference(
    loaded: LoadedModel, foreign: ForeignTranslator, pairs: Sequence[tuple[list[int], list[int]]]
) -> float:
    forced = force_pairs(loaded.model, pairs)
    if isinstance(foreign, BatchTranslator):
        others = foreign.log_probs(pairs)
    else:
        others = [foreign.log_prob(source, target) for source, target in pairs]
    differences = [
        abs(sum(pair.token_scores) - other) for pair, other in zip(forced, others, strict=True)
    ]
    # `max` would ignore a NaN that is not the first.
    return next((value for value in differences if value != value), max(differences, default=0.0))


def _greedy_translations(
    foreign: ForeignTranslator | WordsTranslator, lines: Sequence[str], limits: Sequence[int]
) -> list[str]:
    if isinstance(foreign, WordsTranslator):
        return foreign.greedy_translations(lines)
    if isinstance(foreign, BatchTranslator):
        return foreign.translations(lines, limits, beam=1, length_penalty=0.0)
    return [
        foreign.translate(line, beam=1, length_penalty=0.0, max_length=limit)
        for line, limit in zip(lines, limits, strict=True)
    ]


def _translations_error(
    lines: Sequence[str],
    expected: Sequence[str],
    actual: Sequence[str],
    precision: str,
    title: str,
) -> QualityGateError:
    different = [
        f"`{shortened(line)}` becomes `{shortened(other)}` instead of `{shortened(text)}`"
        for line, text, other in zip(lines, expected, actual, strict=True)
        if text != other
    ]
    verb = agreeing(len(different), "is", "are")
    hint = (
        "export it with --precision float32, name other lines with --check, or leave the "
        "comparison out with --no-check"
    )
    if precision == "float32":
        hint = REPORT
    return QualityGateError(
        f"{len(different)} of {counted(len(lines), 'line')} {verb} translated differently by "
        f"{title} ({precision}): {'; '.join(different[:SHOWN])}",
        hint,
    )
