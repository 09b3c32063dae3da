"""Where sentences begin behind the first one of a line, in any language."""

import re
from collections.abc import Iterator

_END = re.compile(r"(?:[.!?…؟।۔።]+[\"'”’»)\]]*\s+|[。？！]+[」』”’）]*\s*)(?=\W{0,3}[^\W_])")


def later_sentences(line: str) -> Iterator[int]:
    """Yield where sentences begin behind a mark that ends one, or an abbreviation.

    >>> line = "Yes, Dr. No. (So it is.)"
    >>> [line[start:] for start in later_sentences(line)]
    ['No. (So it is.)', '(So it is.)']
    >>> list(later_sentences("So it is. ")), list(later_sentences("是。不是。"))
    ([], [2])
    """
    return (match.end() for match in _END.finditer(line))
