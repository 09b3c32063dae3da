"""Converts a tree to a line of tokens and back (6.3), as "Grammar as a Foreign Language" (2014).

`(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)))` is `(S (NP DT NN )NP (VP VBZ )VP )S`: the words are
the source sentence and are not repeated. Tags are kept, since EVALB finds punctuation by them.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from nmt_cli.extras.parsing.punctuation import PUNCTUATION_TAGS, UNTAGGED, punctuation_tag
from nmt_cli.extras.parsing.trees import Leaf, Node, Tree, escape_brackets, join_trees, walk

Tags = Literal["all", "xx"]
# The treebank's own label for what it cannot name.
UNNAMED = "X"
_TOKENS = re.compile(r"[()][^\s()]*|[^\s()]+")


class Restored(NamedTuple):
    """A tree over all words, and the number of tokens that were dropped or added to make it."""

    tree: Tree
    repairs: int


def to_line(tree: Tree, tags: Tags = "all") -> str:
    """Convert a tree to the line of tokens that represents it without its words.

    tags: `xx` writes XX for each tag that has a letter. The paper cited above does so for all tags;
    here punctuation keeps its tags, since scores leave out punctuation by its tags.

    >>> to_line(Node("NP", (Leaf("DT", "a"), Leaf("NN", "dog"))))
    '(NP DT NN )NP'
    """
    tokens: list[str] = []
    open_: list[str] = []
    for event in walk(tree):
        if isinstance(event, Leaf):
            tokens.append(shown_tag(event.tag, tags))
        elif isinstance(event, Node):
            open_.append(event.label)
            tokens.append(f"({event.label}")
        else:
            tokens.append(f"){open_.pop()}")
    return " ".join(tokens)


def shown_tag(tag: str, tags: Tags) -> str:
    """The token by which a tag is represented."""
    return UNTAGGED if tags == "xx" and any(map(str.isalpha, tag)) else tag


def from_line(
    line: str,
    words: Sequence[str],
    tag_of: Callable[[str, str], str] = lambda tag, _: tag,
) -> Restored:
    """Convert any line of tokens to a tree over `words`, of which there is at least one.

    A closing bracket closes the innermost open one with its label, and all brackets inside it. A
    closing bracket without an open one is dropped, and so are brackets without words. If there are
    more or fewer tags than words, they are matched from one punctuation mark to the next: extra
    tags are dropped, and words without a tag get the tag XX, before the next mark or, behind all
    tags, in the bracket that is still open or at the end of the tree. Several trees are put into a
    bracket TOP. Round brackets in words are written -LRB- and -RRB-. tag_of: returns the tag of a
    word, given the tag that the line has for it.
    """
    if not words:
        raise ValueError("a tree needs a word")
    tokens = _TOKENS.findall(line)
    tags = [token for token in tokens if token[0] not in "()"]
    restoring = _Restoring(words, shared_out(tags, words), tag_of)
    for token in tokens:
        restoring.take(token)
    return restoring.finished()


def shared_out(tags: Sequence[str], words: Sequence[str]) -> list[int]:
    """The number of words that each tag takes, the last of which is its own; some may remain.

    If there are as many tags as words, each tag takes one word. Otherwise equal punctuation marks
    are matched with each other.

    >>> shared_out(["DT", "."], ["a", "dog", "."]), shared_out(["NN", "NN", "."], ["dogs", "."])
    ([1, 2], [1, 0, 1])
    """
    if len(tags) == len(words):
        return [1] * len(tags)
    counts = [0] * len(tags)
    tag, word = 0, 0
    for next_tag, next_word in [*_same_marks(tags, words), (len(tags), len(words))]:
        pairs = min(next_tag - tag, next_word - word)
        counts[tag : tag + pairs] = [1] * pairs
        if next_tag < len(tags):
            counts[next_tag] = next_word - word - pairs + 1
        tag, word = next_tag + 1, next_word + 1
    return counts


def _same_marks(tags: Sequence[str], words: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of punctuation tags and of the words that match them, in order."""
    among_tags = [index for index, tag in enumerate(tags) if tag in PUNCTUATION_TAGS]
    among_words = [index for index, word in enumerate(words) if punctuation_tag(word)]
    matcher = SequenceMatcher(
        None,
        [tags[index] for index in among_tags],
        [punctuation_tag(words[index]) for index in among_words],
        autojunk=False,
    )
    return [
        (among_tags[first_tag + index], among_words[first_word + index])
        for first_tag, first_word, size in matcher.get_matching_blocks()
        for index in range(size)
    ]


class _Restoring:
    """The open brackets, each with its label and content; the first contains the whole tree."""

    def __init__(
        self, words: Sequence[str], shares: Sequence[int], tag_of: Callable[[str, str], str]
    ) -> None:
        self._words = [escape_brackets(word) for word in reversed(words)]
        self._shares = list(reversed(shares))
        self._tag_of = tag_of
        self._open: list[tuple[str, list[Tree]]] = [("", [])]
        self._repairs = 0

    def take(self, token: str) -> None:
        if token.startswith("("):
            self._repairs += token == "("
            self._open.append((token[1:] or UNNAMED, []))
        elif token.startswith(")"):
            self._close(token[1:])
        else:
            share = self._shares.pop()
            self._repairs += abs(share - 1)
            for left in reversed(range(share)):
                self._open[-1][1].append(self._leaf(UNTAGGED if left else token))

    def _leaf(self, tag: str) -> Leaf:
        word = self._words.pop()
        return Leaf(self._tag_of(tag, word), word)

    def _close(self, label: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if not label or self._open[depth][0] == label:
                self._repairs += len(self._open) - 1 - depth + (not label)
                self._close_to(depth)
                return
        self._repairs += 1

    def _close_to(self, depth: int) -> None:
        while len(self._open) > depth:
            label, children = self._open.pop()
            if children:
                self._open[-1][1].append(Node(label, tuple(children)))
            else:
                self._repairs += 1

    def finished(self) -> Restored:
        self._repairs += len(self._words) + len(self._open) - 1
        missing = [self._leaf(UNTAGGED) for _ in range(len(self._words))]
        if len(self._open) > 1:
            self._open[-1][1].extend(missing)
            self._close_to(1)
            return self._restored()
        roots = self._open[0][1]
        if missing and roots and isinstance(roots[-1], Node):
            roots[-1] = Node(roots[-1].label, (*roots[-1].children, *missing))
        else:
            roots.extend(missing)
        return self._restored()

    def _restored(self) -> Restored:
        roots = self._open[0][1]
        self._repairs += len(roots) - 1
        return Restored(join_trees(roots), self._repairs)
