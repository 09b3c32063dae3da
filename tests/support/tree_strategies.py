"""Trees and words for property-based tests, as odd as files and models can have them."""

from hypothesis import strategies as st

from nmt_cli.extras.parsing.trees import SPACE, Leaf, Node, Tree

# Any characters that a file of trees can hold within a word.
_ODD = st.characters(blacklist_characters="()" + SPACE, blacklist_categories=["Cs"])
words = st.text(_ODD, min_size=1, max_size=6)
# What a user may type: brackets, too.
typed_words = st.text(
    st.characters(blacklist_characters=SPACE, blacklist_categories=["Cs"]), min_size=1, max_size=6
)
tags = st.sampled_from(["DT", "NN", ",", ".", "-LRB-", "PRP$", "``", "XX", "NN-1"])
labels = st.sampled_from(["S", "NP", "VP", "X", "-LRB-", "NP-SBJ"])


def _nodes(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(children, min_size=1, max_size=4).map(tuple)
    return st.builds(Node, labels, several)


trees: st.SearchStrategy[Tree] = st.recursive(st.builds(Leaf, tags, words), _nodes, max_leaves=12)
