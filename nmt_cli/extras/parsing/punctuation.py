"""The Penn Treebank's tags of punctuation, by which scores leave punctuation out (6.3)."""

PUNCTUATION_TAGS = frozenset({",", ".", ":", "``", "''"})
# The tag of a word that does not show which tag it has.
UNTAGGED = "XX"
_TAG_OF = {
    ",": ",", ".": ".", "?": ".", "!": ".", ";": ":", ":": ":", "--": ":", "...": ":",
    "``": "``", "\u201c": "``", "''": "''", "\u201d": "''",
}  # fmt: skip
# Words that may be punctuation or not: the model decides.
_AMBIGUOUS = frozenset({"-", "\u2013", "\u2014", "'", "\u2018", "\u2019", "`", '"'})
_COLON_TAGS = frozenset({"SYM", "HYPH"})


def punctuation_tag(word: str) -> str:
    r"""The tag of a word that is always punctuation; "" for other words.

    Treebanks of the web have words such as a full stop with a no-break space.

    >>> punctuation_tag("?"), punctuation_tag("dog"), punctuation_tag("-"), punctuation_tag(".\xa0")
    ('.', '', '', '.')
    """
    return _TAG_OF.get(word.strip(), "")


def fitting_tag(tag: str, word: str) -> str:
    r"""`tag` if `word` can have it, else the tag of the punctuation mark, or XX.

    A full stop that is tagged as a noun would change the words that count, so the whole sentence
    would be an error.

    >>> fitting_tag("NN", ","), fitting_tag(",", "dog"), fitting_tag(":", "-\xa0")
    (',', 'XX', ':')
    """
    if own := punctuation_tag(word):
        known = tag in PUNCTUATION_TAGS or (own == ":" and tag in _COLON_TAGS)
        return tag if known else own
    if tag in PUNCTUATION_TAGS and word.strip() not in _AMBIGUOUS:
        return UNTAGGED
    return tag
