"""Bracketed trees: what is read, what is refused with its place, what cleaning leaves."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from tree_strategies import trees

from nmt_cli.errors import DataError, NoInputError
from nmt_cli.extras.parsing.trees import (
    Leaf,
    Node,
    Tree,
    cleaned,
    leaves,
    read_trees,
    sentence,
    tree_text,
    tree_words,
    trees_of,
)

DOG = Node("NP", (Leaf("DT", "a"), Leaf("NN", "dog")))
SENTENCE = Node("S", (DOG, Node("VP", (Leaf("VBZ", "runs"),)), Leaf(".", ".")))


def text_cleaned(text: str) -> str:
    (tree,) = trees_of(text)
    result = cleaned(tree)
    return tree_text(result) if result else ""


@given(trees)
def test_tree_text_round_trips(tree: Tree) -> None:
    assert trees_of(tree_text(tree)) == (tree,)


def test_trees_on_several_lines_or_compressed_are_read_alike(tmp_path: Path) -> None:
    text = tree_text(SENTENCE)
    pretty = text.replace(" (", "\n\t ( ").replace(")", "\r\n) ")
    (tmp_path / "flat").write_text(f"{text}\n\n{text} {text}")
    (tmp_path / "pretty.gz").write_bytes(gzip.compress(f"\n{pretty}\n{pretty}{pretty}".encode()))
    assert list(read_trees(tmp_path / "flat")) == [SENTENCE] * 3
    assert list(read_trees(tmp_path / "pretty.gz")) == [SENTENCE] * 3


def test_the_treebanks_outer_bracket_has_no_label() -> None:
    assert trees_of("( (NP (DT a) (NN dog)) )") == (Node("", (DOG,)),)
    assert trees_of("(())") == (Node("", (Node("", ()),)),)


def test_only_ascii_white_space_ends_a_word() -> None:
    odd = Leaf("NN", "a\u00a0b\u0085c\u2028d\x1ce")
    assert trees_of(f"(NN\t{odd.word}\x0c)") == (odd,)
    assert tree_words(f" x{odd.word} \t (y)\v") == ["x" + odd.word, "-LRB-y-RRB-"]


@pytest.mark.parametrize(
    ("lines", "line_number", "what"),
    [
        (["(S (NN a))", "(S (NN a)))"], 2, "closed that was not opened"),
        (["(S (NN a)", "", "(S", "(NN b))"], 1, "never closed"),
        (["(S", "(NP (NN a)"], 2, "never closed"),
        (["", "", "dog (S (NN a))"], 3, "`dog` is outside all brackets"),
        (["(NN a dog)"], 1, "`dog` has no bracket and no tag"),
        (["(NP (DT a)", "dog)"], 2, "`dog` has no bracket and no tag"),
        (["(S a", "(NN dog))"], 2, "behind the word `a`"),
        (["(S (NN a)", "(VP (VBZ)))"], 2, r"the bracket `\(VBZ\)` has no word"),
        (["(S (NNP (Ashish)))"], 1, r"the bracket `\(Ashish\)` has no word"),
    ],
)
def test_invalid_tree_is_named_with_its_line(
    tmp_path: Path, lines: list[str], line_number: int, what: str
) -> None:
    path = tmp_path / "some.mrg"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=what) as caught:
        list(read_trees(path))
    assert f"`{path}`, line {line_number}: " in caught.value.message
    with pytest.raises(NoInputError):
        list(read_trees(tmp_path / "none"))


def test_tree_must_end_on_its_line() -> None:
    assert trees_of("") == ()
    assert trees_of("(NN a) (NN b)") == (Leaf("NN", "a"), Leaf("NN", "b"))
    with pytest.raises(DataError, match=r"`x`, line 7: .*never closed"):
        trees_of("(NP (NN a)", "x", 7)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("( (S (NP-SBJ-1 (NN a)) (VP=2 (VB b))))", "(S (NP (NN a)) (VP (VB b)))"),
        ("(S (NP (-NONE- *)) (VP (VB b) (NP (-NONE- *T*-1))))", "(S (VP (VB b)))"),
        ("(TOP (NP (-NONE- *)))", ""),
        ("(())", ""),
        ("(ROOT (S1 (X (NN a))))", "(X (NN a))"),
        ("( (NN a) (NN b))", "(TOP (NN a) (NN b))"),
        ("(TOP (NN a) (NN b))", "(TOP (NN a) (NN b))"),
        ("(S (TOP (NN a)))", "(S (TOP (NN a)))"),
        ("(-LRB- (NN-X a) (-LRB- -LRB-))", "(-LRB- (NN-X a) (-LRB- -LRB-))"),
        ("(NP (NP (NP (NN a))) (NP))", "(NP (NP (NP (NN a))))"),
    ],
)
def test_tree_cleaning_removes_traces_and_functions(given: str, wanted: str) -> None:
    assert text_cleaned(given) == wanted


@given(trees)
def test_tree_cleaning_keeps_words_and_is_idempotent(tree: Tree) -> None:
    once = cleaned(tree)
    assert once is not None
    assert leaves(once) == leaves(tree)
    assert cleaned(once) == once


def test_trees_deeper_than_the_recursion_limit_are_read() -> None:
    depth = 50_000
    text = "(X " * depth + "(NN a)" + ")" * depth
    (tree,) = trees_of(text)
    assert tree_text(tree) == text
    assert sentence(tree) == "a"
    result = cleaned(tree)
    assert result is not None
    assert tree_text(result) == text
