"""Full stops behind a name that ends in one: `Nordwind Ltd.` at the end of a sentence has no other.

A model does not know that the name has the stop of the sentence, and writes another one.
"""

# Marks that end a sentence.
STOPS = tuple(".!?…。！？")
_OPENING, _CLOSING = "\"'“‘„«([", "\"'”’“»)]"


def has_second_stop(name: str, after: str, source: str, source_after: str) -> bool:
    """Whether what follows a name in a translation begins with a stop too many.

    name, after: the name in the translation, and what follows it there; source, source_after: the
    same in the source. Behind a full stop there is no second one, wherever the name stands. Behind
    `!`, `?` and `…` there is none if the name ends its sentence in the source. What stands in the
    source as well is right, and so are several stops in a row.

    >>> has_second_stop("Nordwind Ltd.", ".", "Nordwind Ltd.", "")
    True
    >>> has_second_stop("Nordwind Ltd.", "?", "Nordwind Ltd.", "?")
    False
    >>> [has_second_stop("Yahoo!", ".", "Yahoo!", after) for after in ("", " sleeps.")]
    [True, False]
    """
    last, stop = name[-1:], after[:1]
    if last not in STOPS or stop not in STOPS or after[1:2] in STOPS:
        return False
    if source[-1:] in STOPS and source_after[:1] in STOPS:
        return False
    if last == stop == ".":
        return True
    return source[-1:] == last and stop in (last, ".") and _ends_sentence(source_after)


def _ends_sentence(after: str) -> bool:
    """Whether a sentence ends before this text, which is empty or goes on with a capital letter."""
    rest = after.lstrip(_CLOSING)
    words = rest.lstrip().lstrip(_OPENING)
    return not words or (rest[:1].isspace() and words[:1].isupper())
