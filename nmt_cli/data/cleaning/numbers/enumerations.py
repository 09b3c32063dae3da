"""Finds marks of items in running text, `(a) ..., (b) ...` or `1) ... 2) ...`, that got lost."""

import re
from collections.abc import Iterable, Iterator, Sequence

from nmt_cli.data.cleaning.numbers.notation import with_ascii_digits
from nmt_cli.data.text.item_labels import SEQUENCES

_MARK = re.compile(
    r"(?P<other>[()（）])|(?:(?<=\s)|(?<=[(（])|\A)(?P<label>[a-z]|[ivx]{2,5}|[A-Z]|\d{1,2})(?=[)）])"
)
# What stands before the mark of another item: `keep a record, and (b)`.
_BETWEEN = re.compile(r"[,;:，；：、]\s*(?:[^\W\d_]{1,5}\s+)?[(（]?\Z")
_LONGEST_BETWEEN = 10
_WORD_END = re.compile(r"[^\W_]\Z|[)）]\Z")
# Not the `d` of `d’un`.
_ALONE = re.compile(r"(?<!\w)(?:[a-z]|[ivx]{2,5}|\d{1,2})(?![\w'’])", re.IGNORECASE)
# Letters of other scripts stand for Latin ones.
_OTHER_LETTER = re.compile(r"(?<!\w)[^\W\d_a-zA-Z](?=[)）.])")
# The letter of a paragraph, or the initial of a name. Others may be words in short: French M. for
# Mr, R. for the answer to a question.
_FIRST = re.compile(r"\s*([ABCEFGI-LNOT-Z])\.\s+[A-Z]")


def is_enumeration_lost(src: str, tgt: str) -> bool:
    """Return whether a mark of the items in a source, or before it, is not in its translation.

    The marks are a sequence from the first one on, or from the second one, where a document keeps
    the first. In the translation they may stand without brackets, as in `Buchstaben a und b`.

    >>> source = "He shall (a) keep it, (b) send it and (c) pay."
    >>> [is_enumeration_lost(source, tgt) for tgt in ("Il doit a) b) c)", "Il doit a) a) c)")]
    [False, True]
    >>> [is_enumeration_lost("A. The dog", tgt) for tgt in ("A. Le chien", "Le chien")]
    [False, True]
    """
    if (first := _FIRST.match(src)) and not re.search(rf"(?<!\w){first[1]}[.)）]", tgt):
        return not _OTHER_LETTER.search(tgt)
    if ")" not in src and "）" not in src:
        return False
    marks = list(_marks(src))
    labels = {label for sequence in SEQUENCES for label in _chain(marks, sequence)}
    if not labels:
        return False
    missing = labels - {with_ascii_digits(word).lower() for word in _ALONE.findall(tgt)}
    return len(missing) > len(_OTHER_LETTER.findall(tgt))


def _marks(text: str) -> Iterator[tuple[str, bool]]:
    """The labels of the marks, and whether each follows the item before it."""
    depth = 0
    for match in _MARK.finditer(text):
        if match["other"]:
            depth = depth + 1 if match["other"] in "(（" else max(0, depth - 1)
            continue
        before = text[max(0, match.start() - _LONGEST_BETWEEN) : match.start()]
        has_bracket = before[-1:] in ("(", "（")
        # Neither `(see 1)` nor `the dog(s)`, nor the reference 7(1)(a).
        if (depth == 1 and not _WORD_END.search(before[:-1])) if has_bracket else depth == 0:
            yield with_ascii_digits(match["label"]).lower(), bool(_BETWEEN.search(before))
        # Its own closing bracket closes nothing.
        depth += not has_bracket and depth == 0


def _chain(marks: Iterable[tuple[str, bool]], sequence: Sequence[str]) -> list[str]:
    """The labels that follow one another in a sequence; none if a single one may be no item.

    A single label is one only if it is the second of the sequence and stands where an item begins.
    """
    chain: list[str] = []
    is_item = False
    awaited = sequence[:2]
    for label, follows_item in marks:
        if label in awaited:
            is_item = is_item or (follows_item and label == sequence[1])
            chain.append(label)
            next_index = sequence.index(label) + 1
            awaited = sequence[next_index : next_index + 1]
    return chain if len(chain) > 1 or is_item else []
