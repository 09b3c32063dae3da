"""The lines with the worst scores, and how the words of a line differ from its reference."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from nmt_cli.scoring.sacrebleu_adapter import line_statistics, score_of_sums

# Above these numbers a line is not compared word by word. The time grows with the square of the
# words, and with the pairs of equal ones times the differences: of a model that repeats two words a
# thousand times, it would be a minute.
MOST_WORDS = 2_000
MOST_EQUAL_PAIRS = 100_000
SAME, MISSING, ADDED = "=", "-", "+"


class WordRun(NamedTuple):
    """A run of words. kind: SAME in both, MISSING in the hypothesis, or ADDED by it."""

    kind: str
    text: str


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """sacreBLEU's chrF2 of each line; with several references, that of the best for the line."""
    from sacrebleu.metrics.chrf import CHRF

    engine = CHRF()
    statistics = line_statistics(engine, hypotheses, references)
    return [score_of_sums(engine, counts) for counts in statistics]


def worst_lines(values: Sequence[float], count: int, *, lower_is_better: bool = False) -> list[int]:
    """The indices of the `count` worst lines, the worst first; of equal ones the first in the text.

    >>> worst_lines([3.0, 1.0, 2.0, 1.0], 3)
    [1, 3, 2]
    """
    sign = -1 if lower_is_better else 1
    return sorted(range(len(values)), key=lambda index: (sign * values[index], index))[:count]


def nearest_reference(hypothesis: str, references: Sequence[str]) -> str:
    """The reference with the best sentence chrF."""
    if len(references) < 2:
        return references[0]
    values = sentence_chrf([hypothesis] * len(references), [references])
    return references[max(range(len(references)), key=values.__getitem__)]


def word_differences(hypothesis: str, reference: str) -> list[WordRun]:
    """The words of both lines in runs: in both, only in the reference, or only in the hypothesis.

    >>> [tuple(run) for run in word_differences("a black cat", "a white cat sleeps")]
    [('=', 'a'), ('-', 'white'), ('+', 'black'), ('=', 'cat'), ('-', 'sleeps')]
    """
    old, new = reference.split(), hypothesis.split()
    if max(len(old), len(new)) > MOST_WORDS or _equal_pairs(old, new) > MOST_EQUAL_PAIRS:
        runs = [WordRun(MISSING, " ".join(old)), WordRun(ADDED, " ".join(new))]
        return [run for run in runs if run.text]
    runs = []
    for tag, start, end, new_start, new_end in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            runs.append(WordRun(SAME, " ".join(old[start:end])))
            continue
        if start < end:
            runs.append(WordRun(MISSING, " ".join(old[start:end])))
        if new_start < new_end:
            runs.append(WordRun(ADDED, " ".join(new[new_start:new_end])))
    return runs


def _equal_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """How many pairs of a word of `old` and a word of `new` are equal."""
    counts = Counter(new)
    return sum(counts[word] for word in old)
