"""Bracketed trees of treebanks: reads, cleans and writes them (6.3)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError

# Only ASCII white space ends a word, as in EVALB; U+00A0 or U+0085 may be in a word.
SPACE = " \t\n\v\f\r"
_TOKENS = re.compile(rf"[()]|[^(){SPACE}]+")
_WORDS = re.compile(rf"[^{SPACE}]+")
# Control characters, which a terminal could execute.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_TRACE = "-NONE-"
# Labels of an outermost bracket that has no meaning; in treebank files it has no label at all.
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
    """Yield each node where it opens, each leaf, and None where a node closes, in text order.

    This does not recurse: there may be more brackets than Python allows nested calls.
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
    """The words of a line of text with their brackets escaped, as in trees.

    Control characters are removed.

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
    """Reads the lines of a file and returns its trees; a tree may extend over several lines.

    A bracket may lack its label (the outermost one of treebank files has none) or its content
    (parsers write `(())` if they fail).
    """

    def __init__(self, name: str, *, needs_words: bool = False) -> None:
        """name: the file name for error messages; needs_words: of every bracket with a label."""
        self._name = name
        self._needs_words = needs_words
        self._open: list[_Bracket] = []

    def feed(self, line: str, line_number: int) -> Iterator[Tree]:
        """The trees that end on this line; raises DataError if it is not part of a tree."""
        for token in _TOKENS.findall(line):
            if token == "(":
                self._begin(line_number)
            elif token == ")":
                yield from self._end(line_number)
            else:
                self._take(token, line_number)

    def finish(self) -> None:
        """Raise DataError if a tree has not ended."""
        if self._open:
            raise self._error(self._open[-1].line, "a bracket is opened here and never closed")

    def _begin(self, line_number: int) -> None:
        if self._open and self._open[-1].word is not None:
            word = self._open[-1].word
            message = f"a bracket opens behind the word `{word}`, inside the bracket of that word"
            raise self._error(line_number, message)
        self._open.append(_Bracket(line_number))

    def _end(self, line_number: int) -> Iterator[Tree]:
        if not self._open:
            raise self._error(line_number, "a bracket is closed that was not opened")
        bracket = self._open.pop()
        tree = bracket.closed()
        if self._needs_words and bracket.label and bracket.word is None and not bracket.children:
            raise self._error(line_number, f"the bracket `({bracket.label})` has no word")
        if self._open:
            self._open[-1].children.append(tree)
        else:
            yield tree

    def _take(self, token: str, line_number: int) -> None:
        if not self._open:
            raise self._error(line_number, f"`{token}` is outside all brackets")
        inner = self._open[-1]
        if inner.children or inner.word is not None:
            raise self._error(line_number, f"`{token}` has no bracket and no tag of its own")
        if inner.label is None:
            inner.label = token
        else:
            inner.word = token

    def _error(self, line_number: int, what: str) -> DataError:
        return DataError(
            f"`{self._name}`, line {line_number:,}: {what}",
            "a tree looks like this: (S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))",
        )


def read_trees(path: Path | str) -> Iterator[Tree]:
    """Read the trees of a file (`-`: stdin; compressed or not), each on one or several lines.

    Raises NoInputError, and DataError naming file and line, also for a bracket with a label alone,
    whose word is lost.
    """
    with read_lines(path) as lines:
        reader = TreeReader(lines.name, needs_words=True)
        for line_number, line in enumerate(lines, 1):
            yield from reader.feed(line, line_number)
        reader.finish()


def trees_of(line: str, name: str = "the tree", line_number: int = 1) -> tuple[Tree, ...]:
    """All trees of one line, none or several; raises DataError if one does not end on the line."""
    reader = TreeReader(name)
    trees = tuple(reader.feed(line, line_number))
    reader.finish()
    return trees


def base_label(label: str) -> str:
    """A label without function tags and indices.

    >>> base_label("NP-SBJ-1"), base_label("PP=2"), base_label("-LRB-")
    ('NP', 'PP', '-LRB-')
    """
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0]


def cleaned(tree: Tree) -> Tree | None:
    """The tree as parsers are trained and scored on it; None if no word is left.

    Traces and brackets that contain only traces are removed, and so are function tags, indices and
    an outermost bracket without meaning (unlabelled, TOP, ROOT or S1).
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
    """Join trees to one; several are put into a bracket TOP, which does not count in scores."""
    return trees[0] if len(trees) == 1 else Node(TOP, tuple(trees))
