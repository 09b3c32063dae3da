"""Numbers that a translation made up, swapped or changed."""

import pytest

from nmt_cli.data.cleaning.numbers.comparison import numbers_changed


@pytest.mark.parametrize(
    ("language", "source", "text", "mismatch"),
    [
        # Thousands without the number before them.
        ("fr", "He owes {amount} in dollars.", "Il doit {amount} 000 $.", True),
        ("fr", "The two of them owe  units.", "Les deux doivent  000 unités.", True),
        ("fr", "He owes {amount} under 12(1).", "Il doit {amount} 000 $ selon 12(1).", True),
        ("fr", "He owes {amount} thousand units.", "Il doit {amount} 000 unités.", False),
        ("fr", "He owes $5,000.", "Il doit 5 000 $.", False),
        ("fr", "Dial 000.", "Faites le 000.", False),
        ("de", "He owes it.", "Er schuldet 1 000.", True),
        ("de", "He owes thousands.", "Er schuldet 1 000.", False),
        # A currency sign on a number that has none.
        ("fr", "He owes 425 units.", "Il doit 425 $.", True),
        ("fr", "He owes 425 pounds.", "Il doit 425 £.", False),
        ("fr", "It is $-425.", "Il est de -425 $.", False),
        # The same number for two things.
        ("fr", "He receives 177 units.", "Il reçoit 177 $ pour 177 unités.", True),
        ("fr", "He receives 177 dollars.", "Il reçoit 177 $ pour 177 unités.", True),
        ("fr", "He receives 17 units.", "Il reçoit 17 unités des 17.", False),
        ("fr", "section 313, if that section", "l’article 313, si l’article 313", False),
        ("fr", "Lot 1 520 863 to its corner", "du Lot 1 520 863 au Lot 1 520 863", False),
        ("fr", "the Act of 1992 (the Act)", "la loi de 1992 (loi de 1992)", False),
        # Units that changed places.
        ("fr", "$100 and €200", "100 € et 200 $", True),
        ("fr", "100 kg or 200 km", "100 km ou 200 kg", True),
        ("fr", "100 kg or 200 km", "200 km ou 100 kg", False),
        ("fr", "$300 of $500", "500 $ de 300 $", False),
    ],
)  # fmt: skip
def test_wrong_numbers(language: str, source: str, text: str, mismatch: bool) -> None:
    assert numbers_changed(source, text, ("en", language)) == mismatch
