"""Hours that are counted from six o'clock, as in Swahili, are the same times."""

import pytest

from nmt_cli.data.cleaning.numbers.comparison import numbers_changed, numbers_differ


@pytest.mark.parametrize(
    ("source", "target", "differs"),
    [
        ("It starts at 7:45 p.m. on Monday.", "Utaanza saa 1:45 jioni.", False),
        ("He came at 10:30 a.m. today.", "Aliwasili saa 4:30 asubuhi leo.", False),
        ("at 18:44 Maputo time", "saa 12: 44 jioni", False),
        ("at 08h30", "saa @02h30 asubuhi", False),
        ("at 7 am and 7 pm", "saa 1 asubuhi na saa 1 jioni", False),
        ("at 9 am", "ከጠዋቱ 3 ሰዓት", False),
        ("Mkutano saa 1:45 jioni.", "The meeting is at 7:45 p.m.", False),
        ("at 7:45 p.m.", "saa 7:45 mchana", False),
        ("at 7:45 p.m.", "saa 2:45 jioni", True),
        ("at 7:45 p.m.", "saa 1:50 jioni", True),
        ("for 7 hours", "kwa saa 1", True),
        ("at 7:45 p.m.", "um 1:45 Uhr", True),
        ("on 7 May, 1,000 men at 9 pm", "saa 3 usiku, tarehe 7 Mei, watu 1,000", False),
    ],
)
def test_hours_from_six_oclock_are_the_same_times(source: str, target: str, differs: bool) -> None:
    assert numbers_changed(source, target, ("en", "sw")) == differs


def test_pairs_with_such_hours_are_kept() -> None:
    assert not numbers_differ("It was 18:44 pm Maputo time.", "Ilikuwa saa 12: 44 jioni.")
    assert numbers_differ("It was 18:44 pm Maputo time.", "Ilikuwa um 12: 45 jioni.")
