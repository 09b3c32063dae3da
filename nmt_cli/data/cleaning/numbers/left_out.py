"""Tells whether the numbers that one side lacks are wrong, or usual for its text.

Some texts have years in words (`two thousand three`), or leave them out where a reader knows them:
then their pairs are right, though each looks as if a number was lost.
"""

from collections import Counter
from collections.abc import Sequence

from nmt_cli.data.cleaning.numbers.comparison import Difference
from nmt_cli.data.cleaning.numbers.notation import NUMBER, with_ascii_digits
from nmt_cli.data.cleaning.numbers.written_out import is_never_written_out

# So many pairs show that one side lacks numbers of the other, with so large a share of all pairs
# in which the other one has such numbers. In news and laws it is 0.02 or less, and in eight texts
# of African and American languages, where they are in words or left out, 0.15 to 0.6.
LEAST_PAIRS, LEAST_SHARE = 20, 0.15
# If each side lacks many numbers of the other, the pairs are wrong, as in shifted lines.
MOST_OF_OTHER_SIDE = 0.1


def usually_left_out(
    src: Sequence[str], tgt: Sequence[str], differences: Sequence[Difference]
) -> set[Difference]:
    """Return the differences that are usual in a text: its source or its target lacks numbers.

    src, tgt: its lines; differences: those of all its pairs that differ.

    >>> years = [f"In {year}." for year in range(2001, 2021)]
    >>> sorted(usually_left_out(years, ["Once."] * 20, ["only in source"] * 20))
    ['only in source']
    """
    counts = Counter(differences)
    # Lines are read only where it may matter.
    if max(counts["only in source"], counts["only in target"]) < LEAST_PAIRS:
        return set()
    shares = {
        "only in source": counts["only in source"] / max(1, _lines_with_years(src)),
        "only in target": counts["only in target"] / max(1, _lines_with_years(tgt)),
    }
    usual: set[Difference] = set()
    sides: tuple[Difference, Difference] = ("only in source", "only in target")
    for side, other in (sides, sides[::-1]):
        is_often = counts[side] >= LEAST_PAIRS and shares[side] >= LEAST_SHARE
        if is_often and shares[other] <= MOST_OF_OTHER_SIDE:
            usual.add(side)
    return usual


def _lines_with_years(lines: Sequence[str]) -> int:
    """How many lines have a number that is hardly ever in words, such as a year."""
    return sum(
        any(map(is_never_written_out, NUMBER.findall(with_ascii_digits(line)))) for line in lines
    )
