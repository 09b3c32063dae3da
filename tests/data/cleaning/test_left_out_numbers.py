"""Numbers that one side of a text usually lacks, as where it has them in words, are no noise."""

from pathlib import Path

from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.data.cleaning.numbers.comparison import Difference
from nmt_cli.data.cleaning.numbers.left_out import usually_left_out
from nmt_cli.data.preparation.prepare import prepare

Pairs = list[tuple[str, str]]
KEPT = [(f"{src} {year}", f"{tgt} {year}") for year, (src, tgt) in enumerate(
    two_languages(60, 1), 1901)]  # fmt: skip


def without_year(count: int, seed: int) -> Pairs:
    """Pairs whose sources alone have a year."""
    return [
        (f"{src} {year}", tgt) for year, (src, tgt) in enumerate(two_languages(count, seed), 1961)
    ]


def doubted(folder: Path, pairs: Pairs) -> int:
    """How many pairs are found to have different numbers."""
    config = tiny_config(data_train=[write_pairs(folder, "train", pairs)], data_vocab_size=200)
    findings = prepare(config, folder / "corpus", force=True, workers=1).findings
    return sum(found.pairs for found in findings if found.kind == "numbers that differ")


def swapped(pairs: Pairs) -> Pairs:
    """The pairs in the other direction."""
    return [(tgt, src) for src, tgt in pairs]


def test_numbers_that_a_side_often_lacks_are_no_noise(tmp_path: Path) -> None:
    wrong = [("ka 1989", "tra 1998"), *swapped(without_year(3, 3))]
    often = [*KEPT, *without_year(22, 2), *wrong]
    # Other numbers in place of these, and those that the other side lacks, are still found.
    assert doubted(tmp_path, often) == doubted(tmp_path, swapped(often)) == 4


def test_numbers_that_a_side_rarely_lacks_are_noise(tmp_path: Path) -> None:
    few = [*KEPT, *without_year(17, 2)]
    assert doubted(tmp_path, few) == doubted(tmp_path, swapped(few)) == 17
    # As many pairs are few beside those that have the number on both sides.
    many = [*KEPT, *(pair for _ in range(3) for pair in swapped(KEPT)), *without_year(22, 2)]
    assert doubted(tmp_path, many) == 22
    # Where each side lacks numbers of the other, lines may be shifted.
    both = [*KEPT, *without_year(22, 2), *swapped(without_year(22, 3))]
    assert doubted(tmp_path, both) == 44


def test_the_share_is_that_of_the_side_that_has_the_numbers() -> None:
    def usual(on_both: int) -> set[Difference]:
        tgt = ["In 1989."] * (on_both + 20)
        src = [*tgt[20:], *["Once."] * 20]
        return usually_left_out(src, tgt, ["only in target"] * 20)

    # 20 of 133 and of 134.
    assert usual(113) == {"only in target"}
    assert usual(114) == set()
