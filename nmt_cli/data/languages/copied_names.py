"""The words of a line without names and titles that the other side of its pair has, too."""

import re

# Addresses, user names and tags of messages are alike in all languages.
_ADDRESS = re.compile(r"\S*(?:[@#/]|\w\.\w)\S*")
_WORD = re.compile(r"[^\W\d_]+")
# Titles such as `In the Middle of Nowhere` have so many words in lower case; more of them are a
# part that was not translated.
MOST_LOWER_CASE = 2


def without_copied_names(line: str, other: str) -> str:
    """Return the words of a line that the other side lacks; "" if it has more than names of them.

    >>> without_copied_names("Rais Robert Mugabe.", "President Robert Mugabe.")
    'Rais'
    >>> without_copied_names("Hii ni: the dog is here", "This is: the dog is here")
    ''
    """
    words = _WORD.findall(_ADDRESS.sub(" ", line))
    others = {word.casefold() for word in _WORD.findall(other)}
    copied = [word for word in words if word.casefold() in others]
    if sum(not word[0].isupper() for word in copied) > MOST_LOWER_CASE:
        return ""
    return " ".join(word for word in words if word.casefold() not in others)
