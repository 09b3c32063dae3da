"""Sums in units of five francs, as in Bambara and Wolof, are the same as in francs."""

import pytest

from nmt_cli.data.cleaning.numbers.comparison import numbers_changed, numbers_differ


@pytest.mark.parametrize(
    ("source", "target", "differs"),
    [
        ("La tonne est à 115.000f.", "Siman tɔni bɛ dɔrɔmɛ 23 000 la.", False),
        ("La tonne est à 125000 F, le sac à 6000f.", "dɔrɔmɛ 25 000, bɔrɔ dɔrɔmɛ 1 200.", False),
        ("Le fer 12 à 3.250f, puis à 3.500f.", "nɛgɛ n° 12 dɔrɔmɛ 650, sisan 700.", False),
        ("dɔrɔmɛ 23 000", "115.000f", False),
        ("115.000f", "dɔrɔmɛ 23 500", True),
        ("115.000f", "siman 23 000", True),
        ("Il y a 250 sacs.", "bɔrɔ 50", True),
    ],
)
def test_sums_in_units_of_five_francs_are_the_same(source: str, target: str, differs: bool) -> None:
    assert numbers_changed(source, target, ("fr", "bm")) == differs


def test_pairs_with_such_sums_are_kept() -> None:
    assert not numbers_differ("Le fer est vendu à 1.925f.", "Nɛgɛ bɛ feere dɔrɔmɛ 385.")
    assert numbers_differ("Le fer est vendu à 1.925f.", "Nɛgɛ bɛ feere dɔrɔmɛ 387.")
