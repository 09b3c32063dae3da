"""Recognises pairs whose sides begin with labels, in lines of their own or in one line.

Such are `Tharo: ...` above `English: ...`, and `Tharo: ... / English: ...`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from nmt_cli.data.languages.labels import in_given_order
from nmt_cli.data.languages.names import code_of_name
from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile
from nmt_cli.data.text.formats.label_turns import LabelledLine, begins_pairs
from nmt_cli.data.text.labels.line_labels import (
    COLON,
    LABEL_COLON,
    LEAST_SHARE,
    common_label,
    label_of,
)
from nmt_cli.data.text.language_hints import FormatAdvice
from nmt_cli.data.text.letters import has_letters

# So many pairs at least have the labels.
FEWEST_PAIRS = 5
# At least this share of the lines that are not empty begins with one of the two labels.
LEAST_LABELLED = 0.5
# What may separate the sides of a line, behind a space or none.
_WORD_OR_SIGN = re.compile(r'[^\s;,/|"]+|[;,/|]')
# What may be the second label of a line, or its last word.
_LABEL_WITHIN = re.compile(rf'(?<=\s)([^\s:\uff1a"`]+){LABEL_COLON}')


def labels_in_turn(
    rows: Sequence[str], name: str, languages: Sequence[str] = ()
) -> FormatAdvice | None:
    """What a file whose lines begin with two labels in turn looks like, and how to convert it.

    None if it is no such file. languages: the codes of source and target, if they are known.

    >>> rows = ["Tharo: ka mi", "English: So it is.", "Note: old"] * 5
    >>> labels_in_turn(rows, "a.txt").kind
    'source and target in alternating lines, which begin with `Tharo:` and `English:`'
    >>> labels_in_turn(["He: a", "She: b", "She: c"] * 5, "a.txt") is None
    True
    """
    filled = sum(bool(row.strip()) for row in rows)
    lines = list(_labelled_lines(rows))
    sides = _likeliest(line.label for line in lines)[:2]
    lines = [line for line in lines if line.label in sides]
    turns = [line.label for line in lines]
    if len(turns) < LEAST_LABELLED * filled or len(set(turns)) < 2:
        return None
    first = begins_pairs(lines)
    second = next(label for label in turns if label != first)
    pairs = sum(turn == (first, second) for turn in pairwise(turns))
    if pairs < FEWEST_PAIRS or 2 * pairs < LEAST_SHARE * len(turns):
        return None
    starts = [rf"[ \t]*{re.escape(label)}{COLON}" for label in (first, second)]
    others = rf"(?:(?!{starts[0]}|{starts[1]}).*\n)*"
    pattern = rf"^{starts[0]}(.*)\n{others}{starts[1]}(.*)"
    kind = f"source and target in alternating lines, which begin with `{first}:` and `{second}:`"
    return _advice(pattern, (first, second), name, languages, kind)


def _labelled_lines(rows: Sequence[str]) -> Iterator[LabelledLine]:
    block = 0
    for row in rows:
        if not row.strip():
            block += 1
        elif label := label_of(row):
            yield LabelledLine(label, row.partition(label)[2].lstrip(" \xa0\u202f:\uff1a\t"), block)


def _likeliest(labels: Iterable[str]) -> list[str]:
    """The labels, the commonest first, but those of languages before others about as common.

    >>> _likeliest(["Tharo", "Gloss", "Old English", "Tharo", "Gloss", "Old English", "Note"])
    ['Old English', 'Tharo', 'Gloss', 'Note']
    """
    counts = Counter(labels)
    fewest = LEAST_SHARE * max(counts.values(), default=0)

    def rank(label: str) -> tuple[bool, bool, int]:
        names_language = any(map(code_of_name, label.split()))
        return counts[label] >= fewest, names_language, counts[label]

    return sorted(counts, key=rank, reverse=True)


def labels_in_line(
    rows: Sequence[str], name: str, languages: Sequence[str] = ()
) -> FormatAdvice | None:
    """What a file that has both sides with their labels in a line looks like; else as above.

    >>> rows = [f"Tharo: ka {number} / English: so {number}" for number in range(5)]
    >>> labels_in_line(rows, "a.txt").kind
    'pairs with the labels `Tharo:` and `English:` in a line'
    """
    first = common_label(rows, FEWEST_PAIRS)
    if first is None:
        return None
    start = re.compile(rf"[ \t]*{re.escape(first.text)}{COLON}")
    texts = [start.sub("", rows[index], count=1) for index in first.indices]
    fewest = LEAST_SHARE * len(texts)
    words = [word for text in texts for word in dict.fromkeys(_LABEL_WITHIN.findall(text))]
    last = next(iter(_likeliest(filter(has_letters, words))), "")
    if words.count(last) < fewest:
        return None
    before = [
        _WORD_OR_SIGN.findall(text[: match.start()])
        for text in texts
        for match in _LABEL_WITHIN.finditer(text)
        if match[1] == last
    ]
    lead = _common_end(before, fewest)
    second = " ".join([*filter(has_letters, lead), last])
    within = r"[ \t]*".join(map(re.escape, [*lead, last]))
    pattern = rf"^{start.pattern}(.*?){within}{COLON}(.*)"
    kind = f"pairs with the labels `{first.text}:` and `{second}:` in a line"
    return _advice(pattern, (first.text, second), name, languages, kind)


def _common_end(before: Sequence[Sequence[str]], fewest: float) -> tuple[str, ...]:
    """The words with which most texts end: a sign, the first word of a label, or both.

    >>> _common_end([["a", "/"], ["b", "/"]], 2), _common_end([["a", "/", "Old"]] * 2, 2)
    (('/',), ('/', 'Old'))
    """
    for length in (2, 1):
        ends = Counter(tuple(words[-length:]) for words in before if len(words) > length)
        end, count = max(ends.items(), key=lambda item: item[1], default=((), 0))
        # Two words are a sign and a part of the label: of a sentence nothing is taken.
        if count >= fewest and (length == 1 or [*map(has_letters, end)] == [False, True]):
            return end
    return ()


def _advice(
    pattern: str, labels: Columns, name: str, languages: Sequence[str], kind: str
) -> FormatAdvice:
    """How to convert a file to the pairs that a regular expression finds."""
    order = in_given_order(labels, (0, 1), languages)
    src, tgt = (labels[index] for index in order)
    read = partial(_found_rows, pattern=re.compile(rf"(?m){pattern}"), labels=labels)
    conversion = Conversion(kind, read, (src, tgt), labels)
    what = f"convert it, with `{src}` as source and `{tgt}` as target, without other lines"
    return FormatAdvice.of(conversion, name, what)


def _found_rows(
    source: SourceFile, columns: Columns, pattern: re.Pattern[str], labels: Columns
) -> Iterator[Row]:
    with source.text() as text:
        for match in pattern.finditer(text.read()):
            yield [match[labels.index(label) + 1] for label in columns]
