"""Running numbers and verses that begin the lines of both sides of a text; how to remove them."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from nmt_cli.data.text.formats.conversion import convert_command
from nmt_cli.data.text.shell_commands import name_beside

# `12. Text`, `(12) Text`, `12: Text` and `12 Text`, but not `1.5 metres`.
_NUMBER = r"[ \t]*[(\[]?\d{1,9}(?:[.):\]]+(?:[ \t]+|(?!\d))|[ \t]+)(?=\S)"
# Chapter and verse, `1:4 Text`, `(1:4) Text`, or with the code of a book, `MRK 1:4 Text`.
_BOOK = r"[1-4A-Z][A-Z]{2}"
_VERSE = (
    rf"[ \t]*[(\[]?(?:{_BOOK}[ \t]+)?\d{{1,3}}:\d{{1,3}}"
    r"(?:[.)\]]+(?:[ \t]+|(?!\d))|[ \t]+)(?=\S)"
)
TAB = r"\t"
_DIGITS = re.compile(r"\d+")
# This share of at least so many lines begins with the same number on both sides. It rises from line
# to line as often, but for lists and chapters that begin again, or hardly any number occurs twice.
LEAST_SHARE, FEWEST_LINES = 0.9, 20
LEAST_RISING, LEAST_DISTINCT = 0.8, 0.95
# Such numbers that do not rise by one from line to line are those of years.
YEARS = range(1000, 2100)


def numbered_lines(src: Sequence[str], tgt: Sequence[str]) -> list[int]:
    """The indices of the pairs whose sides begin with the same running number or verse.

    Returns nothing unless nearly all pairs do.

    >>> src, tgt = ([f"{number}. {word}" for number in range(40)] for word in ("Yes", "Ja"))
    >>> len(numbered_lines(src, tgt)), numbered_lines(src, tgt[1:])
    (40, [])
    """
    return _numbered_in(_NUMBER, src, tgt) or _numbered_in(_VERSE, src, tgt)


def _numbered_in(form: str, src: Sequence[str], tgt: Sequence[str]) -> list[int]:
    """The indices of the pairs whose sides begin with the same number in this form."""
    pairs = [
        pair for pair in enumerate(zip(src, tgt, strict=False)) if all(map(str.strip, pair[1]))
    ]
    if len(pairs) < FEWEST_LINES:
        return []
    same_numbers = {
        index: number
        for index, (line, other) in pairs
        if (number := _number(line, form)) is not None and number == _number(other, form)
    }
    if len(same_numbers) < LEAST_SHARE * len(pairs):
        return []
    numbers = list(same_numbers.values())
    rising = sum(number[1] < following[1] for number, following in pairwise(numbers))
    is_running = rising >= LEAST_RISING * (len(numbers) - 1)
    are_distinct = len(set(numbers)) >= LEAST_DISTINCT * len(numbers)
    if _are_years([number for _, number in numbers]):
        return []
    return list(same_numbers) if is_running or are_distinct else []


def _are_years(numbers: Sequence[tuple[int, ...]]) -> bool:
    """Whether the numbers of lines, or chapters and verses, are those of years.

    >>> _are_years([(1990,), (1992,), (1992,)]), _are_years([(1990,), (1991,), (1992,)])
    (True, False)
    """
    following = sum(second[0] == first[0] + 1 for first, second in pairwise(numbers))
    are_running = following >= LEAST_RISING * (len(numbers) - 1)
    return not are_running and all(number[0] in YEARS for number in numbers)


def _number(line: str, form: str) -> tuple[str, tuple[int, ...]] | None:
    """The book, or "", and the number that a line begins with, or chapter and verse, in any digits.

    >>> lines = (" (3) A", "১২. ক", "4:B", "১২। ক", "1.5 m", "1.5", "A 3", "1:4 A")
    >>> [number and number[1] for number in (_number(line, _NUMBER) for line in lines)]
    [(3,), (12,), (4,), None, None, None, None, None]
    >>> [_number(line, _VERSE) for line in ("(1:4) A", "1CO 2:3 A", "1:40", "1:2:3 A", "4 A")]
    [('', (1, 4)), ('1CO', (2, 3)), None, None, None]
    """
    match = re.match(form, line)
    if match is None:
        return None
    book = "".join(re.findall(_BOOK, match[0]))
    return book, tuple(map(int, _DIGITS.findall(match[0].replace(book, ""))))


def number_change(lines: Sequence[str]) -> Callable[[str], str]:
    r"""The change of a line, or a row of a table, that removes the numbers that begin its cells.

    lines: the first ones, which decide whether there are cells, and whether the numbers are those
    of verses. What other lines begin with is no number of theirs, and if most of these lines begin
    with none, nothing is removed.

    >>> number_change(["1. Yes"])("12. No, 2. row"), number_change(["1:1 Yes"])("12 dogs")
    ('No, 2. row', '12 dogs')
    >>> number_change(["1. Yes\t1. Ja"])("(2) No\t(2) Nein")
    'No\tNein'
    """
    forms = {form: [line for line in lines if re.match(form, line)] for form in (_NUMBER, _VERSE)}
    form, numbered = max(forms.items(), key=lambda item: len(item[1]))
    if 2 * len(numbered) <= sum(1 for line in lines if line.strip()):
        return str
    # Behind the number of a line that has no cells, there may be a tab, too.
    bare_lines = [re.sub(form, "", line, count=1) for line in numbered]
    is_table = 2 * sum("\t" in line for line in bare_lines) > len(numbered)
    if is_table:
        form = rf"(?<![^\t])(?:{form.replace(TAB, '')})"
    number = re.compile(form if is_table else rf"\A(?:{form})")
    return lambda line: number.sub("", line)


def without_numbers_commands(paths: Sequence[str]) -> list[str]:
    """The commands that write the files, or the table, without the numbers that lines begin with.

    >>> without_numbers_commands(["a.en", "a.de"])[1]
    'nmt convert a.de --repair line-numbers -o a.without-numbers.de'
    """
    return [
        convert_command(path, name_beside(path, "without-numbers"), repairs=["line-numbers"])
        for path in paths
    ]
