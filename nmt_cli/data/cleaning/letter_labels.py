"""Letters that lines begin with to tell the items of a list apart: `a)`, `(b)`."""

import re

_WORD = r"[\"'«»‹›“”„‟‘’‚¿¡(\[*-]{0,3}[^\W\d_]"
# Lists with more items have numbers. A word may begin with a letter in brackets, as in `(s)he`.
LABEL = re.compile(rf"^[ \t]*(?:[(\[][a-h][)\]][ \t]+|[a-h]\)[ \t]*)(?={_WORD})", re.MULTILINE)
# What the other side may have in its place: a number, a letter, Roman digits, or a dash.
_OTHER_LABEL = re.compile(
    r"[\s\"'«»‹›“”„‟‘’‚¿¡-]*(?:[(\[]?(?:\d+[.)\]:]|(?:[IVXLC]+|[ivxlc]+|\w)[)\]])"
    r"|(?:[IVXLC]+|[ivxlc]+|\w)\.\s)|\s*(?:\d*[-–—]|[•*])\s"
)


def without_letter_label(line: str, other: str) -> str:
    """Remove the letter that a line begins with as an item of a list, if its other side has none.

    >>> without_letter_label("a) the dog", "der Hund"), without_letter_label("(b) A", "2. Ein")
    ('the dog', '(b) A')
    >>> without_letter_label("c)the dog", "der Hund"), without_letter_label("(a)bout", "um")
    ('the dog', '(a)bout')
    """
    match = LABEL.match(line)
    return line[match.end() :] if match and not _OTHER_LABEL.match(other) else line
