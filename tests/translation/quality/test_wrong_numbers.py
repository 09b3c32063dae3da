"""Numbers that a translation made up, swapped or changed."""

import pytest

from nmt_cli.data.cleaning.numbers.comparison import numbers_changed


@pytest.mark.parametrize(
    ("language", "source", "text", "mismatch"),
    [
        # Units that changed places.
        ("fr", "$100 and €200", "100 € et 200 $", True),
        ("fr", "100 kg or 200 km", "100 km ou 200 kg", True),
        ("fr", "100 kg or 200 km", "200 km ou 100 kg", False),
        ("fr", "$300 of $500", "500 $ de 300 $", False),
    ],
)  # fmt: skip
def test_wrong_numbers(language: str, source: str, text: str, mismatch: bool) -> None:
    assert numbers_changed(source, text, ("en", language)) == mismatch
