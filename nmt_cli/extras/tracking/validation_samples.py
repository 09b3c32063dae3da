"""Validations of one run that translated different numbers of sentences."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from nmt_cli.plurals import counted, enumerated


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
