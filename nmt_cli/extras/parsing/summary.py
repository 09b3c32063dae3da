"""`nmt parse score`: sums over sentences, and the table and summary that EVALB prints (6.3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nmt_cli.errors import DataError
from nmt_cli.extras.parsing.brackets import SentenceScore, score_sentence
from nmt_cli.extras.parsing.parameters import COLLINS, Parameters
from nmt_cli.extras.parsing.trees import Node, trees_of
from nmt_cli.plurals import counted

BUCKET = 10
_STATUS = {"valid": 0, "error": 1, "skipped": 2}
_RULE = "=" * 76
_HEAD = f"""\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
{_RULE}"""


@dataclass(frozen=True)
class Summary:
    """Sums over sentences; all except the numbers of sentences are those of the valid ones.

    matched, gold, parsed: brackets; complete: sentences whose brackets are all correct; crossing:
    parsed brackets that cross a gold one; uncrossed, little_crossed: sentences with no crossing
    bracket, with at most two; words: those that count; tags: correct tags.
    """

    sentences: int
    errors: int
    skipped: int
    matched: int
    gold: int
    parsed: int
    complete: int
    crossing: int
    uncrossed: int
    little_crossed: int
    words: int
    tags: int

    @property
    def valid(self) -> int:
        """Sentences that are neither errors nor skipped."""
        return self.sentences - self.errors - self.skipped

    @property
    def recall(self) -> float:
        """Percent of the gold brackets that were found."""
        return _percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Percent of the parsed brackets that are gold ones."""
        return _percent(self.matched, self.parsed)

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision; 0 if no bracket matches."""
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0

    def figures(self) -> dict[str, float]:
        """EVALB's figures by name: numbers of sentences, percentages, the mean of crossings."""
        return {
            "sentences": self.sentences,
            "errors": self.errors,
            "skipped": self.skipped,
            "valid": self.valid,
            "recall": self.recall,
            "precision": self.precision,
            "f1": self.f1,
            "complete_match": _percent(self.complete, self.valid),
            "average_crossing": _percent(self.crossing, self.valid) / 100,
            "no_crossing": _percent(self.uncrossed, self.valid),
            "two_or_less_crossing": _percent(self.little_crossed, self.valid),
            "tagging_accuracy": _percent(self.tags, self.words),
        }


def _percent(count: int, total: int) -> float:
    return 100.0 * count / total if total else 0.0


def summarize(scores: Iterable[SentenceScore]) -> Summary:
    """Sum up the scores of some sentences."""
    scores = list(scores)
    valid = [score for score in scores if score.status == "valid"]
    return Summary(
        sentences=len(scores),
        errors=sum(score.status == "error" for score in scores),
        skipped=sum(score.status == "skipped" for score in scores),
        matched=sum(score.matched for score in valid),
        gold=sum(score.gold for score in valid),
        parsed=sum(score.parsed for score in valid),
        complete=sum(score.complete for score in valid),
        crossing=sum(score.crossing for score in valid),
        uncrossed=sum(score.crossing == 0 for score in valid),
        little_crossed=sum(score.crossing <= 2 for score in valid),
        words=sum(score.words for score in valid),
        tags=sum(score.tags for score in valid),
    )


