"""Compares a parsed sentence with the gold one as EVALB does: brackets, crossings, tags."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nmt_cli import plurals
from nmt_cli.extras.parsing.parameters import Parameters
from nmt_cli.extras.parsing.trees import Leaf, Node, Tree, walk

Status = Literal["valid", "error", "skipped"]
QUOTATION_MARKS = ("'", '"', "/")

Span = tuple[int, int]


@dataclass
class Bracket:
    """A bracket over the words from `start` to before `end`, among the words that count."""

    label: str
    start: int
    end: int = -1


@dataclass
class Quote:
    """A quotation mark, which one parser may tag as a word and another one as punctuation.

    index: of its word, or of the word after it; bracket: the number of brackets that begin before
    it; around: those of them that contain it.
    """

    leaf: Leaf
    index: int
    bracket: int
    around: tuple[Bracket, ...]


@dataclass
class TreeSide:
    """What is counted in a sentence: words with tags, brackets in order, length for the cutoff."""

    leaves: list[Leaf] = field(default_factory=list)
    brackets: list[Bracket] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    length: int = 0

    @classmethod
    def of(cls, trees: Sequence[Tree], parameters: Parameters) -> "TreeSide":
        """Collect the parts of the trees of one line that count."""
        side = cls()
        open_: list[Bracket] = []
        for event in (event for tree in trees for event in walk(tree)):
            if isinstance(event, Node):
                open_.append(Bracket(event.label, len(side.leaves)))
                side.brackets.append(open_[-1])
            elif isinstance(event, Leaf):
                side._take(event, parameters, open_)
            else:
                open_.pop().end = len(side.leaves)
        return side

    def _take(self, leaf: Leaf, parameters: Parameters, around: Sequence[Bracket]) -> None:
        self.length += leaf.tag not in parameters.deleted_for_length
        if leaf.tag in parameters.quotes and leaf.word in QUOTATION_MARKS:
            self.quotes.append(Quote(leaf, len(self.leaves), len(self.brackets), tuple(around)))
        if leaf.tag not in parameters.deleted:
            self.leaves.append(leaf)

    def put_back(self, index: int) -> None:
        """Count a quotation mark as a word although its tag is deleted."""
        quote = self.quotes[index]
        self.leaves.insert(quote.index, quote.leaf)
        for bracket in self.brackets[quote.bracket :]:
            bracket.start += 1
            bracket.end += 1
        for bracket in quote.around:
            bracket.end += 1
        for later in self.quotes[index:]:
            later.index += 1


@dataclass(frozen=True)
class SentenceScore:
    """The counts of one sentence; if it is not valid, only its length.

    length: of the gold sentence, for the cutoff; matched, gold, parsed: brackets; crossing: parsed
    brackets that cross a gold one; words: those that count; tags: correct tags; reason: why the
    sentence is an error or skipped.
    """

    length: int
    status: Status = "valid"
    matched: int = 0
    gold: int = 0
    parsed: int = 0
    crossing: int = 0
    words: int = 0
    tags: int = 0
    reason: str = ""

    @property
    def complete(self) -> bool:
        """Whether all brackets are as in the gold tree."""
        return self.matched == self.gold == self.parsed


def score_sentence(
    parsed_trees: Sequence[Tree], gold_trees: Sequence[Tree], parameters: Parameters
) -> SentenceScore:
    """Compare the trees of one line with the gold ones.

    The sentence is skipped if the parsed line has no words that count, and an error if its words
    differ from the gold ones.
    """
    parsed = TreeSide.of(parsed_trees, parameters)
    gold = TreeSide.of(gold_trees, parameters)
    if not parsed.leaves:
        return SentenceScore(gold.length, "skipped", reason="no words")
    if len(gold.leaves) != len(parsed.leaves):
        agree_on_quotes(gold, parsed, parameters)
    reason = _difference(gold.leaves, parsed.leaves, parameters)
    if reason:
        return SentenceScore(gold.length, "error", reason=reason)
    gold_brackets, parsed_brackets = (
        count_brackets(gold, parameters),
        count_brackets(parsed, parameters),
    )
    same_tags = sum(
        parameters.same_label(gold_leaf.tag, leaf.tag)
        for gold_leaf, leaf in zip(gold.leaves, parsed.leaves, strict=True)
    )
    return SentenceScore(
        gold.length,
        "valid",
        _matched(gold_brackets, parsed_brackets, parameters),
        len(gold_brackets),
        len(parsed_brackets),
        _crossing(gold_brackets, parsed_brackets),
        len(gold.leaves),
        same_tags,
    )


def agree_on_quotes(gold: TreeSide, parsed: TreeSide, parameters: Parameters) -> None:
    """Count a quotation mark as a word on both sides if it is a word on one of them."""
    for index, quote in enumerate(parsed.quotes):
        word_index = quote.index
        for gold_index, gold_quote in enumerate(gold.quotes):
            tags = gold_quote.leaf.tag, quote.leaf.tag
            if gold_quote.index != word_index or tags[0] == tags[1]:
                continue
            deleted = [tag in parameters.deleted for tag in tags]
            if deleted == [True, False]:
                gold.put_back(gold_index)
            elif deleted == [False, True]:
                parsed.put_back(index)


def _difference(gold: list[Leaf], parsed: list[Leaf], parameters: Parameters) -> str:
    if len(gold) != len(parsed):
        counts = f"{plurals.counted(len(parsed), 'word')}, the gold tree has {len(gold):,}"
        return f"{counts} without punctuation{_first_other_word(gold, parsed, parameters)}"
    for gold_leaf, leaf in zip(gold, parsed, strict=True):
        if not parameters.same_word(gold_leaf.word, leaf.word):
            return f"the word `{leaf.word}`, the gold tree has `{gold_leaf.word}`"
    return ""


def _first_other_word(gold: list[Leaf], parsed: list[Leaf], parameters: Parameters) -> str:
    """Which of the words that count is the first that differs, as the end of a message."""
    for index, (gold_leaf, leaf) in enumerate(zip(gold, parsed, strict=False)):
        if not parameters.same_word(gold_leaf.word, leaf.word):
            return f"; word {index + 1:,} is `{leaf.word}`, in the gold tree `{gold_leaf.word}`"
    index = min(len(gold), len(parsed))
    longer, which = (gold, "gold") if len(gold) > len(parsed) else (parsed, "parsed")
    return f"; only the {which} tree has word {index + 1:,}, `{longer[index].word}`"


def count_brackets(side: TreeSide, parameters: Parameters) -> list[Bracket]:
    """The brackets that count: those with words, not deleted, labels without function tags."""
    counted = []
    for bracket in side.brackets:
        label = bracket.label.replace("=", "-").partition("-")[0]
        if bracket.start != bracket.end and label not in parameters.deleted_brackets:
            counted.append(Bracket(label, bracket.start, bracket.end))
    return counted


def _matched(gold: Iterable[Bracket], parsed: Iterable[Bracket], parameters: Parameters) -> int:
    """The number of gold brackets that match; each takes the first free parsed one that fits."""
    free: dict[Span, list[str]] = {}
    for bracket in parsed:
        free.setdefault((bracket.start, bracket.end), []).append(bracket.label)
    matched = 0
    for bracket in gold:
        labels = free.get((bracket.start, bracket.end), [])
        fitting = (
            index
            for index, label in enumerate(labels)
            if not parameters.labeled or parameters.same_label(bracket.label, label)
        )
        index = next(fitting, None)
        if index is not None:
            del labels[index]
            matched += 1
    return matched


def _crossing(gold: Iterable[Bracket], parsed: Iterable[Bracket]) -> int:
    spans = {(bracket.start, bracket.end) for bracket in gold}
    return sum(
        any(
            start < bracket.start < end < bracket.end or bracket.start < start < bracket.end < end
            for start, end in spans
        )
        for bracket in parsed
    )
