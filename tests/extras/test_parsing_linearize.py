"""Trees as lines of tokens: back without loss, and a tree over all words whatever the line is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import labels, tags, trees, typed_words

from nmt_cli.extras.parsing.linearize import from_line, shared_out, to_line
from nmt_cli.extras.parsing.punctuation import fitting_tag
from nmt_cli.extras.parsing.trees import (
    Leaf,
    Node,
    Tree,
    escape_brackets,
    leaves,
    tree_text,
    trees_of,
)

LINE = "(S (NP DT NN )NP (VP VBZ )VP . )S"
TREE = "(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)) (. .))"
WORDS = ["the", "dog", "sleeps", "."]

tokens = st.one_of(
    labels.map("({}".format),
    labels.map("){}".format),
    tags,
    st.sampled_from(["(", ")", "((NP", ")NP)S", "(S(NP", "\u2047", "\u00a0", "NN)", "--"]),
)
lines = st.one_of(st.lists(tokens, max_size=25).map(" ".join), st.text(max_size=20))


def restored(line: str, words: str) -> tuple[str, int]:
    result = from_line(line, words.split())
    return tree_text(result.tree), result.repairs


def test_to_line_linearizes_a_tree() -> None:
    (tree,) = trees_of(TREE)
    assert to_line(tree) == LINE
    assert to_line(tree, "xx") == "(S (NP XX XX )NP (VP XX )VP . )S"
    assert from_line(LINE, WORDS) == (tree, 0)


@given(trees)
def test_linearized_tree_round_trips(tree: Tree) -> None:
    words = [leaf.word for leaf in leaves(tree)]
    assert from_line(to_line(tree), words) == (tree, 0)


@given(lines, st.lists(typed_words, min_size=1, max_size=8))
def test_any_line_gives_one_tree_over_exactly_the_words(line: str, words: list[str]) -> None:
    result = from_line(line, words)
    assert [leaf.word for leaf in leaves(result.tree)] == [escape_brackets(word) for word in words]
    assert trees_of(tree_text(result.tree)) == (result.tree,)
    assert "\n" not in tree_text(result.tree)
    # What had to be repaired stands for another line.
    same = "".join(to_line(result.tree).split()) == "".join(line.split())
    assert same == (result.repairs == 0)


@pytest.mark.parametrize(
    ("line", "words", "wanted", "repairs"),
    [
        ("", "a", "(XX a)", 1),
        ("", "a b", "(TOP (XX a) (XX b))", 3),
        ("NN", "a", "(NN a)", 0),
        ("(NP NN", "a", "(NP (NN a))", 1),
        ("(S (NP NN )S", "a", "(S (NP (NN a)))", 1),
        ("(S (NP NN )VP )NP )S", "a", "(S (NP (NN a)))", 1),
        ("(S NN )S )S", "a", "(S (NN a))", 1),
        ("(S NN NN )S", "a", "(S (NN a))", 1),
        ("(S (NP NN )NP )S", "a b c", "(S (NP (NN a)) (XX b) (XX c))", 2),
        ("(S (NP NN", "a b", "(S (NP (NN a) (XX b)))", 3),
        ("(S (NP )NP (VP VB )VP )S", "a", "(S (VP (VB a)))", 1),
        ("(NP NN )NP (VP VB )VP", "a b", "(TOP (NP (NN a)) (VP (VB b)))", 1),
        ("(NP(NP NN)NP)NP", "a", "(NP (NP (NN a)))", 0),
        ("( NN )", "a", "(X (NN a))", 2),
        ("(S NN )", "a", "(S (NN a))", 1),
        ("(S (NP NN )NP . )S", "a b .", "(S (NP (NN a)) (XX b) (. .))", 1),
        ("(S (NP DT JJ NN )NP , . )S", "a dog , .", "(S (NP (DT a) (JJ dog)) (, ,) (. .))", 1),
        (". (S NN NN )S", "a . b c d", "(TOP (XX a) (. .) (S (NN b) (NN c) (XX d)))", 4),
        ("NN (S (VP )VP", "a b", "(TOP (NN a) (S (XX b)))", 4),
    ],
)
def test_from_line_repairs_brackets(line: str, words: str, wanted: str, repairs: int) -> None:
    assert restored(line, words) == (wanted, repairs)


def test_from_line_repairs_tags_on_request() -> None:
    result = from_line("(S NN )S", ["a", "b"], lambda tag, word: f"{tag}{word}")
    assert tree_text(result.tree) == "(S (NNa a) (XXb b))"


def test_words_are_shared_out_to_tags() -> None:
    assert shared_out(["NN", ",", "NN"], ["a", "b", ","]) == [1, 1, 1]
    assert shared_out([], ["a"]) == []
    assert shared_out(["NN"], ["a", "b"]) == [1]
    # The longest row of marks that is the same on both sides counts, whatever is between them.
    assert shared_out([",", "NN", "."], [",", "a", ",", "b", "."]) == [3, 1, 1]
    assert shared_out(["NN", "NN", ","], ["a", ",", "b", ","]) == [1, 0, 1]
    assert shared_out(["NN", ",", "NN", "."], ["a", "b", ",", "c", "."]) == [1, 2, 1, 1]
    assert shared_out([",", "NN", "NN", "NN", "."], ["a", ",", "b", "."]) == [2, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("tag", "word", "wanted"),
    [
        ("NN", "dog", "NN"),
        (",", "dog", "XX"),
        ("$", "US$", "$"),
        (":", "%", "XX"),
        ("NN", ".", "."),
        ("XX", "!", "."),
        (",", ".", ","),
        ("SYM", ".", "."),
        ("SYM", ":", "SYM"),
        ("HYPH", "--", "HYPH"),
        ("NN", ";", ":"),
        ("NN", "``", "``"),
        ("NN", "\u201d", "''"),
        ("HYPH", "-", "HYPH"),
        (":", "-", ":"),
        ("''", "'", "''"),
        ("POS", "'", "POS"),
    ],
)
def test_fitting_tag_of_a_word(tag: str, word: str, wanted: str) -> None:
    assert fitting_tag(tag, word) == wanted


def test_closing_bracket_closes_the_nearest_of_its_label() -> None:
    line = "(NP (NP (VP NN )NP NN )NP"
    assert restored(line, "a b")[0] == "(NP (NP (VP (NN a))) (NN b))"


def test_brackets_in_words_are_written_as_treebanks_do() -> None:
    assert restored("(X SYM )X", "(a)")[0] == "(X (SYM -LRB-a-RRB-))"
    with pytest.raises(ValueError, match="a tree needs a word"):
        from_line("(S )S", [])


def test_punctuation_tags_are_kept_for_scoring() -> None:
    tree = Node("S", (Leaf("-LRB-", "("), Leaf(",", ","), Leaf("``", "``"), Leaf("PRP$", "my")))
    assert to_line(tree, "xx") == "(S XX , `` XX )S"


def test_lines_deeper_than_the_recursion_limit_are_read() -> None:
    depth = 50_000
    result = from_line("(NP " * depth + "NN", ["a"])
    assert result.repairs == depth
    assert to_line(result.tree) == "(NP " * depth + "NN" + " )NP" * depth
    assert tree_text(from_line("(NP " * depth, ["a"]).tree).endswith("(XX a)" + ")" * depth)