def by_length(scores: Sequence[SentenceScore]) -> list[tuple[int, Summary]]:
    """Sum up sentences of 1 to 10 words, 11 to 20 ...; returns the longest length and the sums."""
    buckets: dict[int, list[SentenceScore]] = {}
    for score in scores:
        buckets.setdefault(max(1, -(-score.length // BUCKET)) * BUCKET, []).append(score)
    return [(longest, summarize(buckets[longest])) for longest in sorted(buckets)]


def score_lines(
    parsed: Sequence[str],
    gold: Sequence[str],
    parameters: Parameters = COLLINS,
    names: tuple[str, str] = ("the parsed trees", "the gold trees"),
) -> list[SentenceScore]:
    """Compare each line of `parsed` with the same line of `gold`, as EVALB does.

    A line contains one tree, several or none. Raises DataError, naming one of `names` and the line,
    if a line is not a tree, if there are not as many lines, and if more sentences than
    parameters.max_errors have other words than the gold ones.
    """
    if len(parsed) != len(gold):
        raise DataError(
            f"`{names[0]}` has {counted(len(parsed), 'line')}, `{names[1]}` has {len(gold):,}",
            "line n of one is the tree of the same sentence as line n of the other",
        )
    if not gold:
        raise DataError(
            "nothing to score: the files have no lines", "check the parser that writes these files"
        )
    scores: list[SentenceScore] = []
    errors: list[int] = []
    for line_number, (parsed_line, gold_line) in enumerate(zip(parsed, gold, strict=True), 1):
        parsed_trees = trees_of(parsed_line, names[0], line_number)
        gold_trees = trees_of(gold_line, names[1], line_number)
        scores.append(score_sentence(parsed_trees, gold_trees, parameters))
        if scores[-1].status == "error":
            errors.append(line_number)
        # EVALB also stops at the second error above the limit.
        if parameters.max_errors is not None and len(errors) > parameters.max_errors + 1:
            raise DataError(
                f"`{names[0]}`, line {line_number:,}: {scores[-1].reason}; the words of lines "
                f"{', '.join(map(str, errors[:-1]))} differ too",
                "is it the parse of the same text? MAX_ERROR in the file of --params allows more",
            )
    return scores


def unlabelled(lines: Iterable[str]) -> int:
    """The number of lines with a tree whose outermost bracket has no label, as in treebanks."""
    return sum(
        any(isinstance(tree, Node) and not tree.label for tree in trees_of(line)) for line in lines
    )


def sentence_table(scores: Sequence[SentenceScore]) -> Iterator[str]:
    """Yield the lines of EVALB's table of sentences, and that of their sums."""
    yield from _HEAD.splitlines()
    for index, score in enumerate(scores, 1):
        yield (
            f"{index:4d}  {score.length:3d}    {_STATUS[score.status]}  "
            f"{_percent(score.matched, score.gold):6.2f} "
            f"{_percent(score.matched, score.parsed):6.2f}"
            f"   {score.matched:3d}    {score.gold:3d}  {score.parsed:3d}    {score.crossing:3d}"
            f"   {score.words:4d}  {score.tags:4d}   {_percent(score.tags, score.words):6.2f}"
        )
    yield _RULE
    total = summarize(scores)
    brackets = (
        f"{'':16}{total.recall:6.2f} {total.precision:6.2f} {total.matched:6d} {total.gold:5d} "
        f"{total.parsed:5d}  {total.crossing:5d}"
    )
    yield (
        f"{brackets if total.gold and total.parsed else ''}"
        f"  {total.words:5d} {total.tags:5d}   {_percent(total.tags, total.words):6.2f}"
    )


def summary_lines(title: str, summary: Summary) -> Iterator[str]:
    """Yield the lines of a summary as EVALB prints it."""
    figures = summary.figures()
    yield f"-- {title} --"
    for label, name, number_format in _ROWS:
        yield f"{label:<25} = {figures[name]:6{number_format}}"


_ROWS = (
    ("Number of sentence", "sentences", ".0f"),
    ("Number of Error sentence", "errors", ".0f"),
    ("Number of Skip  sentence", "skipped", ".0f"),
    ("Number of Valid sentence", "valid", ".0f"),
    ("Bracketing Recall", "recall", ".2f"),
    ("Bracketing Precision", "precision", ".2f"),
    ("Bracketing FMeasure", "f1", ".2f"),
    ("Complete match", "complete_match", ".2f"),
    ("Average crossing", "average_crossing", ".2f"),
    ("No crossing", "no_crossing", ".2f"),
    ("2 or less crossing", "two_or_less_crossing", ".2f"),
    ("Tagging accuracy", "tagging_accuracy", ".2f"),
)
