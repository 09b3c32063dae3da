"""Numerals that are no digits with places are read, or not compared."""

import pytest

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.cleaning.numbers.comparison import numbers_changed, numbers_differ
from nmt_cli.data.cleaning.numbers.numerals import has_unread_numerals, with_ethiopic_read


def in_ethiopic(number: int) -> str:
    """Pairs of decimal digits, with ፻ and ፼ in turn behind them; ፩ is left out before these.

    This is the usual way to write them, as of the counter style `ethiopic-numeric` of CSS.
    """
    groups: list[int] = []
    while number:
        number, group = divmod(number, 100)
        groups.append(group)
    text = ""
    for index in reversed(range(len(groups))):
        tens, ones = divmod(groups[index], 10)
        is_one_left_out = groups[index] == 1 and (index % 2 == 1 or index == len(groups) - 1 > 0)
        if groups[index] and not is_one_left_out:
            text += chr(0x1371 + tens) * (tens > 0) + chr(0x1368 + ones) * (ones > 0)
        if index % 2 == 1:
            text += "፻" * (groups[index] > 0)
        elif index:
            text += "፼"
    return text


def test_ethiopic_numbers_are_read() -> None:
    assert [in_ethiopic(number) for number in (4947, 100, 78010092, 100000100)] == [
        "፵፱፻፵፯", "፻", "፸፰፻፩፼፺፪", "፼፼፻",
    ]  # fmt: skip
    numbers = [*range(1, 12_000), *range(9_999, 10**9, 7_654_321), 10**8, 10**8 + 10**4]
    wrong = [number for number in numbers if with_ethiopic_read(in_ethiopic(number)) != str(number)]
    assert wrong == []


@pytest.mark.parametrize(
    ("tgt", "is_different"),
    [
        ("፵፱፻፵፯ ሰዎች", False), ("፵፱፻፵፰ ሰዎች", True), ("፬፱፬፯ ሰዎች", False), ("4948 ሰዎች", True),
        # Tamil, with signs for a thousand, a hundred and ten, and with digits alone.
        ("௪௲௯௱௪௰௭ பேர்", False), ("௪௯௪௭ பேர்", False), ("௪௯௪௮ பேர்", True),
        # Malayalam.
        ("൪൲൯൱൪൰൭ ആളുകൾ", False), ("൪൯൪൮ ആളുകൾ", True),
    ],
)  # fmt: skip
def test_numbers_in_other_numerals_are_not_taken_for_others(tgt: str, is_different: bool) -> None:
    src = "4947 people"
    assert numbers_differ(src, tgt) is numbers_differ(tgt, src) is is_different
    assert numbers_changed(src, tgt, ("en", "xx")) is is_different
    doubts = find_doubts([src], [tgt], ("en", "xx")).tolist()
    assert doubts == [kinds.NUMBERS if is_different else kinds.CLEAN]


def test_numerals_are_unread_from_ten_on() -> None:
    """Below ten, a sign of its own is an ornament, and the digits beside it are compared."""
    # Tamil ten and two; a thousand in Roman and Gothic signs, which are numbers as letters.
    for unread in ("௰௨", "ↀ", "𐍁"):
        assert has_unread_numerals(unread)
        assert not numbers_changed("12 people", f"{unread} x", ("en", "xx"))
    assert not has_unread_numerals("❶ ௪")
    assert numbers_differ("❶ In 1989", "❶ 1998 x")


@pytest.mark.parametrize(
    ("line", "other", "differ"),
    [
        ("in the 1960s", "in den Sechzigern", False), ("in the 1960's", "i sextiotalet", False),
        ("in the 80s", "dans les années quatre-vingt", False),
        ("since the 1800s", "depuis le 19e siècle", False),
        ("since the 1800s", "depuis le 17e siècle", True),
        ("in the 1960s", "in den 1970ern", True), ("in 1960", "in den Sechzigern", True),
        ("in the 1960s, in 1999", "in den Sechzigern", True),
    ],
)  # fmt: skip
def test_decades_may_be_written_out_or_named_by_their_century(
    line: str, other: str, differ: bool
) -> None:
    assert numbers_differ(line, other) == numbers_differ(other, line) == differ
