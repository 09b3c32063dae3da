"""Bracketed trees as treebanks have them: read, cleaned as parsers' data is, written (6.3)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError

# What ends a word: ASCII's white space only, as in EVALB; U+00A0 or U+0085 may stand in a word.
SPACE = " \t\n\v\f\r"
_TOKENS = re.compile(rf"[()]|[^(){SPACE}]+")
_WORDS = re.compile(rf"[^{SPACE}]+")
# What may steer a terminal.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_TRACE = "-NONE-"
# Labels of a bracket around the whole tree that says nothing; the treebank's own has none at all.
_OUTER = ("", "TOP", "ROOT", "S1")
TOP = "TOP"


@dataclass(frozen=True)
class Leaf:
    """A word and its part-of-speech tag."""

    tag: str
    word: str


@dataclass(frozen=True)
class Node:
    """A labelled bracket around trees."""

    label: str
    children: "tuple[Tree, ...]"


Tree = Leaf | Node


def walk(tree: Tree) -> Iterator[Tree | None]:
    """Each node where it opens, each leaf, None where a node closes: the order of the text.

    Trees are walked, never descended into: there may be more brackets than Python nests calls.
    """
    rest: list[Tree | None] = [tree]
    while rest:
        item = rest.pop()
        yield item
        if isinstance(item, Node):
            rest.append(None)
            rest.extend(reversed(item.children))


def leaves(tree: Tree) -> list[Leaf]:
    """The words with their tags, in order."""
    return [event for event in walk(tree) if isinstance(event, Leaf)]


def tree_text(tree: Tree) -> str:
    """A tree on one line.

    >>> tree_text(Node("NP", (Leaf("DT", "a"), Leaf("NN", "dog"))))
    '(NP (DT a) (NN dog))'
    """
    parts = []
    for event in walk(tree):
        if event is None:
            parts.append(")")
        elif isinstance(event, Leaf):
            parts.append(f" ({event.tag} {event.word})")
        else:
            parts.append(f" ({event.label}")
    return "".join(parts)[1:]


def tree_words(line: str) -> list[str]:
    """The words of a line of text, as they stand in a tree: without brackets of their own.

    Control characters go.

    >>> tree_words("f(x) grows\\x07")
    ['f-LRB-x-RRB-', 'grows']
    """
    return [escape_brackets(word) for word in _WORDS.findall(_CONTROL.sub("", line))]


def escape_brackets(word: str) -> str:
    """A word with its round brackets written as treebanks write them."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


class _Bracket:
    """A bracket that is not closed yet."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.label: str | None = None
        self.word: str | None = None
        self.children: list[Tree] = []

    def closed(self) -> Tree:
        if self.word is not None:
            return Leaf(self.label or "", self.word)
        return Node(self.label or "", tuple(self.children))


class TreeReader:
    """Takes the lines of a file and gives its trees; a tree may go over several lines.

    A bracket may lack its label (the treebank's outermost has none) or its content (parsers write
    `(())` where they fail).
    """

    def __init__(self, name: str) -> None:
        """`name` of the file, for errors."""
        self._name = name
        self._open: list[_Bracket] = []

    def feed(self, line: str, number: int) -> Iterator[Tree]:
        """The trees that end on this line, the `number`-th; raises DataError for what is none."""
        for token in _TOKENS.findall(line):
            if token == "(":
                self._begin(number)
            elif token == ")":
                yield from self._end(number)
            else:
                self._take(token, number)

    def finish(self) -> None:
        """Raise DataError where a tree has not ended."""
        if self._open:
            raise self._error(self._open[-1].line, "a bracket is opened here and never closed")

    def _begin(self, number: int) -> None:
        if self._open and self._open[-1].word is not None:
            word = self._open[-1].word
            raise self._error(number, f"a bracket opens behind the word `{word}`, in one with it")
        self._open.append(_Bracket(number))

    def _end(self, number: int) -> Iterator[Tree]:
        if not self._open:
            raise self._error(number, "a bracket is closed that was not opened")
        tree = self._open.pop().closed()
        if self._open:
            self._open[-1].children.append(tree)
        else:
            yield tree

    def _take(self, token: str, number: int) -> None:
        if not self._open:
            raise self._error(number, f"`{token}` stands outside all brackets")
        inner = self._open[-1]
        if inner.children or inner.word is not None:
            raise self._error(number, f"`{token}` has no bracket and no tag of its own")
        if inner.label is None:
            inner.label = token
        else:
            inner.word = token

    def _error(self, number: int, what: str) -> DataError:
        return DataError(
            f"`{self._name}`, line {number:,}: {what}",
            "a tree looks like this: (S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))",
        )


def read_trees(path: Path | str) -> Iterator[Tree]:
    """The trees of a file (`-`: stdin; compressed or not), one a line or over several lines.

    Raises NoInputError, and DataError naming file and line.
    """
    with read_lines(path) as lines:
        reader = TreeReader(lines.name)
        for number, line in enumerate(lines, 1):
            yield from reader.feed(line, number)
        reader.finish()


def trees_of(line: str, name: str = "the tree", number: int = 1) -> tuple[Tree, ...]:
    """All trees of one line, none or several; raises DataError where one goes on beyond it."""
    reader = TreeReader(name)
    trees = tuple(reader.feed(line, number))
    reader.finish()
    return trees


def base_label(label: str) -> str:
    """A label without function tags and indices.

    >>> base_label("NP-SBJ-1"), base_label("PP=2"), base_label("-LRB-")
    ('NP', 'PP', '-LRB-')
    """
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0]


def cleaned(tree: Tree) -> Tree | None:
    """A tree as parsers are trained and scored on it; None where no word is left.

    Without traces and the brackets that hold nothing else, without function tags and indices, and
    without a bracket around all that says nothing (none, TOP, ROOT or S1 for a label).
    """
    open_: list[tuple[str, list[Tree]]] = [("", [])]
    for event in walk(tree):
        if isinstance(event, Node):
            open_.append((base_label(event.label), []))
        elif isinstance(event, Leaf):
            if event.tag != _TRACE:
                open_[-1][1].append(event)
        else:
            label, children = open_.pop()
            if children:
                open_[-1][1].append(Node(label or TOP, tuple(children)))
    trees = open_[0][1]
    return _without_outer(trees[0]) if trees else None


def _without_outer(tree: Tree) -> Tree:
    while isinstance(tree, Node) and tree.label in _OUTER and len(tree.children) == 1:
        tree = tree.children[0]
    return tree


def sentence(tree: Tree) -> str:
    """The words of a tree, separated by spaces."""
    return " ".join(leaf.word for leaf in leaves(tree))


def join_trees(trees: Sequence[Tree]) -> Tree:
    """One tree of some; a bracket TOP, which scores nothing, holds several together."""
    return trees[0] if len(trees) == 1 else Node(TOP, tuple(trees))
