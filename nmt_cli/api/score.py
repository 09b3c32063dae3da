"""score(): compares translations with references (BLEU, chrF, TER), as `nmt score` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nmt_cli.config.python_spelling import python_errors
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.scoring.scores import Score

_OPTIONS = ("metrics", "lowercase", "tokenize", "tgt_lang", "confidence")


def score(
    hypotheses: Iterable[str],
    *references: Iterable[str],
    metrics: Sequence[str] = ("bleu",),
    lowercase: bool = False,
    tokenize: str = "",
    tgt_lang: str = "",
    confidence: bool = False,
    baselines: Mapping[str, Iterable[str]] | None = None,
) -> dict[str, Score]:
    """Compare translations with reference translations, line by line.

    Args:
        hypotheses: the translations, one str for each line.
        references: the lines of one reference translation, or of several, each an argument of its
            own.
        metrics: "bleu", "chrf", "chrf++", "ter", "bleu-paper" or "bleu-tokenized".
        lowercase: ignore case.
        tokenize: the tokeniser that sacreBLEU uses for BLEU, such as "intl"; by default "13a", or
            the one for `tgt_lang`.
        tgt_lang: code of the target language, such as "ja".
        confidence: add the 95 % confidence interval, by bootstrap resampling.
        baselines: the lines of other systems by name, to compare with; each Score then has
            `comparisons` with p-values.

    Returns:
        A Score for each metric, by its name, with `value`, `signature`, and `notes`: warnings, such
        as of references in another order, the same for all metrics.

    Raises:
        TypeError: something else than lists of lines, such as a str or the path of a file.
        NmtError: DataError where the numbers of lines differ or there are none, UsageError for an
            unknown metric or the name of a language in place of its code.
    """
    lines = _lines("hypotheses", hypotheses)
    reference_lines = [
        _lines(f"reference {number}", reference) for number, reference in enumerate(references, 1)
    ]
    others = _lines_by_name(baselines)
    if isinstance(metrics, str) or not all(isinstance(name, str) for name in metrics):
        raise TypeError('metrics is a list of names, such as ["bleu", "chrf"]')
    if not reference_lines:
        raise UsageError("there is no reference to score against", "score(hypotheses, references)")

    from nmt_cli.data.languages.names import require_codes
    from nmt_cli.scoring import score as score_lines
    from nmt_cli.scoring import text_notes

    names = list(dict.fromkeys(metrics))
    with python_errors(_OPTIONS):
        require_codes(tgt_lang)
        _require_plain_text(lines, reference_lines, others)
        scores = score_lines(
            lines, reference_lines, names, lowercase=lowercase, tokenize=tokenize,
            tgt_lang=tgt_lang, confidence=confidence, baselines=others,
        )  # fmt: skip
    named = [(f"reference {number}", each) for number, each in enumerate(reference_lines, 1)]
    notes = tuple(text_notes(lines, named))
    noted = [replace(score, notes=notes) for score in scores]
    return dict(zip(names, noted, strict=True))


def _lines_by_name(baselines: Mapping[str, Iterable[str]] | None) -> dict[str, list[str]]:
    """The lines of each baseline; raises TypeError for anything else than a dict of lines."""
    if baselines is not None and not isinstance(baselines, Mapping):
        raise TypeError(f'baselines is a dict, {{"old": lines}}, not {type(baselines).__name__}')
    return {
        name: _lines(f"baseline {name!r}", baseline) for name, baseline in (baselines or {}).items()
    }


def _require_plain_text(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    baselines: Mapping[str, Sequence[str]],
) -> None:
    """Raise DataError for JSON in place of text."""
    from nmt_cli.scoring import require_plain_text

    numbered = ((f"reference {number}", lines) for number, lines in enumerate(references, 1))
    named = [("hypotheses", hypotheses), *numbered, *baselines.items()]
    require_plain_text(named, are_files=False)


def _lines(argument: str, lines: object) -> list[str]:
    """The lines of a text without their line breaks; raises TypeError for anything else."""
    expected = "lines of text, such as a list of str"
    if isinstance(lines, str | bytes | bytearray | Mapping) or not isinstance(lines, Iterable):
        raise TypeError(f"{argument}: expected {expected}, not {type(lines).__name__}")
    result = []
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise TypeError(f"{argument}, line {number:,}: expected str, not {type(line).__name__}")
        result.append(line.removesuffix("\n"))
    return result
