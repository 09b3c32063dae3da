"""What the numbers of sentences that validations translated mean for their BLEU."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from nmt_cli.extras.tracking.records import RunSummary
from nmt_cli.plurals import counted, enumerated
from nmt_cli.training.reporting.report import BLEU_NOISE


def sample_notes(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """A note for each run that was resumed with another `train.validation_sentences`.

    runs: the records of each run, by its name.

    >>> records = [
    ...     {"step": step, "validation": {"bleu": 9.0, "sentences": sentences}}
    ...     for step, sentences in ((5, 500), (10, 500), (15, 60))
    ... ]
    >>> sample_notes({"m": records})
    ['BLEU within m is of 500 sentences (steps 5 to 10) and of 60 sentences (step 15), and not \
comparable between them']
    """
    notes = []
    for run, records in runs.items():
        samples = [
            f"of {counted(sentences, 'sentence')} ({_steps([step for step, _ in validated])})"
            for sentences, validated in groupby(_validated(records), lambda pair: pair[1])
        ]
        if len(samples) > 1:
            notes.append(
                f"BLEU within {run} is {enumerated(samples)}, and not comparable between them"
            )
    return notes


def chance_note(summaries: Sequence[RunSummary]) -> str:
    """A note if the BLEU of runs differs by no more than chance on so few sentences, or "".

    >>> from types import SimpleNamespace
    >>> runs = [SimpleNamespace(bleu=bleu, validation_sentences=50) for bleu in (13.5, 12.2, None)]
    >>> chance_note(runs), chance_note(runs[1:])
    ('BLEU is of 50 validation sentences, on which chance makes differences of about 2.0', '')
    """
    measured = [each for each in summaries if each.bleu is not None and each.validation_sentences]
    if len(measured) < 2:
        return ""
    sentences = min(each.validation_sentences or 0 for each in measured)
    noise = BLEU_NOISE / math.sqrt(sentences)
    scores = sorted(each.bleu or 0.0 for each in measured)
    if min(after - before for before, after in pairwise(scores)) > noise:
        return ""
    return (
        f"BLEU is of {counted(sentences, 'validation sentence')}, on which chance makes "
        f"differences of about {noise:.1f}"
    )


def best_step_note(summaries: Sequence[RunSummary]) -> str:
    """A note if runs of the same length have scores of different steps, or "".

    >>> from types import SimpleNamespace
    >>> runs = [SimpleNamespace(step=600, best_step=best, perplexity=1.6) for best in (500, 600)]
    >>> best_step_note(runs)
    'scores are those of each run at its best step: 500 and 600; --out draws all validations'
    >>> longer = SimpleNamespace(step=900, best_step=900, perplexity=1.6)
    >>> best_step_note(runs[1:]), best_step_note([runs[0], longer])
    ('', '')
    """
    measured = [each for each in summaries if each.best_step and each.perplexity is not None]
    steps = sorted({each.best_step or 0 for each in measured})
    if len(steps) < 2 or len({each.step for each in measured}) > 1:
        return ""
    shown = enumerated(f"{step:,}" for step in steps)
    return f"scores are those of each run at its best step: {shown}; --out draws all validations"


def _validated(records: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Step and sentences of each validation with BLEU, if the log has them (older ones do not)."""
    return [
        (record["step"], validation["sentences"])
        for record in records
        if isinstance(validation := record.get("validation"), Mapping)
        and validation.get("sentences")
    ]


def _steps(steps: Sequence[int]) -> str:
    first, last = steps[0], steps[-1]
    return f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
