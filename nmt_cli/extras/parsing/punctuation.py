"""Punctuation by its looks: the tags of the Penn Treebank, by which scores leave it out (6.3)."""

PUNCTUATION_TAGS = frozenset({",", ".", ":", "``", "''"})
# A word that says nothing of its tag.
UNTAGGED = "XX"
_TAG_OF = {
    ",": ",", ".": ".", "?": ".", "!": ".", ";": ":", ":": ":", "--": ":", "...": ":",
    "``": "``", "\u201c": "``", "''": "''", "\u201d": "''",
}  # fmt: skip
# Between words, or for what cannot be written: which one is for the model to say.
_OPEN_QUESTIONS = frozenset({"-", "\u2013", "\u2014", "'", "\u2018", "\u2019", "`", '"'})
_COLON_TAGS = frozenset({"SYM", "HYPH"})


def punctuation_tag(word: str) -> str:
    """The tag of a word that is punctuation wherever it stands; "" for others.

    >>> punctuation_tag("?"), punctuation_tag("dog"), punctuation_tag("-")
    ('.', '', '')
    """
    return _TAG_OF.get(word, "")


def fitting_tag(tag: str, word: str) -> str:
    """`tag` where `word` can have it, else punctuation's own, or XX.

    One full stop taken for a noun would change the words that count, and with them the whole
    sentence would not be scored.

    >>> fitting_tag("NN", ","), fitting_tag(",", "dog"), fitting_tag(":", "-")
    (',', 'XX', ':')
    """
    own = _TAG_OF.get(word)
    if own:
        known = tag in PUNCTUATION_TAGS or (own == ":" and tag in _COLON_TAGS)
        return tag if known else own
    if tag in PUNCTUATION_TAGS and word not in _OPEN_QUESTIONS:
        return UNTAGGED
    return tag
